"""A model of 222 GiB on cards with hosts: the fewest bytes stay behind, proved, and what is typed says the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.plans import REQUEST
from support.problems import NO_RULES

from solver.cluster_file import parse_cluster
from solver.effort import Effort
from solver.engines.commands import Export, Run
from solver.engines.llamacpp.assign import assignment_of, devices_of
from solver.engines.llamacpp.export import llamacpp_export
from solver.engines.llamacpp.facts import HOST
from solver.engines.llamacpp.interpret import request_of
from solver.engines.llamacpp.memory import device_bytes, not_predicted
from solver.engines.llamacpp.needs import planned_settings
from solver.engines.llamacpp.problem import llamacpp
from solver.engines.llamacpp.profile import DEFAULT_BUILD, backend_of, profile_of
from solver.measures import pool_loads, stage_load
from solver.objectives import objectives_named
from solver.problem import Placement
from solver.rules import violations
from solver.solution import Outcome
from solver.solve import solve
from tensors.synthetic import example_inventory

if TYPE_CHECKING:
    from solver.cluster import Cluster
    from solver.problem import Problem
    from tensors.inventory import Inventory

EFFORT = Effort(time_limit_seconds=60.0, deterministic_limit=None, workers=1, seed=0)
WORKLOAD = replace(REQUEST, cache_type_k="f16", cache_type_v="f16")
PROFILE = profile_of(DEFAULT_BUILD)
TWO_CARDS = """
[[node]]
name = "desk"
memory = "256 GiB"
bandwidth = "80 GB/s"
gpu = [{ class = "rtx-4090-24g", memory = "24 GiB", count = 2, bandwidth = "1008 GB/s", device = "CUDA0" }]
"""
THREE_NODES = """
[[node]]
name = "desk"
memory = "192 GiB"
bandwidth = "80 GB/s"
head = true
gpu = [{ class = "rtx-4090-24g", memory = "24 GiB", count = 2, bandwidth = "1008 GB/s", device = "CUDA0" }]

[[node]]
name = "tower"
memory = "128 GiB"
bandwidth = "60 GB/s"
cpu = true
address = "10.0.0.3"
gpu = [
  { class = "rtx-3090-24g", memory = "24 GiB", bandwidth = "936 GB/s", device = "CUDA0" },
  { class = "rtx-a4000-16g", memory = "16 GiB", bandwidth = "448 GB/s", device = "CUDA1" },
]

[[node]]
name = "attic"
memory = "64 GiB"
bandwidth = "50 GB/s"
address = "10.0.0.4"
gpu = [{ class = "rtx-a6000-48g", memory = "48 GiB", bandwidth = "768 GB/s", device = "CUDA0" }]

[links]
latency = "0.2 ms"
rate = "10 Gbit/s"
"""


@pytest.fixture(scope="module")
def model() -> Inventory:
    """Return GLM-5.2 in a mix of 2 to 8 bits."""
    return example_inventory()


@pytest.fixture(scope="module", params=[TWO_CARDS, THREE_NODES], ids=["two cards", "three unlike nodes"])
def asked(request: pytest.FixtureRequest, model: Inventory) -> tuple[Cluster, Problem]:
    """Return a cluster and the problem on it."""
    cluster = parse_cluster(request.param, "m")
    return cluster, llamacpp(model, cluster, WORKLOAD, NO_RULES).problem


@pytest.mark.parametrize("objective", ["offload", "latency"])
def test_what_stays_behind_is_proved_and_typed(
    objective: str, asked: tuple[Cluster, Problem], model: Inventory
) -> None:
    """Bytes on every device and host are those of the plan, wherever all sizes round up alike."""
    cluster, problem = asked
    solution = solve(problem, objectives_named(objective), EFFORT)
    assert Outcome.OPTIMAL == solution.outcome
    assert solution.placement is not None

    runs = [
        Run(s.start, s.end, "attic/gpu0" if s.node == "attic" else s.node, s.offloaded)
        for s in solution.placement.stages
    ]
    blocks = model.trunk_blocks + model.nextn_blocks
    export = llamacpp_export(runs, cluster, WORKLOAD, blocks, "m.gguf", model, strict=True)
    assert isinstance(export, Export), export
    request = request_of(export.machines[-1].commands[-1].words)
    assignment = assignment_of(PROFILE, request, devices_of(request, None), blocks)
    kinds = ["RPC0" if stage.node == "tower/cpu" else "CUDA0" for stage in solution.placement.stages]
    kinds += ["RPC0"] * (len(assignment.devices) - len(kinds))
    devices = tuple(replace(d, backend=backend_of(k)) for d, k in zip(assignment.devices, kinds, strict=True))
    settings = planned_settings(PROFILE, model, WORKLOAD)
    rows = device_bytes(PROFILE, model, settings, replace(assignment, devices=devices), not_predicted)
    pools = pool_loads(problem, solution.placement)
    for stage, row in zip(solution.placement.stages, rows, strict=False):
        load = stage_load(problem, stage)
        if stage.node != "tower/cpu":
            assert load.weight_bytes + load.cache_bytes == row.model_bytes + row.cache_bytes
    embedding = next(tensor.size_bytes for tensor in model.tensors if tensor.name == "token_embd.weight")
    assert pools["desk/ram"].offload_bytes == rows[-1].model_bytes - embedding
    assert {HOST} == {override.device for override in assignment.overrides} - set(range(len(devices)))


def test_no_further_blocks_experts_fit_on_either_card(model: Inventory) -> None:
    """Each one taken back from the host overfills its card."""
    problem = llamacpp(model, parse_cluster(TWO_CARDS, "m"), WORKLOAD, NO_RULES).problem
    placement = solve(problem, objectives_named("nodes,offload,balance"), EFFORT).placement
    assert placement is not None

    for number, stage in enumerate(placement.stages):
        for block in stage.offloaded:
            kept = replace(stage, offloaded=tuple(b for b in stage.offloaded if b != block))
            stages = (*placement.stages[:number], kept, *placement.stages[number + 1 :])
            assert "memory" in {violation.rule for violation in violations(problem, Placement(stages))}
