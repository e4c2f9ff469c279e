"""Runs of the model: interrupts and failures of a listener keep what was found, and odd sizes are not searched."""

from __future__ import annotations

import _thread
import threading
from typing import TYPE_CHECKING

import pytest
from ortools.sat.python import cp_model
from support.problems import best_by_trying, every_placement, problem_of
from support.timed import GB, growing, joined, near, timed, within

from solver.effort import Clock, Effort
from solver.errors import AuditError
from solver.limits import NO_LIMITS, kept_by
from solver.model import run, stages
from solver.objectives import OBJECTIVES, objectives_named
from solver.problem import Placement, Stage
from solver.provers import ConstraintSolver
from solver.rules import violations

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.limits import Limits
    from solver.model.stages import Sizes, Variables
    from solver.problem import Problem

PROBLEM = problem_of(tuple(range(3, 23)), (100, 90, 80, 70))
TIMED = joined(timed(PROBLEM, (GB, 2 * GB, GB, (9, 17, 26, 30, 50))), near(3), activation_bytes=0)
EMPTY = run.Answer(placement=None, lower=None, settled=True, interrupted=False)


def clock(*, workers: int = 1, deterministic_limit: float | None = None) -> Clock:
    return Clock(Effort(60, deterministic_limit, workers, 0))


def raising(error: type[BaseException]) -> Callable[[int, int], None]:
    def listen(_value: int, _bound: int) -> None:
        raise error

    return listen


def unheard(_value: int, _bound: int) -> None:
    """Hear a value and a bound without a word."""


@pytest.mark.parametrize("workers", [1, 4])
def test_an_interrupt_inside_the_listener_keeps_the_placement(workers: int) -> None:
    answer = run.minimise(
        "load", PROBLEM, NO_LIMITS, clock(workers=workers), None, raising(KeyboardInterrupt), at_least=0
    )

    assert answer.interrupted
    assert answer.placement is not None
    assert () == violations(PROBLEM, answer.placement)


def test_ctrl_c_during_a_search_keeps_the_placement() -> None:
    """The signal arrives in the main thread, which waits while the search runs in another."""

    def interrupted(_value: int, _bound: int) -> None:
        _thread.interrupt_main()
        # The search goes on until the main thread stops it.
        assert waiting.wait(timeout=10)

    waiting = threading.Event()
    original = cp_model.CpSolver.stop_search

    def stop(solver: cp_model.CpSolver) -> None:
        original(solver)
        waiting.set()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cp_model.CpSolver, "stop_search", stop)
        answer = run.minimise("load", PROBLEM, NO_LIMITS, clock(), None, interrupted, at_least=0)

    assert answer.interrupted
    assert answer.placement is not None


@pytest.mark.parametrize("error", [BrokenPipeError, ValueError])
def test_what_a_listener_raises_arrives_where_the_search_was_asked_for(error: type[Exception]) -> None:
    with pytest.raises(error):
        run.minimise("nodes", PROBLEM, NO_LIMITS, clock(), None, raising(error), at_least=0)


def test_a_model_that_cp_sat_refuses_is_a_bug_and_not_an_unknown_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(problem: Problem, sizes: Sizes) -> tuple[cp_model.CpModel, Variables]:
        model, v = original(problem, sizes)
        model.proto.constraints[0].linear.vars.append(10_000)
        return model, v

    original = stages.build
    monkeypatch.setattr(run, "build", build)

    with pytest.raises(AuditError, match=r"^CP-SAT refuses the model of the problem: .*10000"):
        run.find(PROBLEM, NO_LIMITS, clock(), None)


def test_a_limit_that_leaves_no_stage_is_settled_without_a_model() -> None:
    assert EMPTY == run.find(problem_of((3,), (0,)), NO_LIMITS, clock(), None)


def test_a_model_too_large_to_build_is_not_tried() -> None:
    """Three thousand unlike nodes and as many blocks would be a table of nine million rows."""
    answer = run.find(problem_of((1,) * 3000, tuple(range(1, 3001))), NO_LIMITS, clock(), None)

    assert run.Answer(placement=None, lower=None, settled=False, interrupted=False) == answer


def test_a_run_without_enough_work_is_not_settled() -> None:
    """Its bound, where it has one, is below the best load; the work done is counted."""
    watch = clock(deterministic_limit=1e-6)
    answer = run.minimise("load", PROBLEM, NO_LIMITS, watch, None, unheard, at_least=0)

    assert not answer.settled
    assert watch.spent


@pytest.mark.parametrize(
    ("name", "problem", "known", "least"),
    [
        ("nodes", PROBLEM, 4, 3),
        ("load", PROBLEM, 92, 70),
        ("latency", TIMED, 220, 178),
        ("throughput", TIMED, 120, 52),
    ],
)
def test_a_known_bound_is_a_constraint(name: str, problem: Problem, known: int, least: int) -> None:
    """Told that more is needed than is, a run returns that much: so its bound is never below what was known."""
    for at_least in (0, known):
        answer = run.minimise(name, problem, NO_LIMITS, clock(), None, unheard, at_least=at_least)

        assert (max(least, at_least), True) == (answer.lower, answer.settled)


@pytest.mark.parametrize("run_of", ["_solve", "minimise"])
def test_an_interrupt_among_equals_is_passed_on_even_with_an_answer(
    run_of: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run may end by itself and be interrupted at once."""
    start = Placement((Stage(0, 1, "n0"),))
    problem = problem_of((1,), (1,))
    monkeypatch.setattr(run, run_of, lambda *_, **__: run.Answer(start, 1, settled=True, interrupted=True))

    with pytest.raises(KeyboardInterrupt):
        ConstraintSolver().canonical(problem, NO_LIMITS, clock(), start)


@pytest.mark.parametrize(
    "stages", [(Stage(0, 3, "n2"), Stage(3, 6, "n1")), (Stage(0, 2, "n2"), Stage(2, 4, "n0"), Stage(4, 6, "n1"))]
)
def test_the_canonical_answer_is_reached_from_any_start(stages: tuple[Stage, ...]) -> None:
    """Three equal nodes: the fewest, and then the longest run first, whatever is known at the start."""
    problem = problem_of((1, 1, 1, 1, 1, 1), (3, 3, 3))
    start = Placement(stages)
    answer = run.canonical_placement(problem, NO_LIMITS, clock(), start)

    assert (Placement((Stage(0, 3, "n0"), Stage(3, 6, "n1"))), True) == (answer.placement, answer.settled)


def test_what_is_minimised_by_the_solver_itself_is_listed() -> None:
    for name in run.MINIMISED:
        assert run.minimise(name, TIMED, NO_LIMITS, clock(), None, unheard, at_least=0).settled
    with pytest.raises(ValueError, match=r"^balance$"):
        run.minimise("balance", TIMED, NO_LIMITS, clock(), None, unheard, at_least=0)


SMALL = joined(
    growing(timed(problem_of((4, 5, 6, 7), (15, 9, 15)), (GB, GB, 2 * GB)), (1, 0, 1, 1)), near(1), activation_bytes=0
)


@pytest.mark.parametrize(
    "limits",
    [
        within(max_nodes=2),
        within(max_load_bytes=11),
        within(max_load_bytes=10),
        within(min_headroom_bytes=4),
        within(min_headroom_bytes=5),
        within(min_tokens=4),
        within(min_tokens=6),
        within(max_slowest_ns=8),
        within(max_slowest_ns=6),
        within(max_latency_ns=16),
        within(max_latency_ns=15),
        within(max_latency_ns=18, max_slowest_ns=9),
        within(max_latency_ns=17, max_slowest_ns=9),
        within(min_tokens=3, max_latency_ns=21, max_load_bytes=13),
    ],
)
@pytest.mark.parametrize("start", [None, Placement((Stage(0, 2, "n0"), Stage(2, 4, "n2")))], ids=["cold", "hinted"])
def test_limits_of_every_kind_are_kept_and_leave_out_nothing(limits: Limits, start: Placement | None) -> None:
    """Every objective that is minimised has the least cost of all placements that keep to them."""
    for name in run.MINIMISED:
        objective = OBJECTIVES[name]
        best = best_within(SMALL, limits, name)
        answer = run.minimise(name, SMALL, limits, clock(), start, unheard, at_least=0)
        found = run.find(SMALL, limits, clock(), start)

        assert (best is None) == (answer.placement is None) == (found.placement is None)
        assert answer.settled
        assert found.settled
        if answer.placement is not None and found.placement is not None:
            assert best == answer.lower == objective.cost(SMALL, answer.placement)
            assert kept_by(SMALL, limits, answer.placement)
            assert kept_by(SMALL, limits, found.placement)


def best_within(problem: Problem, limits: Limits, name: str) -> int | None:
    """Return the least cost of all placements that keep to limits."""
    costs = [
        int(OBJECTIVES[name].cost(problem, placement))
        for placement in every_placement(problem)
        if kept_by(problem, limits, placement)
    ]
    return min(costs, default=None)


@pytest.mark.parametrize("presolve", [True, False])
@pytest.mark.parametrize(("limits", "there"), [(within(max_load_bytes=13), True), (within(max_load_bytes=8), False)])
def test_a_placement_is_found_or_shown_not_to_exist_with_presolve_and_without(
    limits: Limits, there: bool, presolve: bool
) -> None:
    answer = run.find(SMALL, limits, clock(), None, presolve=presolve)

    assert (there, True) == (answer.placement is not None, answer.settled)


@pytest.mark.parametrize("wanted", ["latency", "throughput", "nodes,latency", "throughput,latency"])
def test_the_canonical_answer_is_the_same_for_times(wanted: str) -> None:
    """With limits on times in the model, among the fewest nodes."""
    objectives = objectives_named(wanted)
    best = best_by_trying(SMALL, objectives)
    assert best is not None
    limits = NO_LIMITS
    for objective in objectives:
        limits = objective.at_most(limits, objective.cost(SMALL, best.placement))
    answer = run.canonical_placement(SMALL, limits, clock(), best.placement)

    assert (best.placement, True) == (answer.placement, answer.settled)
