"""How an audit was made, and the lines that make it again or use what it made."""

import importlib.metadata
import platform
import pprint
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .result import Audit

#: Packages that decide a number, with evenspan first.
PACKAGES = ("evenspan", "numpy", "scipy", "pandas", "scikit-learn", "threadpoolctl")
#: What an audit calls a table that is no file.
FRAME = "table"
#: Options of the command by argument of ``evenspan.audit``, with the value that need not be named.
OPTIONS = {
    "target": ("--target", None),
    "concern": ("--concern", "losses"),
    "missing": ("--missing", "error"),
    "holdout": ("--holdout", 0.3),
    "n_boot": ("--bootstrap", 1000),
    "random_state": ("--seed", 0),
}


def command(settings: dict) -> str:
    """The command line that makes the same audit, from the folder of the table."""
    words = ["evenspan", "audit", settings["table"]]
    for name in settings["sensitive"]:
        words += ["--sensitive", name]
    words += ["-k", sizes_text(settings["k"])]
    for name in settings["methods"]:
        words += ["--methods", name]
    for option in ("exclude", "keep"):
        for name in settings[option]:
            words += [f"--{option}", name]
    for argument, (option, default) in OPTIONS.items():
        if settings[argument] != default and settings[argument] is not None:
            words += [option, str(settings[argument])]
    words += ["--intersections"] if settings["intersections"] else []
    words += [] if settings["standardize"] else ["--no-standardize"]
    quoted = [shlex.quote(str(word)) for word in words]
    lines = [quoted[:3]]
    for word in quoted[3:]:
        # One option a line; values stay with theirs.
        if word.startswith("-"):
            lines.append([word])
        else:
            lines[-1].append(word)
    return " \\\n    ".join(" ".join(line) for line in lines)


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


_ARGUMENTS = (
    "sensitive", "target", "k", "methods", "concern", "missing", "intersections", "standardize", "holdout", "exclude",
    "keep", "n_boot", "random_state",
)  # fmt: skip
