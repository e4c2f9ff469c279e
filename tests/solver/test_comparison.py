"""What a comparison says of every strategy: whether it fits, by how much not, and its figures."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from support.problems import NO_RULES, problem_of
from support.timed import GB, barred, growing, joined, near, timed

from solver.baselines import STRATEGIES
from solver.comparison import PLAN, Entry, Figures, Overfull, compare
from solver.effort import Effort
from solver.objectives import objectives_named
from solver.problem import Placement, Problem, Stage
from solver.rules import Violation
from solver.solve import solve

EFFORT = Effort(60, None, 1, 0)
THREE = joined(timed(problem_of((3, 3, 3, 3), (9, 8, 2)), (GB, 2 * GB, GB)), near(2, GB), activation_bytes=3)


def entries(problem: Problem, wanted: str = "nodes,balance") -> dict[str, Entry]:
    objectives = objectives_named(wanted)
    return {entry.name: entry for entry in compare(problem, solve(problem, objectives, EFFORT), objectives)}


def test_the_plan_comes_first_and_every_rule_after_it() -> None:
    assert [PLAN, *STRATEGIES] == list(entries(THREE))


def test_figures_are_those_of_the_placement() -> None:
    """Two blocks each: 6 and 4 ns (rounded up by block), a hop of 2 + 3 ns; fill and balance are the same figure."""
    expected = Figures(
        nodes=2,
        imbalance=Fraction(1),
        weighted_imbalance=Fraction(6, 8) * Fraction(17, 12),
        fill=Fraction(3, 4),
        latency_ns=6 + 4 + 5,
        tokens_per_second=Fraction(10**9, 6),
        values=(2, Fraction(3, 4)),
    )
    plan = entries(THREE)[PLAN]

    assert (True, None, (), ()) == (plan.fits, plan.reason, plan.overfull, plan.broken)
    assert Placement((Stage(0, 2, "n0"), Stage(2, 4, "n1"))) == plan.placement
    assert expected == plan.figures


def test_what_does_not_fit_says_by_how_much_and_where_first() -> None:
    """Of several nodes the one most over comes first, of equals the first stage."""
    several = entries(problem_of((12, 7, 8, 5), (10, 12, 2)))["vllm"]

    assert (False, (Overfull("n2", 4),)) == (entries(THREE)["sglang"].fits, entries(THREE)["sglang"].overfull)
    assert (Overfull("n1", 3), Overfull("n2", 3), Overfull("n0", 2)) == several.overfull


def test_a_rule_without_a_placement_gives_its_reason_and_no_figures() -> None:
    swarm = entries(THREE)["swarm"]

    assert (None, "Its smallest node has no room for a block of mean size.") == (swarm.fits, swarm.reason)
    assert (None, None) == (swarm.placement, swarm.figures)


def test_a_placement_against_a_rule_of_the_problem_does_not_fit() -> None:
    problem = replace(problem_of((3, 3, 3), (9, 9, 9)), rules=replace(NO_RULES, first="n1"))
    vllm = entries(problem)["vllm"]

    assert (False, ()) == (vllm.fits, vllm.overfull)
    assert (Violation("first", 'the first stage is on "n0", not on "n1"'),) == vllm.broken


def test_times_that_are_not_known_are_none() -> None:
    """Neither a latency nor a throughput where a node that is used has no speed."""
    partly = timed(problem_of((3, 3, 3, 3), (9, 8, 4)), (GB, GB, None))
    figures = entries(partly)["vllm"].figures
    known = entries(partly)[PLAN].figures

    assert figures is not None
    assert known is not None
    assert (None, None) == (figures.latency_ns, figures.tokens_per_second)
    assert 12 == known.latency_ns


def test_every_objective_asked_for_has_its_value() -> None:
    vllm = entries(growing(problem_of((3, 3, 3), (5, 6, 9)), (1, 1, 1)), "tokens,load")["vllm"]

    assert vllm.figures is not None
    assert (2, 3) == vllm.figures.values


def test_without_a_plan_the_rules_are_still_measured() -> None:
    found = entries(problem_of((9, 9), (9, 8)))

    assert (None, "There is no plan: infeasible.") == (found[PLAN].placement, found[PLAN].reason)
    assert (Overfull("n1", 1),) == found["vllm"].overfull


def test_replicas_count_in_the_tokens_of_the_plan_and_leave_its_latency_open() -> None:
    """Two nodes hold 3 blocks each whole, 6 ns a token: the tokens of both together, where a rule has one chain."""
    problem = timed(problem_of((2, 2, 2), (6, 6)), (GB, GB))
    shared = entries(replace(problem, rules=replace(NO_RULES, replicas=True)), "throughput")
    figures, exo = shared[PLAN].figures, shared["exo"].figures

    assert figures is not None
    assert exo is not None
    assert (2, None, Fraction(2 * 10**9, 6)) == (figures.nodes, figures.latency_ns, figures.tokens_per_second)
    assert (Fraction(2 * 10**9, 6),) == figures.values
    assert (6, Fraction(10**9, 6)) == (exo.latency_ns, exo.tokens_per_second)


def test_a_rule_that_takes_a_forbidden_link_carries_no_tokens_where_replicas_are_allowed() -> None:
    apart = joined(
        timed(problem_of((3, 3, 3, 3), (12, 12)), (GB, GB)), near(0), ("n0", "n1", barred()), activation_bytes=1
    )
    vllm = entries(replace(apart, rules=replace(NO_RULES, replicas=True)), "throughput")["vllm"]

    assert (False, {"hops"}) == (vllm.fits, {broken.rule for broken in vllm.broken})
    assert vllm.figures is not None
    assert (None, (None,)) == (vllm.figures.tokens_per_second, vllm.figures.values)


def test_a_placement_over_a_forbidden_link_does_not_run_and_has_no_times() -> None:
    """What it would hold is still said, and so is the link."""
    apart = joined(
        timed(problem_of((3, 3, 3, 3), (9, 9)), (GB, GB)), near(0), ("n0", "n1", barred()), activation_bytes=1
    )
    vllm = entries(apart, "latency,balance,throughput")["vllm"]

    assert (Violation("hops", 'the link from "n0" to "n1" is forbidden'),) == vllm.broken
    assert vllm.figures is not None
    assert (None, None) == (vllm.figures.latency_ns, vllm.figures.tokens_per_second)
    assert (None, Fraction(6, 9), None) == vllm.figures.values
