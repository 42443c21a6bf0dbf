"""Progress of an audit: silent, shown on standard error, or written where another process follows it.

The command line executes the audit in a kernel and shows its progress in the terminal: the kernel writes one line of
JSON for each step to the file that ``EVENSPAN_PROGRESS`` names, and :class:`Follower` reads what is new.
"""

import json
import os
import re
import sys
import time
from pathlib import Path

#: Name of the variable that holds the path of the progress file.
VARIABLE = "EVENSPAN_PROGRESS"
#: Seconds between two lines about the same stage.
PAUSE = 0.2
#: What a terminal obeys or cannot show: control characters but the end of a line, signs that turn the direction of
#: writing, halves of characters (bytes that are no text).
_UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def told(text: object) -> str:
    """The text as it may go to a terminal: what that would obey is written out, such as ``\\x1b``."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))


class Progress:
    """Tells in which stage the work is and how much of it is done; this one tells nobody.

    Its two calls are :meth:`stage` when a piece of work begins, and :meth:`advance` when some of it is done.
    """

    def __init__(self):
        self.name, self.total, self.done = "", None, 0.0
        self._last = 0.0

    def stage(self, name: str, total: float | None = None) -> None:
        """A new piece of work begins: what it is, in plain words, and how many units it has, if that is known."""
        self.name, self.total, self.done = name, total, 0.0
        self._last = time.monotonic()
        self._tell()

    def advance(self, by: float = 1.0) -> None:
        """So many more units of the stage are done."""
        self.done += by
        now = time.monotonic()
        if now - self._last >= PAUSE or self.done == self.total:
            self._last = now
            self._tell()

    def _tell(self) -> None:
        pass


class FileProgress(Progress):
    """Appends a line of JSON to a file for each step."""

    def __init__(self, path: Path):
        super().__init__()
        self._path = Path(path)

    def _tell(self) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"stage": self.name, "done": self.done, "total": self.total}) + "\n")


class LineProgress(Progress):
    """Writes a line to standard error for each stage."""

    def stage(self, name: str, total: float | None = None) -> None:
        """A new piece of work begins: its name is written; the share that is done is not."""
        super().stage(name, total)
        print(told(name), file=sys.stderr, flush=True)


def progress_of(progress: "bool | Progress") -> Progress:
    """What an argument ``progress`` asks for: a `Progress` itself, silence, or a file or lines that are followed."""
    if isinstance(progress, Progress):
        return progress
    if not progress:
        return Progress()
    path = os.environ.get(VARIABLE)
    return FileProgress(Path(path)) if path else LineProgress()


class Follower:
    """Reads what a :class:`FileProgress` has written since the last look."""

    def __init__(self, path: Path):
        self._path, self._at = Path(path), 0

    def news(self) -> list[dict]:
        """The steps written since the last call; a line that is not finished yet waits for the next one."""
        if not self._path.is_file():
            return []
        with self._path.open("rb") as file:
            file.seek(self._at)
            text = file.read()
        whole = text.rpartition(b"\n")[0] + b"\n" if b"\n" in text else b""
        self._at += len(whole)
        return [json.loads(line) for line in whole.splitlines()]
