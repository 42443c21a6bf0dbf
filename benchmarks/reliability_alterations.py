"""One byte of a committed file changed: what notices it, and whether it names the file (see :mod:`reliability`)."""

import os
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from typer.testing import CliRunner

from compendium import data as datasets
from compendium import paths, provenance, seals
from compendium.cli import app
from compendium.data import registry
from compendium.ledger import table as ledger
from compendium.ledger import verdicts
from compendium.recheck import tolerances
from compendium.store import read_results
from evenspan.core.errors import FairError

#: Kinds of files, and the share of the trials that each gets.
KINDS = {
    "results of full runs": ("data/results/full/*/*.csv", 50),
    "records of full runs": ("data/results/full/*/*.json", 40),
    "shipped moments": ("data/moments/*/*.npz", 30),
    "records of moments": ("data/moments/*/record.json", 10),
    "registry of data": ("data/registry.toml", 25),
    "published tables": ("data/paper/*.csv", 20),
    "rules": ("data/tolerances.yml", 10),
    "declared versions": ("data/versions.yml", 5),
    "ledger": ("data/results/ledger.csv", 10),
    "seals": ("data/checksums.txt", 5),
}
SEALS, LEDGER, READING = "python -m compendium verify --files", "the ledger computed again", "reading"
#: Kinds that the ledger is computed from, or is.
IN_LEDGER = ("results of full runs", "records of full runs", "published tables", "rules", "ledger")
#: It takes seconds: asked in the first trials of each of these kinds only.
LEDGER_TRIALS = 2
HOWS = ("any byte", "another digit")


@contextmanager
def rooted(root: Path):
    """Inside, evenspan works in another checkout."""
    before = os.environ.get("EVENSPAN_ROOT")
    os.environ["EVENSPAN_ROOT"] = str(root)
    paths.root.cache_clear()
    registry.read.cache_clear()
    try:
        yield
    finally:
        os.environ.pop("EVENSPAN_ROOT") if before is None else os.environ.update(EVENSPAN_ROOT=before)
        paths.root.cache_clear()
        registry.read.cache_clear()


@contextmanager
def altered(path: Path, how: str, rng: np.random.Generator):
    """Inside, one byte of a file is another; yields its position, the byte before and the byte now."""
    content = path.read_bytes()
    digits = [place for place, byte in enumerate(content) if 48 <= byte <= 57]
    if how == "another digit" and digits and path.suffix != ".npz":
        place = int(rng.choice(digits))
        now = 48 + (content[place] - 48 + int(rng.integers(1, 10))) % 10
    else:
        place = int(rng.integers(len(content)))
        now = content[place] ^ int(rng.integers(1, 256))
    try:
        path.write_bytes(content[:place] + bytes([now]) + content[place + 1 :])
        yield place, content[place], now
    finally:
        path.write_bytes(content)


def command(*words: str) -> Callable[[], None]:
    """A command of evenspan, run in this process: what it says is raised where it fails."""

    def work() -> None:
        ended = CliRunner().invoke(app, list(words))
        if ended.exit_code:
            told = ended.exception is None or isinstance(ended.exception, SystemExit)
            raise FairError(ended.output) if told else ended.exception

    return work


def judge_again() -> None:
    """What ``ledger --check`` does first: judge every number again and compare with the committed ledger."""
    ledger.check(ledger.ledger())


def reading(kind: str, path: Path) -> Callable[[], object]:
    """What the package does when it needs such a file."""
    name = path.parent.name
    if kind in ("results of full runs", "records of full runs"):
        return lambda: read_results(name)
    if kind == "shipped moments":
        return lambda: load_moments(name, path.stem)
    if kind == "records of moments":
        first = min(path.parent.glob("*.npz"))
        return lambda: load_moments(name, first.stem)
    return {
        "registry of data": lambda: [datasets.entry(one).checksum() for one in datasets.names()],
        "published tables": lambda: ledger.published(),
        "rules": lambda: (verdicts.rules(), tolerances("rathore2025-tables")),
        "declared versions": lambda: provenance.versions("rathore2025-tables", ["JEVD-PCA"]),
    }.get(kind, lambda: path.read_text(encoding="utf-8"))


def load_moments(name: str, stem: str) -> object:
    """Moments of a data set by the name of their file, as the experiments load them."""
    if stem == "whole":
        return datasets.whole_moments(name)
    if stem == "protocol":
        return [datasets.fold_moments(name, seed) for seed in range(10)]
    part, _, split = stem.partition("_")
    return datasets.shipped_moments(name, int(split), part)


def outcome(work: Callable[[], object]) -> tuple[str, str]:
    """``unseen``, ``told`` (an error in plain words) or ``crashed`` (any other error), and the words."""
    try:
        work()
    except FairError as error:
        return "told", str(error)
    except (ValueError, KeyError, TypeError, AttributeError, OSError, LookupError, yaml.YAMLError) as error:
        return "crashed", f"{type(error).__name__}: {error}"
    return "unseen", ""


def measure_alterations(root: Path, seed: int, trials: int = 200) -> dict[str, pd.DataFrame]:
    """Alter one file after the other in a fresh clone, and ask everything that might notice."""
    rng = np.random.default_rng(seed)
    shares = np.array([share for _, share in KINDS.values()])
    rows = []
    with rooted(root):
        ledger.write(ledger.ledger())
        seals.write()  # the copy as it is
        for kind, count in zip(KINDS, np.round(trials * shares / shares.sum()).astype(int), strict=True):
            files = sorted(root.glob(KINDS[kind][0]))
            for number in range(count):
                path, how = files[rng.integers(len(files))], HOWS[number % 2]
                with altered(path, how, rng) as (place, before, now):
                    registry.read.cache_clear()
                    asked = kind in IN_LEDGER and number < LEDGER_TRIALS
                    row = {"kind": kind, "file": path.relative_to(root).as_posix(), "place": place}
                    row |= {"how": how, "byte": f"{before:02x} to {now:02x}"}
                    rows.append(row | trial(kind, path, row["file"], asked))
                print(rows[-1], flush=True)
        registry.read.cache_clear()
        for work in (command("verify", "--files"), judge_again):  # control: the copy is whole, and nobody complains
            state, text = outcome(work)
            if state != "unseen":
                raise SystemExit(f"the unaltered copy is complained of: {text}")
    return {"alterations": pd.DataFrame(rows)}


def trial(kind: str, path: Path, file: str, with_ledger: bool) -> dict:
    """Everything that might notice the alteration, asked once."""
    row = {}
    for asked, work in {
        SEALS: command("verify", "--files"),
        LEDGER: judge_again if with_ledger else None,
        READING: reading(kind, path),
    }.items():
        state, text = ("not asked", "") if work is None else outcome(work)
        row |= {asked: state, f"{asked}: named": file in text.replace("\n", "")}  # a terminal may wrap a long path
    return row
