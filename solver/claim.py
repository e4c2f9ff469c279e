"""What a plan's document claims, as read: its problem, its placement as names alone, and all that it says of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from solver.cluster_document import cluster_from_document
from solver.errors import InputError
from solver.objectives import Objective, objectives_named
from solver.problem import Placement, Problem, Stage
from solver.problem_file import problem_from_document
from solver.report.plan_json import PLAN_SCHEMA
from solver.small_file import read_small
from solver.solution import Outcome  # noqa: TC001 - msgspec reads annotations when it builds the tables
from solver.wording import quoted
from tensors.text import decoder_problem

if TYPE_CHECKING:
    from pathlib import Path

    from solver.cluster import Cluster, ClusterNode

__all__ = ["Claim", "claim_from_bytes", "read_claim"]

_MOST_MIB = 256

_Boundary = Annotated[int, msgspec.Meta(ge=0, le=2**31)]


class _Stage(msgspec.Struct, frozen=True):
    start: _Boundary
    end: _Boundary
    node: str
    chain: _Boundary = 0
    device: str | None = None
    head: bool = False
    offload_blocks: tuple[_Boundary, ...] = ()


class _Level(msgspec.Struct, frozen=True):
    name: str
    value: int | float | None
    bound: int | float | None
    proof: str


class _Inputs(msgspec.Struct, frozen=True):
    problem: dict[str, Any]
    cluster: dict[str, Any] | None
    instance_sha256: str
    header_sha256: str | None
    options: dict[str, Any]


class _Named(msgspec.Struct, frozen=True):
    schema: str


class _Document(msgspec.Struct, frozen=True):
    inputs: _Inputs
    outcome: Outcome
    objective: tuple[_Level, ...]
    stages: tuple[_Stage, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """A plan's document as read.

    Its problem, its placement as names (None if it has none), and all that it says of them.
    """

    where: str
    problem: Problem
    cluster: Cluster | None
    outcome: Outcome
    objectives: tuple[Objective, ...]
    placement: Placement | None
    header_sha256: str | None
    said: dict[str, Any]

    @property
    def nodes(self) -> dict[str, ClusterNode] | None:
        """Return the nodes of its cluster by name, None where it has none."""
        return None if self.cluster is None else {node.name: node for node in self.cluster.nodes}

    @property
    def engine(self) -> str | None:
        """Return the name of the engine whose rules it follows, None where it does not say."""
        workload = self.said.get("workload")
        return workload.get("engine") if isinstance(workload, dict) else None

    @property
    def width(self) -> int:
        """Return how many cards take a stage together, 0 where that was left open."""
        width = self.said["inputs"]["options"].get("tensor_parallel", 1)
        return width if isinstance(width, int) and width > 0 else 0

    @property
    def excluded(self) -> frozenset[str]:
        """Return the machines and devices that take no part."""
        names = self.said["inputs"]["options"].get("exclude")
        return frozenset((*self.problem.rules.exclude, *(names.split(",") if isinstance(names, str) else ())))

    @property
    def is_of_engine(self) -> bool:
        """Return whether the plan follows the rules of an engine, which has devices of its own."""
        return self.said["inputs"].get("engine_build") is not None


def read_claim(path: Path) -> Claim:
    """Return what a plan's file claims.

    Raises:
        InputError: the file cannot be read or is no plan.
    """
    return claim_from_bytes(read_small(path, _MOST_MIB, f"a {PLAN_SCHEMA} document"), str(path))


def claim_from_bytes(content: bytes, where: str) -> Claim:
    """Return what a plan's JSON claims; `where` names it in errors.

    Raises:
        InputError: it is no plan, or its inputs cannot be meant.
    """
    said, document = _decoded(content, where)
    problem = problem_from_document(document.inputs.problem, f"{where}, inputs.problem")
    objectives = _objectives(document, where)
    for objective in objectives:
        _check_facts(problem, objective, where)
    cluster = document.inputs.cluster
    machines = None if cluster is None else cluster_from_document(cluster, f"{where}, inputs.cluster")
    stages = tuple(
        Stage(
            stage.start,
            _end_of(stage, problem),
            _node_of(stage, problem),
            stage.offload_blocks,
            stage.chain,
        )
        for stage in document.stages
    )
    return Claim(
        where=where,
        problem=problem,
        cluster=machines,
        outcome=document.outcome,
        objectives=objectives,
        placement=Placement(stages) if stages else None,
        header_sha256=document.inputs.header_sha256,
        said=said,
    )


def _decoded(content: bytes, where: str) -> tuple[dict[str, Any], _Document]:
    """Return all that a document says, and of it what is checked."""
    try:
        said = msgspec.json.decode(content)
        # Before anything else: what is wrong in another kind of document is that it is another kind.
        schema = msgspec.convert(said, _Named).schema
        if schema != PLAN_SCHEMA:
            raise InputError(where, f'{quoted(schema)} is not read; expected "{PLAN_SCHEMA}". Name a plan.')
        return said, msgspec.convert(said, _Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(where, f"{decoder_problem(error)}; expected a {PLAN_SCHEMA} document. Plan again.") from None


def _end_of(stage: _Stage, problem: Problem) -> int:
    """Return the end of a stage in items: a head that moves by itself is one more, behind the blocks."""
    return stage.end + (problem.head_alone and stage.head)


def _node_of(stage: _Stage, problem: Problem) -> str:
    """Return the problem's node of a stage: its machine, or its device where the machine has several."""
    device = None if stage.device is None else problem.nodes_by_name.get(stage.device)
    return stage.node if device is None or device.machine != stage.node else device.name


def _objectives(document: _Document, where: str) -> tuple[Objective, ...]:
    """Return the objectives that were asked for, or where that is not said, those of the entries."""
    named = document.inputs.options.get("objective")
    try:
        return objectives_named(named if isinstance(named, str) else ",".join(o.name for o in document.objective))
    except InputError as error:
        raise InputError(f"{where}, inputs.options.objective", error.problem) from None


def _check_facts(problem: Problem, objective: Objective, where: str) -> None:
    """Refuse an objective of which the problem does not say enough: none of its figures could be computed."""
    try:
        objective.needs(problem, objective.name)
    except InputError as error:
        raise InputError(f"{where}, {error.where}", error.problem) from None
