"""The CP-SAT model against the specification: what the rules reject it rejects, what they allow it allows."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations
from random import Random
from typing import TYPE_CHECKING

import pytest
from ortools.sat.python import cp_model
from support.problems import NO_LINKS, NO_RULES, every_placement, problem_of, random_problem, with_times
from support.timed import GB, growing, timed, within

from solver import rules
from solver.limits import NO_LIMITS, kept_by
from solver.model import pooled, stages
from solver.model.stages import Sizes, Variables, build, declare, hint, sizes_of
from solver.problem import Ends, Link, LinkPair, Placement, Problem, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

    from solver.limits import Limits

BARRED = Link(latency_ns=0, bytes_per_second=None, forbidden=True)


def placed(*parts: tuple[int, int, str]) -> Placement:
    return Placement(tuple(Stage(*part) for part in parts))


def status_with(model: cp_model.CpModel, *, fixed: bool) -> int:
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.fix_variables_to_their_hinted_value = fixed
    return int(solver.solve(model))


def fix(model: cp_model.CpModel, v: Variables, problem: Problem, sizes: Sizes, placement: Placement) -> None:
    """Fix every variable to what a placement means, whether or not the rules allow it."""
    hint(model, v, problem, sizes, placement)
    for index, value in zip(list(model.proto.solution_hint.vars), list(model.proto.solution_hint.values), strict=True):
        model.add(model.get_int_var_from_proto_index(index) == value)


def case(
    name: str, problem: Problem, wrong: Placement, right: Placement, limits: Limits = NO_LIMITS
) -> tuple[str, Problem, Limits, Placement, Placement]:
    return name, problem, limits, wrong, right


PLAIN = problem_of((4, 5, 6, 7), (15, 15, 15))
HALVES = placed((0, 2, "n0"), (2, 4, "n1"))
TURNED = placed((0, 2, "n1"), (2, 4, "n0"))
TIED = Ends(input_bytes=6, output_bytes=6, tied_bytes=6, host_bytes=0)

ALONE = [
    case("ends", PLAIN, placed((0, 2, "n0"), (2, 3, "n1")), HALVES),
    case("nonempty", replace(PLAIN, rules=replace(NO_RULES, min_blocks=2)), placed((0, 1, "n0"), (1, 4, "n1")), HALVES),
    case("once", replace(PLAIN, rules=replace(NO_RULES, first="n0")), placed((0, 2, "n0"), (2, 4, "n0")), HALVES),
    case("memory", PLAIN, placed((0, 1, "n0"), (1, 4, "n1")), HALVES),
    case("memory", problem_of((4, 4), (14, 9), ends=TIED), placed((0, 1, "n0"), (1, 2, "n1")), placed((0, 2, "n0"))),
    case("pins", replace(PLAIN, rules=replace(NO_RULES, pins=((2, "n0"),))), HALVES, TURNED),
    case(
        "pins", replace(PLAIN, rules=replace(NO_RULES, pins=((2, "n2"),))), HALVES, placed((0, 2, "n0"), (2, 4, "n2"))
    ),
    case("first", replace(PLAIN, rules=replace(NO_RULES, first="n1")), HALVES, TURNED),
    case("last", replace(PLAIN, rules=replace(NO_RULES, last="n0")), HALVES, TURNED),
    case("order", replace(PLAIN, rules=replace(NO_RULES, order=("n1", "n2", "n0"))), HALVES, TURNED),
    case("measured", timed(PLAIN, (GB, (5,), (5, 6, 7))), HALVES, placed((0, 2, "n0"), (2, 4, "n2"))),
    case("measured", timed(PLAIN, ((), (5, 6), None)), HALVES, placed((0, 2, "n2"), (2, 4, "n1"))),
    case("hops", replace(PLAIN, links=replace(NO_LINKS, pairs=(LinkPair("n0", "n1", BARRED),))), HALVES, TURNED),
]

# Two tokens take 2 and 4 bytes of the first two blocks and none of the others: 4 + 5 + 6 are 15, and 16 are not.
ROOM = growing(problem_of((4, 5, 6, 7), (15, 15, 16)), (1, 2, 0, 0))
TIED_ROOM = growing(problem_of((4, 4), (12, 19), ends=TIED), (1, 1), fixed=(0, 1))
LIMITED = [
    case("room", ROOM, placed((0, 3, "n0"), (3, 4, "n1")), HALVES, within(min_tokens=2)),
    case("room", ROOM, placed((0, 3, "n1"), (3, 4, "n0")), HALVES, within(min_tokens=1)),
    case("room", TIED_ROOM, placed((0, 1, "n1"), (1, 2, "n0")), placed((0, 2, "n1")), within(min_tokens=2)),
    case("memory", PLAIN, HALVES, placed((0, 1, "n0"), (1, 3, "n1"), (3, 4, "n2")), within(max_load_bytes=12)),
    case("memory", PLAIN, HALVES, placed((0, 1, "n0"), (1, 3, "n1"), (3, 4, "n2")), within(max_fill=Fraction(12, 15))),
    case("memory", PLAIN, HALVES, placed((0, 1, "n0"), (1, 3, "n1"), (3, 4, "n2")), within(min_headroom_bytes=3)),
]


def add(name: str, model: cp_model.CpModel, v: Variables, problem: Problem, sizes: Sizes) -> None:
    """Add one rule of the model."""
    parts: dict[str, object] = {
        "model": model,
        "v": v,
        "problem": problem,
        "sizes": sizes,
        "least": problem.rules.min_blocks,
    }
    function = getattr(stages, name)
    function(**{parameter: parts[parameter] for parameter in inspect.signature(function).parameters})


@pytest.mark.parametrize(("name", "problem", "limits", "wrong", "right"), [*ALONE, *LIMITED])
def test_one_constraint_alone_bars_what_its_rule_or_its_limit_rejects(
    name: str, problem: Problem, limits: Limits, wrong: Placement, right: Placement
) -> None:
    """And lets through what it allows; no other constraint is in the model."""
    for placement, expected in ((wrong, cp_model.INFEASIBLE), (right, cp_model.OPTIMAL)):
        sizes = sizes_of(problem, limits)
        model = cp_model.CpModel()
        v = declare(model, sizes)
        add(name, model, v, problem, sizes)
        fix(model, v, problem, sizes, placement)

        assert expected == status_with(model, fixed=False)


def test_prefix_alone_ties_a_cut_to_the_bytes_before_it() -> None:
    for cut, amount, expected in ((2, 9, cp_model.OPTIMAL), (2, 10, cp_model.INFEASIBLE)):
        sizes = sizes_of(PLAIN, NO_LIMITS)
        model = cp_model.CpModel()
        v = declare(model, sizes)
        stages.prefix(model, v, sizes)
        model.add(v.cut[1] == cut)
        model.add(v.bytes[1] == amount)

        assert expected == status_with(model, fixed=False)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"used": (1, 1, 0), "use": ((1, 0), (0, 1), (0, 0))}, cp_model.OPTIMAL),
        ({"used": (1, 0, 1), "use": ((1, 0), (0, 0), (0, 1))}, cp_model.INFEASIBLE),
        ({"used": (0, 0, 0), "use": ((0, 0), (0, 0), (0, 0))}, cp_model.INFEASIBLE),
        ({"used": (1, 0, 0), "use": ((1, 1), (0, 0), (0, 0))}, cp_model.INFEASIBLE),
        ({"used": (1, 1, 0), "use": ((1, 0), (0, 0), (0, 0))}, cp_model.INFEASIBLE),
    ],
    ids=["two in front", "a gap", "none", "two classes at once", "used without a class"],
)
def test_one_alone_gives_used_stages_one_class_and_puts_them_in_front(
    values: dict[str, tuple[object, ...]], expected: int
) -> None:
    problem = problem_of((1, 1, 1), (9, 9, 8))
    sizes = sizes_of(problem, NO_LIMITS)
    model = cp_model.CpModel()
    v = declare(model, sizes)
    stages.one(model, v)
    for k in range(3):
        model.add(v.used[k] == values["used"][k])
        for c in range(2):
            model.add(v.use[k][c] == values["use"][k][c])  # type: ignore[index]

    assert expected == status_with(model, fixed=False)


def every_arrangement(problem: Problem) -> Iterator[Placement]:
    """Yield every cover of the items by different nodes, allowed or not, with no more stages than the model has."""
    items = len(problem.items)
    usable = [member.name for group in problem.classes for member in group.members]
    for count in range(1, problem.stages_at_most + 1):
        for cuts in combinations(range(1, items), count - 1):
            bounds = (0, *cuts, items)
            for names in permutations(usable, count):
                yield placed(*((bounds[k], bounds[k + 1], name) for k, name in enumerate(names)))


@pytest.mark.parametrize("fifty", range(4))
def test_the_whole_model_allows_exactly_what_the_rules_allow(fifty: int) -> None:
    """Every arrangement of small random problems with rules, fixed in the model."""
    seen = {True: 0, False: 0}
    for seed in range(50 * fifty, 50 * fifty + 50):
        random = Random(seed)
        problem = random_problem(random, 4, 3, ruled=True)
        sizes = sizes_of(problem, NO_LIMITS)
        if sizes.stages == 0:
            assert [] == list(every_placement(problem))
            continue
        arrangements = list(every_arrangement(problem))
        for arrangement in random.sample(arrangements, min(20, len(arrangements))):
            model, v = build(problem, sizes)
            fix(model, v, problem, sizes, arrangement)
            allowed = not rules.violations(problem, arrangement)
            seen[allowed] += 1

            assert (cp_model.OPTIMAL if allowed else cp_model.INFEASIBLE) == status_with(model, fixed=False)
    assert min(seen.values()) > 20


@pytest.mark.parametrize("fifty", range(4))
def test_the_whole_model_allows_exactly_what_the_rules_and_limits_allow(fifty: int) -> None:
    """Limits on nodes, loads, fill, headroom and tokens, and measured numbers of blocks; times are tried beside."""
    seen = {True: 0, False: 0}
    for seed in range(50 * fifty, 50 * fifty + 50):
        random = Random(seed)
        problem = with_times(random_problem(random, 4, 3, ruled=seed % 2 == 1), random)
        arrangements = list(every_arrangement(problem))
        if not arrangements:
            continue
        limits = within(
            max_nodes=random.choice((None, 2)),
            max_load_bytes=random.choice((None, problem.total_bytes // 2)),
            below_fill=random.choice((None, Fraction(9, 10))),
            min_headroom_bytes=random.choice((None, 1)),
            min_tokens=random.choice((None, 1, 2)),
        )
        sizes = sizes_of(problem, limits)
        for arrangement in random.sample(arrangements, min(12, len(arrangements))):
            if len(arrangement.stages) > sizes.stages or not grows(problem):
                continue
            model, v = build(problem, sizes)
            fix(model, v, problem, sizes, arrangement)
            allowed = not rules.violations(problem, arrangement) and kept_by(problem, limits, arrangement)
            seen[allowed] += 1

            assert (cp_model.OPTIMAL if allowed else cp_model.INFEASIBLE) == status_with(model, fixed=False)
    assert min(seen.values()) > 10


def grows(problem: Problem) -> bool:
    return any(block.cache_bytes_per_token for block in problem.blocks)


def test_a_complete_hint_of_an_allowed_placement_is_a_solution() -> None:
    """Only complete hints help CP-SAT: every variable is hinted, and fixed to its hint the model still solves."""
    hinted = 0
    for seed in range(30):
        problem = random_problem(Random(seed), 6, 4, ruled=True)
        sizes = sizes_of(problem, NO_LIMITS)
        start = next(iter(every_placement(problem)), None)
        if start is None:
            continue
        model, v = build(problem, sizes)
        hint(model, v, problem, sizes, start)
        hinted += 1

        assert len(model.proto.variables) == len(model.proto.solution_hint.vars)
        assert cp_model.OPTIMAL == status_with(model, fixed=True)
    assert hinted > 10


def test_sizes_are_divided_by_what_divides_every_load() -> None:
    """Budgets are rounded down to whole units, never above the load of everything."""
    sizes = sizes_of(problem_of((6, 9, 0), (14, 14, 100)), NO_LIMITS)

    assert (3, (0, 2, 5, 5), (4, 5), (2, 1), 3) == (
        sizes.unit_bytes,
        sizes.prefix,
        sizes.caps,
        sizes.counts,
        sizes.stages,
    )


def test_the_docstring_of_the_model_lists_its_functions_in_their_order() -> None:
    """The mathematics and the code name the same rules, and the model is built in that order."""
    listed = re.findall(r"^    \((\w+)\) ", stages.__doc__ or "", flags=re.MULTILINE)
    body = ast.parse(inspect.getsource(build)).body[0]
    called = [
        node.value.func.id
        for node in ast.walk(body)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name)
    ]

    assert listed == called
    assert all(getattr(stages, name).__doc__ for name in listed)


@pytest.mark.parametrize(("model", "more"), [(stages, {"room"}), (pooled, {"room", "alike"})])
def test_every_rule_of_the_specification_has_its_place_in_the_model(
    model: ModuleType, more: set[str], repository: Path
) -> None:
    """The table of docs/model.md says which constraints a rule becomes: they exist, and none is left over.

    What is left is what a limit becomes, and named beside the limits; and the order of what could be exchanged.
    """
    text = (repository / "docs" / "model.md").read_text(encoding="utf-8").partition("## Rules")[2]
    rows = re.findall(r"^\| (`[\w`, ]+`) \| [^|]+ \| ([^|]+) \| ([^|]+) \|$", text, flags=re.MULTILINE)
    places = {name: row[1 + (model is pooled)] for row in rows for name in re.findall(r"`(\w+)`", row[0])}
    functions = {name for name, value in vars(rules).items() if getattr(value, "__module__", "") == rules.__name__} - {
        "Violation",
        "violations",
    }
    constraints = re.findall(r"^    \((\w+)\) ", model.__doc__ or "", flags=re.MULTILINE)

    assert functions == places.keys()
    assert set(constraints) - more == {name for place in places.values() for name in re.findall(r"`(\w+)`", place)}
    assert more <= set(re.findall(r"`(\w+)`", text.partition("A held value is a limit")[2]))
