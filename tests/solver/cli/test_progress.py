"""One line of progress where a person watches, and none where nobody does."""

from __future__ import annotations

from fractions import Fraction
from io import StringIO
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from solver.cli import progress
from solver.cli.progress import shown_progress
from solver.effort import silent

if TYPE_CHECKING:
    from solver.limits import Value

CLEAR = "\r\033[K"


class Screen(StringIO):
    """Standard error as a terminal."""

    def isatty(self) -> bool:
        """Return that a person watches."""
        return True


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Return a terminal in place of standard error, and no patience before the first line."""
    shown = Screen()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=shown))
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.0)
    return shown


@pytest.mark.parametrize(
    ("best", "bound", "line"),
    [
        (None, None, "balance: looking for a placement"),
        (None, Fraction(1, 2), "balance: looking for a placement"),
        (Fraction(3, 4), None, "balance: best 0.7500, no bound yet"),
        (Fraction(3, 4), Fraction(3, 5), "balance: best 0.7500, bound 0.6000, gap 20.00 %"),
        (12_000_000_000, 11_400_000_000, "balance: best 12,000,000,000, bound 11,400,000,000, gap 5.00 %"),
        (0, 0, "balance: best 0, bound 0, gap 0.00 %"),
    ],
)
def test_a_line_says_the_best_the_bound_and_the_gap(
    best: Value | None, bound: Value | None, line: str, screen: Screen
) -> None:
    """It is cleared in the end."""
    with shown_progress(quiet=False) as show:
        show("balance", best, bound)

    assert f"{CLEAR}{line}{CLEAR}" == screen.getvalue()


def test_a_line_takes_the_place_of_the_one_before(screen: Screen) -> None:
    with shown_progress(quiet=False) as show:
        show("nodes", 4, 3)
        show("nodes", 3, 3)

    assert f"{CLEAR}nodes: best 4, bound 3, gap 25.00 %{CLEAR}nodes: best 3, bound 3, gap 0.00 %{CLEAR}" == (
        screen.getvalue()
    )


def test_a_short_search_shows_nothing(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 1e9)
    with shown_progress(quiet=False) as show:
        show("nodes", 4, 3)

    assert "" == screen.getvalue()


def test_a_line_is_cleared_when_the_search_is_interrupted(screen: Screen) -> None:
    def interrupted() -> None:
        with shown_progress(quiet=False) as show:
            show("nodes", 4, 3)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    assert screen.getvalue().endswith(CLEAR)


def test_nothing_is_shown_where_nobody_watches_or_quiet_is_asked_for(screen: Screen) -> None:
    with shown_progress(quiet=True) as show:
        assert silent is show
    screen.isatty = lambda: False  # type: ignore[method-assign]
    with shown_progress(quiet=False) as show:
        assert silent is show
