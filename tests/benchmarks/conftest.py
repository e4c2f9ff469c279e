"""Tests of benchmarks read public instances, and are skipped where a folder of theirs is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.public.folder import AbsentDataError

if TYPE_CHECKING:
    from collections.abc import Generator


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Skip a test that asks for a file in a folder that is not there; a file missing in one that is fails it."""
    try:
        return (yield)
    except AbsentDataError as absent:
        if absent.path.parent.is_dir():
            raise
        pytest.skip(f"no public instances at {absent.path.parent}")
