"""Many draws of one kind of trouble, each of which must end in a right answer or in an error that says what to do.

A test gives ``attack`` a subject, a strategy and a body that tries one draw: the body raises evenspan's own error (then
the draw was *named*), ends (then its answer was *right*: the body checks that), or does anything else, and that is
*neither*. What was counted is what the page *How it fails* shows; ``--outcomes FOLDER`` writes it there.
"""

import json
import signal
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest
from hypothesis import HealthCheck
from hypothesis.internal.conjecture import providers

from compendium import records
from evenspan.core.errors import FairError, FairWarning

SEED = 25
#: Seconds after which a draw counts as hanging.
PATIENCE = 60
#: Words below which a message cannot say what was seen, what was needed and what to do.
SHORTEST = 6
#: Of this checkout, before a test puts another one in its place.
COMMIT = records.commit()[0]


class Hanging(BaseException):
    """No answer in time: none that the code under attack could take for an error of its own and name."""


@pytest.fixture
def attack(request, monkeypatch) -> Callable:
    # Hypothesis mixes in the constants of whatever modules are loaded: other draws after another test or an edit.
    monkeypatch.setattr(providers, "_get_local_constants", providers.Constants)
    providers.CONSTANTS_CACHE.cache.clear()

    def attack(subject: str, kind: str, strategy, body: Callable, *, draws: tuple[int, int] = (300, 10_000)) -> None:
        """Try ``body`` on draws of the strategy, the first number of them, or the second with --exhaustive."""
        number = draws[bool(request.config.getoption("exhaustive"))]
        tally, began = Counter(), time.perf_counter()
        named, neither = Counter(), []

        @hypothesis.seed(SEED)  # the same draws each time
        @hypothesis.settings(
            max_examples=number,
            derandomize=False,
            deadline=None,
            database=None,
            phases=[hypothesis.Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @hypothesis.given(strategy)
        def draws_of(case) -> None:
            tally["tried"] += 1
            try:
                with _patience(), warnings.catch_warnings():
                    warnings.simplefilter("ignore", FairWarning)
                    body(case)
            except FairError as error:
                if len(str(error).split()) < SHORTEST:
                    neither.append(f"{case!r}\n{type(error).__name__} says no more than {error}")
                else:
                    named[type(error).__name__] += 1
            except (Exception, Hanging):
                neither.append(f"{case!r}\n{traceback.format_exc(limit=-6)}")
            else:
                tally["right"] += 1

        draws_of()
        found = {
            "kind": kind,
            "subject": subject,
            "tried": tally["tried"],
            "right": tally["right"],
            "named": dict(sorted(named.items())),
            "neither": len(neither),
            "seed": SEED,
            "seconds": round(time.perf_counter() - began, 1),
        }
        if folder := request.config.getoption("outcomes"):
            _write(Path(folder), found)
        kinds = {text.splitlines()[-1]: text for text in reversed(neither)}  # the first of each
        shown = "\n".join(list(kinds.values())[:5])
        assert not neither, (
            f"{len(neither)} of {tally['tried']} draws of {subject} are neither right nor named:\n{shown}"
        )
        assert tally["right"], f"no draw of {subject} was answered: {found}"

    return attack


def _write(folder: Path, found: dict) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    found |= {"hypothesis": hypothesis.__version__, "commit": COMMIT}
    path = folder / f"{found['kind']}-{found['subject'].replace(' ', '-')}.json"
    path.write_text(json.dumps(found, indent=1) + "\n")


class _patience:  # noqa: N801 - reads as what it is
    """Inside, an alarm ends what takes too long."""

    def __enter__(self):
        self.before = signal.signal(signal.SIGALRM, self._ring)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)

    def __exit__(self, *raised):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.before)

    @staticmethod
    def _ring(*_):
        raise Hanging(f"no answer within {PATIENCE} s")
