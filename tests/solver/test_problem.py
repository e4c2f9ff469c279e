"""Items, sums and classes: what a problem derives from its blocks and nodes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.problems import NO_LINKS, NO_RULES, problem_of

from solver.pools import Draws, Pool
from solver.problem import Block, Ends, Item, Link, LinkPair, Node, Problem, Rules

NEAR = Link(latency_ns=5, bytes_per_second=None, forbidden=False)
FIVE = problem_of((1, 1), (9, 9, 9, 9, 9))


def linked(*pairs: tuple[str, str]) -> Problem:
    return replace(FIVE, links=replace(NO_LINKS, pairs=tuple(LinkPair(*pair, NEAR) for pair in pairs)))


def class_names(problem: Problem) -> list[str]:
    return ["".join(node.name[1:] for node in group.members) for group in problem.classes]


def test_the_ends_are_folded_into_the_first_and_the_last_item() -> None:
    problem = Problem(
        blocks=(Block(10, 1, 11, None, 0), Block(20, 2, 22, None, 0), Block(30, 3, 33, None, 0)),
        ends=Ends(input_bytes=100, output_bytes=200, tied_bytes=50, host_bytes=7),
        nodes=FIVE.nodes,
        activation_bytes=0,
        context_tokens=None,
        links=NO_LINKS,
        rules=NO_RULES,
    )

    assert (Item(110, 1, 7), Item(20, 2, 0), Item(230, 3, 0)) == problem.items
    assert (0, 118, 140, 373) == problem.prefix_bytes
    assert (50, 323) == (problem.shared_bytes, problem.total_bytes)


def test_one_block_holds_both_ends() -> None:
    assert (Item(17, 0, 3),) == problem_of((4,), (99,), ends=Ends(5, 8, 5, 3)).items


def test_equal_nodes_are_one_class() -> None:
    assert ["01234"] == class_names(FIVE)
    assert (9, 5) == (FIVE.classes[0].room_bytes, FIVE.classes[0].count)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"budget_bytes": 8}, ["034", "1", "2"]),
        ({"bytes_per_second": 7}, ["034", "1", "2"]),
        ({"stage_ns": (5, 9)}, ["034", "1", "2"]),
    ],
)
def test_what_a_node_is_tells_it_apart(change: dict[str, object], expected: list[str]) -> None:
    """n1 differs in what is given here, n2 in all of it."""
    other = {"budget_bytes": 7, "bytes_per_second": 8, "stage_ns": (1, 2)}
    nodes = (
        FIVE.nodes[0],
        replace(FIVE.nodes[1], **change),  # type: ignore[arg-type]
        replace(FIVE.nodes[2], **other),  # type: ignore[arg-type]
        *FIVE.nodes[3:],
    )

    assert expected == class_names(replace(FIVE, nodes=nodes))


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (replace(NO_RULES, pins=((0, "n3"), (1, "n3"))), ["0124", "3"]),
        (replace(NO_RULES, first="n0"), ["0", "1234"]),
        (replace(NO_RULES, last="n4"), ["0123", "4"]),
        (replace(NO_RULES, order=("n2", "n1")), ["034", "1", "2"]),
        (replace(NO_RULES, exclude=("n1",)), ["0234"]),
        (replace(NO_RULES, first="n1", exclude=("n1",)), ["0234"]),
        (replace(NO_RULES, max_nodes=2, min_blocks=2), ["01234"]),
    ],
)
def test_a_rule_that_names_a_node_sets_it_apart(rules: Rules, expected: list[str]) -> None:
    assert expected == class_names(replace(FIVE, rules=rules))


def test_nodes_without_a_budget_are_in_no_class() -> None:
    nodes = (replace(FIVE.nodes[0], budget_bytes=0), *FIVE.nodes[1:])

    assert ["1234"] == class_names(replace(FIVE, nodes=nodes))


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("n0", "n1")], ["0", "1", "234"]),
        ([("n0", "n4"), ("n1", "n4")], ["01", "23", "4"]),
        ([("n4", "n0"), ("n4", "n1")], ["01", "23", "4"]),
        ([("n0", "n4"), ("n4", "n1")], ["0", "1", "23", "4"]),
        ([("n0", "n1"), ("n1", "n0")], ["0", "1", "234"]),
    ],
    ids=["one link", "two into one", "one into two", "in and out", "there and back"],
)
def test_links_tell_nodes_apart_unless_they_lead_to_and_from_the_same(
    pairs: list[tuple[str, str]], expected: list[str]
) -> None:
    assert expected == class_names(linked(*pairs))


def test_a_link_of_its_own_overrides_the_default_in_its_direction() -> None:
    problem = linked(("n0", "n1"))

    assert NEAR == problem.link("n0", "n1")
    assert NO_LINKS.default == problem.link("n1", "n0")


def test_links_are_forbidden_only_where_one_is() -> None:
    barred = replace(NO_LINKS, pairs=(LinkPair("n0", "n1", replace(NEAR, forbidden=True)),))

    assert not linked(("n0", "n1")).has_forbidden_links
    assert replace(FIVE, links=barred).has_forbidden_links


@pytest.mark.parametrize(
    ("blocks", "rules", "expected"),
    [
        (9, NO_RULES, 5),
        (3, NO_RULES, 3),
        (9, replace(NO_RULES, max_nodes=2), 2),
        (9, replace(NO_RULES, max_nodes=50), 5),
        (9, replace(NO_RULES, exclude=("n0", "n1", "n1")), 3),
        (9, replace(NO_RULES, min_blocks=4), 2),
        (9, replace(NO_RULES, min_blocks=10), 0),
        (9, replace(NO_RULES, exclude=("n0", "n1", "n2", "n3", "n4")), 0),
    ],
)
def test_stages_are_limited_by_nodes_blocks_and_rules(blocks: int, rules: Rules, expected: int) -> None:
    assert expected == replace(problem_of((1,) * blocks, (99,) * 5), rules=rules).stages_at_most


def test_what_devices_draw_on_tells_them_apart_but_for_memories_of_their_own() -> None:
    """Of cards beside one host memory the third's own memory is smaller, and the last shares the fourth's card."""
    draws = [Draws((f"v{index}",), (f"v{index}",), "ram", None, 0) for index in range(4)]
    shared = Draws(("v3",), ("v3",), "ram", None, 0)
    nodes = tuple(Node(f"n{index}", 9, None, None, "desk", draw) for index, draw in enumerate((*draws, shared)))
    pools = (Pool("ram", 9, "desk"), *(Pool(f"v{index}", 8 if index == 2 else 9, "desk") for index in range(4)))

    assert ["01", "2", "34"] == class_names(replace(FIVE, nodes=nodes, pools=pools))
