"""Simulations kept for models of equal shapes are those that each model would have got by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.offers import offer

from solver.engines.llamacpp import compute
from solver.engines.llamacpp.compute_recall import Recall, shape_key
from solver.engines.llamacpp.movable import all_blocks_pattern
from solver.engines.llamacpp.needs import ComputeNeed, compute_need, planned_settings
from solver.engines.llamacpp.profile import CPU, DEFAULT_BUILD, backend_of, profile_of
from solver.workload import IndexerRule, Offload, Workload

if TYPE_CHECKING:
    from tensors import Inventory

PROFILE = profile_of(DEFAULT_BUILD)
WORKLOAD = Workload(8192, 1, "q8_0", "q8_0", IndexerRule.OPTIMIZED, resident_nextn=False, cache_bytes_per_token=None)


def model(name: str) -> Inventory:
    inventory = offer(name).inventory
    assert inventory is not None
    return inventory


def heavier(inventory: Inventory) -> Inventory:
    """Return a model of equal shapes whose matrices take twice the bytes, as another quantisation would."""
    tensors = tuple(
        replace(tensor, size_bytes=tensor.size_bytes * 2) if len(tensor.shape) > 1 else tensor
        for tensor in inventory.tensors
    )
    return replace(inventory, tensors=tensors)


def need(inventory: Inventory, devices: int, moved: str | None = None) -> ComputeNeed:
    settings = planned_settings(PROFILE, inventory, WORKLOAD)
    return compute_need(PROFILE, inventory, settings, (backend_of("CUDA0"), CPU), devices=devices, moved=moved)


@pytest.mark.parametrize("name", ["tiny", "tiny-experts", "llama-3.2-1b"])
@pytest.mark.parametrize("devices", [1, 3])
@pytest.mark.parametrize("moved", [None, all_blocks_pattern(Offload.EXPERTS), all_blocks_pattern(Offload.FFN)])
def test_a_quantisation_gets_what_it_would_get_alone(
    name: str, devices: int, moved: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = heavier(model(name))
    monkeypatch.setattr(compute, "_simulated_peaks", Recall())
    monkeypatch.setattr(compute, "_fused", Recall())
    alone = need(other, devices, moved)
    monkeypatch.setattr(compute, "_simulated_peaks", Recall())
    monkeypatch.setattr(compute, "_fused", Recall())
    need(model(name), devices, moved)

    # Another object of the same model, so that nothing is remembered under its identity.
    assert alone == need(replace(other), devices, moved)


def test_an_answer_stands_only_while_copied_weights_have_the_same_sizes() -> None:
    inventory = model("llama-3.2-1b")
    recall: Recall[int] = Recall()
    key = shape_key(inventory)
    recall.keep(key, inventory, ("rope_freqs.weight",), 7)
    changed = tuple(
        replace(tensor, size_bytes=tensor.size_bytes + 1) if tensor.name == "rope_freqs.weight" else tensor
        for tensor in inventory.tensors
    )

    assert 7 == recall.find(key, inventory) == recall.find(key, heavier(inventory))
    assert recall.find(key, replace(inventory, tensors=changed)) is None
    assert recall.find("another", inventory) is None


def test_models_of_other_shapes_have_other_keys() -> None:
    small, large = model("llama-3.2-1b"), model("llama-3.1-70b")

    assert shape_key(small) != shape_key(large)
    assert shape_key(small) == shape_key(heavier(small))
    assert hash(shape_key(small)) == hash(shape_key(heavier(small)))
