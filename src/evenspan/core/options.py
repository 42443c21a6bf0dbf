"""Constructor arguments, declared once: ``tol: float = option(1e-6, number(0, low_open=True))`` in the class."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any, ClassVar, dataclass_transform

import numpy as np

from .errors import ConfigurationError


@dataclass(frozen=True)
class Option:
    """What an argument may be: a test for its value, and the words that follow "needed is"."""

    allows: Callable[[Any], bool]
    needed: str

    def require(self, name: str, value: Any) -> Any:
        """The value; ``ConfigurationError`` naming the argument unless it is allowed."""
        if not self.allows(value):
            raise ConfigurationError(f"{name}={value!r}; needed is {self.needed}.")
        return value

    def __or__(self, other: "Option") -> "Option":
        """What either allows."""
        return Option(lambda value: self.allows(value) or other.allows(value), f"{self.needed}, or {other.needed}")


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


#: Of many methods: what is compared where there are several attributes, and what happens where there is one group.
ATTRIBUTES, SINGLE_GROUP = one_of("marginal", "intersection"), one_of("raise", "warn")


def option(default: Any, allowed: Option) -> Any:
    """A field whose value is checked before every fit."""
    return field(default=default, metadata={"option": allowed})


@dataclass_transform(eq_default=False, field_specifiers=(option,))  # so that editors know the constructor
def parameterised(cls: type) -> type:
    """Class decorator: the annotated fields are the arguments of the constructor, which only stores them."""
    cls = dataclass(eq=False, repr=False)(cls)
    cls._options = {one.name: one.metadata["option"] for one in fields(cls) if one.metadata}
    return cls


class Options:
    """Mixin of every estimator: checks the constructor's arguments against the options of the class."""

    _options: ClassVar[Mapping[str, Option]] = {}

    def _check_options(self) -> None:
        for name, allowed in self._options.items():
            allowed.require(name, getattr(self, name))
