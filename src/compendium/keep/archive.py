"""The release archive: sources, results with their description and the built book in one file, always the same bytes.

.. code-block:: text

    evenspan-VERSION/
        README.txt      what is here, of which commit, and how to check it
        SHA256SUMS      of every other file, for 'sha256sum -c'
        source/         the files under version control, requirements.lock among them
        results/        the results as an RO-Crate
        book/           the built book: open book/index.html
        evenspan-VERSION.pdf     the book on paper, if it was made

Names, owners, times and the order of the members follow from the content and the commit alone.
"""

import importlib.metadata
import io
import lzma
import os
import re
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from evenspan.core.errors import ConfigurationError, ResultError

from .. import paths, records
from ..book.progress import bar
from . import book_pdf, crate, ingredients

SUMS = "SHA256SUMS"
#: What is made in a checkout and is no source; only used where there is no git to ask.
_MADE = {".git", ".venv", "_build", "_site", ".snakemake", "__pycache__"}
_MADE |= {".pytest_cache", ".ruff_cache", ".hypothesis", ".ipynb_checkpoints", ".jupyter_cache"}


@dataclass(frozen=True)
class Sources:
    """The files under version control, their commit, its time, and what differs from it."""

    files: tuple[Path, ...]
    commit: str
    time: int
    changes: tuple[str, ...]


@dataclass(frozen=True)
class Written:
    """A written archive: where it is, its size and digest, and how many files of how many bytes it holds."""

    path: Path
    bytes: int
    sha256: str
    files: int
    unpacked: int


def write(folder: Path, *, allow_dirty: bool = False, preset: int = 6) -> Written:
    """Write the archive of the checkout and, beside it, its checksum.

    Parameters
    ----------
    folder : Path
        Where; it is made if it does not exist.
    allow_dirty : bool
        Accept sources that differ from their commit; the name of the archive says so.
    preset : int
        Effort of the compression, 0 to 9.

    Returns
    -------
    Written
        What was written.

    Raises
    ------
    ResultError
        The sources differ from their commit, the book or its PDF is missing or older than its sources, or a result is
        not the one that its record describes. The message says what to do.
    """
    found = sources()
    if found.changes and not allow_dirty:
        raise ResultError(
            f"{len(found.changes)} files differ from the commit {found.commit[:12]}: {_some(found.changes)}. Commit "
            "them, or give --allow-dirty, which marks the archive in its name."
        )
    book = _book()
    version = importlib.metadata.version("evenspan")
    known = re.fullmatch("[0-9a-f]{40}", found.commit)
    stem = f"evenspan-{version}" + (f"-{found.commit[:12]}" if known else "") + ("-dirty" if found.changes else "")
    top = f"evenspan-{version}"
    with tempfile.TemporaryDirectory() as scratch:
        results = crate.write(Path(scratch, "results")).parent
        members = {f"source/{path.relative_to(paths.root()).as_posix()}": path for path in found.files}
        for name, part in (("results", results), ("book", book)):
            members |= {f"{name}/{one.relative_to(part).as_posix()}": one for one in _files(part)}
        if pdf := book_pdf.current(book):
            members[pdf.name] = pdf
        return _write(Path(folder), stem, top, members, found, preset)


def _write(folder: Path, stem: str, top: str, members: dict[str, Path], found: Sources, preset: int) -> Written:
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{stem}.tar.xz"
    partial = target.with_name(f".{target.name}.part")
    readme = _readme(top, found).encode()
    sums = {"README.txt": records.digest(readme)}
    # Files of one name are often copies of each other, and the compression only sees what lies close together.
    order = sorted(members, key=lambda name: (Path(name).name, name))
    unpacked = len(readme)
    try:
        with (
            lzma.open(partial, "wb", preset=preset) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
            bar("archive", len(order)) as advance,
        ):
            _add(tar, f"{top}/README.txt", readme, found.time)
            for name in order:
                content = members[name].read_bytes()
                sums[name] = records.digest(content)
                unpacked += len(content)
                _add(tar, f"{top}/{name}", content, found.time, executable=os.access(members[name], os.X_OK))
                advance()
            listed = "".join(f"{sums[name]}  {name}\n" for name in sorted(sums)).encode()
            _add(tar, f"{top}/{SUMS}", listed, found.time)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    own = _digest(target)
    records.write(target.with_name(f"{target.name}.sha256"), f"{own}  {target.name}\n".encode())
    return Written(target, target.stat().st_size, own, len(sums) + 1, unpacked + len(listed))


def _add(tar: tarfile.TarFile, name: str, content: bytes, time: int, executable: bool = False) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode = len(content), time, 0o755 if executable else 0o644
    tar.addfile(member, io.BytesIO(content))


def sources() -> Sources:
    """The files of the checkout; without git, whatever is there and is not made."""
    root = paths.root()
    commit, _ = records.commit()
    if commit.startswith("unknown"):
        found = (p for p in sorted(root.rglob("*")) if p.is_file() and not _MADE & set(p.relative_to(root).parts))
        files = tuple(p for p in found if not any(x.endswith(".egg-info") for x in p.relative_to(root).parts))
        return Sources(files, commit, _last_result(), ())
    listed = [root / name for name in _git("ls-files", "-z").split("\0") if name]
    if links := [path for path in listed if path.is_symlink()]:
        raise ResultError(f"{_some([str(path) for path in links])} is a link; an archive holds files only. Replace it.")
    changes = [line[3:] for line in _git("status", "--porcelain", "-z").split("\0") if line]
    return Sources(
        tuple(path for path in listed if path.is_file()),
        commit,
        int(_git("log", "-1", "--format=%ct")),
        tuple(changes),
    )


def _git(*words: str) -> str:
    command = ["git", "--no-optional-locks", "-C", str(paths.root()), *words]
    return subprocess.run(command, capture_output=True, check=True).stdout.decode()


def _last_result() -> int:
    stored = paths.results().rglob("*.json") if paths.results().is_dir() else ()
    times = [datetime.fromisoformat(one["finished"]) for path in stored for one in records.read(path)["units"].values()]
    return int(max(times, default=datetime.fromtimestamp(0, UTC)).timestamp())


def _book() -> Path:
    book = paths.build("html")
    if not (book / "index.html").is_file():
        raise ResultError(f"There is no book in {book}: run 'make book' first.")
    if differing := ingredients.changed(book):
        raise ResultError(
            f"The book in {book} is older than its sources: {_some(differing)}. Run 'make book', then this again."
        )
    return book


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


def _some(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _digest(path: Path) -> str:
    import hashlib

    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _readme(top: str, found: Sources) -> str:
    state = f"{len(found.changes)} files differ from it" if found.changes else "nothing differs from it"
    when = datetime.fromtimestamp(found.time, UTC).isoformat(timespec="seconds")
    known = not found.commit.startswith("unknown")
    origin = f"commit {found.commit} of {when}; {state}" if known else f"commit {found.commit}; last result of {when}"
    return f"""{top}: the reproducible compendium of fair PCA and fair clustering

Made from {origin}.

book/index.html    the book, to be read in a browser; a PDF beside this file, if there is one, is the same on paper
results/           results of the full runs; ro-crate-metadata.json says what each file is and how it was made
source/            everything that is under version control; requirements.lock holds the environment, with hashes
{SUMS}         checksums of every file here

Check it without unpacking:   python -m compendium archive --verify {top}-....tar.xz
Check it unpacked:            sha256sum -c {SUMS}
Make everything again:        cd source && make book
Cite it as source/CITATION.cff says. Licences: source/LICENSE (code), source/LICENSE-text.md (text and figures).
"""


def open_archive(path: Path) -> tarfile.TarFile:
    """An archive opened for reading."""
    if not Path(path).is_file():
        raise ConfigurationError(f"There is no file {path}; name an archive that 'python -m compendium archive' wrote.")
    try:
        return tarfile.open(path, mode="r:xz")
    except (tarfile.TarError, lzma.LZMAError, EOFError) as error:
        raise ResultError(f"{path} is no archive or is damaged ({error}). Fetch it again.") from error
