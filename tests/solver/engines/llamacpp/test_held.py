"""A plan whose cut computes in more than was set aside is solved again with as much, until it holds no more."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from support.llamacpp import mixtral
from support.plans import REQUEST
from support.problems import NO_RULES

from solver.cli.question import Question
from solver.cli.sizing import sized_plan
from solver.cluster_file import parse_cluster
from solver.effort import Effort, silent
from solver.engines.llamacpp.held import beside_of
from solver.engines.llamacpp.problem import llamacpp
from solver.engines.variants import ModelVariants
from solver.objectives import objectives_named
from solver.planning import Setting
from solver.workload import Choices, EngineName, Offload

if TYPE_CHECKING:
    from solver.cli.sizing import Sized

EFFORT = Effort(time_limit_seconds=60, deterministic_limit=None, workers=1, seed=0)
MACHINES = parse_cluster(
    """
[[node]]
name = "desk"
memory = "64 GiB"
head = true
gpu = [{ class = "c", memory = "24 GiB", device = "CUDA0" }]
[[node]]
name = "attic"
memory = "64 GiB"
""",
    "m",
)
CHOICES = Choices(Offload.NONE, 1)


def sized(objectives: str, aside_bytes: int | None = None) -> Sized:
    """Plan a model with compute buffers as they are, or with no more than these bytes set aside beside stages."""
    inventory = mixtral()
    placed = llamacpp(inventory, MACHINES, REQUEST, NO_RULES, CHOICES)
    problem = placed.problem
    if aside_bytes is not None:
        problem = replace(problem, nodes=tuple(replace(node, held_bytes=aside_bytes) for node in problem.nodes))
    setting = Setting(
        inventory, MACHINES, REQUEST, EngineName.LLAMACPP.value, placed.notes, placed.build, None, CHOICES
    )
    variants = ModelVariants(inventory, MACHINES, REQUEST, NO_RULES, CHOICES, llamacpp)
    return sized_plan(Question(problem, setting, variants, None, ()), objectives_named(objectives), EFFORT, silent)


def assert_holds_what_is_typed(found: Sized) -> None:
    """Every device with a stage has as much beside its caches as its typed line takes at most."""
    assert found.emulated is not None
    stages = {stage.device: stage for stage in found.plan.stages}
    for row, seat in found.emulated.rows:
        if seat is not None and seat.site.device in stages:
            stage = stages[seat.site.device]
            assert beside_of(row, seat.backend.context_bytes[1]) <= stage.load_bytes - stage.cache_bytes
            assert row.cache_bytes + row.state_bytes <= stage.cache_bytes


def test_what_is_set_aside_holds_for_the_cut_that_is_found() -> None:
    found = sized("nodes,balance")

    assert len(found.plan.stages) > 1
    assert_holds_what_is_typed(found)


def test_it_is_raised_where_it_does_not() -> None:
    little = sized("nodes,balance", aside_bytes=1)

    assert_holds_what_is_typed(little)
    assert all(node.held_bytes > 1 for node in little.plan.problem.nodes)


def test_a_longer_context_is_found_with_what_is_computed_in_for_it() -> None:
    found = sized("context")
    context = int(found.plan.solution.levels[0].value)
    at_longest = llamacpp(mixtral(), MACHINES, replace(REQUEST, context_tokens=context), NO_RULES, CHOICES).problem
    asked = llamacpp(mixtral(), MACHINES, REQUEST, NO_RULES, CHOICES).problem

    assert context > REQUEST.context_tokens
    for node, longest, usual in zip(found.plan.problem.nodes, at_longest.nodes, asked.nodes, strict=True):
        assert node.held_bytes >= longest.held_bytes > usual.held_bytes
