"""The family of errors and that of warnings: every message says what was seen, what was needed and what to do."""

import re

#: With this code a process ends after telling such an error in its own words, without a traceback.
TOLD = 2
#: What a terminal obeys or cannot show: control characters but the end of a line, signs that turn the direction of
#: writing, halves of characters (bytes that are no text).
_UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def told(text: object) -> str:
    """The text as it may go to a terminal: what that would obey is written out, such as ``\\x1b``."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))


class FairError(Exception):
    """Base class of every error that evenspan raises on purpose."""


class DataError(FairError, ValueError):
    """The feature matrix, target or moments cannot be used (shape, type, missing or infinite values)."""


class FeatureTypeError(DataError, TypeError):
    """A column is not numeric."""


class GroupError(FairError, ValueError):
    """The sensitive features cannot be used (one group only, a group too small, missing or mixed labels)."""


class ComponentsError(FairError, ValueError):
    """More components were asked for than the problem admits."""


class ConfigurationError(FairError, ValueError):
    """A constructor argument is outside its range, or two of them contradict each other."""


class LimitError(FairError, MemoryError):
    """The work would need more memory, time or size than there is or than is allowed; said before it begins."""


class RegistryError(FairError, KeyError):
    """A data set, experiment, parameter or task of that name does not exist; the message lists those that do."""

    def __str__(self):  # KeyError would print the message with quotation marks and escapes
        return str(self.args[0]) if self.args else ""


class FetchError(FairError, OSError):
    """A raw data file could not be obtained or does not have its recorded checksum."""


class ResultError(FairError, ValueError):
    """A stored result, record, moments file or published table is missing, damaged or inconsistent."""


class NotSolvedError(FairError, RuntimeError):
    """A solver ended without an answer that it can vouch for: what it reached, and what to change."""


class ExecutionError(FairError, RuntimeError):
    """A notebook or text chapter could not be executed to its end."""


class FairWarning(UserWarning):
    """Base class of every warning that evenspan gives on purpose: the answer stands, with what the message says."""


class SurplusComponentsWarning(FairWarning):
    """Some components carry no variance on the fitting sample."""


class SingleGroupWarning(FairWarning):
    """All rows are of one group: nothing is left to equalise."""
