"""A header and arrays in one ``.npz``, with a digest of everything in it."""

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..core.errors import ResultError
from ..core.moments_file import DAMAGE

#: Marks the file as one of these.
KIND = "evenspan estimator"
SIGNED = b"evenspan sha256 "


def write(path, header: dict, arrays: list[np.ndarray]) -> None:
    """Write header and arrays; equal content gives equal bytes. What stood at the path is replaced at the end only."""
    text = json.dumps({"kind": KIND, **header}, sort_keys=True, allow_nan=False)
    named = {"header": np.array(text)} | {f"a{i}": array for i, array in enumerate(arrays)}
    entries = {f"{name}.npy": _packed(array) for name, array in named.items()}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, packed in entries.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # numpy.savez would stamp the present time
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, packed)
        archive.comment = SIGNED + digest(entries).encode()
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        beside.write_bytes(content.getvalue())
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def read(path) -> tuple[dict, list[np.ndarray]]:
    """Header and arrays as ``write`` wrote them; ResultError for a file that is missing, damaged, altered or other."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ResultError(f"{path} cannot be read ({error.strerror}). Check the path, or save it again.") from error
    try:
        # Not by numpy.load: it parses an array before the checksum of its bytes is known to be right.
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            comment, names = archive.comment, archive.namelist()
            entries = {name: archive.read(name) for name in names}
        if not comment.startswith(SIGNED):
            raise ValueError("it has no digest")
    except (*DAMAGE, NotImplementedError) as error:
        hint = " It holds group moments: GroupMoments.load reads it." if _moments(content) else ""
        raise ResultError(f"{path} is not a saved estimator, or only a part of one ({error}).{hint}") from error
    if len(entries) < len(names) or digest(entries).encode() != comment.removeprefix(SIGNED):
        raise ResultError(
            f"{path} was altered after it was saved: its content does not have the digest recorded in it. Save the "
            "estimator again."
        )
    try:
        header = json.loads(str(_unpacked(entries.pop("header.npy"))))
        if type(header) is not dict or header.get("kind") != KIND:
            raise ValueError("its header is of another kind")
        return header, [_unpacked(entries[f"a{i}.npy"]) for i in range(len(entries))]
    except DAMAGE as error:
        raise ResultError(f"{path} does not describe a saved estimator ({error}). Save it again.") from error


def digest(entries: Mapping[str, bytes]) -> str:
    """SHA-256 of names and bytes of all entries."""
    whole = hashlib.sha256()
    for name in sorted(entries):
        whole.update(f"{name} {len(entries[name])}\n".encode())
        whole.update(entries[name])
    return whole.hexdigest()


def _packed(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=False)
    return file.getvalue()


def _unpacked(content: bytes) -> np.ndarray:
    return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)


def _moments(content: bytes) -> bool:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return "scatters.npy" in archive.namelist()
    except (zipfile.BadZipFile, OSError):
        return False
