"""What a placement means in the terms people read: stages, seams, transfers and the check against closed forms.

Everything is recomputed from the problem and the names in the placement; a plan's JSON is a projection of these
records.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from solver.bounds import largest_item_bytes
from solver.closed_form import DeviceLoad, PlanCheck, check_plan
from solver.measures import offloaded_expert_bytes, stage_load
from solver.pool_loads import machine_budgets, place_of

if TYPE_CHECKING:
    from fractions import Fraction

    from solver.cluster import ClusterNode
    from solver.problem import Placement, Problem, Stage
    from tensors.architecture import Architecture

__all__ = [
    "PlanStage",
    "Seam",
    "Transfer",
    "check_of",
    "seam_pairs",
    "seams_of",
    "stages_of",
    "transfers_of",
]

# An index entry that a sparse indexer hands on is a 32-bit position.
_INDEX_BYTES = 4


@dataclass(frozen=True, slots=True)
class PlanStage:
    """One stage with what it holds: blocks [start, end), none where it is the head alone.

    `head` says that the model's head is with it.
    `node` is the problem's node, `machine` the machine that it is or is a device of. Sizes are those of one of
    `devices`, of which a group has several; `offload_bytes` are what all of them leave with their host, of the blocks
    of `offload_blocks`.
    """

    chain: int
    start: int
    end: int
    head: bool
    role: str
    node: str
    machine: str
    device: str
    devices: tuple[str, ...]
    pool: str
    weight_bytes: int
    cache_bytes: int
    other_bytes: int
    budget_bytes: int
    offload_bytes: int
    offload_blocks: tuple[int, ...]

    @property
    def load_bytes(self) -> int:
        """Return the bytes of all kinds together."""
        return self.weight_bytes + self.cache_bytes + self.other_bytes

    @property
    def slack_bytes(self) -> int:
        """Return what is left of the budget."""
        return self.budget_bytes - self.load_bytes


@dataclass(frozen=True, slots=True)
class Seam:
    """What crosses from one stage to the next. The sideband is None where the model has no indexer."""

    source: str
    target: str
    bytes_per_token: int
    prefill_bytes: int | None
    sideband_bytes_per_query: int | None
    latency_ns: int


@dataclass(frozen=True, slots=True)
class Transfer:
    """The weights that a device is to be given, with those for its host, and the seconds from the first device.

    None if no rate is known.
    """

    device: str
    bytes: int
    seconds: float | None


def stages_of(
    problem: Problem, placement: Placement, cluster_nodes: dict[str, ClusterNode] | None
) -> tuple[PlanStage, ...]:
    """Return the stages of a placement with their loads."""
    held = Counter((stage.chain, stage.start, stage.end) for stage in placement.stages)
    return tuple(
        _stage_of(problem, stage, cluster_nodes, shared=held[stage.chain, stage.start, stage.end] > 1)
        for stage in placement.stages
    )


def _stage_of(
    problem: Problem, stage: Stage, cluster_nodes: dict[str, ClusterNode] | None, *, shared: bool
) -> PlanStage:
    node = problem.nodes_by_name[stage.node]
    load = stage_load(problem, stage)
    start, end = problem.span(stage)
    place = place_of(node, cluster_nodes)
    is_group = len(node.pools) > 1
    return PlanStage(
        chain=stage.chain,
        start=start,
        end=end,
        head=stage.end == len(problem.items),
        role="replica" if shared else "group" if is_group else "one",
        node=stage.node,
        machine=place.machine,
        device=place.device,
        devices=node.pools if is_group else (place.device,),
        pool=place.pool,
        weight_bytes=load.weight_bytes,
        cache_bytes=load.cache_bytes,
        other_bytes=load.other_bytes,
        budget_bytes=load.budget_bytes,
        offload_bytes=offloaded_expert_bytes(problem, stage),
        offload_blocks=stage.offloaded,
    )


def check_of(problem: Problem, stages: tuple[PlanStage, ...], factor: Fraction) -> PlanCheck | None:
    """Return the closed forms beside the loads; None where the stages hold nothing at all."""
    if sum(stage.load_bytes for stage in stages) == 0 or problem.total_bytes <= 0:
        return None
    loads = [DeviceLoad(stage.machine, stage.load_bytes, stage.budget_bytes) for stage in stages for _ in stage.devices]
    return check_plan(
        problem.total_bytes,
        list(machine_budgets(problem).values()),
        loads,
        largest_item_bytes(problem),
        imbalance_factor=factor,
    )


def seams_of(problem: Problem, stages: tuple[PlanStage, ...], architecture: Architecture | None) -> tuple[Seam, ...]:
    """Return the boundaries between stages with what crosses them."""
    context = problem.context_tokens
    return tuple(
        Seam(
            source=stage.device,
            target=following.device,
            bytes_per_token=problem.activation_bytes,
            prefill_bytes=None if context is None else problem.activation_bytes * context,
            sideband_bytes_per_query=_sideband_bytes(following.start, architecture),
            latency_ns=problem.link(stage.node, following.node).latency_ns,
        )
        for stage, following in ((stages[source], stages[target]) for source, target in seam_pairs(stages))
    )


def seam_pairs(stages: tuple[PlanStage, ...]) -> tuple[tuple[int, int], ...]:
    """Return the places of every two stages that a seam joins: all pairs of nodes across it, where nodes share."""
    return tuple(
        (source, target)
        for source, stage in enumerate(stages)
        for target, following in enumerate(stages)
        if stage.chain == following.chain
        and stage.end == following.start
        # The head alone is a run without a block, which begins where it ends.
        and (stage.start, stage.end) != (following.start, following.end)
    )


def _sideband_bytes(block: int, architecture: Architecture | None) -> int | None:
    """Return the indices a query hands on where the next stage begins at a block that does not compute its own."""
    if architecture is None or architecture.index_topk is None:
        return None
    own = block in architecture.full_indexer_blocks or block >= architecture.trunk_blocks
    return 0 if own else architecture.index_topk * _INDEX_BYTES


def transfers_of(problem: Problem, stages: tuple[PlanStage, ...]) -> tuple[Transfer, ...]:
    """Return the weights each device is given, with the time from the first device at the rate of the link."""
    transfers = []
    for stage in stages:
        rate = problem.link(stages[0].node, stage.node).bytes_per_second
        local = stage.node == stages[0].node
        size = stage.weight_bytes * len(stage.devices) + stage.offload_bytes
        seconds = 0.0 if local else None if rate is None else round(size / rate, 3)
        transfers.append(Transfer(device=stage.device, bytes=size, seconds=seconds))
    return tuple(transfers)
