"""Proven figures beside the closed forms (golden figures G5), and their agreement with the bounds of the solver."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.nodes import memory_node
from support.problems import problem_of

from solver.bounds import fewest_nodes
from solver.closed_form import NodeMemory, ReservePolicy, TopologyPlan, plan_all_tiers, plan_route, plan_topology
from solver.closed_form.route import fewest_largest
from solver.closed_form.target import CacheRequest, Target, target_of_inventory
from solver.cluster import Cluster
from solver.effort import Effort
from solver.limits import NO_LIMITS
from solver.prove import prove_route, prove_tiers
from solver.workload import IndexerRule, Workload
from tensors.synthetic import example_inventory
from tensors.units import GIB

if TYPE_CHECKING:
    from tensors.inventory import Inventory

WORKLOAD = Workload(16384, 1, "q8_0", "q8_0", IndexerRule.CONSERVATIVE, resident_nextn=True, cache_bytes_per_token=None)
REQUEST = CacheRequest(16384, 1, "q8_0", "q8_0", "conservative", None)
EFFORT = Effort(time_limit_seconds=60.0, deterministic_limit=None, workers=2, seed=0)
NO_RESERVE = ReservePolicy(Fraction(0), 0)


@pytest.fixture(scope="module")
def glm() -> Inventory:
    """Return the built-in example: GLM-5.2 in the sizes of UD-IQ2_XXS."""
    return example_inventory()


def asked(inventory: Inventory, *, resident: bool) -> tuple[Workload, Target]:
    """Return the workload and the target of the same question."""
    target = target_of_inventory(inventory, REQUEST, resident_nextn=resident)
    return replace(WORKLOAD, resident_nextn=resident), target


def proven_tiers(inventory: Inventory, *, resident: bool) -> dict[str, TopologyPlan]:
    workload, target = asked(inventory, resident=resident)
    return prove_tiers(inventory, workload, plan_all_tiers(target.weight_bytes, target.kv_bytes), EFFORT)


def test_the_assumed_imbalance_does_not_hold_at_the_recommended_eleven_nodes(glm: Inventory) -> None:
    """GLM-5.2 UD-IQ2_XXS with its nextn block resident measures 1.1022 on 11 nodes of 32 GiB."""
    plan = proven_tiers(glm, resident=True)["32"]

    assert plan.proven is not None
    assert plan.proven.at_fewest is not None
    assert plan.proven.at_recommended is not None
    assert (10, 11, 10) == (plan.arithmetic_minimum_nodes, plan.recommended_nodes, plan.proven.fewest_nodes)
    assert (24_669_618_176, 23_987_786_752) == (
        plan.proven.at_fewest.largest_load_bytes,
        plan.proven.at_recommended.largest_load_bytes,
    )
    assert Fraction(23_987_786_752 * 11, 239_404_999_680) == plan.proven.at_recommended.imbalance
    assert 11 == plan.proven.at_recommended.devices_used
    assert plan.proven.assumption_holds is False


@pytest.mark.parametrize(
    ("resident", "expected"),
    [
        (True, [(10, "1.0305"), (6, "1.0047"), (5, "1.0305"), (3, "1.0047"), (3, "1.0047")]),
        (False, [(10, "1.0469"), (6, "1.0207"), (5, "1.0324"), (3, "1.0120"), (3, "1.0120")]),
    ],
)
def test_the_proven_fewest_nodes_are_the_minimum_in_all_five_tiers(
    resident: bool, expected: list[tuple[int, str]], glm: Inventory
) -> None:
    for (count, imbalance), plan in zip(expected, proven_tiers(glm, resident=resident).values(), strict=True):
        assert plan.proven is not None
        assert plan.proven.at_fewest is not None
        assert count == plan.arithmetic_minimum_nodes == plan.proven.fewest_nodes
        assert imbalance == f"{float(plan.proven.at_fewest.imbalance):.4f}"
        assert ("optimal", ()) == (plan.proven.outcome, plan.proven.indivisible_blocks)


@pytest.mark.parametrize(
    ("nodes", "resident", "largest", "imbalance"),
    [
        (3, True, 80_176_259_072, "1.0047"),
        (5, True, 49_339_236_352, "1.0305"),
        (6, True, 40_088_129_536, "1.0047"),
        (7, True, 36_322_595_840, "1.0620"),
        (10, True, 24_669_618_176, "1.0305"),
        (11, True, 23_987_786_752, "1.1022"),
        (3, False, 79_494_427_648, "1.0120"),
        (5, False, 48_657_404_928, "1.0324"),
        (6, False, 40_088_129_536, "1.0207"),
        (7, False, 33_920_724_992, "1.0076"),
        (10, False, 24_669_618_176, "1.0469"),
        (11, False, 21_585_915_904, "1.0076"),
        (15, False, 17_388_253_184, "1.1068"),
    ],
)
def test_the_measured_imbalance_of_equal_nodes_is_the_proven_optimum(
    nodes: int, resident: bool, largest: int, imbalance: str, glm: Inventory
) -> None:
    """A budget that makes the recommended count what is asked for, and no other limit."""
    workload, target = asked(glm, resident=resident)
    total = target.weight_bytes + target.kv_bytes
    node = NodeMemory("node", largest, reserve=NO_RESERVE)
    plan = replace(plan_topology(node, target.weight_bytes, target.kv_bytes), recommended_nodes=nodes)
    proven = prove_tiers(glm, workload, {"equal": plan}, EFFORT)["equal"].proven

    assert proven is not None
    assert proven.at_recommended is not None
    assert largest == proven.at_recommended.largest_load_bytes
    assert Fraction(largest * proven.at_recommended.devices_used, total) == proven.at_recommended.imbalance
    assert imbalance == f"{float(proven.at_recommended.imbalance):.4f}"
    assert "none" != proven.at_recommended.proof


def test_blocks_that_do_not_divide_are_named_where_they_cost_a_node(glm: Inventory) -> None:
    """Nodes of 6 GiB hold one expert block and a part of the next: 40 where arithmetic asks for 37."""
    workload, target = asked(glm, resident=False)
    node = NodeMemory("node", 6 * GIB, reserve=NO_RESERVE)
    plan = plan_topology(node, target.weight_bytes, target.kv_bytes, imbalance_factor="1.05")
    proven = prove_tiers(glm, workload, {"6": plan}, EFFORT)["6"].proven

    assert proven is not None
    assert (37, 39, 40) == (plan.arithmetic_minimum_nodes, plan.recommended_nodes, proven.fewest_nodes)
    assert 39 == len(proven.indivisible_blocks)
    assert (4, 6, 8) == proven.indivisible_blocks[:3]
    assert (None, False) == (proven.at_recommended, proven.assumption_holds)


def test_a_budget_below_a_block_has_no_placement_on_any_number_of_nodes(glm: Inventory) -> None:
    workload, target = asked(glm, resident=False)
    plan = plan_topology(NodeMemory("node", 2 * GIB, reserve=NO_RESERVE), target.weight_bytes, target.kv_bytes)
    proven = prove_tiers(glm, workload, {"2": plan}, EFFORT)["2"].proven

    assert proven is not None
    assert ("infeasible", None, None, None, False) == (
        proven.outcome,
        proven.fewest_nodes,
        proven.at_fewest,
        proven.at_recommended,
        proven.assumption_holds,
    )


def cluster(*sizes: int) -> Cluster:
    """Return a cluster with a node of each number of GiB."""
    nodes = tuple(memory_node(f"n{index}", size * GIB) for index, size in enumerate(sizes))
    return Cluster(nodes=nodes, latency_ns=0, bytes_per_second=None, links=())


@pytest.mark.parametrize(
    ("sizes", "fits", "sufficient", "nodes_used"),
    [
        ((32, 48, 64, 96, 128), True, True, 3),
        ((64, 64, 64), False, False, None),
        (tuple([11] * 74), True, False, None),
    ],
)
def test_the_solver_says_whether_the_sum_of_budgets_is_sufficient(
    sizes: tuple[int, ...], fits: bool, sufficient: bool, nodes_used: int | None, glm: Inventory
) -> None:
    """Budgets of 3 GiB each hold one block at most, so 74 of them hold the bytes and not the 78 blocks."""
    workload, target = asked(glm, resident=False)
    machines = cluster(*sizes)
    nodes = [NodeMemory(node.name, node.memory_bytes) for node in machines.nodes]
    route = prove_route(glm, machines, workload, plan_route(nodes, target.weight_bytes, target.kv_bytes), EFFORT)

    assert route.proven is not None
    assert fits == route.fits
    assert (sufficient, nodes_used) == (route.proven.sufficient, route.proven.nodes_used)
    assert sufficient == (not route.proven.reasons)


@given(
    weights=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    budgets=st.lists(st.integers(1, 60), min_size=1, max_size=6),
)
def test_the_minimum_of_the_closed_form_is_the_bound_of_the_solver(weights: list[int], budgets: list[int]) -> None:
    """They share no code, and agree where the largest node takes the largest block and no node is left empty."""
    bound = fewest_nodes(problem_of(tuple(weights), tuple(budgets)), NO_LIMITS)
    minimum = fewest_largest(budgets, sum(weights))

    enough_blocks = minimum is not None and minimum <= len(weights)
    assert (minimum if max(weights) <= max(budgets) and enough_blocks else None) == bound
