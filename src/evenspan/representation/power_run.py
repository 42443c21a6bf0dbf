"""The two phases of the fair noisy power method, block by block, from wherever the sums come."""

from collections.abc import Iterator

from ..core.errors import DataError, FairWarning
from ..core.estimator import warn_caller
from .noisy_power import FairPowerMethod


class StreamEndedWarning(FairWarning):
    """A stream had fewer rows than the blocks that were asked for."""


def steps(power: FairPowerMethod, reader, n_blocks: tuple[int, int], sizes: tuple) -> Iterator[None]:
    """Do all blocks of both phases that are not done yet; yields after each.

    ``reader`` gives the sums of blocks: ``start_pass(row)`` goes to a row of the data, ``read(rows, operand, G)``
    returns the ``BlockSums`` over so many rows (None: all that are left), or None at the end.
    """
    for phase, wanted, size in zip(("gap", "components"), n_blocks, sizes, strict=True):
        if phase == "gap":
            if power.phase == "components":
                continue
            if power.options.constraint != "vanilla":
                # One pass gives the means of the groups; without gap directions there is nothing to iterate on.
                once = size is None and power.options.n_gap_directions == 0
                yield from _phase(power, reader, phase, 1 if once else wanted, size)
            power.end_gap_phase()
        else:
            yield from _phase(power, reader, phase, wanted, size)


def _phase(power: FairPowerMethod, reader, phase: str, wanted: int, size: int | None) -> Iterator[None]:
    done = [entry for entry in power.history if entry["phase"] == phase]
    if size is not None:
        # What can be read only once goes on where the phase before has ended.
        reader.start_pass(sum(entry["n_rows"] for entry in (power.history if reader.one_shot else done)))
    for number in range(len(done), wanted):
        if size is None:
            reader.start_pass()
            power.passes = number + 1 if phase == "gap" else power.passes
        sums = reader.read(size, power.operand(), len(power.labels))
        if sums is None:
            _ended(phase, number, wanted, size)
            return
        power.add(sums)
        power.end_block()
        yield


def _ended(phase: str, number: int, wanted: int, size: int | None) -> None:
    seen = f"the stream ended after {number} of {wanted} blocks of {size} rows in phase {phase!r}"
    if number == 0:
        raise DataError(f"{seen}: not one row was left. Give a stream that can be read again, or more rows.")
    warn_caller(f"{seen}; the phase ends there. Ask for fewer or smaller blocks.", StreamEndedWarning)
