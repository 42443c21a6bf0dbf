"""One task in a process of its own: ``python -m compendium.experiments._worker EXPERIMENT TASK FOLDER``.

A fresh process makes the peak memory that of this task alone and keeps one task from changing another's numbers.
An error that evenspan raises on purpose is told in its own words and ends the process with the code ``errors.TOLD``.
"""

import os
import sys
import threading
import time
from pathlib import Path


def _end_with_parent() -> None:
    # The parent holds the other end of this pipe and never writes: the read returns when the parent is gone, however
    # it ended, and nothing is left computing in the background. Not sys.stdin: its lock would be held at exit.
    os.read(0, 1)
    os._exit(1)


def main(experiment_id: str, name: str, folder: str) -> None:
    """Run one task and write its result and record into ``folder``."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from . import experiment
    from .provenance import recorded
    from .store import store

    entry = experiment(experiment_id)
    task = entry.tasks()[name]
    with recorded() as made:
        start = time.perf_counter()
        frame = entry.protocol().run_task(**task)
        seconds = time.perf_counter() - start
    store(entry, task, frame, made=made, seconds=seconds, folder=Path(folder))


if __name__ == "__main__":
    from evenspan.core.errors import TOLD, FairError

    try:
        main(*sys.argv[1:])
    except FairError as error:
        print(error, file=sys.stderr)
        sys.exit(TOLD)
