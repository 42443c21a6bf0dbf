"""Constructor arguments, declared once in the class: ``tol: float = option(number(0), default=1e-6)``."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, fields, replace
from numbers import Integral, Real
from typing import Any, TypeVar, dataclass_transform

import numpy as np

from .errors import ComponentsError, ConfigurationError, FairError

Value, Class = TypeVar("Value"), TypeVar("Class", bound=type)


@dataclass(frozen=True)
class Option:
    """What an argument may be: a test for its value, and the words that follow "needed is"."""

    allows: Callable[[Any], bool]
    needed: str
    error: type[FairError] = ConfigurationError

    def require(self, name: str, value: Value) -> Value:
        """The value; an error naming the argument unless it is allowed."""
        if not self.allows(value):
            raise self.error(f"{name}={value!r}; needed is {self.needed}.")
        return value

    def __or__(self, other: "Option") -> "Option":
        """What either allows."""
        needed = f"{self.needed}, or {other.needed}"
        return Option(lambda value: self.allows(value) or other.allows(value), needed, self.error)


def none(meaning: str) -> Option:
    """None, and what it stands for."""
    return Option(lambda value: value is None, f"None ({meaning})")


def one_of(*words: str) -> Option:
    """One of some words."""
    listed = " or ".join(filter(None, [", ".join(map(repr, words[:-1])), repr(words[-1])]))
    return Option(lambda value: isinstance(value, str) and value in words, listed)


def whole(low: int, high: int | None = None) -> Option:
    """A whole number from ``low`` to ``high``, both included."""
    largest = np.inf if high is None else high
    return Option(
        lambda value: isinstance(value, Integral) and not isinstance(value, bool) and low <= value <= largest,
        f"a whole number of at least {low}" if high is None else f"a whole number from {low} to {high}",
    )


def number(low: float, high: float = np.inf, *, low_open: bool = False, high_open: bool = False) -> Option:
    """A finite number between ``low`` and ``high``; an open end is not included."""

    def allows(value: Any) -> bool:
        if not isinstance(value, Real) or isinstance(value, bool) or not np.isfinite(value):
            return False
        return (value > low if low_open else value >= low) and (value < high if high_open else value <= high)

    lower = f"greater than {low:g}" if low_open else f"of at least {low:g}"
    upper = "" if high == np.inf else f" and {'less than' if high_open else 'at most'} {high:g}"
    return Option(allows, f"a number {lower}{upper}")


def flag() -> Option:
    """True or False."""
    return Option(lambda value: isinstance(value, bool | np.bool_), "True or False")


def anything(needed: str) -> Option:
    """Any value."""
    return Option(lambda value: True, needed)


def names(needed: str) -> Option:
    """Several names or values, in any collection but a text."""
    return Option(lambda value: isinstance(value, Collection) and not isinstance(value, str), needed)


def _seeds(value: Any) -> bool:
    try:
        return np.random.default_rng(value) is not None
    except (TypeError, ValueError):
        return False


#: Of many methods: how many clusters, dimensions of a kernel or of a stream, or components, ...
CLUSTERS = DIMENSIONS = replace(whole(1), error=ComponentsError)
COMPONENTS = DIMENSIONS | none("as many as there can be")
#: ... what is compared where there are several attributes, what happens where there is one group, which columns of the
#: sensitive features are quantities, ...
ATTRIBUTES, SINGLE_GROUP = one_of("marginal", "intersection"), one_of("raise", "warn")
QUANTITIES = Option(lambda value: isinstance(value, Collection), "names or positions of columns of sensitive_features")
#: ... the kernel, its width, and how the random numbers begin.
KERNEL = Option(lambda value: isinstance(value, str) or callable(value), "the name of a kernel, or a function")
GAMMA = number(0, low_open=True) | one_of("scale", "auto")
SEED = Option(_seeds, "None, a whole number of at least 0, or a numpy Generator")


def option(allowed: Option, *, default: Value) -> Value:
    """A field whose value is checked before every fit."""
    return field(default=default, metadata={"option": allowed})


@dataclass_transform(eq_default=False, field_specifiers=(option,))  # so that editors know the constructor
def parameterised(cls: Class) -> Class:
    """Class decorator: the annotated fields are the arguments of the constructor, which only stores them."""
    return dataclass(eq=False, repr=False)(cls)


class Options:
    """Mixin of every estimator: checks the constructor's arguments against the options of the class."""

    def _check_options(self) -> None:
        for one in fields(self):
            if one.metadata:  # a subclass of the reader's may add plain fields
                one.metadata["option"].require(one.name, getattr(self, one.name))
