"""Random plans on machines with shared memories pass their audit, and an overfull memory would be seen."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import msgspec
import pytest

from benchmarks.pool_audit import audited, overfull, small_model
from benchmarks.pool_audit import document_of as document_of_seed


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """Return a plan that leaves experts with a host."""
    model = small_model()
    for seed in range(100):
        found = document_of_seed(model, seed, Counter())
        if found is not None and any(stage["offload_bytes"] for stage in found["stages"]):
            return found
    pytest.fail("no seed leaves anything with a host")


# In the last, the cheapest run of a machine begins with one that its memory would not hold by itself.
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 155])
def test_random_plans_pass_their_audit(seed: int) -> None:
    assert [] == list(audited(small_model(), seed, Counter()))


def test_a_plan_is_not_overfull_and_one_whose_stages_say_more_is(document: dict[str, Any]) -> None:
    fuller = copy.deepcopy(document)
    stage = next(stage for stage in fuller["stages"] if stage["offload_bytes"])
    stage["offload_bytes"] += 2**40

    assert [] == list(overfull(document))
    assert 1 == len(list(overfull(msgspec.json.decode(msgspec.json.encode(fuller)))))
