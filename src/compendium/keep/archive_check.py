"""Check a release archive without unpacking it: every altered, missing, added or doubled file is named."""

import hashlib
import lzma
import re
import tarfile
from pathlib import Path, PurePosixPath

from evenspan.core.errors import ResultError

from ..book.progress import bar
from .archive import SUMS, open_archive


def verify(path: Path) -> tuple[int, str]:
    """Check every file of an archive against the list inside, and the archive against the checksum beside it.

    Parameters
    ----------
    path : Path
        The archive. If ``PATH.sha256`` lies beside it, the archive itself must have that checksum.

    Returns
    -------
    files : int
        How many files agree.
    sha256 : str
        Checksum of the archive. Compare it with a published one: a list that was altered together with the files
        cannot be told from within.

    Raises
    ------
    ResultError
        Something does not agree; the message names every file.
    """
    path = Path(path)
    found, doubled, foreign, listed = _read(path)
    with path.open("rb") as stream:
        own = hashlib.file_digest(stream, "sha256").hexdigest()
    faults = [f"{name} is outside of the archive's folder" for name in foreign]
    faults += [f"{name} is there twice" for name in doubled]
    beside = path.with_name(f"{path.name}.sha256")
    if beside.is_file() and beside.read_text(encoding="utf-8").split()[:1] != [own]:
        faults.append(f"the archive is not the one that {beside.name} describes")
    if listed is None:
        faults.append(f"{SUMS} is missing")
    else:
        text = listed.decode("utf-8", errors="replace")
        sums = {name: value for value, name in re.findall(r"^([0-9a-f]{64})  (.+)$", text, flags=re.MULTILINE)}
        if text != "".join(f"{sums[name]}  {name}\n" for name in sorted(sums)):
            faults.append(f"{SUMS} was altered: it is not in its own format")
        for name in sorted(sums.keys() | found.keys()):
            if sums.get(name) != found.get(name):
                state = "is missing" if name not in found else "was added" if name not in sums else "was altered"
                faults.append(f"{name} {state}")
    if faults:
        raise ResultError(f"{path} is not as it was made:\n  " + "\n  ".join(faults) + "\nFetch it again.")
    return len(found), own


def _read(path: Path) -> tuple[dict[str, str], list[str], list[str], bytes | None]:
    """Digests by name below the archive's folder, names that occur twice or lie outside, and the list of checksums."""
    found: dict[str, str] = {}
    doubled, foreign, listed, top = [], [], None, None
    try:
        with open_archive(path) as tar, bar("verify", None) as advance:
            for member in tar:
                parts = PurePosixPath(member.name).parts
                top = top or parts[0]
                if not member.isfile() or ".." in parts or len(parts) < 2 or parts[0] != top or top == "/":
                    foreign.append(member.name)
                    continue
                name, content = "/".join(parts[1:]), tar.extractfile(member).read()
                if name in found or (name == SUMS and listed is not None):
                    doubled.append(name)
                if name == SUMS:
                    listed = content
                else:
                    found[name] = hashlib.sha256(content).hexdigest()
                advance()
    except (tarfile.TarError, lzma.LZMAError, EOFError, OSError) as error:
        if isinstance(error, ResultError):
            raise
        raise ResultError(f"{path} is damaged: after {len(found)} files, {error}. Fetch it again.") from error
    return found, doubled, foreign, listed
