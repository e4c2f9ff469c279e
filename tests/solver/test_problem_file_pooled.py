"""Memories, experts, groups and machines of a problem's document: read, written, and refused in one line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from support.pooled import pooled_problems

from solver.blocks import Shape
from solver.errors import InputError
from solver.pools import Draws, Pool
from solver.problem import Block, Ends, Problem
from solver.problem_file import problem_from_bytes, problem_from_document, problem_to_document

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

POOLS = [
    {"name": "c0", "budget_bytes": 8, "machine": "desk"},
    {"name": "c1", "budget_bytes": 8, "machine": "desk"},
    {"name": "ram", "budget_bytes": 20, "machine": "desk"},
]
CARD: dict[str, Any] = {"name": "card", "budget_bytes": 8, "machine": "desk", "pools": ["c0"]}
OTHER = {"name": "other", "budget_bytes": 9}
BLOCKS = [
    {"weight_bytes": 5, "active_bytes": 4, "expert_bytes": 3, "expert_active_bytes": 2},
    {"weight_bytes": 7, "active_bytes": 7},
]
HALVES = {"blocks": [{"weight_bytes": 3}, {"weight_bytes": 4}], "output_bytes": 2, "tied_bytes": 1}


def document(*nodes: Mapping[str, Any], **parts: object) -> dict[str, Any]:
    return {"schema": "layerfit/problem/1", "blocks": BLOCKS, "pools": POOLS, "nodes": [*nodes, OTHER], **parts}


def read(written: Mapping[str, Any]) -> Problem:
    return problem_from_document(written, "p.json")


def test_every_part_is_read() -> None:
    both = {
        **CARD,
        "name": "both",
        "pools": ["c0", "c1"],
        "cards": ["first", "second"],
        "host_pool": "ram",
        "host_bytes_per_second": 6,
        "shape": 1,
    }
    problem = read(document(CARD, both, shapes=[HALVES], rules={"apart": True, "replicas": True}))

    assert (Block(5, 0, 4, None, 0, 3, 2), Block(7, 0, 7, None, 0)) == problem.blocks
    assert (Pool("c0", 8, "desk"), Pool("c1", 8, "desk"), Pool("ram", 20, "desk")) == problem.pools
    assert [
        Draws(("c0",), ("card",), None, None, 0),
        Draws(("c0", "c1"), ("first", "second"), "ram", 6, 1),
        None,
    ] == [node.draws for node in problem.nodes]
    assert (Shape((Block(3, 0, 3, None, 0), Block(4, 0, 4, None, 0)), Ends(0, 2, 1, 0)),) == problem.shapes
    assert (True, True) == (problem.rules.apart, problem.rules.replicas)


def test_counted_devices_draw_on_the_same_memories_and_are_a_card_each() -> None:
    problem = read(document({**CARD, "count": 2, "pools": ["ram"]}))

    assert [(("ram",), ("card-1",)), (("ram",), ("card-2",))] == [
        (node.pools, node.cards) for node in problem.nodes[:2]
    ]


def test_a_machine_of_one_device_is_called_as_the_device_is() -> None:
    problem = read(document({"name": "desk", "budget_bytes": 8, "pools": ["c0"], "host_pool": "ram"}))

    assert "ram" == problem.nodes[0].host_pool


@settings(max_examples=100)
@given(problem=pooled_problems())
def test_a_problem_that_is_written_and_read_again_is_the_same(problem: Problem) -> None:
    """As a document, as text, and as the same document again."""
    written = problem_to_document(problem)

    assert problem == read(written)
    assert problem == problem_from_bytes(json.dumps(written).encode(), "p.json")
    assert written == problem_to_document(read(written))


def test_only_what_is_used_is_written() -> None:
    written = problem_to_document(
        read({"schema": "layerfit/problem/1", "blocks": [{"weight_bytes": 1}], "nodes": [OTHER]})
    )

    assert {"pools", "shapes"}.isdisjoint(written)
    assert {"expert_bytes", "expert_active_bytes"}.isdisjoint(written["blocks"][0])
    assert {"machine", "pools", "cards", "host_pool", "host_bytes_per_second", "shape"}.isdisjoint(written["nodes"][0])
    assert {"apart", "replicas"}.isdisjoint(written["rules"])


REFUSALS: list[tuple[dict[str, Any], str]] = [
    (
        document({**CARD, "pools": ["c0", "c7"]}),
        'nodes[0].pools[1]: no pool is called "c7"; expected one of "c0", "c1", "ram". Correct the name.',
    ),
    (
        document({**CARD}, pools=[]),
        'nodes[0].pools[0]: no pool is called "c0"; expected one of pools[], which has none. Correct the name.',
    ),
    (
        document({**CARD, "host_pool": "vram"}),
        'nodes[0].host_pool: no pool is called "vram"; expected one of "c0", "c1", "ram". Correct the name.',
    ),
    (
        document(CARD, {**CARD, "name": "spare", "machine": "attic"}),
        (
            'nodes[1].pools[0]: "c0" is a memory of "desk", and the node stands in "attic"; '
            "expected one of its own machine. Correct the name."
        ),
    ),
    (
        document(CARD, {"name": "spare", "budget_bytes": 8, "pools": ["c1"]}),
        (
            'nodes[1].pools[0]: "c1" is a memory of "desk", and the node stands in "spare"; '
            "expected one of its own machine. Correct the name."
        ),
    ),
    (
        document({**CARD, "pools": ["c0", "c0"]}),
        "nodes[0].pools: a pool stands in it twice; expected each once. Remove one.",
    ),
    (
        document({**CARD, "cards": ["a", "b", "a"]}),
        "nodes[0].cards: a card stands in it twice; expected each once. Remove one.",
    ),
    (
        document({**CARD, "cards": ["a", "other"]}),
        'nodes[0].cards[1]: "other" is a node with a memory of its own; expected a processor. Rename it.',
    ),
    (
        document({**CARD, "host_bytes_per_second": 5}),
        "nodes[0].host_bytes_per_second: there is no host_pool to read; expected one beside it. Give it.",
    ),
    (document({**CARD, "shape": 1}), "nodes[0].shape: shape 1 is not there; expected 0 to 0. Correct it."),
    *(
        (
            document(CARD, {"name": "spare", "budget_bytes": 8, "machine": "desk", key: value}),
            f"nodes[1].{key}: the node names no pools; expected them beside it. Give pools.",
        )
        for key, value in (("cards", ["a"]), ("host_pool", "ram"), ("host_bytes_per_second", 3), ("shape", 0))
    ),
    (
        document(CARD, pools=[*POOLS, POOLS[1]]),
        (
            'pools[3].name: "c1" is taken; expected one name a memory, and a node without pools has one of its own '
            "name. Rename one of them."
        ),
    ),
    (
        document(CARD, pools=[*POOLS, {"name": "other", "budget_bytes": 1, "machine": "desk"}]),
        (
            'pools[3].name: "other" is taken; expected one name a memory, and a node without pools has one of its own '
            "name. Rename one of them."
        ),
    ),
    (
        document(CARD, pools=[*POOLS, {"name": "c2", "budget_bytes": 1, "machine": "attic"}]),
        'pools[3].machine: no node stands in "attic"; expected one of "desk", "other". Correct the name.',
    ),
    (
        document(CARD, shapes=[{"blocks": [{"weight_bytes": 1}]}]),
        "shapes[0].blocks: it has 1 blocks; expected 2, as the problem has. Correct it.",
    ),
    (
        document(CARD, shapes=[HALVES, {**HALVES, "tied_bytes": 3}]),
        (
            "shapes[1].tied_bytes: 3 is above output_bytes 2; "
            "expected the part of the output that is the input's own tensor. Lower it."
        ),
    ),
    (
        document(
            {**CARD, "pools": ["c0", "c1"], "shape": 1},
            shapes=[{"blocks": [{"weight_bytes": 2**60}, {"weight_bytes": 1}]}],
        ),
        "shapes[0].blocks: the sum is 2305843009213693954 bytes; expected at most 2^61. Give sizes in bytes.",
    ),
    (
        document(CARD, blocks=[{"weight_bytes": 5, "expert_bytes": 6}]),
        "blocks[0].expert_bytes: 6 is above weight_bytes 5; expected a part of them. Lower it.",
    ),
    (
        document(CARD, blocks=[{"weight_bytes": 5, "active_bytes": 2, "expert_active_bytes": 3}]),
        "blocks[0].expert_active_bytes: 3 is above active_bytes 2; expected a part of them. Lower it.",
    ),
    (
        document(CARD, shapes=[{"blocks": [BLOCKS[0], {"weight_bytes": 5, "expert_bytes": 6}]}]),
        "shapes[0].blocks[1].expert_bytes: 6 is above weight_bytes 5; expected a part of them. Lower it.",
    ),
]


@pytest.mark.parametrize(("written", "message"), REFUSALS, ids=[message for _, message in REFUSALS])
def test_what_cannot_be_meant_is_one_line_with_its_path(written: dict[str, Any], message: str) -> None:
    """The same line for a document in memory and for its text."""
    attempts: list[Callable[[], Problem]] = [
        lambda: read(written),
        lambda: problem_from_bytes(json.dumps(written).encode(), "p.json"),
    ]
    for attempt in attempts:
        with pytest.raises(InputError) as caught:
            attempt()

        assert f"p.json, {message}" == str(caught.value)
