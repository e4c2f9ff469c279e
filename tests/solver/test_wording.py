"""Pieces of error sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from solver.errors import InputError
from solver.facts_file import read_facts
from solver.options import DEFAULT_POLICY, read_pool
from solver.options.exo import read_cards
from solver.options.gpustack import read_workers
from tensors.text import within_sentence

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize(
    ("sentence", "within"),
    [("Input data", "input data"), ("JSON is malformed", "JSON is malformed"), ("", ""), ("A", "a")],
)
def test_words_in_capitals_keep_them_within_a_sentence(sentence: str, within: str) -> None:
    assert within == within_sentence(sentence)


@pytest.mark.parametrize(
    "read",
    [read_facts, read_pool, lambda path: read_workers(path, DEFAULT_POLICY), lambda path: read_cards(path, 0)],
    ids=["facts", "pool", "workers", "cards"],
)
def test_every_reader_of_json_names_it_in_capitals(read: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / "it.json"
    path.write_text("layerfit", encoding="utf-8")
    with pytest.raises(InputError) as error:
        read(path)

    assert str(error.value).startswith(f"{path}: JSON is malformed: invalid character (byte 0); expected ")
