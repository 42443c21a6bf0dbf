"""What only the compendium refuses: names that are not registered, and raw data that cannot be had."""

from collections.abc import Iterable
from difflib import get_close_matches

from evenspan.core.errors import FairError


class RegistryError(FairError, KeyError):
    """A data set, experiment, parameter or task of that name does not exist; the message lists those that do."""

    def __str__(self):  # KeyError would print the message with quotation marks and escapes
        return str(self.args[0]) if self.args else ""


class FetchError(FairError, OSError):
    """A raw data file could not be obtained or does not have its recorded checksum; ``remedy`` says it in a line."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy or message


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """The question whether one of the known names was meant, the closest ones; blank if none is close."""
    near = get_close_matches(str(name), list(map(str, known)), n=2, cutoff=0.75)
    return f"Did you mean {' or '.join(near)}?" if near else ""
