"""What to type for a placement, whatever engine it was planned for: one way in for all engines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from solver.engines.commands import Export, Refusal
from solver.engines.table import ENGINES
from solver.errors import InputError
from solver.problem import Rules
from solver.workload import EngineName

if TYPE_CHECKING:
    from solver.cluster import Cluster
    from solver.engines.commands import Run
    from solver.engines.servers.build import ServedProblem
    from solver.engines.servers.export import Launcher
    from solver.workload import Choices, Workload
    from tensors.inventory import Inventory

__all__ = ["Wanted", "exported"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A placement with what it was made for.

    `planned_for` is the engine whose rules it follows, with what it was free to do, and `devices` all nodes of its
    problem, used or not. The model has `trunk_blocks` and `nextn_blocks` (`inventory` None where it is not at hand) and
    is found at `model_path`.
    """

    runs: tuple[Run, ...]
    devices: tuple[str, ...]
    cluster: Cluster
    workload: Workload
    planned_for: EngineName
    trunk_blocks: int
    nextn_blocks: int
    inventory: Inventory | None
    model_path: str
    choices: Choices


def exported(engine: EngineName, wanted: Wanted, launcher: Launcher | None) -> Export | Refusal:
    """Return what to type for an engine, emulated, or why the engine cannot have it so.

    Raises:
        InputError: there is nothing to type for this engine, or the model has to be at hand.
        ArchitectureError: no rule says what the model's caches are.
    """
    if engine is EngineName.GENERIC:
        raise InputError(
            "engine generic", "it is none that can be started; expected llamacpp, vllm or sglang. Name one."
        )
    own = wanted.planned_for is engine
    workload, notes = _workload(engine, wanted)
    if engine is EngineName.LLAMACPP:
        from solver.engines.llamacpp.export import llamacpp_export  # noqa: PLC0415 - one engine of several

        blocks = wanted.trunk_blocks + wanted.nextn_blocks
        result = llamacpp_export(
            wanted.runs,
            wanted.cluster,
            workload,
            blocks,
            wanted.model_path,
            wanted.inventory,
            strict=own,
            offload=wanted.choices.offload,
        )
    else:
        from solver.engines.servers.export import server_export  # noqa: PLC0415 - one engine of several

        served = _served(engine, wanted, workload, own=own)
        if isinstance(served, Refusal):
            return served
        result = server_export(
            served, wanted.runs, wanted.cluster, workload, wanted.trunk_blocks, wanted.model_path, launcher
        )
    return replace(result, notes=(*result.notes, *notes)) if isinstance(result, Export) else result


def _workload(engine: EngineName, wanted: Wanted) -> tuple[Workload, tuple[str, ...]]:
    """Return the request as the engine takes it: a plan of another engine may have types that this one has not."""
    workload = wanted.workload
    if engine is EngineName.LLAMACPP or wanted.planned_for in (EngineName.VLLM, EngineName.SGLANG):
        return workload, ()
    own = engine.cache_type
    note = f"The plan counts a cache of {workload.cache_type_k}; {engine} is asked for its own type."
    return replace(workload, cache_type_k=own, cache_type_v=own), (note,)


def _served(engine: EngineName, wanted: Wanted, workload: Workload, *, own: bool) -> ServedProblem | Refusal:
    """Return the problem of an engine with ranks on the devices of the plan, or on the machines that it uses."""
    if wanted.inventory is None:
        raise InputError(
            "model", f"it is not at hand, and {engine} shares memory out by its weights; expected it. Name the model."
        )
    if own:
        known = {name for device in wanted.devices for name in (device, device.rpartition("/")[0] or device)}
    else:
        known = {run.device.rpartition("/")[0] for run in wanted.runs} | {run.device for run in wanted.runs}
    names = [node.name for node in wanted.cluster.nodes]
    cards = [
        f"{node.name}/gpu{number}" for node in wanted.cluster.nodes for number in range(sum(g.count for g in node.gpus))
    ]
    excluded = tuple(name for name in (*names, *cards) if name not in known)
    rules = Rules(pins=(), first=None, last=None, order=(), exclude=excluded, max_nodes=None, min_blocks=1)
    try:
        served = ENGINES[engine].build(wanted.inventory, wanted.cluster, workload, rules, wanted.choices).served
    except InputError as error:
        return Refusal(engine, str(error))
    if served is None:
        raise InputError(f"engine {engine}", "it has no ranks; expected one that has.")
    return served
