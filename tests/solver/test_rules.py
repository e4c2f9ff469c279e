"""Each rule alone: a placement that breaks it and nothing else, with the witness, beside one that keeps it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.pooled import every_pooled_placement, pooled_problems
from support.problems import NO_LINKS, NO_RULES, problem_of
from support.timed import GB, timed

from solver import rules as rules_module
from solver.pools import Draws, Pool
from solver.problem import Ends, Link, LinkPair, Node, Placement, Problem, Rules, Stage
from solver.rules import Violation, violations

BARRED = Link(latency_ns=0, bytes_per_second=None, forbidden=True)


def placed(*stages: tuple[int, int, str]) -> Placement:
    return Placement(tuple(Stage(*stage) for stage in stages))


def ruled(**changes: object) -> Rules:
    return replace(NO_RULES, **changes)  # type: ignore[arg-type]


PLAIN = problem_of((4, 5, 6, 7), (15, 15, 15, 0))
HALVES = placed((0, 2, "n0"), (2, 4, "n1"))

# Two cards of 15 bytes beside a host memory of 6; experts of the first two blocks may live there. The processor takes
# blocks into that memory, and `both` is the two cards as one device.
DESK = replace(
    PLAIN,
    blocks=(*(replace(block, expert_bytes=3) for block in PLAIN.blocks[:2]), *PLAIN.blocks[2:]),
    nodes=(
        Node("n0", 15, None, None, "desk", Draws(("card0",), ("card0",), "ram", None, 0)),
        Node("n1", 15, None, None, "desk", Draws(("card1",), ("card1",), "ram", None, 0)),
        Node("both", 15, None, None, "desk", Draws(("card0", "card1"), ("card0", "card1"), None, None, 0)),
        Node("cpu", 6, None, None, "desk", Draws(("ram",), ("cpu",), None, None, 0)),
        Node("n2", 15, None, None),
    ),
    pools=(Pool("card0", 15, "desk"), Pool("card1", 15, "desk"), Pool("ram", 6, "desk")),
)


def leaving(placement: Placement, *offloaded: tuple[int, ...]) -> Placement:
    """Return a placement whose stages leave these items' experts with their hosts."""
    return Placement(
        tuple(replace(stage, offloaded=items) for stage, items in zip(placement.stages, offloaded, strict=True))
    )


# As before, with room for all.
CARDS_SHARED = replace(DESK, pools=tuple(replace(pool, budget_bytes=99) for pool in DESK.pools))
THREES = placed((0, 1, "n0"), (1, 2, "n1"), (2, 4, "n2"))


@dataclass(frozen=True, slots=True)
class Case:
    """A problem with a placement that breaks one rule."""

    rule: str
    witness: str
    problem: Problem
    placement: Placement


CASES = [
    Case("known", '"z" is no node of the problem', PLAIN, placed((0, 2, "n0"), (2, 4, "z"))),
    Case("cover", "the stages end at 3 of 4", PLAIN, placed((0, 2, "n0"), (2, 3, "n1"))),
    Case("cover", "stage 0 is [1, 2) where [0, …) was due", PLAIN, placed((1, 2, "n0"), (2, 4, "n1"))),
    Case("cover", "stage 1 is [3, 4) where [2, …) was due", PLAIN, placed((0, 2, "n0"), (3, 4, "n1"))),
    Case(
        "cover",
        "stage 1 is [1, 4) where [2, …) was due",
        replace(PLAIN, nodes=problem_of((), (99, 99)).nodes),
        placed((0, 2, "n0"), (1, 4, "n1")),
    ),
    Case("cover", "the stages end at 0 of 4", PLAIN, placed()),
    Case("once", '"n0" takes two stages', PLAIN, placed((0, 2, "n0"), (2, 3, "n1"), (3, 4, "n0"))),
    Case("memory", '"n1" would hold 18 bytes with a budget of 15', PLAIN, placed((0, 1, "n0"), (1, 4, "n1"))),
    Case(
        "memory",
        '"n3" would hold 0 bytes with a budget of 0',
        problem_of((4, 5, 6, 0), (15, 15, 15, 0)),
        placed((0, 3, "n0"), (3, 4, "n3")),
    ),
    Case("pins", 'block 2 is on "n1", pinned to "n0"', replace(PLAIN, rules=ruled(pins=((2, "n0"),))), HALVES),
    Case("first", 'the first stage is on "n0", not on "n1"', replace(PLAIN, rules=ruled(first="n1")), HALVES),
    Case("last", 'the last stage is on "n1", not on "n0"', replace(PLAIN, rules=ruled(last="n0")), HALVES),
    Case(
        "order",
        '"n1" comes after "n0" against the order asked for',
        replace(PLAIN, rules=ruled(order=("n1", "n2", "n0"))),
        HALVES,
    ),
    Case("exclude", '"n1" is excluded', replace(PLAIN, rules=ruled(exclude=("n1",))), HALVES),
    Case("max_nodes", "2 nodes are used, 1 allowed", replace(PLAIN, rules=ruled(max_nodes=1)), HALVES),
    Case(
        "min_blocks",
        '"n0" holds 1 blocks, at least 2 asked for',
        replace(PLAIN, rules=ruled(min_blocks=2)),
        placed((0, 1, "n0"), (1, 3, "n1"), (3, 4, "n2")),
    ),
    Case(
        "measured",
        '"n1" would hold 2 blocks, measured up to 1',
        timed(PLAIN, ((9, 9), (9,), GB, None)),
        HALVES,
    ),
    Case("measured", '"n1" would hold 2 blocks, measured up to 0', timed(PLAIN, (GB, (), GB, None)), HALVES),
    Case(
        "hops",
        'the link from "n0" to "n1" is forbidden',
        replace(PLAIN, links=replace(NO_LINKS, pairs=(LinkPair("n0", "n1", BARRED),))),
        HALVES,
    ),
    Case("cards", '"both" and "n0" both occupy "card0"', CARDS_SHARED, placed((0, 2, "n0"), (2, 4, "both"))),
    Case(
        "offload",
        '"n2" has no host to leave experts with',
        DESK,
        leaving(placed((0, 2, "n2"), (2, 4, "n1")), (0,), ()),
    ),
    Case(
        "offload",
        '"n0" has no host to leave experts with',
        timed(DESK, ((9, 9), GB, GB, GB, GB)),
        leaving(HALVES, (0,), ()),
    ),
    Case("offload", '"n1" leaves experts of block 2, which it has none of', DESK, leaving(HALVES, (), (2,))),
    Case("offload", '"n0" leaves experts of block 1, which it has none of', DESK, leaving(THREES, (1,), (), ())),
    Case(
        "offload", '"n0" names blocks whose experts it leaves out of order or twice', DESK, leaving(HALVES, (1, 0), ())
    ),
    Case(
        "offload", '"n0" names blocks whose experts it leaves out of order or twice', DESK, leaving(HALVES, (0, 0), ())
    ),
    Case(
        "pools",
        'pool "ram" would hold 9 bytes with a budget of 6',
        DESK,
        leaving(placed((0, 2, "n0"), (2, 3, "cpu"), (3, 4, "n1")), (0,), (), ()),
    ),
    Case(
        "pools",
        'pool "ram" would hold 7 bytes with a budget of 6',
        replace(DESK, ends=Ends(0, 0, 0, 4)),
        leaving(HALVES, (1,), ()),
    ),
    Case(
        "together",
        'the devices of "desk" do not follow one another',
        DESK,
        placed((0, 1, "n0"), (1, 2, "n2"), (2, 4, "n1")),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{case.rule}: {case.witness}" for case in CASES])
def test_a_broken_rule_is_named_with_its_witness(case: Case) -> None:
    found = violations(case.problem, case.placement)

    assert Violation(case.rule, case.witness) == found[0]
    assert {case.rule} == {violation.rule for violation in found}


def test_every_rule_has_a_case() -> None:
    """A rule that is added without one is not tested alone."""
    functions = {
        name for name, value in vars(rules_module).items() if getattr(value, "__module__", "") == rules_module.__name__
    }

    assert functions - {"Violation", "violations"} | {"known"} == {case.rule for case in CASES}


@pytest.mark.parametrize(
    ("rules", "placement"),
    [
        (ruled(), HALVES),
        (ruled(pins=((0, "n0"), (1, "n0"), (3, "n1"))), HALVES),
        (ruled(pins=((1, "n0"), (1, "n0"))), HALVES),
        (ruled(first="n0", last="n1", max_nodes=2, min_blocks=2), HALVES),
        (ruled(order=("n2", "n0", "n1")), HALVES),
        (ruled(order=("n0",)), HALVES),
        (ruled(exclude=("n2", "n3")), HALVES),
        (ruled(order=("n3", "n1"), exclude=("n3",)), HALVES),
    ],
)
def test_rules_that_a_placement_keeps_are_not_named(rules: Rules, placement: Placement) -> None:
    assert () == violations(replace(PLAIN, rules=rules), placement)


def test_times_that_are_measured_for_enough_blocks_or_for_other_nodes_bar_nothing() -> None:
    """A bandwidth bounds no blocks, and times of a node without a stage say nothing."""
    assert () == violations(timed(PLAIN, ((9, 9), (9, 9, 9), (), None)), HALVES)
    assert () == violations(timed(PLAIN, (GB, None, (), None)), HALVES)


def test_a_link_is_forbidden_in_its_direction_alone() -> None:
    links = replace(NO_LINKS, pairs=(LinkPair("n1", "n0", BARRED), LinkPair("n0", "n2", BARRED)))

    assert () == violations(replace(PLAIN, links=links), HALVES)


def test_every_broken_rule_is_named_not_only_the_first() -> None:
    problem = replace(PLAIN, rules=ruled(first="n1", exclude=("n0",), max_nodes=1))

    assert ["first", "exclude", "max_nodes"] == [violation.rule for violation in violations(problem, HALVES)]


def test_a_tied_part_is_paid_once_on_one_node_and_twice_on_two() -> None:
    """On one node 4 + 4 + 6 fit into 14; on two the head's own copy of 6 bytes is one too many for 9."""
    problem = problem_of((4, 4), (14, 9), ends=Ends(input_bytes=6, output_bytes=6, tied_bytes=6, host_bytes=0))

    assert () == violations(problem, placed((0, 2, "n0")))
    assert (Violation("memory", '"n1" would hold 10 bytes with a budget of 9'),) == violations(
        problem, placed((0, 1, "n0"), (1, 2, "n1"))
    )


@pytest.mark.parametrize(
    "placement",
    [
        placed((0, 4, "n2")),
        HALVES,
        leaving(HALVES, (0, 1), ()),
        leaving(THREES, (0,), (1,), ()),
        placed((0, 1, "n2"), (1, 2, "n0"), (2, 4, "n1")),
        placed((0, 2, "n0"), (2, 3, "cpu"), (3, 4, "n1")),
        placed((0, 3, "both"), (3, 4, "n2")),
    ],
)
def test_devices_that_share_what_is_there_break_nothing(placement: Placement) -> None:
    problem = replace(DESK, nodes=tuple(replace(node, budget_bytes=max(node.budget_bytes, 22)) for node in DESK.nodes))
    pools = tuple(replace(pool, budget_bytes=max(pool.budget_bytes, 15)) for pool in DESK.pools)

    assert () == violations(replace(problem, pools=pools), placement)


def test_devices_of_a_machine_may_stand_apart_where_that_is_allowed() -> None:
    placement = placed((0, 1, "n0"), (1, 2, "n2"), (2, 4, "n1"))

    assert () == violations(replace(DESK, rules=ruled(apart=True)), placement)


def test_devices_of_no_machine_are_never_apart() -> None:
    """Also where one bears the name of a machine."""
    nodes = (*DESK.nodes[:4], replace(DESK.nodes[4], name="desk"))
    placement = placed((0, 1, "desk"), (1, 2, "n0"), (2, 4, "n1"))

    assert () == violations(replace(DESK, nodes=nodes), placement)


@settings(max_examples=50)
@given(problem=pooled_problems(), data=st.data())
def test_no_memory_holds_more_than_its_budget_in_what_the_rules_allow(problem: Problem, data: st.DataObject) -> None:
    """The loads of devices, what is left with hosts and what stays there, added up by hand for every memory."""
    allowed = list(every_pooled_placement(problem))
    assume(allowed)
    placement = data.draw(st.sampled_from(allowed))
    held: Counter[str] = Counter()
    for stage in placement.stages:
        node = problem.nodes_by_name[stage.node]
        shape = problem.shape_of(node)
        blocks = [shape.blocks[index] for index in range(stage.start, stage.end)]
        left = sum(shape.blocks[index].expert_bytes for index in stage.offloaded)
        load = sum(block.weight_bytes + block.cache_bytes for block in blocks) - left
        load += shape.ends.input_bytes if stage.start == 0 else 0
        load += shape.ends.output_bytes if stage.end == len(problem.blocks) else 0
        load -= shape.ends.tied_bytes if len(placement.stages) == 1 else 0
        kept = shape.ends.host_bytes if stage.start == 0 else 0
        for pool in node.pools:
            held[pool] += load + (kept if node.host_pool is None else 0)
        if node.host_pool is not None:
            held[node.host_pool] += left * len(node.pools) + kept
        assert load <= node.budget_bytes

    assert [] == [pool.name for pool in problem.pools if held[pool.name] > pool.budget_bytes]
