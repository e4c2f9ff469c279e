"""The loop over objectives: order, bounds, proofs, and answers that are refused."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from support.loops import ALL_ON_ONE, BALANCE, EFFORT, EVEN, NODES, PROBLEM, SPREAD, planted
from support.planted import Planted, says
from support.timed import GB, growing, joined, near, timed

from solver.errors import AuditError, InputError
from solver.limits import NO_LIMITS
from solver.objectives import objectives_named
from solver.problem import Placement, Stage
from solver.solution import Outcome
from solver.solve import solve

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.limits import Value


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("nodes,balance", {"nodes": 1, "balance": Fraction(1)}),
        ("balance,nodes", {"balance": Fraction(1, 2), "nodes": 3}),
        ("load,nodes", {"load": 6, "nodes": 2}),
        ("nodes,load,balance", {"nodes": 1, "load": 12, "balance": Fraction(1)}),
        ("load,balance,nodes", {"load": 6, "balance": Fraction(1, 2), "nodes": 3}),
    ],
)
def test_the_order_of_objectives_matters(wanted: str, expected: dict[str, Value]) -> None:
    solution = solve(PROBLEM, objectives_named(wanted), EFFORT)

    assert Outcome.OPTIMAL is solution.outcome
    assert list(expected.items()) == [(level.objective.name, level.value) for level in solution.levels]
    assert list(expected.values()) == [level.bound for level in solution.levels]


# The second node reads twice as fast; a hop takes 2 ns.
TIMED = growing(joined(timed(PROBLEM, (GB, 2 * GB, GB)), near(2), activation_bytes=0), (1, 1, 1, 1))


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("throughput,nodes", {"throughput": Fraction(10**9, 4), "nodes": 3}),
        ("nodes,throughput", {"nodes": 1, "throughput": Fraction(10**9, 12)}),
        ("latency,throughput", {"latency": 6 + 2 + 3, "throughput": Fraction(10**9, 6)}),
        ("throughput,latency", {"throughput": Fraction(10**9, 4), "latency": 3 + 2 + 4 + 2 + 3}),
        ("headroom,nodes", {"headroom": 6, "nodes": 3}),
        ("tokens,headroom", {"tokens": 3, "headroom": 6}),
        ("nodes,tokens,latency", {"nodes": 1, "tokens": 0, "latency": 12}),
        ("context,nodes", {"context": 0, "nodes": 1}),
    ],
)
def test_the_order_matters_where_more_is_better_too(wanted: str, expected: dict[str, Value]) -> None:
    """A held rate, room or context is a limit to the levels behind it."""
    solution = solve(TIMED, objectives_named(wanted), EFFORT)

    assert Outcome.OPTIMAL is solution.outcome
    assert list(expected.items()) == [(level.objective.name, level.value) for level in solution.levels]
    assert list(expected.values()) == [level.bound for level in solution.levels]


def test_a_level_is_asked_within_the_values_of_those_before() -> None:
    """What is known goes from prover to prover, and from level to level."""
    first = Planted([says(1, ALL_ON_ONE), says(Fraction(1, 3)), says(12)])
    second = Planted([says(Fraction(1))], name="second")
    solution = planted(first, second, wanted="nodes,balance,load")
    within = NODES.at_most(NO_LIMITS, 1)

    assert Outcome.OPTIMAL is solution.outcome
    assert [(NO_LIMITS, None, None), (within, None, ALL_ON_ONE), (BALANCE.at_most(within, 1), None, ALL_ON_ONE)] == [
        (question.limits, question.lower, question.best) for question in first.asked
    ]
    assert [(within, Fraction(1, 3), ALL_ON_ONE)] == [
        (question.limits, question.lower, question.best) for question in second.asked
    ]


def test_the_proof_is_the_cheapest_that_suffices_and_bounds_behind_it_are_left_out() -> None:
    """Whether a dearer prover was asked at all depends on which placement happened to come first."""
    cheap = Planted([says(2)], name="closed form")
    dear = Planted([says(2, EVEN)], name="cp-sat")
    level = planted(cheap, dear, wanted="nodes").levels[0]

    assert ("closed form", 2) == (level.proof, level.bound)
    assert [("closed form", 2)] == [(bound.name, bound.value) for bound in level.bounds]


def test_a_level_that_stays_open_keeps_its_bound_and_leaves_the_next_without_one() -> None:
    """They still have values, which nothing proves."""
    prover = Planted([says(1, ALL_ON_ONE), says(Fraction(1, 2), ALL_ON_ONE)])
    solution = planted(prover, wanted="nodes,balance,load")

    assert Outcome.FEASIBLE is solution.outcome
    assert [(1, 1, "planted"), (Fraction(1), Fraction(1, 2), "none"), (12, None, "none")] == [
        (level.value, level.bound, level.proof) for level in solution.levels
    ]
    assert () == solution.levels[2].bounds


def test_the_best_of_several_placements_is_kept() -> None:
    worse = Planted([says(None, SPREAD)])
    better = Planted([says(None, EVEN)])
    again = Planted([says(1, SPREAD)])

    assert EVEN == planted(worse, better, again).placement


@pytest.mark.parametrize(
    ("provers", "wanted", "message"),
    [
        (
            lambda: [Planted([says(2, Placement((Stage(0, 3, "n0"), Stage(3, 4, "n0"))))])],
            "nodes",
            'planted breaks the rule on once: "n0" takes two stages',
        ),
        (
            lambda: [Planted([says(1, Placement((Stage(0, 4, "n1"),)))])],
            "nodes",
            'planted breaks the rule on memory: "n1" would hold 12 bytes with a budget of 10',
        ),
        (
            lambda: [Planted([says(1, Placement((Stage(0, 4, "n9"),)))])],
            "nodes",
            'planted breaks the rule on known: "n9" is no node of the problem',
        ),
        (lambda: [Planted([says(3, EVEN)])], "nodes", "nodes is 2, beyond its own bound 3"),
        (
            lambda: [Planted([says(1)], name="closed form"), Planted([says(3, EVEN)], name="cp-sat")],
            "nodes",
            "nodes is 2, beyond its own bound 3",
        ),
        (lambda: [Planted([says(-3, EVEN)])], "headroom", "headroom is 4, beyond its own bound 3"),
        (
            lambda: [Planted([says(7, EVEN)])],
            "throughput",
            "throughput is 500000000/3, beyond its own bound 1000000000/7",
        ),
        (lambda: [Planted([says(1, EVEN)])], "tokens", "tokens is 2, beyond its own bound -1"),
        (
            lambda: [Planted([says(-2, EVEN), says(1, ALL_ON_ONE)])],
            "tokens,nodes",
            "planted gives up, for nodes, what was settled before it",
        ),
        (
            lambda: [Planted([says(6, EVEN), says(1, ALL_ON_ONE)])],
            "throughput,nodes",
            "planted gives up, for nodes, what was settled before it",
        ),
        (
            lambda: [Planted([says(None, EVEN)]), Planted([says(impossible=True)], name="other")],
            "nodes",
            "other calls impossible what a placement already shows possible",
        ),
        (
            lambda: [Planted([says(1, ALL_ON_ONE), says(Fraction(3, 5), EVEN)])],
            "nodes,balance",
            "planted gives up, for balance, what was settled before it",
        ),
        (
            lambda: [Planted([says(6, EVEN), says(Fraction(1), ALL_ON_ONE)])],
            "load,balance",
            "planted gives up, for balance, what was settled before it",
        ),
        (
            lambda: [Planted([says(1, ALL_ON_ONE)], canonical_answer=EVEN)],
            "nodes",
            "nodes is 2, called proved with a bound of 1",
        ),
        (
            lambda: [Planted([says(1, ALL_ON_ONE)], canonical_answer=Placement((Stage(0, 3, "n0"),)))],
            "nodes",
            "the answer breaks the rule on cover: the stages end at 3 of 4",
        ),
    ],
)
def test_a_wrong_answer_of_a_prover_is_refused(provers: Callable[[], list[Planted]], wanted: str, message: str) -> None:
    """A placement that breaks a rule or an earlier level, a bound above what is reached, or a contradiction."""
    with pytest.raises(AuditError) as caught:
        planted(*provers(), wanted=wanted, problem=TIMED)

    assert message == str(caught.value)


def test_impossible_is_infeasible() -> None:
    """And it is known who showed it."""
    solution = planted(Planted([says(2)], name="first"), Planted([says(impossible=True)]))

    assert "planted" == solution.refuted_by
    assert (Outcome.INFEASIBLE, None, (), False) == (
        solution.outcome,
        solution.placement,
        solution.levels,
        solution.interrupted,
    )


def test_nothing_found_is_unknown() -> None:
    assert Outcome.UNKNOWN is planted(Planted([says(1)])).outcome


def test_what_is_unknown_keeps_the_bounds_of_its_first_objective() -> None:
    """Any answer keeps to them; of what follows nothing was asked."""
    solution = planted(Planted([says(1)]), Planted([says(2)]), wanted="nodes,balance")
    bounds = [(level.objective.name, level.bound, len(level.bounds)) for level in solution.unreached]

    assert (Outcome.UNKNOWN, ()) == (solution.outcome, solution.levels)
    assert [("nodes", 2, 2), ("balance", None, 0)] == bounds
    assert () == planted(Planted([says(2, EVEN)])).unreached


def test_a_bound_of_what_is_unknown_is_a_value_and_no_cost() -> None:
    """An objective that is to be large has its bound above."""
    solution = planted(Planted([says(-9)]), wanted="headroom")

    assert [9] == [level.bound for level in solution.unreached]


def test_no_objective_is_no_question() -> None:
    with pytest.raises(InputError) as caught:
        solve(PROBLEM, (), EFFORT)

    assert "objectives: none is there; expected one or more. Name one, such as nodes." == str(caught.value)
