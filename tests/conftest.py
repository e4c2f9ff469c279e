"""Fixtures that every test folder may use."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from jsonschema import Draft202012Validator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_REPOSITORY = Path(__file__).resolve().parents[1]

# The same examples in every run, so that a failure belongs to the change it is seen with;
# `--hypothesis-profile explore` draws new ones. Nothing is judged by the clock: machines are busy.
settings.register_profile(
    "same", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("same")

# Reports are as wide as whoever runs the tests says; tests of widths say their own.
os.environ.pop("COLUMNS", None)


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


@pytest.fixture(scope="session")
def validate_document() -> Callable[[Mapping[str, Any]], None]:
    """Return a check of a document against the JSON Schema that its `schema` names in docs/schemas."""

    def validate(document: Mapping[str, Any]) -> None:
        _, name, version = document["schema"].split("/")
        schema = json.loads((_REPOSITORY / "docs" / "schemas" / f"{name}-{version}.json").read_text(encoding="utf-8"))
        Draft202012Validator(schema).validate(document)

    return validate
