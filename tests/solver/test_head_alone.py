"""A head that moves by itself: one more to be placed, behind the blocks, in every search and in the document."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from support.pooled import best_pooled, pooled_problem
from support.problems import best_by_trying, problem_of, random_problem, with_head_alone

from solver.baselines import STRATEGIES, NoPlacement
from solver.effort import Effort
from solver.errors import InputError
from solver.measures import stage_load
from solver.objectives import objectives_named
from solver.problem import Block, Ends, Placement, Stage
from solver.problem_file import checked, problem_to_document
from solver.projection import seams_of, stages_of
from solver.provers import ClosedForm, ConstraintSolver, ExactSearch, provers_for
from solver.reasons import reasons_why_infeasible
from solver.rules import violations
from solver.solve import Outcome, solve

if TYPE_CHECKING:
    from solver.problem import Problem
    from solver.provers import Prover
    from solver.solve import Solution

EFFORT = Effort(time_limit_seconds=60, deterministic_limit=None, workers=1, seed=0)
LISTS = ("nodes,balance", "balance,nodes", "load,balance")
TIMED = ("latency", "throughput", "tokens", "nodes,balance")
# The head weighs 6 of 17 and is the largest of all.
SMALL = with_head_alone(problem_of((3, 4, 4), (11, 6), ends=Ends(0, 6, 0, 0)))


def as_block(problem: Problem) -> Problem:
    """Return a problem whose last block is the head, with all that it weighs as its own."""
    last = problem.blocks[-1]
    own = Block(problem.ends.output_bytes, 0, last.active_bytes, 0, 0)
    return replace(
        problem, blocks=(*problem.blocks[:-1], own), ends=replace(problem.ends, output_bytes=0), head_alone=False
    )


def answered(problem: Problem, wanted: str, provers: tuple[Prover, ...]) -> Solution:
    return solve(problem, objectives_named(wanted), EFFORT, provers=provers)


@pytest.mark.parametrize("sixty", range(5))
def test_searches_and_model_agree_with_trying_every_placement(sixty: int) -> None:
    for seed in range(60 * sixty, 60 * sixty + 60):
        random = Random(f"head {seed}")
        problem = with_head_alone(random_problem(random, 5, 4, ruled=seed % 2 == 1))
        if problem.rules.min_blocks > 1:
            continue
        wanted = random.choice(LISTS)
        best = best_by_trying(as_block(problem), objectives_named(wanted))
        for prover in (ExactSearch(problem), ConstraintSolver()):
            solution = answered(problem, wanted, (ClosedForm(), prover))

            assert (best is None) == (Outcome.INFEASIBLE is solution.outcome)
            if best is not None:
                assert Outcome.OPTIMAL is solution.outcome
                assert best.values == tuple(level.value for level in solution.levels)
                assert best.placement == solution.placement


@pytest.mark.parametrize("twenty", range(4))
def test_searches_over_shared_memories_agree_with_trying_every_placement(twenty: int) -> None:
    """With what experts leave on hosts, times and caches that grow."""
    for seed in range(20 * twenty, 20 * twenty + 20):
        random = Random(f"head of cards {seed}")
        problem = with_head_alone(pooled_problem(random, 3, 3, ruled=False, timed=True))
        wanted = random.choice(TIMED)
        try:
            for objective in objectives_named(wanted):
                objective.needs(problem, objective.name)
        except InputError:
            continue
        best = best_pooled(problem, objectives_named(wanted))
        solution = answered(problem, wanted, provers_for(problem))

        assert (best is None) == (Outcome.INFEASIBLE is solution.outcome)
        if best is not None:
            assert best.values == tuple(level.value for level in solution.levels)
            assert best.placement == solution.placement


def test_a_document_says_it_and_gives_the_problem_back() -> None:
    for seed in range(50):
        problem = random_problem(Random(seed), 5, 4, ruled=True)
        alone = with_head_alone(problem)

        assert alone == checked(alone, "alone")
        document = problem_to_document(alone)
        assert document == {**problem_to_document(problem), "head_alone": True}
        assert "head_alone" not in problem_to_document(problem)


def test_a_stage_of_the_head_alone_has_no_block_and_a_seam_before_it() -> None:
    stages = stages_of(SMALL, Placement((Stage(0, 3, "n0"), Stage(3, 4, "n1"))), None)

    assert [(0, 3, False, 11), (3, 3, True, 6)] == [
        (stage.start, stage.end, stage.head, stage.load_bytes) for stage in stages
    ]
    assert [("n0", "n1")] == [(seam.source, seam.target) for seam in seams_of(SMALL, stages, None)]


def test_there_is_a_plan_where_only_a_head_apart_fits() -> None:
    folded = SMALL.with_head_folded()

    assert Outcome.INFEASIBLE is answered(folded, "nodes", provers_for(folded)).outcome
    assert Placement((Stage(0, 3, "n0"), Stage(3, 4, "n1"))) == answered(SMALL, "nodes", provers_for(SMALL)).placement


def test_a_head_that_is_too_large_is_called_the_head() -> None:
    tight = with_head_alone(problem_of((3, 4, 4), (5, 5, 5, 5), ends=Ends(0, 6, 0, 0)))

    assert (
        "The head with what belongs to it takes 6 B, more than the largest budget, 5 B on n0."
        == (reasons_why_infeasible(tight, None, EFFORT)[0])
    )


def test_folded_again_it_is_read_with_the_last_block() -> None:
    problem = problem_of((3, 4, 4), (11, 6), ends=Ends(0, 6, 0, 0))
    blocks = (*problem.blocks[:-1], replace(problem.blocks[-1], active_bytes=10))

    assert replace(problem, blocks=blocks) == with_head_alone(problem).with_head_folded()
    assert problem == problem.with_head_folded()


def test_split_rules_keep_the_head_with_the_last_block_and_llama_cpp_puts_it_where_its_share_says() -> None:
    answers = {name: strategy.place(SMALL) for name, strategy in STRATEGIES.items()}
    placed = {name: answer for name, answer in answers.items() if not isinstance(answer, NoPlacement)}

    assert {"sglang", "llamacpp"} <= set(placed)
    for stages in placed.values():
        assert [] == [one for one in violations(SMALL, Placement(stages)) if one.rule == "cover"]
    # Slot i of 4 goes to the first device whose cumulative share, 11 and 17 of 17, is above i / 4.
    assert (Stage(0, 3, "n0"), Stage(3, 4, "n1")) == placed["llamacpp"]
    assert 6 + 4 <= stage_load(SMALL, placed["sglang"][-1]).load_bytes
