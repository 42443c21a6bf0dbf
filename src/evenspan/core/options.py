"""One declarative table of options for each estimator: what a constructor argument may be, and the words for it.

A class lists its options once, ``_options = {"tol": number(0, low_open=True), ...}``; ``fit`` calls
``_check_options()``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

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

    def or_none(self, meaning: str = "") -> "Option":
        """The same option, which may also be None; ``meaning`` says what None stands for."""
        words = f"{self.needed}, or None{meaning and f' ({meaning})'}"
        return Option(lambda value: value is None or self.allows(value), words)

    def or_one_of(self, *words: str) -> "Option":
        """The same option, which may also be one of some words."""
        other = one_of(*words)
        return Option(lambda value: other.allows(value) or self.allows(value), f"{self.needed}, or {other.needed}")


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


class Options:
    """Mixin of every estimator: checks the constructor's arguments against the class's table of options."""

    #: Argument -> what it may be. A subclass extends its parent's table: ``_options = {**Parent._options, ...}``.
    _options: ClassVar[Mapping[str, Option]] = {}

    def _check_options(self) -> None:
        for name, option in self._options.items():
            option.require(name, getattr(self, name))
