"""How standard output is written on."""

from __future__ import annotations

import os
import sys

import pytest

from solver.cli.output import paint
from solver.report.terminal import Paint


def test_lines_that_nobody_watches_have_a_hundred_columns_and_no_colour() -> None:
    assert Paint(enabled=False, width=100) == paint()


@pytest.mark.parametrize(("said", "width"), [("80", 80), ("240", 240), ("7", 60), ("wide", 100), ("0", 100)])
def test_columns_says_how_wide_lines_are(said: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """None are so narrow that no table has room."""
    monkeypatch.setenv("COLUMNS", said)

    assert Paint(enabled=False, width=width) == paint()


def test_lines_are_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr("shutil.get_terminal_size", lambda _: os.terminal_size((132, 40)))

    assert Paint(enabled=True, width=132) == paint()
