"""The release archive: sources, results with their description and the built book in one file, always the same bytes.

.. code-block:: text

    evenspan-VERSION/
        README.txt      what is here, of which commit, and how to check it
        SHA256SUMS      of every other file, for 'sha256sum -c'
        source/         the files under version control, requirements.lock among them
        results/        the results as an RO-Crate
        book/           the built book: open book/index.html
        evenspan-VERSION.pdf     the book on paper, if it was made

Names, owners, times and the order of the members follow from the content and the commit alone. An archive is made in a
git checkout; it is checked anywhere, without unpacking it: every altered, missing, added or doubled file is named.
"""

import hashlib
import importlib.metadata
import io
import lzma
import os
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from evenspan.core.errors import ConfigurationError, ResultError

from .. import paths, records
from . import built, crate, pdf
from .changed_numbers import git
from .progress import shown

SUMS = "SHA256SUMS"


class Sources(NamedTuple):
    """The files under version control, their commit, its time, and what differs from it."""

    files: list[Path]
    commit: str
    time: int
    changes: list[str]


class Written(NamedTuple):
    """A written archive: where it is, its size and digest, and how many files of how many bytes it holds."""

    path: Path
    bytes: int
    sha256: str
    files: int
    unpacked: int


def write(folder: Path, *, allow_dirty: bool = False) -> Written:
    """Write the archive of the checkout into a folder, which is made if need be, and beside it its checksum.

    ``allow_dirty`` accepts sources that differ from their commit; the name of the archive says so.

    Raises
    ------
    ResultError
        This is no git checkout, the sources differ from their commit, the book or its PDF is missing or older than its
        sources, or a result is not the one that its record describes. The message says what to do.
    """
    found = sources()
    if found.changes and not allow_dirty:
        raise ResultError(
            f"{len(found.changes)} files differ from the commit {found.commit[:12]}: {_some(found.changes)}. Commit "
            "them, or give --allow-dirty, which marks the archive in its name."
        )
    book = built.there()
    if differing := built.changed(book):
        raise ResultError(
            f"The book in {book} is older than its sources: {_some(differing)}. Run 'make book', then this again."
        )
    top = f"evenspan-{importlib.metadata.version('evenspan')}"
    dirty = "-dirty" if found.changes else ""
    with tempfile.TemporaryDirectory() as scratch:
        results = crate.write(Path(scratch, "results")).parent
        members = {f"source/{path.relative_to(paths.root()).as_posix()}": path for path in found.files}
        for name, part in (("results", results), ("book", book)):
            files = (path for path in part.rglob("*") if path.is_file())
            members |= {f"{name}/{path.relative_to(part).as_posix()}": path for path in files}
        if paper := pdf.current(book):
            members[paper.name] = paper
        return _write(Path(folder, f"{top}-{found.commit[:12]}{dirty}.tar.xz"), top, members, found)


def sources() -> Sources:
    """The files of the checkout that are under version control, as they are now."""
    commit, _ = records.commit()
    if commit.startswith("unknown"):
        raise ResultError(
            f"An archive holds what git has under version control, and the commit of {paths.root()} is {commit}. "
            "Make it in a clone of the repository."
        )
    listed = [paths.root() / name for name in git("ls-files", "-z").decode().split("\0") if name]
    if links := [str(path) for path in listed if path.is_symlink()]:
        raise ResultError(f"{_some(links)} is a link; an archive holds files only. Replace it.")
    changes = [line[3:] for line in git("status", "--porcelain", "-z").decode().split("\0") if line]
    return Sources([path for path in listed if path.is_file()], commit, int(git("log", "-1", "--format=%ct")), changes)


def _write(target: Path, top: str, members: Mapping[str, Path], found: Sources, preset: int = 6) -> Written:
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.part")
    sums, unpacked = {}, 0

    def add(name: str, content: bytes, executable: bool = False) -> None:
        nonlocal unpacked
        member = tarfile.TarInfo(f"{top}/{name}")
        member.size, member.mtime, member.mode = len(content), found.time, 0o755 if executable else 0o644
        tar.addfile(member, io.BytesIO(content))
        sums[name] = records.digest(content)
        unpacked += len(content)

    # Files of one name are often copies of each other, and the compression only sees what lies close together.
    order = sorted(members, key=lambda name: (Path(name).name, name))
    try:
        with (
            lzma.open(partial, "wb", preset=preset) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
        ):
            add("README.txt", _readme(top, found).encode())
            for name in shown(order, "archive"):
                add(name, members[name].read_bytes(), os.access(members[name], os.X_OK))
            add(SUMS, built.sums(sums).encode())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    own = _digest(target)
    records.write(target.with_name(f"{target.name}.sha256"), f"{own}  {target.name}\n".encode())
    return Written(target, target.stat().st_size, own, len(sums), unpacked)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _readme(top: str, found: Sources) -> str:
    state = f"{len(found.changes)} files differ from it" if found.changes else "nothing differs from it"
    when = datetime.fromtimestamp(found.time, UTC).isoformat(timespec="seconds")
    return f"""{top}: the reproducible compendium of fair PCA and fair clustering

Made from commit {found.commit} of {when}; {state}.

book/index.html    the book, to be read in a browser; a PDF beside this file, if there is one, is the same on paper
results/           results of the full runs; ro-crate-metadata.json says what each file is and how it was made
source/            everything that is under version control; requirements.lock holds the environment, with hashes
{SUMS}         checksums of every file here

Check it without unpacking:   python -m compendium archive --verify {top}-....tar.xz
Check it unpacked:            sha256sum -c {SUMS}
Make everything again:        cd source && make book
Cite it as source/CITATION.cff says. Licences: source/LICENSE (code), source/LICENSE-text.md (text and figures).
"""


def verify(path: Path) -> tuple[int, str]:
    """Check every file of an archive against the list inside, and the archive against the checksum beside it.

    Returns how many files agree, and the checksum of the archive. Compare it with a published one: a list that was
    altered together with the files cannot be told from within.

    Raises
    ------
    ResultError
        Something does not agree; the message names every file.
    """
    path = Path(path)
    if not path.is_file():
        raise ConfigurationError(f"There is no file {path}; name an archive that 'python -m compendium archive' wrote.")
    found, listed, faults = _read(path)
    own, beside = _digest(path), path.with_name(f"{path.name}.sha256")
    if beside.is_file() and beside.read_text(encoding="utf-8").split()[:1] != [own]:
        faults.append(f"the archive is not the one that {beside.name} describes")
    if listed is None:
        faults.append(f"{SUMS} is missing")
    else:
        sums = built.read_sums(listed)
        if listed != built.sums(sums):
            faults.append(f"{SUMS} was altered: it is not in its own format")
        for name in sorted(sums.keys() | found.keys()):
            if sums.get(name) != found.get(name):
                state = "is missing" if name not in found else "was added" if name not in sums else "was altered"
                faults.append(f"{name} {state}")
    if faults:
        raise ResultError(f"{path} is not as it was made:\n  " + "\n  ".join(faults) + "\nFetch it again.")
    return len(found), own


def _read(path: Path) -> tuple[dict[str, str], str | None, list[str]]:
    """Digests by name below the archive's folder, the list of checksums, and names that are twice there or outside."""
    found, listed, faults, top = {}, None, [], None
    try:
        with tarfile.open(path, mode="r:xz") as tar:
            for member in shown(tar, "verify"):
                parts = PurePosixPath(member.name).parts
                top = top or parts[0]
                if not member.isfile() or ".." in parts or len(parts) < 2 or parts[0] != top or top == "/":
                    faults.append(f"{member.name} is outside of the archive's folder")
                    continue
                name, content = "/".join(parts[1:]), tar.extractfile(member).read()
                if name in found or (name == SUMS and listed is not None):
                    faults.append(f"{name} is there twice")
                if name == SUMS:
                    listed = content.decode("utf-8", errors="replace")
                else:
                    found[name] = records.digest(content)
    except (tarfile.TarError, lzma.LZMAError, EOFError, OSError) as error:
        raise ResultError(
            f"{path} is no archive or is damaged: after {len(found)} files, {error}. Fetch it again."
        ) from error
    return found, listed, faults
