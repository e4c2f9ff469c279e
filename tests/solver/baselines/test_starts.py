"""No answer is worse than the best split rule of an engine, and no proved answer changes for it."""

from __future__ import annotations

from random import Random

import pytest
from support.planted import Planted
from support.pooled import pooled_problem
from support.problems import problem_of, random_problem, with_times
from support.replicated import replicated_problem
from support.timed import GB, askable, growing, timed, within

from solver.baselines import STRATEGIES, NoPlacement
from solver.baselines.starts import Baselines
from solver.effort import Clock, Effort
from solver.objectives import OBJECTIVES, objectives_named
from solver.problem import Placement, Problem
from solver.provers import ClosedForm, ConstraintSolver, ExactSearch
from solver.question import NOTHING, Question
from solver.rules import violations
from solver.solution import Outcome
from solver.solve import solve

EFFORT = Effort(60, None, 1, 0)
NO_TIME = Effort(1e-9, None, 1, 0)


def allowed(problem: Problem) -> list[Placement]:
    """Return what every rule places that the problem's rules allow."""
    answers = (strategy.place(problem) for strategy in STRATEGIES.values())
    placed = [Placement(answer) for answer in answers if not isinstance(answer, NoPlacement)]
    return [placement for placement in placed if not violations(problem, placement)]


def drawn(seed: int) -> Problem:
    """Draw a problem with rules, and with times and links for two in three."""
    random = Random(f"starts {seed}")
    problem = random_problem(random, 9, 5, ruled=seed % 2 == 0)
    return with_times(problem, random) if seed % 3 else problem


@pytest.mark.parametrize("seed", range(60))
def test_no_answer_is_worse_than_the_best_rule_for_any_objective_without_time(seed: int) -> None:
    """Nor for a second objective among equals of the first; and where one fits there is an answer."""
    problem = drawn(seed)
    rules = allowed(problem)
    objectives = askable(problem)
    for number, objective in enumerate(objectives):
        wanted = (objective, objectives[number - 1]) if len(objectives) > 1 else (objective,)
        solution = solve(problem, wanted, NO_TIME)
        if solution.outcome is Outcome.INFEASIBLE:
            assert [] == rules
        elif rules:
            assert solution.placement is not None
            best = min([one.cost(problem, placement) for one in wanted] for placement in rules)
            assert [one.cost(problem, solution.placement) for one in wanted] <= best


def drawn_apart(seed: int) -> Problem:
    """Draw a problem that has searches of its own: with replicas, or with devices that share machines or memories."""
    random = Random(f"starts apart {seed}")
    return replicated_problem(random) if seed % 2 else pooled_problem(random, 6, 4)


@pytest.mark.parametrize("seed", range(80))
def test_no_answer_is_worse_than_the_best_rule_where_stages_or_memories_are_shared(seed: int) -> None:
    """Without time, and where one fits there is an answer."""
    problem = drawn_apart(seed)
    rules = allowed(problem)
    wanted = [OBJECTIVES["throughput"]] if problem.rules.replicas else askable(problem)
    for objective in wanted:
        solution = solve(problem, (objective,), NO_TIME)
        if solution.outcome is Outcome.INFEASIBLE:
            assert [] == rules
        elif rules:
            assert solution.placement is not None
            best = min(objective.cost(problem, placement) for placement in rules)
            assert objective.cost(problem, solution.placement) <= best


@pytest.mark.parametrize("units", [1e-6, 1e-2])
@pytest.mark.parametrize("wanted", ["balance", "latency,nodes", "throughput", "tokens,load"])
def test_no_answer_is_worse_than_the_best_rule_when_a_search_was_cut_short(wanted: str, units: float) -> None:
    """CP-SAT starts from the best rule, and what it finds in its time is no worse."""
    problem = growing(timed(problem_of(tuple(range(3, 23)), (100, 90, 80, 70)), (GB, 2 * GB, GB, 3 * GB)), (1,) * 20)
    objectives = objectives_named(wanted)
    provers = (ClosedForm(), Baselines(problem), ConstraintSolver())
    solution = solve(problem, objectives, Effort(60, units, 1, 0), provers=provers)
    rules = allowed(problem)

    assert rules
    assert solution.placement is not None
    best = min([one.cost(problem, placement) for one in objectives] for placement in rules)
    assert [one.cost(problem, solution.placement) for one in objectives] <= best


@pytest.mark.parametrize("seed", range(40))
def test_a_proved_answer_is_the_same_with_and_without_the_rules(seed: int) -> None:
    problem = drawn(seed)
    for objective in askable(problem):
        wanted = (objective, OBJECTIVES["load"]) if objective.name != "load" else (objective,)
        plain = solve(problem, wanted, EFFORT, provers=(ClosedForm(), ExactSearch(problem)))
        started = solve(problem, wanted, EFFORT, provers=(ClosedForm(), Baselines(problem), ExactSearch(problem)))
        if plain.outcome is Outcome.FEASIBLE:
            continue

        assert (plain.outcome, plain.placement) == (started.outcome, started.placement)
        assert [level.value for level in plain.levels] == [level.value for level in started.levels]


def test_an_interrupt_leaves_the_best_rule() -> None:
    """Also before any placement was found; no search is asked after it."""
    problem = problem_of((3, 3, 3, 3), (9, 9, 9))
    untouched = Planted([])
    provers = (ClosedForm(), Planted([KeyboardInterrupt()]), Baselines(problem), untouched)
    solution = solve(problem, objectives_named("load,nodes"), EFFORT, provers=provers)

    assert (Outcome.FEASIBLE, True) == (solution.outcome, solution.interrupted)
    assert [6, 2] == [level.value for level in solution.levels]
    assert [] == untouched.asked


def test_rules_are_not_worked_out_where_cheaper_provers_close_every_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the ordinary plan pays nothing for them."""

    def asked(_self: Baselines) -> tuple[Placement, ...]:
        raise AssertionError

    monkeypatch.setattr(Baselines, "_allowed", asked)

    assert (
        Outcome.OPTIMAL is solve(problem_of((3,) * 20, (40, 30, 20)), objectives_named("nodes,balance"), EFFORT).outcome
    )


def test_only_what_keeps_to_the_limits_is_offered() -> None:
    """Two nodes suffice, and every rule but those of exo and accelerate uses all three."""
    problem = problem_of((3, 3, 3, 3), (9, 9, 9))
    prover = Baselines(problem)

    def offered(most_nodes: int) -> Placement | None:
        question = Question(problem, OBJECTIVES["load"], within(max_nodes=most_nodes), None, None)
        return prover.prove(question, Clock(EFFORT), lambda _best, _bound: None).placement

    three, two = offered(3), offered(2)

    assert three is not None
    assert two is not None
    assert (6, 6) == (OBJECTIVES["load"].cost(problem, three), OBJECTIVES["load"].cost(problem, two))
    assert offered(1) is None


def test_nothing_is_offered_where_no_rule_fits_and_nothing_is_proved() -> None:
    problem = problem_of((1, 1, 2, 5), (5, 4))
    prover = Baselines(problem)
    question = Question(problem, OBJECTIVES["nodes"], within(), None, None)
    start = Placement(())

    assert NOTHING is prover.prove(question, Clock(EFFORT), lambda _best, _bound: None)
    assert prover.canonical(problem, within(), Clock(EFFORT), start) is None
