"""An audit written to a folder, whole or not at all; and the lines that make it again or use what it made."""

import importlib.metadata
import json
import os
import platform
import pprint
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from pandas.api.types import is_numeric_dtype

from .page.blocks import svg
from .places import REPORT, SETTINGS, placed

if TYPE_CHECKING:
    import pandas as pd

    from .run import Audit

#: Name of the variable with the folder that a notebook fills for the command that executes it.
STAGE = "EVENSPAN_STAGE"
#: What a cell begins with that a spreadsheet computes, and what a number looks like, which may begin so.
FORMULA = "=+-@\t\n＝＋－＠"
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
#: Packages that decide a number, with evenspan first.
PACKAGES = ("evenspan", "numpy", "scipy", "pandas", "scikit-learn", "threadpoolctl")
#: What an audit calls a table that is no file.
FRAME = "table"
#: Options of the command by argument of ``evenspan.audit``, with the value that need not be named.
OPTIONS = {
    "target": ("--target", None),
    "concern": ("--concern", "losses"),
    "missing": ("--missing", "error"),
    "decimal": ("--decimal", None),
    "thousands": ("--thousands", None),
    "skip_rows": ("--skip-rows", 0),
    "holdout": ("--holdout", 0.3),
    "n_boot": ("--bootstrap", 1000),
    "random_state": ("--seed", 0),
}
_ARGUMENTS = (
    "sensitive", "target", "k", "methods", "concern", "missing", "intersections", "standardize", "holdout", "exclude",
    "keep", "decimal", "thousands", "skip_rows", "header", "n_boot", "random_state",
)  # fmt: skip


# -- the folder --------------------------------------------------------------------------------------------------------


def write(audit: "Audit", folder: Path) -> list[Path]:
    """Write everything; see ``Audit.write``."""
    if os.environ.get(STAGE) == os.path.abspath(folder):  # the command gives it its name
        return [folder / name for name in _fill(audit, folder)]
    with placed(folder, replace=True) as stage:
        names = _fill(audit, stage)
    return [folder / name for name in names]


def _fill(audit: "Audit", stage: Path) -> list[str]:
    from ..saving import save

    for name in ("tables", "figures", "transformers"):
        (stage / name).mkdir()
    (stage / REPORT).write_text(audit.to_html(), encoding="utf-8")
    for name, table in audit.tables.items():
        harmless(table).to_csv(stage / "tables" / f"{name}.csv", index=False, lineterminator="\n")
    # Figures that somebody has asked for may have been changed since; otherwise they are those of the report.
    own = vars(audit).get("figures")
    drawings = audit.drawings if own is None else {name: svg(figure) for name, figure in own.items()}
    for name, drawing in drawings.items():
        (stage / "figures" / f"{file_name(name)}.svg").write_bytes(drawing)
    for wanted, name in transformer_names(audit).items():
        save(audit.pipeline(*wanted), stage / "transformers" / f"{name}.npz")
    names = sorted(path.relative_to(stage).as_posix() for path in stage.rglob("*") if path.is_file())
    answers = [answer(found) for found in audit.recommendation.values()]
    settings = {**audit.settings, "answers": answers, "files": [*names, SETTINGS]}
    (stage / SETTINGS).write_text(json.dumps(settings, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return [*names, SETTINGS]


def harmless(table: "pd.DataFrame") -> "pd.DataFrame":
    """The table with an apostrophe before each text that a spreadsheet would take for a formula; numbers stay.

    A carriage return, which would begin a row, is written as the two characters ``\\r``.
    """

    def cell(value):
        if not isinstance(value, str):
            return value
        value = value.replace("\r", "\\r")
        return f"'{value}" if value and value[0] in FORMULA and not NUMBER.fullmatch(value) else value

    texts = [name for name in table if not is_numeric_dtype(table[name])]
    return table.assign(**{name: table[name].map(cell) for name in texts})


def answer(found) -> str:
    """The recommendation in one line."""
    kept = "keep PCA" if found.keeps_pca else f"use {found.method}"
    return f"{found.attribute}: {kept}, k = {found.k}. {found.reason[0]} {found.reason[1]}"


def transformer_names(audit: "Audit") -> dict[tuple, str]:
    """Files of the transformers by ``(method, k, attribute)``; without method and k the recommended one."""
    texts = {(None, None, attribute): attribute for attribute in audit.recommendation}
    for attribute, advice in audit.recommendation.items():
        for method in audit.methods:
            if (attribute, method, advice.k) in audit.estimators:
                texts[(method, advice.k, attribute)] = f"{attribute} {method} k{advice.k}"
    found: dict[tuple, str] = {}
    for wanted, text in texts.items():
        plain = name = file_name(text)
        number = 2
        while name in found.values():  # the attributes "a b" and "a-b" are told apart
            name, number = f"{plain}-{number}", number + 1
        found[wanted] = name
    return found


def file_name(text: str) -> str:
    """A name that every file system takes: letters, digits and hyphens."""
    return re.sub(r"[^\w]+", "-", text).strip("-").lower() or "file"


# -- again -------------------------------------------------------------------------------------------------------------


def command(settings: dict) -> str:
    """The command line that makes the same audit, from the folder of the table: one option a line."""
    options = [("--sensitive", name) for name in settings["sensitive"]]
    options += [("-k", sizes_text(settings["k"])), *(("--methods", name) for name in settings["methods"])]
    options += [(f"--{option}", name) for option in ("exclude", "keep") for name in settings[option]]
    for argument, (option, default) in OPTIONS.items():
        if settings[argument] != default and settings[argument] is not None:
            options.append((option, settings[argument]))
    options += [("--intersections",)] if settings["intersections"] else []
    options += [] if settings["header"] is None else [("--header" if settings["header"] else "--no-header",)]
    options += [] if settings["standardize"] else [("--no-standardize",)]
    lines = [("evenspan", "audit", settings["table"]), *options]
    return " \\\n    ".join(" ".join(shlex.quote(str(word)) for word in line) for line in lines)


def sizes_text(sizes: list[int]) -> str:
    """Numbers of components as the command reads them: ``1..10``, or ``2,5``."""
    first, last = sizes[0], sizes[-1]
    whole = last > first and sizes == list(range(first, last + 1))
    return f"{first}..{last}" if whole else ",".join(map(str, sizes))


def call(settings: dict) -> str:
    """The same in Python."""
    table = settings["table"]
    lines = [f"    {'table' if table == FRAME else repr(table)},"]
    for name in _ARGUMENTS:
        value = pprint.pformat(settings[name], width=100, compact=True).replace("\n", "\n" + 5 * " " + len(name) * " ")
        lines.append(f"    {name}={value},")
    return "\n".join(["import evenspan", "", "result = evenspan.audit(", *lines, ")", "result.write('report')"])


def use(name: str) -> str:
    """Lines that load the recommended transformer, from the folder of the report."""
    return "\n".join(
        [
            "import evenspan",
            "import pandas as pd",
            "",
            f"reduce = evenspan.load({f'transformers/{name}.npz'!r})  # encoder and projection in one pipeline",
            "rows = pd.read_csv('new_rows.csv')",
            "components = reduce.transform(rows)",
            "",
            "# as a step before any scikit-learn estimator, left as it was audited:",
            "from sklearn.frozen import FrozenEstimator",
            "from sklearn.linear_model import LogisticRegression",
            "from sklearn.pipeline import make_pipeline",
            "",
            "model = make_pipeline(FrozenEstimator(reduce), LogisticRegression())",
        ]
    )


def described(audit: "Audit") -> list[tuple[str, str]]:
    """Settings and versions as names and values."""
    settings, sample = audit.settings, audit.sample
    pairs = [
        ("Table", f"{settings['table']}, {sample.n_rows:,} rows, {len(sample.columns):,} columns"),
        ("Sensitive", ", ".join(settings["sensitive"])),
        ("Target", settings["target"] or "none"),
        ("To be alike", settings["concern"]),
        ("Components", sizes_text(settings["k"])),
        ("Methods", ", ".join(settings["methods"])),
        ("Missing values", settings["missing"]),
        ("Left out on request", ", ".join(settings["exclude"]) or "nothing"),
        ("Kept on request", ", ".join(settings["keep"]) or "nothing"),
        ("Standardised", "yes" if settings["standardize"] else "no"),
        ("Held out", f"{settings['holdout']:.0%} of the rows"),
        ("Bootstrap", f"{settings['n_boot']:,} draws of blocks of rows"),
        ("Seed", str(settings["random_state"]) if settings["random_state"] is not None else "a generator was given"),
        ("Python", platform.python_version()),
    ]
    return pairs + [(name, importlib.metadata.version(name)) for name in PACKAGES]
