"""The state of a streaming run in a file, so that an interrupted one continues after its last completed block."""

import json
import os
import zipfile
from dataclasses import asdict
from pathlib import Path

import numpy as np

from ..core.errors import ConfigurationError, ResultError
from .block_sums import BlockSums
from .noisy_power import FairPowerMethod

VERSION = 1
ARRAYS = ("origin", "W", "V", "U", "counts", "sums", "ritz", "relative_gaps", "variances")
NUMBERS = ("phase", "fresh", "squares", "passes", "total_variance", "captured", "residual")


def save(path, power: FairPowerMethod, sizes: tuple) -> None:
    """Write the state, in full or not at all: a run killed in between leaves the file of the block before."""
    path = Path(path)
    arrays = {name: getattr(power, name) for name in ARRAYS if getattr(power, name) is not None}
    header = {
        "version": VERSION,
        "identity": _identity(power, sizes),
        "history": power.history,
        **{name: getattr(power, name) for name in NUMBERS},
    }
    if power.pending is not None:
        arrays |= {f"pending_{name}": getattr(power.pending, name) for name in ("counts", "sums", "products")}
        header["pending"] = [power.pending.squares, power.pending.rows]
    partial = path.with_name(path.name + ".partial")
    with open(partial, "wb") as file:
        np.savez(file, labels=power.labels, header=np.array(json.dumps(header)), **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def load(path, fresh: FairPowerMethod, sizes: tuple) -> FairPowerMethod:
    """The state in the file, for a run that begins as ``fresh`` does; another run's file is refused."""
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            header = json.loads(str(file["header"]))
            arrays = {name: file[name] for name in file.files if name != "header"}
        identity, history = header["identity"], header["history"]
        pending = header.get("pending")
        if pending is not None:
            parts = [arrays.pop(f"pending_{name}") for name in ("counts", "sums", "products")]
            pending = BlockSums(*parts, float(pending[0]), int(pending[1]))
        labels = arrays.pop("labels")
        state = {name: arrays.get(name) for name in ARRAYS} | {name: header[name] for name in NUMBERS}
        if header["version"] != VERSION or state["W"] is None or state["V"] is None:
            raise KeyError("version")
    except (OSError, ValueError, KeyError, TypeError, IndexError, EOFError, zipfile.BadZipFile) as error:
        raise ResultError(
            f"{path} is not a checkpoint of this version of evenspan ({error!r}). Delete it, or name another file."
        ) from error
    wanted = _identity(fresh, sizes)
    if not np.array_equal(labels, fresh.labels) or not np.allclose(arrays["origin"], fresh.origin, rtol=1e-6, atol=0):
        raise ConfigurationError(f"{path} was written for other data. Delete it, or name another file.")
    if different := [name for name in wanted if identity.get(name) != wanted[name]]:
        shown = ", ".join(f"{name}={identity.get(name)!r} (now {wanted[name]!r})" for name in different)
        raise ConfigurationError(f"{path} was written with {shown}. Delete it, name another file, or use its options.")
    history = [entry | {"group_counts": tuple(entry["group_counts"])} for entry in history]
    history = [entry | {"ritz": None if entry["ritz"] is None else tuple(entry["ritz"])} for entry in history]
    return FairPowerMethod(
        options=fresh.options, labels=labels, contrasts=fresh.contrasts, pending=pending, history=history, **state
    )


def _identity(power: FairPowerMethod, sizes: tuple) -> dict:
    return json.loads(json.dumps(asdict(power.options) | {"block_size": sizes, "precision": power.W.dtype.name}))
