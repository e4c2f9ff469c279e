"""The pool document: what it may say, and what is refused with its place."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from support.pools import GOLDEN_ARTIFACTS, GOLDEN_NODES, pool_document

from solver.errors import InputError
from solver.options import DEFAULT_POLICY, options, read_pool
from solver.options.pool import card_classes
from solver.options.pool_file import pool_from_bytes

if TYPE_CHECKING:
    from pathlib import Path

CORRECT = "expected a layerfit/pool/1 document. Correct it."


Validate = Callable[[Mapping[str, Any]], None]


def changed(**keys: object) -> dict[str, Any]:
    """Return the golden document with these keys, or without those that are None."""
    return {key: value for key, value in {**pool_document(), **keys}.items() if value is not None}


def node(**keys: object) -> dict[str, Any]:
    """Return the first golden node with these keys, or without those that are "absent"."""
    first: dict[str, Any] = pool_document()["nodes"][0]  # type: ignore[index]
    return {key: value for key, value in {**first, **keys}.items() if value != "absent"}


def read(document: object) -> Any:
    return pool_from_bytes(json.dumps(document).encode(), "pool.json")


def test_the_golden_document_is_the_golden_question(tmp_path: Path, validate_document: Validate) -> None:
    path = tmp_path / "pool.json"
    path.write_text(json.dumps(pool_document()), encoding="utf-8")
    pool = read_pool(path)
    validate_document(pool_document())

    assert (8192, DEFAULT_POLICY) == (pool.context_tokens, pool.policy)
    assert GOLDEN_NODES == pool.nodes
    assert [one.place for one in options(GOLDEN_ARTIFACTS, GOLDEN_NODES, 8192)] == [
        one.place for one in options(pool.artifacts or (), pool.nodes, 8192, pool.policy)
    ]


def test_sizes_are_decimal_gb_exactly(validate_document: Validate) -> None:
    document = changed(nodes=[node(gpu_mem_gb=79.6, host_mem_gb=0.1)])
    validate_document(document)
    (one,) = read(document).nodes

    assert (79_600_000_000, 100_000_000) == (one.gpu_memory_bytes, one.host_memory_bytes)


def test_a_policy_replaces_what_it_names_alone(validate_document: Validate) -> None:
    document = changed(policy={"gpu_share": "0.95", "vllm_overhead": {"base_bytes": 7, "divisor": 3}})
    validate_document(document)
    policy = read(document).policy

    assert (Fraction(95, 100), Fraction(85, 100)) == (policy.gpu_share, policy.host_share)
    assert (10, 2**30 + 2) == (policy.vllm.bytes_of(9), policy.llamacpp.bytes_of(40))


def test_the_class_says_the_size_of_a_card_where_the_node_does_not() -> None:
    (one,) = read(changed(nodes=[node(gpu_mem_gb="absent")])).nodes

    assert 80_000_000_000 == one.gpu_memory_bytes


def test_a_class_without_a_size_says_zero_and_its_cards_are_passed_over() -> None:
    pool = read(changed(nodes=[{**node(gpu_mem_gb="absent"), "class": "a100-sxm"}]))

    assert [0] == [one.gpu_memory_bytes for one in pool.nodes]
    assert () == card_classes(pool.nodes)


def test_a_snapshot_of_nodes_may_leave_artifacts_to_others(validate_document: Validate) -> None:
    document = changed(artifacts=None, shape=None, context=None)
    validate_document(document)

    assert (None, None) == (read(document).artifacts, read(document).context_tokens)


def test_what_is_free_may_be_unknown() -> None:
    (one,) = read(changed(nodes=[node(free_gpus=None, host_free_gb=None)])).nodes

    assert (None, None) == (one.free_gpus, one.host_free_bytes)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (
            changed(extra=1),
            f"pool.json: object contains unknown field `extra`; {CORRECT}",
        ),
        (
            changed(nodes=[node(gpu="x")]),
            f"pool.json: object contains unknown field `gpu` at nodes[0]; {CORRECT}",
        ),
        (
            changed(nodes=[node(gpus="absent")]),
            f"pool.json: object missing required field `gpus` at nodes[0]; {CORRECT}",
        ),
        (
            changed(schema="layerfit/pool/2"),
            'pool.json, schema: "layerfit/pool/2"; expected layerfit/pool/1. Correct it.',
        ),
        (changed(shape=None), "pool.json, shape: it is missing; expected it beside artifacts. Add it."),
        (changed(context=None), "pool.json, context: it is missing; expected it beside artifacts. Add it."),
        (
            changed(nodes=[node(id="a"), node(id="b"), node(id="a")]),
            'pool.json, nodes[2].id: "a" is taken; expected one id a node. Rename one of them.',
        ),
        (
            changed(nodes=[node(free_gpus=3)]),
            "pool.json, nodes[0].free_gpus: 3 of 2 cards; expected no more than there are. Correct it.",
        ),
        (
            changed(nodes=[node(host_mem_gb=-1)]),
            "pool.json, nodes[0].host_mem_gb: -1; expected GB from 0 to 10^9. Correct it.",
        ),
        (
            changed(nodes=[node(host_free_gb=1e300)]),
            "pool.json, nodes[0].host_free_gb: 1E+300; expected GB from 0 to 10^9. Correct it.",
        ),
        (
            changed(policy={"gpu_share": "1.1"}),
            "pool.json, policy.gpu_share: 1.1; expected a share above 0 and up to 1, as 0.90. Correct it.",
        ),
        (
            changed(policy={"host_share": "0"}),
            "pool.json, policy.host_share: 0; expected a share above 0 and up to 1, as 0.90. Correct it.",
        ),
        (
            changed(context=-1),
            f"pool.json: expected `int` >= 0 at context; {CORRECT}",
        ),
        (
            changed(nodes=[node(gpus=10**9)]),
            f"pool.json: expected `int` <= 1024 at nodes[0].gpus; {CORRECT}",
        ),
        (
            changed(artifacts=[{"name": "a", "format": "gguf", "bytes": 0}]),
            f"pool.json: expected `int` >= 1 at artifacts[0].bytes; {CORRECT}",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(document: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        read(document)

    assert message == str(error.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read_pool(tmp_path / "none.json")

    assert (
        f"{tmp_path / 'none.json'}: there is no such file; expected a layerfit/pool/1 document. Check the path."
        == str(error.value)
    )
