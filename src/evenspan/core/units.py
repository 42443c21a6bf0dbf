"""Features of any size: those far from 1 are divided by a power of two before a method sees them, which is exact.

Methods multiply squares with squares. What overflows or vanishes there depends on the unit of the features alone, so it
is taken out of the moments and put back into what was learnt, each thing to the power with which it grows.
"""

from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from .answer import Answer, Certificate, FairSubspace
from .errors import DataError
from .inputs import require_range
from .moments import GroupMoments

#: Binary exponent of the features up to which, either way, moments are taken as they are: to their eighth power they
#: do not overflow, and features beside orthonormal columns do not drown them.
ORDINARY = 32


def exponent_of(moments: GroupMoments) -> int:
    """The power of two to divide the features by, 0 where they are of ordinary size."""
    own = np.einsum("gdd->gd", moments.scatters)
    require_range(moments.counts, moments.means, own, None, moments.feature_names)
    size = np.sqrt((own.sum(axis=0) + moments.counts @ moments.means**2).max(axis=0) / moments.n)
    exponent = int(np.frexp(size)[1])
    return exponent if abs(exponent) > ORDINARY else 0


@singledispatch
def multiplied(thing: Any, exponent: int, power=1) -> Any:
    """What grows with a power of the features, for features ``2**exponent`` times as large.

    Of moments and subspaces all that grows does so; ``power`` is then that of the certificate. A tuple of powers is for
    a mapping to tuples, a mapping of names to powers for an `Answer`. DataError if something does not fit 64-bit
    floating point.
    """
    return None if thing is None else float(_times(thing, power * exponent))


@multiplied.register
def _(thing: np.ndarray, exponent, power=1):
    return _times(thing, power * exponent)


@multiplied.register
def _(thing: tuple, exponent, power=1):
    return tuple(multiplied(part, exponent, power) for part in thing)


@multiplied.register
def _(thing: dict, exponent, power=1):
    return {
        key: tuple(multiplied(part, exponent, own) for part, own in zip(parts, power, strict=True))
        for key, parts in thing.items()
    }


@multiplied.register
def _(thing: GroupMoments, exponent, power=1):
    means, scatters = _times(thing.means, exponent), _times(thing.scatters, 2 * exponent)
    return GroupMoments(thing.labels, thing.counts, means, scatters, thing.feature_names)


@multiplied.register
def _(thing: Certificate, exponent, power=2):
    primal, dual = (multiplied(value, exponent, power) for value in (thing.primal, thing.dual))
    return replace(thing, primal=primal, dual=dual)


@multiplied.register
def _(thing: FairSubspace, exponent, power=2):
    # Standardised features have no unit. Their deviations are taken from the features: that of a constant one is 1.
    certificate = multiplied(thing.certificate, exponent, power) if thing.scale is None else thing.certificate
    return replace(thing, mean=_times(thing.mean, exponent), certificate=certificate)


@multiplied.register
def _(thing: Answer, exponent, power):
    units = power if thing.subspace.scale is None else {}
    learnt = {
        name: multiplied(value, exponent, units.get(name, 2))
        if name in units or isinstance(value, FairSubspace)
        else value
        for name, value in thing.learnt.items()
    }
    return Answer(multiplied(thing.subspace, exponent, units.get("certificate_", 2)), learnt)


def _times(values, exponent: int):
    with np.errstate(over="ignore", under="ignore"):
        found = np.ldexp(values, exponent)
    if (np.isinf(found) & np.isfinite(values)).any():
        raise DataError(
            f"a part of the answer does not fit 64-bit floating point: it is 2**{exponent} times what features near 1 "
            "would give. Rescale the data by a power of ten."
        )
    return found
