"""Rows and records as text, equal results in equal bytes, and files never half written; order and spread of rows."""

import contextlib
import csv
import hashlib
import io
import json
import math
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd

from evenspan.core.errors import ResultError
from evenspan.core.files import reading, replacing

from . import paths

TIDY = ("dataset", "method", "k", "split", "protocol", "metric", "value")
#: The columns of the tables below ``data/paper``: of printed numbers, and of those that are something else.
PRINTED = "paper table dataset method metric k split value std bold unit note"
HEADS = {
    "claims": "id paper section claim kind how_to_check data_needed paper_consistent note",
    "contradictions": "id paper kind where says against known_by claims holds in_part not_so also",
    "findings": "key paper title kinds affects",
    "lee2023": "dataset k protocol method metric quoted",
}


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


#: In a build: the seconds that it computes of each page (:mod:`compendium.study`).
BUDGET = "EVENSPAN_SECONDS"
#: In a build: the folder with what it computed once for all pages (:mod:`compendium.book.pages`).
ONCE = "EVENSPAN_ONCE"


def computed_once(name: str) -> pd.DataFrame | None:
    """A table that a build computed for all of its pages; None outside of a build."""
    if not (folder := os.environ.get(ONCE)):
        return None
    path = Path(folder) / f"{name}.json"
    return _read_once(path, path.stat().st_mtime_ns).copy()


@lru_cache(maxsize=8)
def _read_once(path: Path, _: int) -> pd.DataFrame:
    return pd.DataFrame(**json.loads(path.read_text(encoding="utf-8")), dtype=object)


def write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all: a reader, or a run after a crash, never sees a part of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(content)


def content_of(table: Path, sha256: str) -> bytes:
    """The content of a stored table, if it is the one whose digest its record has."""
    content = table.read_bytes() if table.is_file() else b""
    if digest(content) != sha256:
        raise ResultError(
            f"{table} is missing, or not the one that the record beside it describes: its checksum differs. Restore "
            "both from the repository, or delete both and compute them again."
        )
    return content


def paper_table(*place: str, words: bool = False) -> pd.DataFrame:
    """A table below ``data/paper``, named without its ending; with ``words`` every cell as text."""
    path = paths.data("paper", *place[:-1], f"{place[-1]}.csv")
    with reading(path, "a table of a paper", "Correct it, or restore it.") as file:
        rows = pd.read_csv(path, **({"dtype": str, "keep_default_na": False} if words else {}))
        rows = rows[HEADS.get(place[-1], PRINTED).split()]
        for name in {"value", "std"} & {*rows}:
            pd.to_numeric(rows[name])
        if not file.read().endswith(b"\n"):
            raise ValueError("its last line has no end")
    return rows


def tidy(values: Mapping[str, object], reason: str = "", **key: object) -> list[dict]:
    """A row for each metric, with the same ``key``: the columns ``TIDY`` and perhaps others.

    A value that is None has the ``reason`` why there is no number; so has the pair ``(None, reason)``."""
    found = []
    for metric, value in values.items():
        value, why = value if isinstance(value, tuple) else (value, reason if value is None else "")
        found.append({"k": None, "split": 0} | key | {"metric": metric, "value": value, "reason": why})
    return found


def whole(rows: pd.DataFrame | list[dict]) -> pd.DataFrame:
    """Tidy rows as one table, with whole numbers for ``k`` also where some rows have none."""
    table = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows)
    return table.astype({name: kind for name, kind in {"k": "Int64", "value": float}.items() if name in table})


def in_order(frame: pd.DataFrame, names: Sequence[str], by: Sequence[str] = ("method",)) -> pd.DataFrame:
    """Rows sorted by columns of names, in the order of ``names`` and others last, or of numbers, in their own order."""
    place = {name: i for i, name in enumerate(names)}

    def key(values: pd.Series) -> pd.Series:
        return values if pd.api.types.is_numeric_dtype(values) else values.map(place)

    return frame.sort_values(list(by), key=key, kind="stable", ignore_index=True)


#: Statistics of values; ``std`` is that of the population. Missing values are left out.
STATISTICS = {
    "mean": "mean",
    "std": lambda v: float(np.std(known, axis=0)) if len(known := v.dropna().to_numpy()) else np.nan,
    "smallest": "min",
    "lower": lambda v: v.quantile(0.25),
    "median": "median",
    "upper": lambda v: v.quantile(0.75),
    "largest": "max",
}


def spread(rows: pd.DataFrame, by: Sequence[str], *statistics: str, number: str | None = None) -> pd.DataFrame:
    """Some of the ``STATISTICS`` of the values of rows that agree in the columns ``by``, and their ``number``."""
    wanted = {name: STATISTICS[name] for name in statistics} | ({number: "count"} if number else {})
    return rows.groupby(list(by), sort=False)["value"].agg(**wanted).reset_index()


def lines(frame: pd.DataFrame) -> list[dict[str, str]]:
    """Rows as text: columns and rows in a fixed order, shortest decimals that read back to the same float."""
    columns = [*TIDY, *sorted({*frame.columns} - {*TIDY})]
    rows = [[_text(value) for value in row] for row in frame[columns].itertuples(index=False, name=None)]
    return [dict(zip(columns, row, strict=True)) for row in sorted(rows, key=lambda row: [_rank(text) for text in row])]


def to_csv(units: Mapping[str, Sequence[Mapping[str, str]]]) -> bytes:
    """The rows of several units in one table, sorted by unit, which has the first column."""
    used = {name for rows in units.values() for row in rows for name, text in row.items() if text} - {*TIDY}
    stream = io.StringIO()
    writer = csv.DictWriter(stream, ["task", *TIDY, *sorted(used)], extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({"task": name, **row} for name in sorted(units) for row in units[name])
    return stream.getvalue().encode()


def frame(rows: Sequence[Mapping[str, str]]) -> pd.DataFrame:
    """Rows as :func:`lines` gave them, with numbers where they stand for numbers, and a column for reasons."""
    columns = dict.fromkeys(chain(TIDY, *rows, ("reason",)))
    texts = {name: [row.get(name, "") for row in rows] for name in columns}
    found = {name: pd.Series(text, dtype=object) for name, text in texts.items()}
    found["k"] = pd.array([int(k) if k else None for k in texts["k"]], dtype="Int64")
    found["split"] = pd.Series([int(s) if s.isdigit() else s for s in texts["split"]], dtype=object)
    # Python's own conversion reads every float back bit for bit.
    found["value"] = np.array([float(value) if value else math.nan for value in texts["value"]])
    for name in found.keys() - {*TIDY, "reason"}:
        with contextlib.suppress(ValueError):
            found[name] = pd.to_numeric(found[name])
    return pd.DataFrame(found)


def checked(frame: pd.DataFrame, source: str) -> pd.DataFrame:
    """``frame`` if it is tidy: all columns, no key twice, and a reason wherever there is no value."""
    if missing := [name for name in TIDY if name not in frame.columns]:
        raise ResultError(f"{source}: the rows lack the column {', '.join(missing)}; they need {', '.join(TIDY)}.")
    if frame.empty:
        raise ResultError(f"{source}: there are no rows. A number that cannot be computed is a row with a reason.")
    key = [name for name in frame.columns if name not in ("value", "reason")]
    if (twice := frame.duplicated(key)).any():
        raise ResultError(f"{source}: two rows have the same key {frame.loc[twice, key].iloc[0].to_dict()}.")
    reasons = frame["reason"].fillna("") if "reason" in frame else pd.Series("", index=frame.index)
    if (bare := ~np.isfinite(frame["value"].astype(float)) & (reasons == "")).any():
        row = frame.loc[bare, key].iloc[0].to_dict()
        raise ResultError(f"{source}: {row} has no finite value and no reason; state it in a column 'reason'.")
    return frame


def to_json(record: Mapping) -> bytes:
    """A record as JSON: keys in order, one per line."""
    return (json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _text(value: object) -> str:
    if value is None or value is pd.NA:
        return ""
    if hasattr(value, "item"):  # a NumPy scalar: its own text would carry the type
        value = value.item()
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(value)
    return str(value)


def _rank(text: str) -> tuple:
    with contextlib.suppress(ValueError):
        return (0, float(text), text)
    return (1, 0.0, text)
