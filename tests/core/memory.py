"""What a piece of work allocates at its peak."""

import tracemalloc


def peak_of(work) -> tuple[int, object]:
    """The largest number of bytes held above what was held before, and the result."""
    tracemalloc.start()
    try:
        result = work()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()
