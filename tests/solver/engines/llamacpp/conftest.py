"""Measured runs of a real llama.cpp, and the models that they were of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.llamacpp_models import read_models, unpack_headers
from benchmarks.llamacpp_rows import read_rows

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.llamacpp_rows import Row
    from tensors.inventory import Inventory


@pytest.fixture(scope="module")
def rows(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """Return all runs; the headers they ran on are unpacked for as long as a module needs them."""
    headers = tmp_path_factory.mktemp("headers")
    unpack_headers(data_folder / "llamacpp_truth", headers)
    return read_rows(data_folder / "llamacpp_truth", headers)


@pytest.fixture(scope="module")
def models(rows: list[Row]) -> dict[str, Inventory]:
    """Return the model of every run."""
    return read_models(rows)
