"""A method of a reader's own on all tables whose rows are shipped, ranked among all stored methods.

The class is loaded by :mod:`compendium.own`; what is computed is the unit of the notebook of the comparison, table by
table, and kept as every run of one's own, so that a run which was interrupted goes on.
"""

import contextlib
import html
import io
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import pandas as pd

from evenspan.core.errors import ConfigurationError, FairError

from .. import data as datasets
from .. import own, records, store
from ..catalogue import Experiment, experiment
from ..engine import inspect_study
from ..errors import did_you_mean
from ..papers.across import protocol as across
from ..papers.across import summary
from ..papers.zhou2024 import protocol as zhou2024
from ..study import Study, duration
from . import leaderboard, tables
from .leaderboard import ATTACKED, CLUSTERS, CONCERNS, LINEAR

STYLE = """
body { max-width: 80rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 Georgia, serif; color: #22262a; }
.table-scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font: 0.82rem/1.4 system-ui, sans-serif; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: 0.3rem; }
th, td { text-align: left; padding: 0.25rem 0.8rem 0.25rem 0; border-bottom: 1px solid #d9d5ca; }
"""


def submit(method: str, folder: Path, wanted: Sequence[str], sizes: str, splits: int, say: Callable) -> Path:
    """Compute the class ``FILE:CLASS`` on the wanted tables, or on all, and write rows, record and page; its path."""
    ((name, kind),) = own.methods(method, lambda kind: kind).items()
    begun = time.perf_counter()
    entry = experiment(CLUSTERS if own.is_clustering(kind) else LINEAR)
    one_fit = time.perf_counter() - begun
    known = across.DATASETS if entry.id == LINEAR else {*datasets.names()} & {*datasets.clusterings()}
    known = [table for table in known if datasets.entry(table).shipped]
    if strange := [table for table in wanted if table not in known]:
        near = did_you_mean(strange[0], known) or f"{name} can have {', '.join(sorted(known))}."
        raise ConfigurationError(f"There is no table {', '.join(strange)}. {near}")
    at = [int(size) if size.strip().isdigit() else 0 for size in sizes.split(",")]
    if not {*at} <= {*across.COMPONENTS}:
        raise ConfigurationError(f"sizes={sizes!r}; the others are stored at {', '.join(map(str, across.COMPONENTS))}.")
    given = {"method": method} | ({"seeds": splits} if entry.id == CLUSTERS else {"splits": splits, "sizes": sizes})
    known = [table for table in wanted or known if entry.id == CLUSTERS or min(at) < across.DATASETS[table].d]
    planned = {table: plan(entry, name, table, given) for table in known}
    due = [table for table, (study, task) in planned.items() if not study.stored(task)]
    fits = splits * sum(1 if entry.id == CLUSTERS else sum(k < across.DATASETS[table].d for k in at) for table in due)
    say(
        f"{len(known)} tables, {len(known) - len(due)} of them stored already, {fits:,} fits. One to 12 rows took "
        f"{one_fit:.2g} s, so these take {duration(fits * one_fit)} at least."
    )
    units, failed = evaluate(planned, say)
    if not units:
        why = "; ".join(dict.fromkeys(failed.values())) or f"sizes={sizes} leave none with more features"
        raise ConfigurationError(f"{name} has a value on no table: {why}.")
    target = folder / f"{name}.html"
    store.write(entry.id, {unit.name: unit for unit in units}, target.with_suffix(".json"))
    records.write(target, page(name, pd.concat([unit.frame for unit in units], ignore_index=True), failed).encode())
    return target


def plan(entry: Experiment, name: str, table: str, given: Mapping) -> tuple[Study, str]:
    """The study of one table, in which nothing is computed yet, and the name of the unit of the class."""
    with contextlib.redirect_stdout(io.StringIO()):
        study = inspect_study(entry, entry.complete({"dataset": table, **given}))
    return study, next(task for task, values in study.units.items() if name in values.values())


def evaluate(planned: Mapping[str, tuple[Study, str]], say: Callable) -> tuple[list[store.Unit], dict[str, str]]:
    """The stored units of a class, of each table one, computed where they are not stored; and why others have none."""
    units, failed, took = [], {}, []
    for place, (table, (study, task)) in enumerate(planned.items(), 1):
        begun, there = time.perf_counter(), study.stored(task)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(FairError):  # why: in what is left out
            study.compute([task], jobs=1)
        if made := study.stored(task):
            units.append(made)
            said = "stored already" if there else f"{made.record['seconds']:.1f} s"
            took += [] if there else [time.perf_counter() - begun]
        else:
            failed[table] = said = study.left_out[task]
        left = len(planned) - place
        said += f"; at this pace {duration(left * fmean(took))} are left" if left and took else ""
        say(f"[{place}/{len(planned)}] {table}: {said}")
    return units, failed


def page(name: str, mine: pd.DataFrame, failed: Mapping[str, str]) -> str:
    """The page: concerns, ranks and values by data set, fits, and what failed."""
    linear, tables_ = bool(mine["k"].notna().any()), mine["dataset"].unique()
    # Attackers are not tried on a class of one's own.
    concerns = [one for one in CONCERNS if (LINEAR in one.experiments) == linear and ATTACKED not in one.experiments]
    rows, _ = leaderboard.rows_of(concerns[0].experiments, 0.0)
    rows = pd.concat([rows[rows["dataset"].isin(tables_)], mine], ignore_index=True)
    sizes = sorted(mine["k"].dropna().unique()) if linear else [None]
    parts = [f"<h1>{name} among the methods of the compendium</h1>"]
    splits = mine.loc[mine["metric"] == "splits", "value"].max() if linear else mine["split"].nunique()
    shown = "Stored methods are means over up to ten splits, or ten seeds."
    parts.append(f"<p>{len(tables_)} tables, {splits:.0f} {'splits' if linear else 'seeds'}. {shown}</p>")
    size = sizes[0] if leaderboard.SIZE not in sizes else leaderboard.SIZE
    for concern in concerns:
        of = valued(name, rows, concern.metric, size)
        if (board := leaderboard.board(concern, of, size or leaderboard.SIZE)) is not None:
            at = f", {size} components" if linear else ""
            caption = f"{concern.title}{at}: {concern.metric}, critical difference {board[1]:.1f}"
            shown = board[0].replace({"method": {name: f"<strong>{name}</strong>"}})
            parts.append(tables.table(shown, caption=caption).data)
    parts.append("<h2>By data set</h2><p>Rank among the methods that have a value there, and the value.</p>")
    for k in sizes:
        caption = f"{k} components" if linear else "Clusters"
        parts.append(tables.table(by_table(name, rows, k), caption=caption).data)
    said = "A certificate is what the class says of its own answer. One of the last step alone counts for none."
    parts.append(f"<h2>Certificate and time</h2><p>{said}</p>")
    parts.append(tables.table(fits(mine), caption="Fits").data)
    lost = mine.loc[(mine["metric"] == summary.COST) & mine["value"].isna(), ["dataset", "k", "reason"]]
    whole = pd.DataFrame([(table, "all", why) for table, why in failed.items()], columns=lost.columns)
    lost = pd.concat([whole, lost.astype(object)]).assign(reason=lambda rows: rows["reason"].map(html.escape))
    if len(lost):
        parts.append(tables.table(lost, caption="Where there is no number, and why").data)
    head = f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{name}</title>'
    return f"{head}<style>{STYLE}</style></head><body>\n" + "\n".join(parts) + "\n</body></html>\n"


def valued(name: str, rows: pd.DataFrame, metric: str, k: int | None) -> pd.DataFrame:
    """The rows of the tables on which a method has a value of a metric."""
    mine = rows[(rows["method"] == name) & (rows["metric"] == metric) & rows["value"].notna()]
    return rows[rows["dataset"].isin((mine[mine["k"] == k] if k else mine)["dataset"])]


def by_table(name: str, rows: pd.DataFrame, k: int | None) -> pd.DataFrame:
    """Rank and value of a method, a line for each data set and a column for each measure, below the average ranks."""
    lines, values = [], summary.values if k else lambda metric, _, rows: leaderboard.clusterings(rows, metric)
    parts = {table: rows[rows["dataset"] == table] for table in rows.loc[rows["method"] == name, "dataset"].unique()}
    for title in ("average rank", *parts):
        line = {"data set": title}
        for metric in across.METRICS if k else zhou2024.METRICS:
            some = parts[title] if title in parts else valued(name, rows, metric, k)
            ranked = leaderboard.ranks(metric, k, some)
            there = name in ranked and len(ranked)
            rank = f"{ranked[name].mean():.3g} of {ranked.shape[1]}" if there and ranked.shape[1] > 1 else ""
            value = f"{values(metric, k, some)[name].iloc[0]:.3g}" if there and title in parts else ""
            line[metric] = ": ".join(filter(None, [rank, value])) or "–"
        lines.append(line)
    return pd.DataFrame(lines)


def fits(mine: pd.DataFrame) -> pd.DataFrame:
    """For each data set and number of components whether the fits are certified, and the mean seconds of one."""
    some = mine[mine["metric"].isin(across.FACTS)]
    some = some.assign(k=some["k"].astype(object).where(some["k"].notna(), "–"))
    wide = some.pivot_table("value", ["dataset", "k"], "metric", sort=False).reset_index()
    wide = wide.reindex(columns=["dataset", "k", *across.FACTS])  # none where every fit failed
    share = wide["certified"].fillna(0.0)
    words = share.map(lambda share: {0.0: "no", 1.0: "yes"}.get(share, f"{share:.0%} of splits"))
    return wide[["dataset", "k"]].assign(certified=words, seconds=wide["seconds"].map("{:.2g}".format))
