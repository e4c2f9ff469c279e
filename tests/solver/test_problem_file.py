"""The abstract problem as a document: read, expanded, written, and refused in one line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from support.problems import problem_of
from support.strategies import ruled_problems

from solver.errors import InputError
from solver.problem import Block, Ends, Link, LinkPair, Node, Problem, Rules
from solver.problem_file import checked, problem_from_bytes, problem_from_document, problem_to_document, read_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


SMALL: dict[str, Any] = {
    "schema": "layerfit/problem/1",
    "blocks": [{"weight_bytes": 5}, {"weight_bytes": 7}],
    "nodes": [{"name": "a", "budget_bytes": 9}, {"name": "b", "budget_bytes": 8, "count": 2}],
}


def with_(**parts: object) -> dict[str, Any]:
    return {**SMALL, **parts}


def read(document: Mapping[str, Any]) -> Problem:
    return problem_from_document(document, "p.json")


def test_what_is_absent_has_the_documents_own_defaults() -> None:
    problem = read({**SMALL, "blocks": [{"weight_bytes": 5, "cache_bytes": 2}]})

    assert (Block(5, 2, 7, None, 0),) == problem.blocks
    assert Ends(0, 0, 0, 0) == problem.ends
    assert (0, None) == (problem.activation_bytes, problem.context_tokens)
    assert Link(0, None, forbidden=False) == problem.links.default
    assert Rules((), None, None, (), (), None, 1) == problem.rules


def test_null_is_as_absent_where_the_document_allows_it() -> None:
    nothing = dict.fromkeys(
        ("input_bytes", "output_bytes", "tied_bytes", "host_bytes", "activation_bytes", "context_tokens")
    )
    block = {"weight_bytes": 5, "active_bytes": None, "cache_bytes_per_token": None, "cache_fixed_bytes": None}

    assert read(SMALL) == read({**with_(**nothing), "blocks": [block, SMALL["blocks"][1]]})


def test_active_bytes_of_nothing_are_not_as_absent() -> None:
    assert 0 == read(with_(blocks=[{"weight_bytes": 5, "active_bytes": 0}])).blocks[0].active_bytes


def test_every_part_is_read() -> None:
    document = with_(
        input_bytes=1,
        output_bytes=4,
        tied_bytes=3,
        host_bytes=2,
        activation_bytes=6,
        context_tokens=512,
        blocks=[
            {"weight_bytes": 5, "cache_bytes": 6, "active_bytes": 7, "cache_bytes_per_token": 8, "cache_fixed_bytes": 9}
        ]
        * 2,
        nodes=[
            {"name": "a", "budget_bytes": 9, "bytes_per_second": 10, "stage_ns": [11, 12]},
            {"name": "b", "budget_bytes": 8},
        ],
        links={
            "default": {"latency_ns": 13, "bytes_per_second": 14},
            "pairs": [{"from": "b", "to": "a", "latency_ns": 15, "bytes_per_second": 16, "forbidden": True}],
        },
        rules={
            "pin": [[1, "b"]],
            "first": "a",
            "last": "b",
            "order": ["a", "b"],
            "exclude": ["b"],
            "max_nodes": 2,
            "min_blocks": 1,
        },
    )
    problem = read(document)

    assert (Block(5, 6, 7, 8, 9),) * 2 == problem.blocks
    assert (Ends(1, 4, 3, 2), 6, 512) == (problem.ends, problem.activation_bytes, problem.context_tokens)
    assert (Node("a", 9, 10, (11, 12)), Node("b", 8, None, None)) == problem.nodes
    assert Link(13, 14, forbidden=False) == problem.links.default
    assert (LinkPair("b", "a", Link(15, 16, forbidden=True)),) == problem.links.pairs
    assert Rules(((1, "b"),), "a", "b", ("a", "b"), ("b",), 2, 1) == problem.rules


@settings(max_examples=60)
@given(problem=ruled_problems())
def test_a_problem_that_is_written_and_read_again_is_the_same(problem: Problem) -> None:
    """As a document, as text, and as the same document again."""
    document = problem_to_document(problem)

    assert problem == problem_from_document(document, "p.json")
    assert problem == problem_from_bytes(json.dumps(document).encode(), "p.json")
    assert document == problem_to_document(problem_from_document(document, "p.json"))
    assert problem == checked(problem, "p.json")


def test_counts_are_written_out_as_members() -> None:
    """And a count that is written out is read as what it was written from."""
    problem = read(SMALL)

    assert ["a", "b-1", "b-2"] == [node.name for node in problem.nodes]
    assert [1, 1, 1] == [node["count"] for node in problem_to_document(problem)["nodes"]]
    assert problem == read(problem_to_document(problem))


def test_a_counted_name_in_a_link_or_an_exclusion_means_every_member() -> None:
    near = {"latency_ns": 5}
    problem = read(
        with_(
            links={"pairs": [{"from": "a", "to": "b", **near}, {"from": "b-1", "to": "b", **near}]},
            rules={"exclude": ["b"]},
        )
    )

    assert [("a", "b-1"), ("a", "b-2"), ("b-1", "b-2")] == [(pair.source, pair.target) for pair in problem.links.pairs]
    assert ("b-1", "b-2") == problem.rules.exclude


def test_the_last_word_on_a_link_counts() -> None:
    pairs = [{"from": "a", "to": "b", "latency_ns": 5}, {"from": "a", "to": "b-2", "forbidden": True}]
    problem = read(with_(links={"default": {"latency_ns": 3}, "pairs": pairs}))

    assert (5, False) == (problem.link("a", "b-1").latency_ns, problem.link("a", "b-1").forbidden)
    assert (3, True) == (problem.link("a", "b-2").latency_ns, problem.link("a", "b-2").forbidden)


EXPECTED = "expected a layerfit/problem/1 document. Correct it."
REFUSALS: list[tuple[dict[str, Any], str]] = [
    (
        with_(schema="layerfit/plan/1"),
        'p.json, schema: "layerfit/plan/1" is not read; expected "layerfit/problem/1". Convert it.',
    ),
    (with_(speed=1), f"p.json: object contains unknown field `speed`; {EXPECTED}"),
    (
        {"schema": "layerfit/problem/1", "nodes": SMALL["nodes"]},
        f"p.json: object missing required field `blocks`; {EXPECTED}",
    ),
    (with_(blocks=[]), f"p.json: expected `array` of length >= 1 at blocks; {EXPECTED}"),
    (with_(blocks=[{}]), f"p.json: object missing required field `weight_bytes` at blocks[0]; {EXPECTED}"),
    (with_(blocks=[{"weight_bytes": -1}]), f"p.json: expected `int` >= 0 at blocks[0].weight_bytes; {EXPECTED}"),
    (
        with_(blocks=[{"weight_bytes": 1.5}]),
        f"p.json: expected `int`, got `float` at blocks[0].weight_bytes; {EXPECTED}",
    ),
    (
        with_(blocks=[{"weight_bytes": True}]),
        f"p.json: expected `int`, got `bool` at blocks[0].weight_bytes; {EXPECTED}",
    ),
    (
        with_(blocks=[{"weight_bytes": 2**60 + 1}]),
        f"p.json: expected `int` <= 1152921504606846976 at blocks[0].weight_bytes; {EXPECTED}",
    ),
    (
        with_(nodes=[{"name": "", "budget_bytes": 1}]),
        f"p.json: expected `str` of length >= 1 at nodes[0].name; {EXPECTED}",
    ),
    (
        with_(nodes=[{"name": "a", "budget_bytes": 1, "count": 0}]),
        f"p.json: expected `int` >= 1 at nodes[0].count; {EXPECTED}",
    ),
    (
        with_(nodes=[{"name": "a", "budget_bytes": 1, "bytes_per_second": 0}]),
        f"p.json: expected `int` >= 1 at nodes[0].bytes_per_second; {EXPECTED}",
    ),
    (
        with_(nodes=[{"name": "a", "budget_bytes": 1}, {"name": "a", "budget_bytes": 1}]),
        'p.json, nodes[1].name: "a" is taken; expected one name a node. Rename one of them.',
    ),
    (
        with_(nodes=[{"name": "a-2", "budget_bytes": 1}, {"name": "a", "budget_bytes": 1, "count": 2}]),
        'p.json, nodes[1].name: "a-2" is taken; expected one name a node. Rename one of them.',
    ),
    (
        with_(nodes=[{"name": "a", "budget_bytes": 1, "count": 2}, {"name": "a", "budget_bytes": 1}]),
        'p.json, nodes[1].name: "a" is taken; expected one name a node. Rename one of them.',
    ),
    (
        with_(nodes=[{"name": name, "budget_bytes": 1, "count": 60_000} for name in "ab"]),
        "p.json, nodes[1].count: more than 100000 nodes; expected fewer. Lower the counts.",
    ),
    (
        with_(
            nodes=[{"name": name, "budget_bytes": 1, "count": 1000} for name in "ab"],
            links={"pairs": [{"from": "a", "to": "b"}]},
        ),
        "p.json, links.pairs[0]: more than 250000 links between members; expected fewer. Lower the counts.",
    ),
    (
        with_(output_bytes=3, tied_bytes=4),
        (
            "p.json, tied_bytes: 4 is above output_bytes 3; "
            "expected the part of the output that is the input's own tensor. Lower it."
        ),
    ),
    (
        with_(blocks=[{"weight_bytes": 2**60}] * 2, input_bytes=1),
        "p.json, blocks: the sum is 2305843009213693953 bytes; expected at most 2^61. Give sizes in bytes.",
    ),
    (with_(links={"rate": 3}), f"p.json: object contains unknown field `rate` at links; {EXPECTED}"),
    (
        with_(links={"pairs": [{"from": "a", "to": "z"}]}),
        'p.json, links.pairs[0].to: no node is called "z"; expected one of "a", "b". Correct the name.',
    ),
    (
        with_(rules={"pin": [[0, "a"], [2, "a"]]}),
        "p.json, rules.pin[1]: block 2 is not there; expected 0 to 1. Correct it.",
    ),
    (with_(rules={"pin": [[0, "b"]]}), 'p.json, rules.pin[0]: "b" is 2 nodes; expected one of them. Write "b-1".'),
    (with_(rules={"pin": [[0, 5]]}), f"p.json: expected `str`, got `int` at rules.pin[0][1]; {EXPECTED}"),
    (
        with_(rules={"first": "z"}),
        'p.json, rules.first: no node is called "z"; expected one of "a", "b". Correct the name.',
    ),
    (with_(rules={"last": "b"}), 'p.json, rules.last: "b" is 2 nodes; expected one of them. Write "b-1".'),
    (
        with_(rules={"order": ["a", "b-1", "a"]}),
        "p.json, rules.order: a node stands in it twice; expected each once. Remove one.",
    ),
    (
        with_(rules={"exclude": ["a", "z"]}),
        'p.json, rules.exclude[1]: no node is called "z"; expected one of "a", "b". Correct the name.',
    ),
    (with_(rules={"max_nodes": 0}), f"p.json: expected `int` >= 1 at rules.max_nodes; {EXPECTED}"),
    (with_(rules={"min_blocks": 0}), f"p.json: expected `int` >= 1 at rules.min_blocks; {EXPECTED}"),
]


@pytest.mark.parametrize(("document", "message"), REFUSALS, ids=[message for _, message in REFUSALS])
def test_what_cannot_be_meant_is_one_line_with_its_path(document: dict[str, Any], message: str) -> None:
    """The same line for a document in memory and for its text."""
    attempts: list[Callable[[], Problem]] = [
        lambda: problem_from_document(document, "p.json"),
        lambda: problem_from_bytes(json.dumps(document).encode(), "p.json"),
    ]
    for attempt in attempts:
        with pytest.raises(InputError) as caught:
            attempt()

        assert message == str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "input data was truncated"),
        (b"{", "input data was truncated"),
        (b"layerfit", "JSON is malformed: invalid character (byte 0)"),
        (b"[]", "expected `object`, got `array`"),
        (b'{"schema": "\xff"}', "invalid UTF-8 encoded string"),
        (b'{"blocks": ' + b"[" * 100_000, "expected `object`, got `array` at blocks[0]"),
        (b'{"' + b"x" * 100_000 + b'": 1}', "object contains unknown field `" + "x" * 169 + "…"),
        (b'{"input_bytes": ' + b"9" * 4000 + b"}", "expected `int` <= 1152921504606846976 at input_bytes"),
    ],
    ids=["nothing", "half", "text", "an array", "no UTF-8", "deep", "a long key", "a long number"],
)
def test_hostile_text_is_one_short_line(content: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        problem_from_bytes(content, "p.json")

    assert f"p.json: {message}; {EXPECTED}" == str(caught.value)


def test_a_list_of_many_names_is_cut_short() -> None:
    nodes = [{"name": f"n{index}", "budget_bytes": 1} for index in range(20)]
    with pytest.raises(InputError) as caught:
        read(with_(nodes=nodes, rules={"first": "z"}))

    assert (
        'p.json, rules.first: no node is called "z"; '
        'expected one of "n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7" …. Correct the name.' == str(caught.value)
    )


def test_a_file_is_named_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(json.dumps(SMALL), encoding="utf-8")

    assert read(SMALL) == read_problem(tmp_path / "p.json")
    with pytest.raises(InputError) as caught:
        read_problem(tmp_path / "q.json")
    absent = f"{tmp_path / 'q.json'}: there is no such file"
    assert f"{absent}; expected a layerfit/problem/1 document. Check the path." == str(caught.value)


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="no such device")
def test_what_is_no_regular_file_is_named_by_its_path() -> None:
    with pytest.raises(InputError) as caught:
        read_problem(Path("/dev/null"))

    assert "/dev/null: input data was truncated; expected a layerfit/problem/1 document. Correct it." == str(
        caught.value
    )


def test_a_problem_made_in_python_is_checked_like_a_file() -> None:
    problem = replace(problem_of((1, 2), (9,)), rules=Rules(((5, "n0"),), None, None, (), (), None, 1))
    with pytest.raises(InputError) as caught:
        checked(problem, "rules")

    assert "rules, rules.pin[0]: block 5 is not there; expected 0 to 1. Correct it." == str(caught.value)
