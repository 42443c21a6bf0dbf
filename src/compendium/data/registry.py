"""The registry: where every data set comes from, and what its files must contain (``data/registry.toml``)."""

import hashlib
import tomllib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from pydantic import Field, TypeAdapter

from .. import paths
from ..errors import RegistryError, did_you_mean


@dataclass(frozen=True)
class RawFile:
    """One file of a data set."""

    name: str  #: inside the data set's folder
    bytes: int  #: size
    sha256: str  #: checksum
    url: str  #: address pinned to a commit


@dataclass(frozen=True)
class Shipped:
    """The file ``data/tables/NAME.parquet`` with the rows of a data set."""

    bytes: int  #: size
    sha256: str  #: checksum


@dataclass(frozen=True)
class Entry:
    """One data set of the registry."""

    name: str  #: public name
    title: str  #: printed title
    folder: str  #: of its files, below a mirror or the cache
    licence: str  #: as generally stated by the publisher
    origin: str  #: where the files come from
    rows: int  #: of what a loader returns
    features: int  #: of what a loader returns
    splits: int  #: number of fixed train and test splits, 0 if there are none
    sensitive: str  #: which column is the sensitive attribute, and how it is coded
    groups: dict[str, int]  #: rows per group, by the value that the loader returns (as text)
    group_names: dict[str, str]  #: these values in words
    papers: tuple[str, ...]  #: keys of the papers that use it, as in ``data/paper``
    preprocessing: str  #: what was done to the data
    notes: str  #: what to know about them
    matches_paper: bool  #: whether these are the data of the paper, as far as the published numbers can tell
    files: tuple[RawFile, ...]  #: empty for data bundled with a library
    feature_names: tuple[str, ...] | None = None  #: where the files carry no header
    unavailable: str = ""  #: why the files cannot be downloaded; empty if they can
    bundled_sha256: str = ""  #: checksum of the values, for data bundled with a library
    attribution: str = ""  #: whom the licence asks to be credited; empty where the rows may not be passed on
    shipped: Shipped | None = None  #: their file in this repository, None where the rows may not be passed on
    #: Counted in what the loader returns, namely ``duplicate_rows`` (features, label and group as in an earlier row),
    #: ``rank`` of the centred features, ``label_mean`` by group. Empty without a loader.
    measured: dict = field(default_factory=dict)
    bytes: int = field(init=False)  #: size of all files

    def __post_init__(self):
        object.__setattr__(self, "bytes", sum(file.bytes for file in self.files))

    def file(self, name: str) -> RawFile:
        """The file of that name."""
        files = {file.name: file for file in self.files}
        if name not in files:
            raise RegistryError(f"data set {self.name!r} has no file {name!r}; it has {', '.join(files)}.")
        return files[name]

    def checksum(self) -> str:
        """One SHA-256 for the whole data set: that of the sorted lines ``sha256  name`` of its files."""
        if not self.files:
            return self.bundled_sha256
        lines = sorted(f"{file.sha256}  {file.name}\n" for file in self.files)
        return hashlib.sha256("".join(lines).encode()).hexdigest()


@lru_cache(maxsize=4)
def read(path: Path) -> MappingProxyType:
    """All entries of a registry file by name, in the order of the file."""

    def parse(content: bytes) -> dict[str, Entry]:
        tables = {name: table | {"name": name} for name, table in tomllib.loads(content.decode()).items()}
        return TypeAdapter(Annotated[dict[str, Entry], Field(min_length=1)]).validate_python(tables)

    return MappingProxyType(paths.read(path, parse))


def names() -> tuple[str, ...]:
    """Names of all data sets in the registry."""
    return tuple(read(paths.data("registry.toml")))


def entry(name: str) -> Entry:
    """The registry's entry for one data set."""
    entries = read(paths.data("registry.toml"))
    if name not in entries:
        known = did_you_mean(name, entries) or f"The registry has {', '.join(entries)}."
        raise RegistryError(f"There is no data set {name!r}. {known}")
    return entries[name]


def checksum(name: str) -> str:
    """One SHA-256 over the SHA-256 of all files of a data set; results are recorded with it."""
    return entry(name).checksum()
