"""What a plan says of memories beside its stages: what stays with hosts, and how full shared memories are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.report.amounts import count, ranges
from solver.report.grid import Fact
from solver.report.plan_tables import scale_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.planning import Plan
    from solver.pool_loads import PoolLoad
    from solver.projection import PlanStage

__all__ = ["memory_facts"]


def memory_facts(plan: Plan) -> tuple[Fact, ...]:
    """Return a sentence for each stage that leaves something with its host, and for each memory that is shared."""
    return (*_groups(plan), *_left(plan), *_shared(plan))


def _groups(plan: Plan) -> Iterator[Fact]:
    for number, stage in enumerate(plan.stages, start=1):
        if stage.role == "group":
            yield Fact(f"#{number}", f"sizes are those of each of its {count(len(stage.devices), 'card')}")


def _left(plan: Plan) -> Iterator[Fact]:
    for number, stage in enumerate(plan.stages, start=1):
        if stage.offload_blocks:
            yield Fact(f"#{number} on host", _sentence(plan, stage))


def _sentence(plan: Plan, stage: PlanStage) -> str:
    host = plan.problem.nodes_by_name[stage.node].host_pool
    kept = [block for block in range(stage.start, stage.end) if block not in set(stage.offload_blocks)]
    what = "experts" if plan.setting is None else plan.setting.choices.offload.words
    most = count(len(stage.offload_blocks), "block")
    blocks = "all its blocks" if not kept else f"{most} ({ranges(stage.offload_blocks)})"
    return f"{what} of {blocks}, {scale_of(plan).amount(stage.offload_bytes)}, in {host}"


def _shared(plan: Plan) -> Iterator[Fact]:
    """Yield the memories that hold what is no stage's own, or several stages."""
    shared = {pool.name for pool in plan.problem.pools}
    for pool in plan.pools:
        if pool.pool not in shared:
            continue
        drawing = sum(pool.pool in plan.problem.nodes_by_name[stage.node].pools for stage in plan.stages)
        if pool.load_bytes and (pool.parts.offload or drawing != 1):
            yield Fact(pool.pool, _filled(plan, pool))


def _filled(plan: Plan, pool: PoolLoad) -> str:
    amount = scale_of(plan).amount
    kinds = (
        ("weights", pool.parts.weights),
        ("cache", pool.parts.cache),
        ("other", pool.parts.other),
        ("left by cards", pool.parts.offload),
    )
    parts = ", ".join(f"{name} {amount(size)}" for name, size in kinds if size)
    return f"{amount(pool.load_bytes)} of a budget of {amount(pool.budget_bytes)} ({parts})"
