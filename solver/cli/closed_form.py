"""`layerfit tiers`, `route` and `seams`: what arithmetic alone says, and on request what a solver proves beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from solver.cli.closed_form_flags import FactorOptions, RouteOptions, SeamOptions, SourceOptions, TierOptions
from solver.cli.closed_form_inputs import Asked, asked, memories, pool_notes, prefill_tokens, seam_widths
from solver.cli.exit_code import ExitCode
from solver.cli.inputs import cluster_of
from solver.cli.output import OutputOptions, paint, write_document, write_table, write_text
from solver.cli.reading import MODEL, ReadOptions
from solver.cli.search_flags import LimitOptions
from solver.cli.shared_flags import ClusterOptions, WorkloadOptions
from solver.closed_form import MemoryView, plan_all_tiers, plan_route, plan_seams
from solver.effort import Effort
from solver.errors import UsageError
from solver.report.closed_form_json import route_document, seams_document, tiers_document
from solver.report.closed_form_notes import tier_notes
from solver.report.closed_form_text import route_table, route_text, seams_table, seams_text, tiers_table, tiers_text

if TYPE_CHECKING:
    from tensors.inventory import Inventory

__all__ = ["route", "seams", "tiers"]

_PROVE = Parameter(show_default=False, help="Also place the blocks of MODEL, and show what is proved beside the sums.")

_NECESSARY = "a sum of budgets is necessary, not sufficient: blocks are not divisible, so only placing them proves it"
_VIEWS = {
    MemoryView.SEPARATE: "every memory is counted on its own, under its own reserve",
    MemoryView.COMBINED: (
        "RAM and GPU memory of a node are counted as one, with one reserve: a loose upper bound, "
        "since a block lives in one of them"
    ),
}
_NEVER_ADDED = (
    "decode moves little and pays latency in series, prefill moves much and pays rate: the two are never one speed"
)
_EVERY_SEAM = "the index sideband crosses only seams whose next block computes no indices of its own"
_NO_WEIGHTS = "the bytes of the weights do not enter: they stay where they are"


def tiers(
    model: Annotated[str | None, MODEL] = None,
    /,
    *,
    source: SourceOptions = SourceOptions(),
    reading: ReadOptions = ReadOptions(),
    workload: WorkloadOptions = WorkloadOptions(),
    options: TierOptions = TierOptions(),
    factor: FactorOptions = FactorOptions(),
    prove: Annotated[bool, _PROVE] = False,
    limits: LimitOptions = LimitOptions(),
    output: OutputOptions = OutputOptions(),
) -> ExitCode:
    """Count the nodes that a model needs, for each size of memory."""
    output.check()
    question = asked("tiers", model, source, reading, workload)
    target = question.target
    plans = plan_all_tiers(
        target.weight_bytes,
        target.kv_bytes,
        imbalance_factor=factor.imbalance_factor,
        reserve=options.reserve,
        tiers_bytes=options.tier,
    )
    if prove:
        # The solver is imported where a proof is asked for, and nowhere else.
        from solver.prove import prove_tiers  # noqa: PLC0415

        plans = prove_tiers(_model_of("tiers", question), question.workload, plans, _effort(limits))
    notes = (*target.notes, *tier_notes(plans))
    if output.json:
        write_document(tiers_document(plans, target, options.reserve, notes))
    elif output.format is not None:
        write_table(tiers_table(plans), output.format)
    else:
        write_text(tiers_text(plans, target, options.reserve, notes, paint()))
    unknown = any(plan.proven is not None and plan.proven.outcome == "unknown" for plan in plans.values())
    return ExitCode.NO_ANSWER if unknown else ExitCode.ANSWERED


def route(
    model: Annotated[str | None, MODEL] = None,
    /,
    *,
    source: SourceOptions = SourceOptions(),
    reading: ReadOptions = ReadOptions(),
    cluster: ClusterOptions = ClusterOptions(),
    workload: WorkloadOptions = WorkloadOptions(),
    options: RouteOptions = RouteOptions(),
    factor: FactorOptions = FactorOptions(),
    prove: Annotated[bool, _PROVE] = False,
    limits: LimitOptions = LimitOptions(),
    output: OutputOptions = OutputOptions(),
) -> ExitCode:
    """Say by arithmetic whether a model fits a set of unlike nodes."""
    output.check()
    nodes = cluster_of(cluster, "route", has_model=True)
    question = asked("route", model, source, reading, workload)
    target = question.target
    view = MemoryView.COMBINED if options.combined else MemoryView.SEPARATE
    memory = memories(nodes, view)
    plan = plan_route(
        memory,
        target.weight_bytes,
        target.kv_bytes,
        floor_bytes=options.floor,
        imbalance_factor=factor.imbalance_factor,
        view=view,
    )
    if prove:
        from solver.prove import prove_route  # noqa: PLC0415

        plan = prove_route(_model_of("route", question), nodes, question.workload, plan, _effort(limits))
    notes = (_NECESSARY, _VIEWS[view], *pool_notes(memory), *target.notes)
    if output.json:
        write_document(route_document(plan, target, notes))
    elif output.format is not None:
        write_table(route_table(plan), output.format)
    else:
        write_text(route_text(plan, target, notes, paint()))
    if not plan.fits:
        return ExitCode.ANSWER_IS_NO
    return ExitCode.NO_ANSWER if plan.proven is not None and plan.proven.sufficient is None else ExitCode.ANSWERED


def seams(
    model: Annotated[str | None, MODEL] = None,
    /,
    *,
    source: SourceOptions = SourceOptions(),
    reading: ReadOptions = ReadOptions(),
    options: SeamOptions = SeamOptions(),
    output: OutputOptions = OutputOptions(),
) -> ExitCode:
    """Say what crosses the boundaries between nodes, and how long it takes."""
    output.check()
    if options.nodes is None:
        raise UsageError("layerfit seams: --nodes is missing; expected the number of nodes in the chain. Add it.")
    widths = seam_widths(model, source, reading)
    plan = plan_seams(
        options.nodes,
        hidden_size=widths.hidden_size,
        index_topk=widths.index_topk,
        context_tokens=prefill_tokens(options.context, widths.trained_tokens),
        rate_gbps=options.rate_gbps,
        hop_latency_ms=options.hop_latency_ms,
    )
    notes = [_NEVER_ADDED]
    if widths.index_topk:
        notes.append(_EVERY_SEAM)
    if source.weight_bytes is not None:
        notes.append(_NO_WEIGHTS)
    if output.json:
        write_document(seams_document(plan, widths.name, notes))
    elif output.format is not None:
        write_table(seams_table(plan), output.format)
    else:
        write_text(seams_text(plan, widths.name, notes, paint()))
    return ExitCode.ANSWERED


def _model_of(command: str, question: Asked) -> Inventory:
    if question.inventory is None:
        raise UsageError(
            f"layerfit {command}, --prove: bytes alone have no blocks to place; expected MODEL. Name its files."
        )
    return question.inventory


def _effort(limits: LimitOptions) -> Effort:
    return Effort(
        time_limit_seconds=limits.time_limit,
        deterministic_limit=limits.deterministic_limit,
        workers=limits.workers,
        seed=limits.seed,
    )
