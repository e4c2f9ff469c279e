"""Machines become devices that draw on memories, each of which is counted once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.llamacpp import llama_70b, mixtral
from support.plans import REQUEST
from support.problems import NO_RULES

from solver.cluster_file import parse_cluster
from solver.engines.generic import EnginePlan, generic
from solver.engines.seating import sites_of
from solver.errors import InputError
from solver.measures import nodes_used, offload_bytes, pool_loads, stage_load
from solver.pools import Draws, Pool
from solver.problem import Link, Placement, Stage
from solver.rules import violations
from solver.workload import AUTOMATIC_WIDTH, USUAL_CHOICES, Choices, Offload
from tensors.inventory import Role
from tensors.units import GIB

DESK = """
[[node]]
name = "desk"
memory = "100 GiB"
bandwidth = "80 GB/s"
inside = { latency = "5 us", rate = "32 GB/s" }
reserve = { fraction = 0.10, floor = "0 GiB", gpu = { fraction = 0 } }
gpu = [{ class = "a", memory = "24 GiB", count = 2, bandwidth = "1 TB/s" }, { class = "b", memory = "16 GiB" }]
"""
STRIX = """
[[node]]
name = "strix"
memory = "128 GiB"
unified = true
cpu = true
ceiling = "100 GiB"
reserve = { fraction = 0, floor = "8 GiB" }
"""


def asked(text: str, choices: Choices = USUAL_CHOICES, *, dense: bool = False) -> EnginePlan:
    model = llama_70b() if dense else mixtral()
    return generic(model, parse_cluster(text, "m"), REQUEST, NO_RULES, choices)


def test_cards_are_devices_of_their_machine_with_pools_and_a_host_for_experts() -> None:
    problem = asked(DESK).problem

    assert [
        ("desk/gpu0", 24 * GIB, Draws(("desk/gpu0",), ("desk/gpu0",), "desk/ram", 80 * 10**9, 0)),
        ("desk/gpu1", 24 * GIB, Draws(("desk/gpu1",), ("desk/gpu1",), "desk/ram", 80 * 10**9, 0)),
        ("desk/gpu2", 16 * GIB, Draws(("desk/gpu2",), ("desk/gpu2",), "desk/ram", 80 * 10**9, 0)),
    ] == [(node.name, node.budget_bytes, node.draws) for node in problem.nodes]
    assert [
        Pool("desk/gpu0", 24 * GIB, "desk"),
        Pool("desk/gpu1", 24 * GIB, "desk"),
        Pool("desk/gpu2", 16 * GIB, "desk"),
        Pool("desk/ram", 90 * GIB, "desk"),
    ] == list(problem.pools)
    assert {"desk"} == {node.machine for node in problem.nodes}


def test_hops_inside_a_machine_cost_what_its_file_says_and_else_nothing() -> None:
    told = asked(DESK).problem
    silent = asked(DESK.replace('inside = { latency = "5 us", rate = "32 GB/s" }', "")).problem

    assert Link(5000, 32 * 10**9, forbidden=False) == told.link("desk/gpu0", "desk/gpu2")
    assert Link(0, None, forbidden=False) == silent.link("desk/gpu0", "desk/gpu2")


@pytest.mark.parametrize("dense", [False, True], ids=["experts", "dense"])
@pytest.mark.parametrize("offload", list(Offload))
def test_what_may_stay_with_the_host_is_experts_feed_forward_networks_or_nothing(dense: bool, offload: Offload) -> None:
    model = llama_70b() if dense else mixtral()
    roles = {Offload.EXPERTS: {Role.ROUTED_EXPERT}, Offload.FFN: {Role.ROUTED_EXPERT, Role.FEED_FORWARD}}
    proper = [0] * model.trunk_blocks
    for tensor in model.tensors:
        if tensor.block is not None and tensor.role in roles.get(offload, set()):
            proper[tensor.block] += tensor.size_bytes
    problem = asked(DESK, replace(USUAL_CHOICES, offload=offload), dense=dense).problem

    assert proper == [block.expert_bytes for block in problem.blocks]
    assert all((node.host_pool is not None) == any(proper) for node in problem.nodes)


def test_a_token_reads_two_of_eight_experts_from_the_host_and_all_of_a_dense_network() -> None:
    experts = asked(DESK).problem.blocks[0]
    dense = asked(DESK, replace(USUAL_CHOICES, offload=Offload.FFN), dense=True).problem.blocks[0]

    assert experts.expert_bytes // 4 == experts.expert_active_bytes
    assert dense.expert_bytes == dense.expert_active_bytes > 0


def test_a_processor_beside_a_unified_gpu_draws_on_the_same_memory_and_the_ceiling_is_the_gpus() -> None:
    """120 GiB in all: 100 on the GPU leave 20 for the processor, and not 120."""
    problem = asked(STRIX, dense=True).problem
    gpu, cpu = problem.nodes

    assert (("strix/gpu0", 100 * GIB), ("strix/cpu", 120 * GIB)) == tuple((n.name, n.budget_bytes) for n in (gpu, cpu))
    assert (Pool("strix/unified", 120 * GIB, "strix"),) == problem.pools
    assert ("strix/unified",) == gpu.pools == cpu.pools


def test_a_processor_beside_cards_draws_on_the_host_and_takes_no_blocks_unless_told() -> None:
    with_cpu = DESK.replace('memory = "100 GiB"', 'memory = "100 GiB"\ncpu = true', 1)
    problem = asked(with_cpu, dense=True).problem

    assert "desk/cpu" not in {node.name for node in asked(DESK, dense=True).problem.nodes}
    assert (90 * GIB, ("desk/ram",)) == (problem.nodes[3].budget_bytes, problem.nodes[3].pools)
    assert Pool("desk/ram", 90 * GIB, "desk") in problem.pools


def test_whole_blocks_on_a_processor_and_experts_in_its_memory_are_bounded_together() -> None:
    with_cpu = DESK.replace('memory = "100 GiB"', 'memory = "20 GiB"\ncpu = true', 1)
    problem = asked(with_cpu).problem
    inner = tuple(range(10, 25))
    placement = Placement((Stage(0, 10, "desk/cpu"), Stage(10, 32, "desk/gpu0", inner)))
    host = pool_loads(problem, placement)["desk/ram"]
    blocks = sum(block.weight_bytes for block in problem.blocks[:10])
    experts = sum(problem.blocks[index].expert_bytes for index in inner)

    assert experts == host.offload_bytes
    assert stage_load(problem, placement.stages[0]).load_bytes + experts == host.load_bytes > 18 * GIB
    assert blocks + experts == offload_bytes(problem, placement)
    assert {"pools"} == {violation.rule for violation in violations(problem, placement)}
    assert 1 == nodes_used(problem, placement)


def test_a_machine_of_one_card_keeps_its_name_whatever_its_host_takes() -> None:
    one = '[[node]]\nname = "box"\nmemory = "64 GiB"\ngpu = [{ class = "a", memory = "24 GiB" }]\n'
    problem = asked(one).problem

    assert [("box", None)] == [(node.name, node.machine) for node in problem.nodes]
    assert [("box/gpu0",), "box/ram"] == [problem.nodes[0].pools, problem.nodes[0].host_pool]


def test_groups_of_equal_cards_hold_shares_and_take_their_cards_alone() -> None:
    problem = asked(DESK, Choices(Offload.EXPERTS, AUTOMATIC_WIDTH)).problem
    pair = problem.nodes_by_name["desk/gpu0-1"]
    whole, half = problem.blocks[0], problem.shape_of(pair).blocks[0]

    assert ("desk/gpu0", "desk/gpu1") == pair.pools == pair.cards
    assert (24 * GIB, "desk/ram", 1) == (pair.budget_bytes, pair.host_pool, pair.draws and pair.draws.shape)
    assert whole.cache_bytes == 2 * half.cache_bytes
    assert whole.expert_bytes == 2 * half.expert_bytes
    assert whole.weight_bytes < 2 * half.weight_bytes < whole.weight_bytes + 2**20
    both = Placement((Stage(0, 20, "desk/gpu0-1"), Stage(20, 32, "desk/gpu1")))
    assert "cards" in {violation.rule for violation in violations(problem, both)}


def test_a_width_takes_groups_of_that_width_alone_and_names_what_is_left() -> None:
    plan = asked(DESK, Choices(Offload.EXPERTS, 2))

    assert ["desk/gpu0-1"] == [node.name for node in plan.problem.nodes]
    assert "Left over from groups of 2 equal cards: desk/gpu2." in plan.notes


def test_a_width_that_no_machine_has_cards_for_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        asked(DESK, Choices(Offload.EXPERTS, 4))

    assert "cluster: no node has 4 equal cards; expected one that has. List its cards, or lower the width." == str(
        caught.value
    )


def test_a_machine_that_is_listed_twice_is_refused_by_its_address() -> None:
    text = f'{DESK}address = "10.0.0.9"\n[[node]]\nname = "again"\nmemory = "8 GiB"\naddress = "10.0.0.9"\n'
    with pytest.raises(InputError) as caught:
        parse_cluster(text, "cluster.toml")

    assert (
        'cluster.toml, node[1].address: "10.0.0.9" is also the address of node[0], and one machine would be counted '
        "twice; expected every machine once. List all its devices in one node." == str(caught.value)
    )


def test_excluded_cards_and_machines_are_no_devices() -> None:
    cluster = parse_cluster(DESK + STRIX, "m")

    assert ["desk/gpu0", "desk/gpu2", "strix/gpu0", "strix/cpu"] == [
        site.node for site in sites_of(cluster, frozenset({"desk/gpu1"}))
    ]
    assert ["strix/gpu0", "strix/cpu"] == [site.node for site in sites_of(cluster, frozenset({"desk"}))]
