"""Audits of plans: what a plan's own inputs give stands, and every change to it is found."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from support.plan_documents import (
    EFFORT,
    changed,
    claim_of,
    document_of,
    found_in,
    leaves,
    other,
    places,
    planned,
    suboptimal,
)
from support.plans import model_plan, six_blocks, unknown_plan
from support.problems import problem_of, random_problem

from solver.errors import InputError
from solver.planning import plan
from solver.recheck import Finding, findings, same_model
from solver.report.plan_json import instance_sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# What a plan's inputs decide: everything here is computed anew.
DECIDED = ("stages", "pools", "check", "objective", "transfer", "seams", "proof")


@pytest.mark.parametrize("twenty", range(3))
def test_what_was_planned_stands(twenty: int, validate_document: Callable[[Mapping[str, Any]], None]) -> None:
    """Random problems, most with rules, of every outcome: the document is valid, and nothing is found."""
    outcomes = set()
    for seed in range(20 * twenty, 20 * twenty + 20):
        random = Random(seed)
        problem = random_problem(random, 6, 4, ruled=seed % 4 > 0)
        wanted = random.choice(("nodes,balance", "balance", "load,nodes"))
        document = document_of(plan(problem, wanted, EFFORT), wanted)
        outcomes.add(document["outcome"])
        validate_document(document)

        assert () == found_in(document)
    assert {"optimal", "infeasible"} == outcomes


def test_a_plan_of_a_model_and_one_without_an_answer_stand() -> None:
    assert () == found_in(document_of(model_plan(six_blocks())))
    assert () == found_in(document_of(unknown_plan(interrupted=True)))


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        (("objective", 0, "value"), 2, "objective nodes.value"),
        (("objective", 0, "bound"), 1, "objective nodes.bound"),
        (("objective", 0, "bound"), None, "objective nodes.bound"),
        (("objective", 0, "bounds", 0, "value"), 1, "objective nodes.bounds"),
        (("objective", 0, "bounds"), 5, "objective nodes.bounds"),
        (("objective", 0, "proof"), "closed form", "objective nodes.proof"),
        (("objective", 1, "gap"), 0, "objective balance.gap"),
        (("objective", 1, "bounds"), [{"name": "cp-sat", "value": 0.5}], "objective balance.bounds"),
        (("objective",), [], "objective"),
        (("proof",), None, "proof"),
        (("outcome",), "infeasible", "objective"),
    ],
)
def test_a_plan_without_an_answer_claims_no_value_and_no_bound_that_arithmetic_denies(
    path: tuple[str | int, ...], value: object, place: str
) -> None:
    assert place in places(changed(document_of(unknown_plan(interrupted=True), "nodes,balance"), path, value))


@pytest.mark.parametrize(
    "document",
    [
        planned(),
        planned("load,nodes,balance"),
        document_of(model_plan(six_blocks())),
        document_of(suboptimal(optimal=False), "nodes"),
        document_of(plan(problem_of((0, 0), (5, 5)), "nodes,balance", EFFORT)),
        document_of(plan(problem_of((9, 9), (5, 5)), "nodes,balance", EFFORT)),
    ],
    ids=["abstract", "three objectives", "of a model", "feasible", "nothing loaded", "infeasible"],
)
def test_every_value_that_is_changed_is_found(document: dict[str, Any]) -> None:
    """Numbers by one, truths turned, texts lengthened, nulls filled; the place is that of the change or above it."""
    decided = {name: document[name] for name in DECIDED}
    unseen = [
        path
        for path, value in leaves(decided)
        if path[-1] != "sideband_bytes_per_query" and not found_in(changed(document, path, other(value)))
    ]

    assert [] == unseen


def test_a_bound_behind_an_open_level_is_found() -> None:
    """It would have to hold for all values that the open level may yet take."""
    document = document_of(suboptimal(optimal=False), "nodes,balance")
    entry = {
        "name": "balance",
        "value": 3 / 7,
        "unit": "ratio",
        "numerator": 3,
        "denominator": 7,
        "proof": "none",
        "bound": None,
        "gap": None,
        "bounds": [],
    }
    behind = {**document, "objective": [*document["objective"], entry]}
    bounded = {**entry, "bound": 1 / 3, "gap": 2 / 9, "bounds": [{"name": "exact search", "value": 1 / 3}]}

    assert () == found_in(behind)
    assert (Finding("objective balance.bounds", "a level behind an open one has none"),) == found_in(
        {**document, "objective": [*document["objective"], bounded]}
    )


@pytest.mark.parametrize("name", [name for name in DECIDED if name not in ("check", "proof")])
def test_a_list_that_is_cut_or_lengthened_is_found(name: str) -> None:
    document = planned()

    assert () != found_in({**document, name: document[name][:-1]})
    assert () != found_in({**document, name: [*document[name], document[name][-1]]})


def test_what_an_indexer_hands_on_is_compared_with_the_model_alone() -> None:
    """The problem does not carry it; a plan of a model is taken at its word until the model is there."""
    document = document_of(model_plan(six_blocks()))
    lie = changed(document, ("seams", 0, "sideband_bytes_per_query"), 1)
    claim = claim_of(lie)

    assert () == findings(claim)
    assert ["seams[0].sideband_bytes_per_query"] == [finding.place for finding in same_model(claim, six_blocks())]
    assert ["seams[0].sideband_bytes_per_query"] == places(
        changed(planned(), ("seams", 0, "sideband_bytes_per_query"), 1)
    )


def test_the_same_model_is_found_the_same_and_another_is_not() -> None:
    claim = claim_of(document_of(model_plan(six_blocks())))
    model = six_blocks()
    lighter = replace(
        model,
        header_sha256="1" * 64,
        tensors=tuple(
            replace(tensor, size_bytes=7) if tensor.name == "blk.3.weight" else tensor for tensor in model.tensors
        ),
    )

    assert () == same_model(claim, six_blocks())
    assert (
        Finding("inputs.header_sha256", f"the model's headers hash to {'1' * 64}"),
        Finding("inputs.problem.blocks", "the weights of the blocks are not the model's"),
    ) == same_model(claim, lighter)


def test_swapped_stages_are_found() -> None:
    document = planned()
    document["stages"].reverse()

    assert "rule cover" in places(document)


def test_nodes_of_two_stages_that_are_swapped_are_found() -> None:
    document = planned()
    first, second = document["stages"][:2]
    first["node"], second["node"] = second["node"], first["node"]

    assert [] != places(document)


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("stages", 0, "node"), "n9", ["rule known"]),
        (("stages", 0, "node"), "n3", ["rule memory"]),
        (("inputs", "problem", "nodes", 0, "name"), "n9", ["inputs.instance_sha256", "rule known"]),
        (("inputs", "problem", "nodes", 0, "budget_bytes"), 1, ["inputs.instance_sha256", "rule memory"]),
        (("inputs", "problem", "rules", "exclude"), ["n0"], ["inputs.instance_sha256", "rule exclude"]),
        (("inputs", "problem", "context_tokens"), 513, ["inputs.instance_sha256", "seams[0].prefill_bytes"]),
        (("inputs", "instance_sha256"), "0" * 64, ["inputs.instance_sha256"]),
        (("outcome",), "feasible", []),
        (("outcome",), "infeasible", ["outcome"]),
        (("outcome",), "unknown", ["outcome"]),
        (("stages",), [], ["stages"]),
    ],
)
def test_changes_are_found_where_they_are(path: tuple[str | int, ...], value: object, expected: list[str]) -> None:
    """A plan may say less than is so: feasible, where it is optimal."""
    document = planned()
    assert "n0" == document["stages"][0]["node"]

    assert expected == places(changed(document, path, value))[: max(len(expected), 1)]


def test_a_changed_problem_is_found_even_with_a_new_hash() -> None:
    document = planned()
    weights = document["inputs"]["problem"]["blocks"]
    weights[0]["weight_bytes"], weights[4]["weight_bytes"] = weights[4]["weight_bytes"], weights[0]["weight_bytes"]
    claim = claim_of(document)
    document["inputs"]["instance_sha256"] = instance_sha256(claim.problem)

    assert [] != places(document)
    assert "inputs.instance_sha256" not in places(document)


@pytest.mark.parametrize("name", ["desk-9", "desk-2"])
def test_a_cluster_of_other_nodes_is_found_and_nothing_else_is_looked_up_in_it(name: str) -> None:
    """Renamed in the cluster alone; a name that is there twice is no cluster at all."""
    document = changed(document_of(model_plan(six_blocks())), ("inputs", "cluster", "nodes", 0, "name"), name)
    if name == "desk-2":
        with pytest.raises(InputError):
            found_in(document)
        return

    assert (Finding("inputs.cluster", "its nodes are not those of inputs.problem"),) == found_in(document)


def test_a_memory_that_is_changed_in_the_cluster_is_found_in_its_pool() -> None:
    document = document_of(model_plan(six_blocks()))
    size = document["inputs"]["cluster"]["nodes"][0]["memory_bytes"]

    assert (
        Finding(
            "inputs.cluster",
            "desk-1 may take 24.00 GiB (25,769,803,781 bytes), and inputs.problem has 24.00 GiB (25,769,803,776 bytes)",
        ),
        Finding("pools[0].usable_bytes", f"{size} is said, {size + 5} follows from the inputs"),
    ) == found_in(changed(document, ("inputs", "cluster", "nodes", 0, "memory_bytes"), size + 5))
