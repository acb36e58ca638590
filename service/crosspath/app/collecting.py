"""Python's search for reference cycles, put off while many records are made."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """No search for cycles inside of the block: facts and judgements are trees.

    Each search looks at all records made so far, which takes more than half of the time of reading 10,000 replays.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
