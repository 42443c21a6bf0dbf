"""An audit written to a folder, whole or not at all; and the lines that make it again or use what it made."""

import importlib.metadata
import json
import platform
import pprint
import re
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.errors import ConfigurationError
from .page.blocks import svg

if TYPE_CHECKING:
    from .run import Audit

SETTINGS, REPORT = "settings.json", "report.html"
#: The executed notebook of the command line lies beside the report.
NOTEBOOK = "audit.ipynb"
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
_ARGUMENTS = (
    "sensitive", "target", "k", "methods", "concern", "missing", "intersections", "standardize", "holdout", "exclude",
    "keep", "n_boot", "random_state",
)  # fmt: skip


# -- the folder --------------------------------------------------------------------------------------------------------


def write(audit: "Audit", folder: Path) -> list[Path]:
    """Write everything; see ``Audit.write``."""
    require_free(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = not folder.exists()
    # Inside an existing folder, which may be the one that this process works in; beside one that is not there yet.
    stage = Path(tempfile.mkdtemp(prefix=".audit-", dir=folder.parent if fresh else folder))
    try:
        names = _fill(audit, stage)
        if fresh:
            stage.chmod(0o755)  # mkdtemp makes it private
            stage.rename(folder)
        else:
            _replace(stage, folder)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return [folder / name for name in names]


def require_free(folder: Path) -> None:
    """Refuse a folder that holds anything but an earlier audit; hidden files do not count."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ConfigurationError(
            f"{folder} is a file; needed is the name of a folder for the report. Name another one."
        )
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    there = {name for name in there if not any(part.startswith(".") for part in name.split("/"))}
    foreign = sorted(there - {NOTEBOOK, SETTINGS, *_written(folder)})
    if foreign:
        raise ConfigurationError(
            f"{folder} holds {len(foreign)} file(s) that are not from an audit ({', '.join(foreign[:5])}"
            f"{', ...' if len(foreign) > 5 else ''}). Nothing was written; name another folder, or move them away."
        )


def _written(folder: Path) -> list[str]:
    """The files that an earlier audit says it has written."""
    try:
        return [str(name) for name in json.loads((folder / SETTINGS).read_text(encoding="utf-8"))["files"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _fill(audit: "Audit", stage: Path) -> list[str]:
    from ..saving import save

    for name in ("tables", "figures", "transformers"):
        (stage / name).mkdir()
    (stage / REPORT).write_text(audit.to_html(), encoding="utf-8")
    for name, table in audit.tables.items():
        table.to_csv(stage / "tables" / f"{name}.csv", index=False, lineterminator="\n")
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


def _replace(stage: Path, folder: Path) -> None:
    """Move what is in the stage to its places, the settings last: they list what belongs to the report."""
    old = set(_written(folder))
    new = sorted(path.relative_to(stage) for path in stage.rglob("*") if path.is_file())
    for name in sorted(new, key=lambda path: path.as_posix() == SETTINGS):
        (folder / name).parent.mkdir(exist_ok=True)
        (stage / name).replace(folder / name)
    for name in old - {path.as_posix() for path in new}:
        (folder / name).unlink(missing_ok=True)


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
