"""Where a stored number comes from, in words: the record beside it, read and told.

Records are written by :mod:`evenspan.experiments.store`; this module only reads them.
"""

from collections.abc import Mapping

from .. import paths
from ..errors import ResultError
from ..experiments import records
from ..experiments.catalogue import experiment

#: Shown facts, in this order: field of the record and how it is said.
FACTS = {
    "command": "Command",
    "parameters": "Parameters",
    "seed": "Seed",
    "data_sha256": "Data (SHA-256)",
    "source_sha256": "Sources (SHA-256)",
    "lock_sha256": "Environment lock (SHA-256)",
    "sha256": "Result (SHA-256)",
    "commit": "Commit",
    "python": "Python",
    "packages": "Packages",
    "machine": "Machine",
    "seconds": "Seconds",
    "peak_memory_mib": "Peak memory (MiB)",
    "finished": "Finished",
}


def record(experiment_id: str, task: str, profile: str = "full") -> dict:
    """The record of one stored result."""
    experiment(experiment_id)
    path = paths.results(profile, experiment_id, f"{task}.json")
    if not path.is_file():
        raise ResultError(
            f"{path} does not exist: the task {task} has no stored result. Compute it: evenspan run {experiment_id} "
            f"--profile {profile}"
        )
    return records.read(path)


def facts(record: Mapping) -> dict[str, str]:
    """What a reader should know about a result, label by label."""
    told = {label: _words(record[name]) for name, label in FACTS.items() if record.get(name) is not None}
    if record.get("dirty"):
        told["Commit"] += " and changes that are not in it"
    return told


def markdown(record: Mapping) -> str:
    """The facts as a Markdown table."""
    rows = "\n".join(f"| {label} | {_cell(label, text)} |" for label, text in facts(record).items())
    return f"| Provenance | |\n|---|---|\n{rows}\n"


def this_build() -> dict[str, str]:
    """Commit, versions and machine of the running process, as a record would state them."""
    import platform

    commit, dirty = records.commit()
    return facts(
        {
            "commit": commit,
            "dirty": dirty,
            "python": platform.python_version(),
            "packages": records.versions(),
            "machine": f"{platform.system()} {platform.machine()}",
        }
    )


def _words(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {part}" for name, part in value.items())
    return str(value)


def _cell(label: str, text: str) -> str:
    text = text.replace("|", "\\|")
    return f"`{text}`" if "SHA" in label or label in ("Command", "Commit") else text
