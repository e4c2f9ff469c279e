"""`layerfit export`: what to type on each machine so that a plan happens, emulated before it is printed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from cyclopts import Parameter

from solver.claim import read_claim
from solver.cli.exit_code import ExitCode
from solver.cli.output import document_text, paint, write_note, write_text
from solver.cli.reading import ReadOptions
from solver.cli.values import choice
from solver.cluster_document import cluster_from_document
from solver.engines.commands import Refusal, Run
from solver.engines.exporting import Wanted, exported
from solver.engines.servers.export import Launcher
from solver.errors import InputError, UsageError
from solver.projection import stages_of
from solver.recheck import findings
from solver.report.export_json import export_document
from solver.report.export_text import export_text
from solver.report.terminal import escape
from solver.workload import AUTOMATIC_WIDTH, USUAL_CHOICES, Choices, EngineName, IndexerRule, Offload, Workload
from tensors.errors import TensorsError
from tensors.sources import has_scheme
from tensors.text import decoder_problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.claim import Claim
    from solver.planning import Plan
    from solver.projection import PlanStage
    from tensors.inventory import Inventory

__all__ = ["export", "runs_of", "wanted_of_plan"]

_MODEL = "MODEL"
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**31)]
_Name = Annotated[str, msgspec.Meta(max_length=4096)]


class _Model(msgspec.Struct, frozen=True):
    trunk_blocks: _Count
    nextn_blocks: _Count


class _Workload(msgspec.Struct, frozen=True):
    context_tokens: Annotated[int, msgspec.Meta(ge=1, le=2**40)]
    sequences: Annotated[int, msgspec.Meta(ge=1, le=2**31)]
    cache_type_k: _Name
    cache_type_v: _Name
    engine: EngineName
    resident_nextn: bool
    indexer_rule: IndexerRule


class _Options(msgspec.Struct, frozen=True):
    cache_bytes_per_token: Annotated[int, msgspec.Meta(ge=0, le=2**60)] | None
    offload: Offload = USUAL_CHOICES.offload
    tensor_parallel: Annotated[int, msgspec.Meta(ge=1, le=2**16)] | Literal["auto"] = USUAL_CHOICES.width

    @property
    def width(self) -> int:
        return AUTOMATIC_WIDTH if self.tensor_parallel == "auto" else self.tensor_parallel


class _Inputs(msgspec.Struct, frozen=True):
    options: _Options
    model: _Name | None
    model_path: _Name | None


class _Document(msgspec.Struct, frozen=True):
    model: _Model
    workload: _Workload
    inputs: _Inputs


def export(
    plan: Annotated[Path, Parameter(metavar="PLAN.json", help="A plan as `layerfit plan -o` writes it.")],
    /,
    *,
    engine: Annotated[
        EngineName,
        Parameter(
            converter=choice(EngineName), n_tokens=1, metavar="ENGINE", help="What is to be started on the machines."
        ),
    ],
    model: Annotated[
        str | None, Parameter(metavar="MODEL", help="The model, where it is not where the plan has it.")
    ] = None,
    launcher: Annotated[
        Launcher | None,
        Parameter(
            converter=choice(Launcher),
            n_tokens=1,
            metavar="LAUNCHER",
            help="Who starts vLLM's ranks, and so numbers them. [default: ray for several machines, else mp]",
        ),
    ] = None,
    json: Annotated[bool, Parameter(show_default=False, help="Write one JSON document and nothing else.")] = False,
    reading: ReadOptions = ReadOptions(),
) -> ExitCode:
    """Print what to type on each machine so that a plan happens, emulated before it is printed."""
    if launcher is not None and engine is not EngineName.VLLM:
        raise UsageError(f"layerfit export, --launcher: {engine} has one of its own; expected vllm. Leave it out.")
    claim = read_claim(plan)
    wanted = _wanted(claim, model, reading)
    result = exported(engine, wanted, launcher)
    if isinstance(result, Refusal):
        write_note(f"{claim.where}: not exported for {result.engine}: {escape(result.reason)}")
        return ExitCode.ANSWER_IS_NO
    write_text(document_text(export_document(result)) if json else export_text(result, paint()))
    return ExitCode.ANSWERED


def wanted_of_plan(plan: Plan, model_path: str | None) -> Wanted | None:
    """Return what there is to export of a plan; None without a placement or a model."""
    setting = plan.setting
    if setting is None or not plan.stages:
        return None
    return Wanted(
        runs=runs_of(plan.stages),
        devices=tuple(node.name for node in plan.problem.nodes),
        cluster=setting.cluster,
        workload=setting.workload,
        planned_for=EngineName(setting.engine),
        trunk_blocks=setting.inventory.trunk_blocks,
        nextn_blocks=setting.inventory.nextn_blocks,
        inventory=setting.inventory,
        model_path=model_path or _MODEL,
        choices=setting.choices,
    )


def runs_of(stages: Sequence[PlanStage]) -> tuple[Run, ...]:
    """Return the runs of blocks with their devices."""
    return tuple(Run(stage.start, stage.end, stage.device, stage.offload_blocks) for stage in stages)


def _wanted(claim: Claim, model: str | None, reading: ReadOptions) -> Wanted:
    document, cluster = _read(claim)
    if claim.placement is None or claim.nodes is None:
        raise InputError(claim.where, "it places no model on machines; expected a plan that does. Plan again.")
    broken = findings(claim)
    if broken:
        raise InputError(
            claim.where,
            f"it does not stand ({broken[0].place}: {broken[0].problem}); expected a plan that does. Check it.",
        )
    if claim.problem.rules.replicas:
        raise InputError(
            claim.where,
            "its stages may have replicas, which no engine here starts; expected one chain. Plan without that rule.",
        )
    asked = document.workload
    path = model or document.inputs.model_path or document.inputs.model
    return Wanted(
        runs=runs_of(stages_of(claim.problem, claim.placement, claim.nodes)),
        devices=tuple(node.name for node in claim.problem.nodes),
        cluster=cluster_from_document(cluster, f"{claim.where}, inputs.cluster"),
        workload=Workload(
            context_tokens=asked.context_tokens,
            sequences=asked.sequences,
            cache_type_k=asked.cache_type_k,
            cache_type_v=asked.cache_type_v,
            indexer=asked.indexer_rule,
            resident_nextn=asked.resident_nextn,
            cache_bytes_per_token=document.inputs.options.cache_bytes_per_token,
        ),
        planned_for=asked.engine,
        trunk_blocks=document.model.trunk_blocks,
        nextn_blocks=document.model.nextn_blocks,
        inventory=_inventory(claim, path, reading, named=model is not None),
        model_path=path or _MODEL,
        choices=Choices(document.inputs.options.offload, document.inputs.options.width),
    )


def _read(claim: Claim) -> tuple[_Document, Any]:
    try:
        return msgspec.convert(claim.said, _Document), claim.said["inputs"]["cluster"]
    except msgspec.ValidationError as error:
        raise InputError(
            claim.where, f"{decoder_problem(error)}; expected the plan of a model on a cluster. Plan again."
        ) from None


def _inventory(claim: Claim, path: str | None, reading: ReadOptions, *, named: bool) -> Inventory | None:
    """Return the model; None where nobody names it and it is not where the plan has it.

    Raises:
        InputError: it is another one than the plan's.
    """
    if path is None or (not named and (has_scheme(path) or not Path(path).exists())):
        return None
    try:
        inventory = reading.read(path)
    except TensorsError:
        if named:
            raise
        return None
    if inventory.header_sha256 != claim.header_sha256:
        raise InputError(path, "its headers are not those that the plan was made for; expected them. Plan again.")
    return inventory
