"""Work in threads that nobody has to wait for, under one limit of time.

The threads are daemons: a stalled name look-up or socket keeps neither an answer nor the end of the process waiting.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING

from tensors.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tensors.sources.protocols import Result

__all__ = ["Deadline", "in_order", "within"]


class Deadline:
    """A limit of time for all that is done for one model."""

    def __init__(self, limit_seconds: float) -> None:
        self.limit_seconds = limit_seconds
        self._end = time.monotonic() + limit_seconds
        self._called_off = threading.Event()

    def remaining(self) -> float:
        """Return the seconds that are left, 0 after the end."""
        return 0.0 if self._called_off.is_set() else max(0.0, self._end - time.monotonic())

    def pause(self, seconds: float) -> None:
        """Wait, but not beyond the end."""
        self._called_off.wait(min(seconds, self.remaining()))

    def call_off(self) -> None:
        """Let everything that still runs find no time left."""
        self._called_off.set()


def within(deadline: Deadline, location: str, work: Callable[[], Result]) -> Result:
    """Return what work gives, if it does before the end.

    Raises:
        SourceError: it does not; also what the work raises.
    """
    outcome = _started(work)
    try:
        return outcome.result(deadline.remaining())
    except TimeoutError:
        if outcome.done():
            raise
        problem = f"is not read after {deadline.limit_seconds:g} s; expected all headers by then."
        raise SourceError(location, f"{problem} Check the connection, or allow more time.") from None
    finally:
        deadline.call_off()


def in_order(function: Callable[[str], Result], items: Iterable[str], workers: int) -> Iterator[Result]:
    """Yield what a function gives for items, in their order, while as many as `workers` are worked on."""
    under_way: deque[Future[Result]] = deque()
    for item in items:
        under_way.append(_started(partial(function, item)))
        if len(under_way) >= workers:
            yield under_way.popleft().result()
    while under_way:
        yield under_way.popleft().result()


def _started(work: Callable[[], Result]) -> Future[Result]:
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # noqa: BLE001 - whoever waits for the outcome raises it
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return outcome
