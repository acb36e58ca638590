"""Ctrl-C and SIGTERM: the first one ends the work in order, the next one ends the process at once.

A shell starts ``... &`` of a script, and nohup, with SIGINT ignored, so SIGTERM is handled for itself and not as a SIGINT that
we send ourselves.
"""

import signal
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import asyncio  # takes longer to import than `crosspath --help` takes

_T = TypeVar("_T")
_USUAL = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
"""What is there if nobody else cares. Handlers of a program that imports us stay, and so does an ignored signal."""

_working: "tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None" = None
"""The event loop of the main thread and its work."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Inside it SIGTERM does what Ctrl-C does, in the main thread; may be nested.

    Raises:
        KeyboardInterrupt: one of them came.
    """
    ours = []
    if threading.current_thread() is threading.main_thread():
        ours = [number for number, usual in _USUAL.items() if signal.getsignal(number) == usual]
    for number in ours:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, _USUAL[number])


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    for number in _USUAL:
        if signal.getsignal(number) is _interrupt:
            signal.signal(number, signal.SIG_DFL)
    if _working is None:
        raise KeyboardInterrupt
    loop, work = _working  # an exception here could come up in the midst of the loop's own code
    loop.call_soon_threadsafe(work.cancel)


def run_interruptibly(work: Coroutine[Any, Any, _T]) -> _T:
    """``asyncio.run``; inside :func:`interruptible` a signal cancels the work, and what it holds is given back.

    Raises:
        KeyboardInterrupt: it was cancelled.
    """
    import asyncio

    try:
        return asyncio.run(_registered(work))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _registered(work: Coroutine[Any, Any, _T]) -> _T:
    import asyncio

    global _working
    task = asyncio.current_task()
    if threading.current_thread() is not threading.main_thread() or task is None:
        return await work
    before, _working = _working, (asyncio.get_running_loop(), task)
    try:
        return await work
    finally:
        _working = before
