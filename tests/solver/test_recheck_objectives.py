"""Audits of plans for every objective: where more is better, bounds and gaps are on the other side."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from support.plan_documents import ABSTRACT, EFFORT, changed, claim_of, document_of, found_in, leaves, other, places
from support.problems import problem_of, random_problem, with_times
from support.timed import GB, PLAIN_OBJECTIVES, askable, growing, joined, near, timed

from solver.errors import InputError
from solver.finding import Finding
from solver.objectives import OBJECTIVES
from solver.planning import plan, project
from solver.problem import Placement, Stage
from solver.recheck import reproved
from solver.solution import Bound, Level, Outcome, Solution

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solver.limits import Value

FULL = growing(joined(timed(ABSTRACT, (GB, 2 * GB, (9, 11, 20), None)), near(2, GB), activation_bytes=8), (1,) * 5)
LISTS = (
    "latency",
    "throughput",
    "headroom",
    "tokens",
    "context",
    "nodes,throughput,latency",
    "headroom,throughput,tokens",
    "throughput,balance,context",
)


def planned(wanted: str) -> dict[str, Any]:
    return document_of(plan(FULL, wanted, EFFORT), wanted)


@pytest.mark.parametrize("wanted", [*LISTS, ",".join(PLAIN_OBJECTIVES)])
def test_what_was_planned_stands_and_is_valid(
    wanted: str, validate_document: Callable[[Mapping[str, Any]], None]
) -> None:
    document = planned(wanted)
    validate_document(document)

    assert "optimal" == document["outcome"]
    assert () == found_in(document)


@pytest.mark.parametrize("wanted", LISTS)
def test_every_value_of_an_objective_that_is_changed_is_found(wanted: str) -> None:
    document = planned(wanted)
    unseen = [
        path
        for path, value in leaves({"objective": document["objective"]})
        if not found_in(changed(document, path, other(value)))
    ]

    assert [] == unseen


@pytest.mark.parametrize("thirty", range(3))
def test_random_problems_with_times_stand(thirty: int, validate_document: Callable[[Mapping[str, Any]], None]) -> None:
    outcomes = set()
    for seed in range(30 * thirty, 30 * thirty + 30):
        random = Random(seed)
        problem = with_times(random_problem(random, 5, 4, ruled=seed % 3 > 0), random)
        wanted = ",".join(objective.name for objective in random.sample(askable(problem), 3))
        document = document_of(plan(problem, wanted, EFFORT), wanted)
        outcomes.add(document["outcome"])
        validate_document(document)

        assert () == found_in(document)
    assert {"optimal", "infeasible"} == outcomes


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nodes", {"value": 2, "unit": "count", "numerator": None, "denominator": None}),
        ("balance", {"value": 9 / 14, "unit": "ratio", "numerator": 9, "denominator": 14}),
        ("load", {"value": 10, "unit": "bytes", "numerator": None, "denominator": None}),
        ("latency", {"value": 5 + 10 + 8, "unit": "ns/token", "numerator": None, "denominator": None}),
        ("throughput", {"value": 10**9 / 8, "unit": "tokens/s", "numerator": 125_000_000, "denominator": 1}),
        ("headroom", {"value": 5, "unit": "bytes", "numerator": None, "denominator": None}),
        ("context", {"value": 0, "unit": "tokens", "numerator": None, "denominator": None}),
        ("tokens", {"value": 3, "unit": "tokens", "numerator": None, "denominator": None}),
    ],
)
def test_an_objective_is_written_in_its_unit_and_ratios_as_two_integers(name: str, expected: dict[str, object]) -> None:
    """A rate of tokens is an exact ratio: 10^9 over the slowest time in nanoseconds."""
    entry = planned(name)["objective"][0]

    assert {"name": name, "gap": 0.0, **expected, "bound": expected["value"]} == {
        key: value for key, value in entry.items() if key not in {"bounds", "proof"}
    }


# Loads of 4 and 8 on budgets of 12 and 10 leave 2 where 5 could be left; loads of 7 and 5 take 7 ns where 5 are enough.
SPARE = growing(timed(problem_of((4, 3, 5), (12, 10)), (GB, 2 * GB)), (1, 1, 1))
WORSE = Placement((Stage(0, 1, "n0"), Stage(1, 3, "n1")))
SLOWER = Placement((Stage(0, 2, "n0"), Stage(2, 3, "n1")))


def claimed(name: str, bound: Value, *, optimal: bool) -> dict[str, Any]:
    """Return the document of a plan that is not the best, with a bound that need not be true."""
    placement = SLOWER if name == "throughput" else WORSE
    objective, value = OBJECTIVES[name], value_of(name)
    proof = "exact search" if value == bound else "none"
    level = Level(objective, value, bound, (Bound("exact search", bound),), proof)
    outcome = Outcome.OPTIMAL if optimal else Outcome.FEASIBLE
    solution = Solution(outcome, placement, (level,), interrupted=False, deterministic_time=0.0, wall_ms=0)
    return document_of(project(SPARE, None, solution, placement), name)


def value_of(name: str) -> Value:
    """Return the value of the plan that is not the best."""
    objective = OBJECTIVES[name]
    return objective.value(objective.cost(SPARE, SLOWER if name == "throughput" else WORSE))


@pytest.mark.parametrize(
    ("name", "bound", "closed_form"),
    [("headroom", 5, 5), ("tokens", 3, 3), ("throughput", Fraction(10**9, 4), Fraction(10**9, 4))],
)
def test_a_feasible_plan_with_a_better_bound_than_its_value_stands(name: str, bound: Value, closed_form: Value) -> None:
    """The bound of a largest value is above it, and at most what arithmetic gives."""
    document = claimed(name, bound, optimal=False)

    assert closed_form == bound
    assert () == found_in(document)
    assert (True, ()) == ((found := reproved(claim_of(document), EFFORT)).reached, found.findings)


@pytest.mark.parametrize(
    ("name", "bound", "problem"),
    [
        ("headroom", 1, "1 is below the value 2"),
        ("tokens", 0, "0 is below the value 1"),
        ("throughput", Fraction(10**9, 8), "125000000.0 is below the value 142857142.85714287"),
        ("headroom", 7, "7 is looser than the closed form's 5"),
        ("tokens", 4, "4 is looser than the closed form's 3"),
        ("throughput", Fraction(10**9, 3), "333333333.3333333 is looser than the closed form's 250000000.0"),
        ("load", 9, "9 is above the value 8"),
        ("load", 5, "5 is looser than the closed form's 6"),
    ],
)
def test_a_bound_on_the_wrong_side_or_looser_than_arithmetic_is_found(name: str, bound: Value, problem: str) -> None:
    assert Finding(f"objective {name}.bound", problem) in found_in(claimed(name, bound, optimal=False))


@pytest.mark.parametrize(
    ("name", "value", "best"),
    [("headroom", 2, 5), ("tokens", 1, 2), ("throughput", 1e9 / 7, 2e8), ("load", 8, 7), ("context", 0, 0)],
)
def test_a_wrong_proof_stands_the_audit_and_not_the_proof(name: str, value: float, best: float) -> None:
    """Every figure follows from the inputs; only the claim that nothing is better is false."""
    document = claimed(name, value_of(name), optimal=True)
    side = "below" if name in {"headroom", "tokens", "throughput"} else "above"
    expected = (
        Finding(f"objective {name}", f"{value} is called optimal, {best} is better"),
        Finding(f"objective {name}", f"the bound {value} is {side} {best}, which is reached"),
    )

    assert () == found_in(document)
    assert (() if value == best else expected) == reproved(claim_of(document), EFFORT).findings


@pytest.mark.parametrize(("name", "best"), [("headroom", 5), ("tokens", 2), ("throughput", 2e8)])
def test_a_value_better_than_the_best_there_is_is_found(name: str, best: float) -> None:
    """By the figures, which give another, and by the proof, which also reaches more than the bound."""
    lie = changed(claimed(name, value_of(name), optimal=False), ("objective", 0, "value"), 10**10)
    bound = lie["objective"][0]["bound"]

    assert f"objective {name}.value" in places(lie)
    assert (
        Finding(f"objective {name}", f"the bound {bound} is below {best}, which is reached"),
        Finding(f"objective {name}", f"{10**10} is said, and {best} is the best there is"),
    ) == reproved(claim_of(lie), EFFORT).findings


@pytest.mark.parametrize("name", ["latency", "throughput", "context", "tokens"])
def test_facts_that_an_objective_needs_and_the_problem_lacks_are_one_line(name: str) -> None:
    """No figure of it could be computed; a plan with it cannot have been made."""
    document = claimed(name, value_of(name), optimal=False)
    for node in document["inputs"]["problem"]["nodes"]:
        node["bytes_per_second"] = None
    for block in document["inputs"]["problem"]["blocks"]:
        block["cache_bytes_per_token"] = None
    expected = {
        "latency": "node n0 has neither a bandwidth nor measured times; expected one of them for every node. "
        "Give it, or exclude the node.",
        "context": "block 0 does not say how its cache grows; expected cache_bytes_per_token. Give it.",
    }
    with pytest.raises(InputError) as caught:
        claim_of(document)

    assert f"plan.json, objective {name}: {expected.get(name) or expected[LIKE[name]]}" == str(caught.value)


LIKE = {"throughput": "latency", "tokens": "context"}
