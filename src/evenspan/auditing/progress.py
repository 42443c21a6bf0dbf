"""Progress of an audit: a callback hears of each stage, and of how much of it is done."""

import sys
from collections.abc import Callable


class Progress:
    """Calls ``tell(stage, done, total)`` when a stage begins and when some of it is done; total may be None."""

    def __init__(self, tell: Callable[[str, float, float | None], None] | None = None):
        self._tell, self.name, self.done, self.total = tell, "", 0.0, None

    def stage(self, name: str, total: float | None = None) -> None:
        """A new piece of work begins: what it is, and how many units it has."""
        self.name, self.done, self.total = name, 0.0, total
        self.advance(0.0)

    def advance(self, by: float = 1.0) -> None:
        """So many more units of the stage are done."""
        self.done += by
        if self._tell:
            self._tell(self.name, self.done, self.total)


def progress_of(progress: "bool | Callable | Progress") -> Progress:
    """What an argument ``progress`` asks for: silence, a line on standard error for each stage, or a callback."""
    if isinstance(progress, Progress):
        return progress
    return Progress(progress if callable(progress) else _line if progress else None)


def _line(stage: str, done: float, total: float | None) -> None:
    if not done:
        print(stage, file=sys.stderr, flush=True)
