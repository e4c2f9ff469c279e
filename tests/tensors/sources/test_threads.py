"""Work under way at the same time, and the limit that nothing outlasts."""

from __future__ import annotations

import threading
from itertools import count

import pytest

from tensors.errors import SourceError
from tensors.sources.threads import Deadline, in_order, within


def test_results_come_in_the_order_of_the_items() -> None:
    """Whichever is ready first."""
    last_is_ready = threading.Event()

    def work(item: str) -> str:
        if item == "c":
            last_is_ready.set()
        else:
            assert last_is_ready.wait(5)
        return item.upper()

    assert ["A", "B", "C"] == list(in_order(work, "abc", 3))


def test_no_more_items_are_under_way_than_workers() -> None:
    started = []

    def work(item: str) -> str:
        started.append(item)
        return item

    results = in_order(work, (str(number) for number in count()), 4)

    assert "0" == next(results)
    assert len(started) <= 4


def test_an_error_is_raised_in_its_turn() -> None:
    def work(item: str) -> int:
        return int(item)

    results = in_order(work, ["1", "x", "3"], 3)

    assert 1 == next(results)
    with pytest.raises(ValueError, match="'x'"):
        next(results)


def test_the_limit_ends_the_wait_and_calls_off_the_work() -> None:
    deadline = Deadline(0.05)
    over = threading.Event()

    with pytest.raises(SourceError) as caught:
        within(deadline, "http://host/m.gguf", lambda: over.wait(5))
    over.set()

    assert (
        "http://host/m.gguf: is not read after 0.05 s; expected all headers by then. "
        "Check the connection, or allow more time."
    ) == str(caught.value)
    assert 0.0 == deadline.remaining()


def test_a_pause_ends_with_the_deadline() -> None:
    """However long it was meant to be."""
    deadline = Deadline(60)
    deadline.call_off()
    deadline.pause(3_600)

    assert 0.0 == deadline.remaining()


def test_a_time_out_of_the_work_itself_is_its_own() -> None:
    def work() -> None:
        raise TimeoutError("of a socket")

    with pytest.raises(TimeoutError, match="of a socket"):
        within(Deadline(60), "http://host/m.gguf", work)
