"""What a plan says that a device holds is what the engine would hold there."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.llamacpp import llama_70b, mixtral
from support.plans import FOUR_MACHINES, REQUEST
from support.problems import NO_RULES

from solver.cluster_file import parse_cluster
from solver.engines.commands import Run
from solver.engines.llamacpp.facts import HOST, Assignment, Device
from solver.engines.llamacpp.memory import device_bytes, not_predicted
from solver.engines.llamacpp.needs import planned_settings
from solver.engines.llamacpp.problem import llamacpp
from solver.engines.llamacpp.profile import DEFAULT_BUILD, backend_of, profile_of
from solver.engines.llamacpp.seats import seats_of
from solver.errors import InputError
from solver.measures import pool_loads, stage_load
from solver.problem import Placement, Stage

if TYPE_CHECKING:
    from solver.workload import Workload
    from tensors.inventory import Inventory

PROFILE = profile_of(DEFAULT_BUILD)
CONTEXT_BYTES = 460 * 2**20
HOSTS = """
[[node]]
name = "a"
count = 3
memory = "64 GiB"
"""
MIXED = """
[[node]]
name = "a-1"
memory = "64 GiB"
[[node]]
name = "a-2"
memory = "64 GiB"
unified = true
[[node]]
name = "a-3"
memory = "64 GiB"
gpu = [{ class = "rtx-4090-24g", memory = "24 GiB", device = "CUDA0" }]
"""
MODELS = {"dense": llama_70b(), "tied": llama_70b(tied=True), "experts": mixtral()}


def cuts(blocks: int) -> list[tuple[Run, Run, Run]]:
    """Return random cuts of blocks into three runs on the nodes in order; the last is the head alone in one."""
    generator = random.Random(blocks)
    found = []
    for number in range(12):
        first, second = sorted(generator.sample(range(1, blocks), 2))
        second = second if number else blocks
        found.append((Run(0, first, "a-1"), Run(first, second, "a-2"), Run(second, blocks, "a-3")))
    return found


def stages_of(runs: tuple[Run, ...]) -> list[Stage]:
    """Return runs of blocks as stages of items: the head is one more, behind the last block."""
    return [Stage(run.start, run.end + (run is runs[-1]), run.device) for run in runs]


def held(inventory: Inventory, workload: Workload, runs: tuple[Run, Run, Run], kinds: tuple[str, str]) -> list[int]:
    """Return the bytes of weights and cache on the head's host and on two devices, from the emulation's function."""
    settings = planned_settings(PROFILE, inventory, workload)
    devices = tuple(Device(f"RPC{number}", "", backend_of(kind), None) for number, kind in enumerate(kinds))
    first, second, third = (run.end - run.start for run in runs)
    slots = (HOST,) * first + (0,) * second + (1,) * (third + 1)
    rows = device_bytes(PROFILE, inventory, settings, Assignment(devices, slots, ()), not_predicted)
    sizes = [row.model_bytes + row.cache_bytes + row.state_bytes for row in rows]
    return [sizes[-1], *sizes[:-1]]


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize("sequences", [1, 3])
def test_where_all_devices_are_alike_a_plan_counts_what_the_engine_allocates(name: str, sequences: int) -> None:
    inventory, workload = MODELS[name], replace(REQUEST, context_tokens=5000, sequences=sequences)
    problem = llamacpp(inventory, parse_cluster(HOSTS, "m"), workload, replace(NO_RULES, first="a-1")).problem
    for runs in cuts(inventory.trunk_blocks):
        loads = [stage_load(problem, stage) for stage in stages_of(runs)]

        assert held(inventory, workload, runs, ("RPC0", "RPC1")) == [
            load.weight_bytes + load.cache_bytes for load in loads
        ]


@pytest.mark.parametrize("name", list(MODELS))
def test_where_devices_differ_a_plan_counts_no_less_than_the_engine_allocates(name: str) -> None:
    inventory = MODELS[name]
    problem = llamacpp(inventory, parse_cluster(MIXED, "m"), REQUEST, replace(NO_RULES, first="a-1")).problem
    for runs in cuts(inventory.trunk_blocks):
        loads = [stage_load(problem, stage) for stage in stages_of(runs)]

        for size, load in zip(held(inventory, REQUEST, runs, ("Vulkan0", "CUDA0")), loads, strict=True):
            assert size <= load.weight_bytes + load.cache_bytes
            assert load.weight_bytes + load.cache_bytes - size < inventory.trunk_blocks * 2**20


def test_every_device_holds_what_it_computes_in_beside_its_stage_and_a_card_its_driver_too() -> None:
    """It is load of the stage: the budget is what the reserve leaves."""
    cluster = parse_cluster(FOUR_MACHINES, "m")
    plan = llamacpp(llama_70b(), cluster, REQUEST, NO_RULES)
    given = {node.name: node.budget_bytes for node in cluster.nodes}
    held = {node.name: node.held_bytes for node in plan.problem.nodes}
    stage = stage_load(plan.problem, Stage(3, 5, "studio"))

    assert all(given[node.name] == node.budget_bytes for node in plan.problem.nodes if node.name in given)
    assert held["desk-1"] == held["desk-2"] > 2**28
    assert held["desk-1"] + CONTEXT_BYTES == held["studio"] == stage.other_bytes
    assert DEFAULT_BUILD == plan.build
    assert plan.notes[0].startswith(f"Assumed: llama.cpp {DEFAULT_BUILD}, -c 16384 for 1 sequence apart.")


def test_a_head_on_cards_keeps_its_embeddings_in_the_host_and_must_have_room_there() -> None:
    cards = 'gpu = [{ class = "l4", memory = "24 GiB", count = 2 }]'
    roomy = parse_cluster(f'[[node]]\nname = "desk"\nmemory = "64 GiB"\n{cards}', "m")
    tight = parse_cluster(f'[[node]]\nname = "desk"\nmemory = "8 GiB"\n{cards}', "m")
    problem = llamacpp(llama_70b(), roomy, REQUEST, NO_RULES).problem

    placement = Placement((Stage(0, 40, "desk/gpu1"), Stage(40, 81, "desk/gpu0")))
    host = pool_loads(problem, placement)["desk/ram"]
    embedding = next(tensor for tensor in llama_70b().tensors if tensor.name == "token_embd.weight")

    assert ["desk/gpu0", "desk/gpu1"] == [node.name for node in problem.nodes]
    assert 0 == problem.ends.input_bytes
    assert problem.nodes[1].held_bytes == stage_load(problem, placement.stages[0]).other_bytes
    assert embedding.size_bytes < problem.ends.host_bytes == host.load_bytes == host.other_bytes
    assert 512 * 2**30 // 10 == next(pool.budget_bytes for pool in problem.pools if pool.name == "desk/ram")
    with pytest.raises(InputError, match=r"^node desk: its host may hold 0 B; the head needs .* there for embeddings"):
        llamacpp(llama_70b(), tight, REQUEST, NO_RULES)


def test_a_first_stage_that_is_not_on_the_head_is_refused() -> None:
    cluster = parse_cluster(f"{HOSTS}[[node]]\nname = 'b'\nmemory = '64 GiB'\nhead = true\n", "m")
    with pytest.raises(InputError) as caught:
        llamacpp(llama_70b(), cluster, REQUEST, replace(NO_RULES, first="a-1"))

    assert (
        'rule first: it names "a-1", and "b" is the head, where llama.cpp is started; expected the same machine. '
        "Change one." == str(caught.value)
    )


def test_devices_are_named_after_their_machine_where_they_are_alone() -> None:
    text = """
    [[node]]
    name = "one"
    memory = "64 GiB"
    gpu = [{ class = "l4", memory = "24 GiB", device = "CUDA3" }]
    [[node]]
    name = "two"
    memory = "64 GiB"
    gpu = [{ class = "l4", memory = "24 GiB" }, { class = "w7900", memory = "48 GiB", device = "ROCm0" }]
    """
    seats = seats_of(parse_cluster(text, "m"), frozenset({"two/gpu1"}))

    assert [("one", "CUDA3"), ("two/gpu0", "CUDA0")] == [(seat.node, seat.local) for seat in seats]
