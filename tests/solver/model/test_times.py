"""Times in the CP-SAT model: each constraint alone, and the whole against the measures of every placement."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from ortools.sat.python import cp_model
from support.problems import best_by_trying, every_placement, problem_of, random_problem, with_times
from support.timed import GB, joined, near, timed, within

from solver.effort import Clock, Effort
from solver.limits import NO_LIMITS, kept_by
from solver.measures import latency_ns, slowest_ns
from solver.model import run, times
from solver.model.stages import build, declare, hint, sizes_of
from solver.model.times import Times, hint_times, times_of
from solver.objectives import objectives_named
from solver.problem import Node, Placement, Stage
from solver.provers import ConstraintSolver
from solver.solution import Outcome
from solver.solve import solve

if TYPE_CHECKING:
    from solver.model.stages import Sizes, Variables
    from solver.problem import Problem

MOST = 99
PLAIN = problem_of((4, 5, 6), (15, 14, 15))


def placed(*parts: tuple[int, int, str]) -> Placement:
    return Placement(tuple(Stage(*part) for part in parts))


def declared(problem: Problem = PLAIN) -> tuple[cp_model.CpModel, Variables, Sizes]:
    """Return a model of variables alone: classes of n0 with n2 and of n1, three stages."""
    sizes = sizes_of(problem, NO_LIMITS)
    model = cp_model.CpModel()
    return model, declare(model, sizes), sizes


def bare(model: cp_model.CpModel, stages: int) -> Times:
    """Return times that nothing ties to anything."""
    return Times(
        time=tuple(model.new_int_var(0, MOST, f"time[{k}]") for k in range(stages)),
        hop=tuple(model.new_int_var(0, MOST, f"hop[{k}]") for k in range(stages - 1)),
        slowest=model.new_int_var(1, MOST, "slowest"),
        longest_ns=0,
        clocks=(),
        counts=(),
    )


def use(model: cp_model.CpModel, v: Variables, *classes: int | None) -> None:
    """Fix the class of every stage; None is an unused stage."""
    for k, chosen in enumerate(classes):
        for c, literal in enumerate(v.use[k]):
            model.add(literal == int(c == chosen))


def least(model: cp_model.CpModel, cost: cp_model.LinearExprT) -> int:
    """Return the least value of an expression in a model."""
    model.minimize(cost)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert cp_model.OPTIMAL == solver.solve(model)
    return int(solver.value(cost))


@pytest.mark.parametrize(
    ("classes", "expected"),
    [((0, 1, None), (7, 0, 0)), ((1, 0, 0), (0, 8, 9)), ((None, None, None), (0, 0, 0))],
    ids=["the first", "the others", "none"],
)
def test_time_alone_makes_a_stage_take_what_its_class_takes(
    classes: tuple[int | None, ...], expected: tuple[int, ...]
) -> None:
    """A stage of another class, or an unused one, takes nothing by it."""
    for k, duration in enumerate(expected):
        model, v, _ = declared()
        parts = bare(model, 3)
        taken = [cp_model.LinearExpr.sum([model.new_constant(amount)]) for amount in (7, 8, 9)]
        times.time(model, v, parts.time, taken, [0])
        use(model, v, *classes)

        assert duration == least(model, parts.time[k])


@pytest.mark.parametrize(
    ("classes", "expected"),
    [((0, 1, 0), (2, 5)), ((0, 0, 1), (3, 2)), ((1, 0, None), (5, 0)), ((1, 1, 1), (0, 0))],
    ids=["there and back", "a class to itself", "the last is unused", "a link without time"],
)
def test_hop_alone_makes_a_hop_take_what_its_link_takes(
    classes: tuple[int | None, ...], expected: tuple[int, int]
) -> None:
    for k, duration in enumerate(expected):
        model, v, _ = declared()
        parts = bare(model, 3)
        times.hop(model, v, parts, [[3, 2], [5, 0]])
        use(model, v, *classes)

        assert duration == least(model, parts.hop[k])


@pytest.mark.parametrize(
    ("taken", "classes", "expected"),
    [
        ((4, 9, 2), (0, 1, None), 9),
        ((4, 3, 2), (0, 1, None), 8),
        ((4, 3, 2), (1, 0, None), 4),
        ((4, 3, 2), (1, 0, 1), 8),
        ((0, 0, 0), (1, 1, None), 1),
        ((4, 3, 2), (0, None, None), 4),
    ],
    ids=["a stage", "a transfer", "the other way", "a later transfer", "nothing", "no transfer"],
)
def test_slowest_alone_is_at_least_every_stage_and_every_transfer(
    taken: tuple[int, ...], classes: tuple[int | None, ...], expected: int
) -> None:
    """And never below 1."""
    model, v, _ = declared()
    parts = bare(model, 3)
    times.slowest(model, v, parts, [[0, 8], [0, 0]])
    use(model, v, *classes)
    for variable, amount in zip(parts.time, taken, strict=True):
        model.add(variable == amount)
    assert parts.slowest is not None

    assert expected == least(model, parts.slowest)


def test_where_the_slowest_is_not_asked_for_it_ties_nothing() -> None:
    model, v, _ = declared()
    before = len(model.proto.constraints)
    times.slowest(model, v, replace(bare(model, 3), slowest=None), [[0, 8], [0, 0]])

    assert before == len(model.proto.constraints)


def test_latency_is_the_sum_of_all_times_and_hops() -> None:
    model, _, _ = declared()
    parts = bare(model, 3)
    for number, variable in enumerate((*parts.time, *parts.hop)):
        model.add(variable == 10**number % 89)

    assert sum(10**number % 89 for number in range(5)) == least(model, times.latency(parts))


@pytest.mark.parametrize(("cut", "expected"), [(0, 0), (1, 4), (2, 4), (3, 11)])
def test_a_clock_shows_the_time_of_the_blocks_before_a_cut(cut: int, expected: int) -> None:
    """Both ways: no later, and no earlier."""
    for sign in (1, -1):
        model, v, _ = declared()
        clock = times.clock_of(model, v, (0, 4, 4, 11), 0)
        model.add(v.cut[1] == cut)

        assert sign * expected == least(model, sign * clock.at[1])


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_a_count_is_the_number_of_blocks_between_two_cuts(count: int) -> None:
    model, v, _ = declared()
    counts = times.counts_of(model, v, (0, 9, 2, 5), 0)
    model.add(v.cut[1] == 0)
    model.add(v.cut[2] == count)
    chosen = cp_model.LinearExpr.weighted_sum(list(counts.literals[1]), [0, 9, 2, 5])

    assert (0, 9, 2, 5)[count] == least(model, chosen) == -least(model, -1 * chosen)


def measured_by(problem: Problem, placement: Placement) -> tuple[int, int]:
    """Return the least latency and slowest time that the model gives a placement; times are left free."""
    found = []
    for with_slowest in (False, True):
        sizes = sizes_of(problem, NO_LIMITS)
        model, v = build(problem, sizes)
        parts = times_of(model, v, problem, sizes, with_slowest=with_slowest)
        hint(model, v, problem, sizes, placement)
        for index, value in zip(
            list(model.proto.solution_hint.vars), list(model.proto.solution_hint.values), strict=True
        ):
            model.add(model.get_int_var_from_proto_index(index) == value)
        found.append(least(model, times.latency(parts) if parts.slowest is None else parts.slowest))
    return found[0], found[1]


@pytest.mark.parametrize("forty", range(3))
def test_the_least_times_that_the_model_allows_a_placement_are_those_that_are_measured(forty: int) -> None:
    """Bandwidths, measured times and links of many kinds."""
    tried = 0
    for seed in range(40 * forty, 40 * forty + 40):
        random = Random(seed)
        problem = with_times(random_problem(random, 4, 3, ruled=seed % 2 == 1), random)
        placements = list(every_placement(problem))
        for placement in random.sample(placements, min(3, len(placements))):
            tried += 1

            assert (latency_ns(problem, placement), slowest_ns(problem, placement)) == measured_by(problem, placement)
    assert tried > 30


@pytest.mark.parametrize("name", ["latency", "throughput"])
def test_a_complete_hint_of_a_placement_with_times_is_a_solution(name: str) -> None:
    """Every variable is hinted, and fixed to its hint the model still solves, with the value that is measured."""
    hinted = 0
    for seed in range(40):
        random = Random(seed)
        problem = with_times(random_problem(random, 5, 4, ruled=seed % 2 == 1), random)
        start = next(iter(every_placement(problem)), None)
        if start is None:
            continue
        sizes = sizes_of(problem, NO_LIMITS)
        model, v = build(problem, sizes)
        parts = times_of(model, v, problem, sizes, with_slowest=name == "throughput")
        hint(model, v, problem, sizes, start)
        hint_times(model, parts, problem, start)
        cost = times.latency(parts) if parts.slowest is None else parts.slowest
        model.minimize(cost)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.fix_variables_to_their_hinted_value = True
        hinted += 1

        assert len(model.proto.variables) == len(model.proto.solution_hint.vars)
        assert cp_model.OPTIMAL == solver.solve(model)
        assert (latency_ns if name == "latency" else slowest_ns)(problem, start) == solver.value(cost)
    assert hinted > 15


@pytest.mark.parametrize("thirty", range(3))
def test_limits_on_times_leave_exactly_the_placements_that_keep_to_them(thirty: int) -> None:
    """As many as there are: each is found once those before it are barred, and then there is none."""
    seen = {True: 0, False: 0}
    for seed in range(30 * thirty, 30 * thirty + 30):
        random = Random(seed)
        problem = with_times(random_problem(random, 4, 3, ruled=seed % 2 == 1), random)
        placements = list(every_placement(problem))
        if not placements:
            continue
        limits = within(
            max_latency_ns=random.choice((None, latency_ns(problem, random.choice(placements)))),
            max_slowest_ns=random.choice((None, slowest_ns(problem, random.choice(placements)))),
        )
        for placement in random.sample(placements, min(4, len(placements))):
            kept = kept_by(problem, limits, placement)
            seen[kept] += 1
            only = replace(
                problem,
                rules=replace(
                    problem.rules,
                    pins=tuple(
                        (item, stage.node) for stage in placement.stages for item in range(stage.start, stage.end)
                    ),
                ),
            )
            answer = run.find(only, limits, Clock(Effort(60, None, 1, 0)), None)

            assert (placement if kept else None, True) == (answer.placement, answer.settled)
    assert min(seen.values()) > 2


def test_the_docstring_names_what_the_functions_do() -> None:
    """The mathematics and the code name the same rules, in the same order."""
    listed = re.findall(r"^    \((\w+)\) ", times.__doc__ or "", flags=re.MULTILINE)
    functions = [name for name in vars(times) if name in listed and callable(getattr(times, name))]

    assert ["time", "hop", "slowest", "latency"] == listed == functions


# The first two blocks take 3 and 1 ns on n0; n1 is measured with 3 ns for one block and 4 ns for two.
RATED, TABLED = Node("n0", 9, GB, None), Node("n1", 9, None, (3, 4))


@pytest.mark.parametrize("nodes", [(RATED, TABLED), (TABLED, RATED)], ids=["rated first", "measured first"])
@pytest.mark.parametrize("wanted", ["latency", "nodes,latency"])
def test_times_that_look_alike_in_a_table_are_not_taken_for_each_other(wanted: str, nodes: tuple[Node, Node]) -> None:
    """The time of the first j blocks is one thing, that of any j blocks another, also where the numbers are equal."""
    problem = replace(timed(problem_of((5, 5), (9, 9)), (GB, GB), active=(3, 1)), nodes=nodes)
    objectives = objectives_named(wanted)
    best = best_by_trying(problem, objectives)
    solution = solve(problem, objectives, Effort(60, None, 1, 0), provers=(ConstraintSolver(),))

    assert best is not None
    assert (Outcome.OPTIMAL, best.placement) == (solution.outcome, solution.placement)
    assert best.values == tuple(level.value for level in solution.levels)


@pytest.mark.parametrize("exponent", [20, 30, 34, 40, 50])
@pytest.mark.parametrize("wanted", ["latency", "throughput"])
def test_times_of_any_length_have_a_placement(wanted: str, exponent: int) -> None:
    """Six blocks on six nodes of three speeds, a millisecond or two weeks a token: each node takes one."""
    share = 2**exponent // 6
    problem = timed(problem_of((5,) * 6, (9,) * 6), tuple(GB - number % 3 for number in range(6)), active=(share,) * 6)
    limits = Clock(Effort(60, None, 1, 0))
    answer = run.minimise(wanted, problem, NO_LIMITS, limits, None, lambda _value, _bound: None, at_least=0)

    assert answer.placement is not None
    assert answer.settled
    assert 6 == len(answer.placement.stages)


@pytest.mark.parametrize("exponent", [20, 29, 31, 32, 40])
def test_hops_of_any_length_have_a_placement(exponent: int) -> None:
    """Three blocks on three nodes of three speeds: two hops, whatever they take."""
    problem = timed(problem_of((5,) * 3, (9,) * 3), (GB, GB - 1, GB - 2), active=(9,) * 3)
    problem = joined(problem, near(2**exponent), activation_bytes=0)
    answer = run.minimise(
        "latency", problem, NO_LIMITS, Clock(Effort(60, None, 1, 0)), None, lambda _value, _bound: None, at_least=0
    )

    assert (2 * 2**exponent + 9 + 10 + 10, True) == (answer.lower, answer.settled)
