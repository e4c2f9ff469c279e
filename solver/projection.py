"""What a placement means in the terms people read: stages, pools, seams, transfers and the check against closed forms.

Everything is recomputed from the problem and the names in the placement; a plan's JSON is a projection of these
records.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from solver.bounds import largest_item_bytes
from solver.closed_form import DeviceLoad, PlanCheck, check_plan
from solver.measures import stage_load

if TYPE_CHECKING:
    from fractions import Fraction

    from solver.cluster import ClusterNode
    from solver.problem import Node, Placement, Problem
    from tensors.architecture import Architecture

__all__ = [
    "Parts",
    "Place",
    "PlanStage",
    "PoolLoad",
    "Seam",
    "Transfer",
    "check_of",
    "place_of",
    "pools_of",
    "seams_of",
    "stages_of",
    "transfers_of",
]

# An index entry that a sparse indexer hands on is a 32-bit position.
_INDEX_BYTES = 4


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node of a problem is: its machine and its pool. Usable and reserve are None for an abstract problem."""

    machine: str
    pool: str
    usable_bytes: int | None
    reserve_bytes: int | None


@dataclass(frozen=True, slots=True)
class PlanStage:
    """One stage with what it holds. `head` says that the model's head is with it.

    `node` is the problem's node, `machine` the machine that it is or is a device of.
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

    @property
    def load_bytes(self) -> int:
        """Return the bytes of all kinds together."""
        return self.weight_bytes + self.cache_bytes + self.other_bytes

    @property
    def slack_bytes(self) -> int:
        """Return what is left of the budget."""
        return self.budget_bytes - self.load_bytes


@dataclass(frozen=True, slots=True)
class Parts:
    """The bytes of a pool by what they are."""

    weights: int
    cache: int
    other: int
    offload: int


@dataclass(frozen=True, slots=True)
class PoolLoad:
    """One memory.

    Usable = reserve + budget, except under a ceiling. Usable and reserve are None for an abstract problem.
    """

    pool: str
    node: str
    usable_bytes: int | None
    reserve_bytes: int | None
    budget_bytes: int
    parts: Parts

    @property
    def load_bytes(self) -> int:
        """Return the bytes of all kinds together."""
        return self.parts.weights + self.parts.cache + self.parts.other + self.parts.offload


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
    """The weights that a device is to be given, and the seconds that takes from the first device.

    None if no rate is known.
    """

    device: str
    bytes: int
    seconds: float | None


def stages_of(
    problem: Problem, placement: Placement, cluster_nodes: dict[str, ClusterNode] | None
) -> tuple[PlanStage, ...]:
    """Return the stages of a placement with their loads."""
    stages = []
    for stage in placement.stages:
        load = stage_load(problem, stage)
        place = place_of(problem.nodes_by_name[stage.node], cluster_nodes)
        stages.append(
            PlanStage(
                chain=0,
                start=stage.start,
                end=stage.end,
                head=stage.end == len(problem.blocks),
                role="one",
                node=stage.node,
                machine=place.machine,
                device=place.pool,
                devices=(place.pool,),
                pool=place.pool,
                weight_bytes=load.weight_bytes,
                cache_bytes=load.cache_bytes,
                other_bytes=load.other_bytes,
                budget_bytes=load.budget_bytes,
            )
        )
    return tuple(stages)


def place_of(node: Node, cluster_nodes: dict[str, ClusterNode] | None) -> Place:
    """Return where a node is: itself for an abstract problem, else a pool of a machine of the cluster.

    A device of several of its machine is called MACHINE/gpuN; one that is its machine's only one, like the machine.

    Raises:
        KeyError: the cluster has no such machine, or the machine no such card.
    """
    name = node.machine or node.name
    if cluster_nodes is None:
        return Place(name, node.name, None, None)
    machine = cluster_nodes[name]
    if machine.unified or not machine.gpus:
        pool = f"{name}/unified" if machine.unified else f"{name}/ram"
        return Place(name, pool, machine.memory_bytes, machine.reserve_bytes)
    cards = {
        f"{name}/gpu{number}": group
        for number, group in enumerate(group for group in machine.gpus for _ in range(group.count))
    }
    pool = node.name if node.machine is not None else next(iter(cards))
    card = cards[pool]
    return Place(name, pool, card.memory_bytes, card.reserve.bytes_of(card.memory_bytes))


def pools_of(
    problem: Problem, stages: tuple[PlanStage, ...], cluster_nodes: dict[str, ClusterNode] | None
) -> tuple[PoolLoad, ...]:
    """Return every pool of every node, used or not, in the order listed."""
    held = {stage.node: stage for stage in stages}
    pools = []
    for node in problem.nodes:
        place = place_of(node, cluster_nodes)
        stage = held.get(node.name)
        pools.append(
            PoolLoad(
                pool=place.pool,
                node=place.machine,
                usable_bytes=place.usable_bytes,
                reserve_bytes=place.reserve_bytes,
                budget_bytes=node.budget_bytes,
                parts=Parts(
                    weights=0 if stage is None else stage.weight_bytes,
                    cache=0 if stage is None else stage.cache_bytes,
                    other=0 if stage is None else stage.other_bytes,
                    offload=0,
                ),
            )
        )
    return tuple(pools)


def check_of(problem: Problem, stages: tuple[PlanStage, ...], factor: Fraction) -> PlanCheck | None:
    """Return the closed forms beside the loads; None where the stages hold nothing at all."""
    if sum(stage.load_bytes for stage in stages) == 0 or problem.total_bytes <= 0:
        return None
    budgets: dict[str, int] = {}
    for node in problem.nodes:
        machine = node.machine or node.name
        budgets[machine] = budgets.get(machine, 0) + node.budget_bytes
    return check_plan(
        problem.total_bytes,
        list(budgets.values()),
        [DeviceLoad(stage.machine, stage.load_bytes, stage.budget_bytes) for stage in stages],
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
        for stage, following in pairwise(stages)
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
        seconds = 0.0 if local else None if rate is None else round(stage.weight_bytes / rate, 3)
        transfers.append(Transfer(device=stage.device, bytes=stage.weight_bytes, seconds=seconds))
    return tuple(transfers)
