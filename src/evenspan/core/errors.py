"""The family of errors and that of warnings: every message says what was seen, what was needed and what to do."""


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


class ResultError(FairError, ValueError):
    """A stored result, record, moments file or published table is missing, damaged or inconsistent."""


class NotSolvedError(FairError, RuntimeError):
    """A solver ended without an answer that it can vouch for: what it reached, and what to change."""


class ExecutionError(FairError, RuntimeError):
    """A notebook or text chapter could not be executed to its end."""


class FairWarning(UserWarning):
    """Base class of every warning that evenspan gives on purpose: the answer stands, with what the message says."""


class SurplusComponentsWarning(FairWarning):
    """Some components carry no variance on the training sample."""


class SingleGroupWarning(FairWarning):
    """All rows are of one group: nothing is left to equalise."""
