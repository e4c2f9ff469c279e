"""Plans in Python: what stands beside a placement, and the sentences that explain it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.plans import model_plan, six_blocks
from support.problems import NO_LINKS, problem_of

from solver.effort import Effort
from solver.errors import InputError
from solver.objectives import objectives_named
from solver.planning import plan
from solver.problem import Link, LinkPair
from solver.projection import Seam, Transfer
from solver.solution import Outcome

EFFORT = Effort(time_limit_seconds=60, deterministic_limit=None, workers=1, seed=0)


def test_objectives_are_named_or_given() -> None:
    problem = problem_of((3, 3), (7, 7))

    assert plan(problem, "nodes,load", EFFORT).stages == plan(problem, objectives_named("nodes,load"), EFFORT).stages
    with pytest.raises(InputError) as caught:
        plan(problem, "nodes,speed", EFFORT)
    known = "balance, context, headroom, latency, load, nodes, offload, throughput, tokens"
    assert f'objective: "speed" is not one; expected some of {known}. Correct the list.' == str(caught.value)


def test_more_nodes_than_arithmetic_asks_for_are_explained() -> None:
    """Two nodes of 6 hold 12 bytes, and blocks of 4 leave a third of each empty."""
    found = plan(problem_of((4, 4, 4), (6, 6, 6)), "nodes", EFFORT)

    assert 3 == len(found.stages)
    assert (
        "Arithmetic asks for 2 nodes and the plan uses 3: blocks do not divide, and the largest (block 0) takes 4 B.",
    ) == found.notes
    assert () == plan(problem_of((4, 4, 4), (8, 6, 6)), "nodes", EFFORT).notes


def test_nothing_loaded_has_nothing_to_check() -> None:
    found = plan(problem_of((0, 0), (6, 6)), "nodes,balance", EFFORT)

    assert (Outcome.OPTIMAL, None) == (found.outcome, found.check)


def test_seams_and_transfers_follow_the_links() -> None:
    """A hop has the latency of its own direction; weights come from the first device at the rate of its link."""
    near = Link(latency_ns=5, bytes_per_second=3000, forbidden=False)
    links = replace(NO_LINKS, pairs=(LinkPair("n0", "n1", near),))
    problem = problem_of((4000, 4001, 4002), (4000, 4001, 4002), links=links)
    found = plan(replace(problem, activation_bytes=10, context_tokens=7), "nodes", EFFORT)

    assert (Seam("n0", "n1", 10, 70, None, 5), Seam("n1", "n2", 10, 70, None, 0)) == found.seams
    assert (Transfer("n0", 4000, 0.0), Transfer("n1", 4001, 1.334), Transfer("n2", 4002, None)) == found.transfers


def test_an_index_is_handed_on_only_where_the_next_block_uses_it() -> None:
    """Blocks 0 and 2 of six have indexers of their own, so a stage that starts at 3 is given the indices of 2."""
    found = model_plan(six_blocks())

    assert [(0, 3), (3, 6)] == [(stage.start, stage.end) for stage in found.stages]
    assert [2048 * 4] == [seam.sideband_bytes_per_query for seam in found.seams]


def test_notes_of_the_engine_come_before_those_of_the_plan() -> None:
    found = model_plan(six_blocks())

    assert found.setting is not None
    assert found.setting.notes == found.notes[: len(found.setting.notes)]
