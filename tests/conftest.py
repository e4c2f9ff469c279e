"""Fixtures that every test folder may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def repository() -> Path:
    """Return the folder that holds `tensors`, `solver` and this folder of tests."""
    return _REPOSITORY


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of reference data for conformance tests; without one, the test is skipped."""
    named = os.environ.get("LAYERFIT_DATA")
    folder = Path(named) if named else _REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no reference data at {folder}; name the folder in LAYERFIT_DATA to run this test")
    return folder
