"""exo's model cards, expected splits and a reported failure (exo-explore/exo at b5375f8c, Apache-2.0).

Units are bytes of storage; exo counts every layer alike, total / layers, and no cache. Memory lists of its tests have
no unit and are taken as they stand. The report names its machines in GB as they are sold, taken as 10^9 bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from benchmarks.public.folder import PublicDataError
from benchmarks.public.plain import NO_ENDS, joined_alike, read_json
from solver.problem import Block, Node, Problem

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["REPORTED", "REPORTED_GB", "ExoModel", "ExoSplit", "problem_of", "read_models", "read_splits"]

# Machines of the report in the order named, GB; the model that did not fit after rounding.
REPORTED_GB = (128, 128, 256, 24)
REPORTED = "mlx-community/Qwen3.5-397B-A17B-8bit"


class ExoModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model card. The card says no more about sizes than the bytes of all files."""

    model_id: str
    layers: int = msgspec.field(name="n_layers")
    hidden_size: int
    storage_bytes: int


class ExoSplit(msgspec.Struct, frozen=True, kw_only=True):
    """Memory of each machine and the layers that exo gives it."""

    memory: tuple[int, ...]
    layers: tuple[int, ...]


class _Cards(msgspec.Struct, frozen=True):
    models: tuple[ExoModel, ...]


class _Case(msgspec.Struct, frozen=True):
    layers: int
    expected: tuple[int, ...] | str
    available_memory: tuple[int, ...] | None = None


class _Cases(msgspec.Struct, frozen=True):
    cases: tuple[_Case, ...]


def read_models(folder: Path) -> dict[str, ExoModel]:
    """Return all cards under their ids; `folder` is that of exo.

    Raises:
        PublicDataError: the file is not there or breaks its form.
    """
    return {model.model_id: model for model in read_json(folder / "model_cards.json", _Cards).models}


def read_splits(folder: Path) -> tuple[ExoSplit, ...]:
    """Return the expected splits that are given by memory and have an answer, in the order of the file.

    Raises:
        PublicDataError: the file is not there, breaks its form, or a split does not add up.
    """
    splits = []
    for case in read_json(folder / "tests" / "proportional_cases.json", _Cases).cases:
        if case.available_memory is None or isinstance(case.expected, str):
            continue
        if sum(case.expected) != case.layers:
            raise PublicDataError(f"proportional_cases.json: {case.expected}; expected {case.layers} layers in all.")
        splits.append(ExoSplit(memory=case.available_memory, layers=case.expected))
    return tuple(splits)


def problem_of(model: ExoModel, memory_bytes: tuple[int, ...]) -> Problem:
    """Return a card on machines of so many bytes; layers take total / layers, the last what is left over."""
    size, rest = divmod(model.storage_bytes, model.layers)
    sizes = (*(size,) * (model.layers - 1), size + rest)
    return joined_alike(
        tuple(Block(size, 0, size, None, 0) for size in sizes),
        NO_ENDS,
        tuple(Node(f"machine {number}", amount, None, None) for number, amount in enumerate(memory_bytes)),
        activation_bytes=2 * model.hidden_size,
        context_tokens=None,
    )
