"""`layerfit plan`: place a model on the nodes of a cluster, or an abstract problem, with a proof."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from solver.cli.alternatives import best_question
from solver.cli.exit_code import ExitCode
from solver.cli.files import check_apart, check_folder, write_file
from solver.cli.output import document_text, paint, write_note, write_text
from solver.cli.progress import shown_progress
from solver.cli.question import Question
from solver.cli.reading import MODEL_HELP, ReadOptions
from solver.cli.search_flags import FrontierOptions, LimitOptions, ObjectiveOptions, RuleOptions
from solver.cli.shared_flags import ClusterOptions, EngineOptions, PlanOutputOptions, ProblemOptions, WorkloadOptions
from solver.cli.sizing import sized_plan
from solver.effort import Effort
from solver.objectives import objectives_named
from solver.problem_file import problem_to_document
from solver.report.plan_json import PlanInputs, plan_document, ranks_of
from solver.solution import Outcome
from solver.workload import USUAL_CHOICES
from tensors.sources import shown_location

if TYPE_CHECKING:
    from solver.cli.sizing import Sized
    from solver.planning import Plan

__all__ = ["MODEL_OR_EXAMPLE", "exit_code", "plan"]

MODEL_OR_EXAMPLE = Parameter(metavar="MODEL", help=f"{MODEL_HELP} [default: an example]")

_CODES = {
    Outcome.OPTIMAL: ExitCode.ANSWERED,
    Outcome.FEASIBLE: ExitCode.ANSWERED,
    Outcome.INFEASIBLE: ExitCode.ANSWER_IS_NO,
    Outcome.UNKNOWN: ExitCode.NO_ANSWER,
}


def plan(
    model: Annotated[str | None, MODEL_OR_EXAMPLE] = None,
    /,
    *,
    reading: ReadOptions = ReadOptions(),
    cluster: ClusterOptions = ClusterOptions(),
    problem: ProblemOptions = ProblemOptions(),
    workload: WorkloadOptions = WorkloadOptions(),
    engine: EngineOptions = EngineOptions(),
    objective: ObjectiveOptions = ObjectiveOptions(),
    limits: LimitOptions = LimitOptions(),
    rules: RuleOptions = RuleOptions(),
    frontier: FrontierOptions = FrontierOptions(),
    output: PlanOutputOptions = PlanOutputOptions(),
) -> ExitCode:
    """Place a model on the nodes of a cluster, with a proof: the main job."""
    if objective.objective:
        objectives_named(",".join(objective.objective))
    for path in (problem.write_problem, output.output, output.report):
        if path is not None:
            check_folder(path)
            check_apart(path, problem.problem, cluster.cluster, None if model is None else Path(model))
    effort = Effort(limits.time_limit, limits.deterministic_limit, limits.workers, limits.seed)
    asked = (model, reading, cluster, problem, workload, engine, rules)
    question = best_question(asked, objective, effort, quiet=output.json)
    named = objective.names(question.problem)
    wanted = objectives_named(",".join(named))
    if frontier != FrontierOptions():
        from solver.cli.frontier import show_frontier  # noqa: PLC0415 - few runs ask for it

        return show_frontier(question, wanted, effort, frontier, problem, output)
    with shown_progress(quiet=output.json) as progress:
        sized = sized_plan(question, wanted, effort, progress)
    answer = sized.plan
    inputs = PlanInputs(
        model=_shown_model(model, output),
        model_path=None if output.no_paths else question.model_path,
        effort=effort,
        options=(*_options(workload, named, limits, cluster), *_choices(question)),
    )
    _write(sized, question, inputs, problem, output)
    return exit_code(answer)


def exit_code(plan: Plan) -> ExitCode:
    """Return what a plan says to the shell."""
    return ExitCode.INTERRUPTED if plan.solution.interrupted else _CODES[plan.outcome]


def _write(
    sized: Sized, question: Question, inputs: PlanInputs, problem: ProblemOptions, output: PlanOutputOptions
) -> None:
    answer = sized.plan
    document = plan_document(answer, inputs, timings=not output.no_timings, emulated=sized.emulated)
    if problem.write_problem is not None:
        write_file(problem.write_problem, document_text(problem_to_document(answer.problem)))
    if output.output is not None:
        write_file(output.output, document_text(document))
    if output.report is not None:
        from solver.report.plan_html import plan_html  # noqa: PLC0415 - a page that few runs ask for

        write_file(output.report, plan_html(answer, document))
    for note in question.remarks:
        write_note(note)
    if output.json:
        write_text(document_text(document))
        return
    from solver.report.plan_text import plan_text  # noqa: PLC0415 - JSON needs none of it

    write_text(plan_text(answer, paint(), timings=not output.no_timings))
    _write_of_engine(answer, question)


def _write_of_engine(answer: Plan, question: Question) -> None:
    """Write what an engine has beside the plan: its ranks, and what to type."""
    if answer.setting is None or answer.setting.build is None or not answer.stages:
        return
    # Of engines alone.
    from solver.cli.export import wanted_of_plan  # noqa: PLC0415
    from solver.engines.commands import Refusal  # noqa: PLC0415
    from solver.engines.exporting import exported  # noqa: PLC0415
    from solver.report.export_text import export_text  # noqa: PLC0415
    from solver.report.ranks_text import ranks_text  # noqa: PLC0415

    ranks = ranks_of(answer)
    if ranks is not None:
        write_text("\n" + ranks_text(ranks, paint()))
    wanted = wanted_of_plan(answer, question.model_path)
    if wanted is None:
        return
    result = exported(wanted.planned_for, wanted, None)
    if isinstance(result, Refusal):
        write_note(f"layerfit plan: there is nothing to type for {result.engine}: {result.reason}")
    else:
        write_text("\n" + export_text(result, paint()))


def _shown_model(model: str | None, output: PlanOutputOptions) -> str | None:
    """Return the model as typed, but without what is secret in an address and, on request, without its path."""
    shown = None if model is None else shown_location(model)
    return shown.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1] if shown is not None and output.no_paths else shown


def _options(
    workload: WorkloadOptions, objective: tuple[str, ...], limits: LimitOptions, cluster: ClusterOptions
) -> tuple[tuple[str, str | int | float | None], ...]:
    return (
        ("objective", ",".join(objective)),
        ("cache_bytes_per_token", workload.cache_bytes_per_token),
        ("reserve_fraction", None if cluster.reserve_fraction is None else str(cluster.reserve_fraction)),
        ("reserve_floor_bytes", cluster.reserve_floor),
        ("time_limit_seconds", limits.time_limit),
        ("deterministic_limit", limits.deterministic_limit),
        ("workers", limits.workers),
        ("seed", limits.seed),
    )


def _choices(question: Question) -> tuple[tuple[str, str | int | float | None], ...]:
    """Return what the engine was free to do, where its cards gave it a choice."""
    if question.setting is None:
        return ()
    choices = question.setting.choices
    excluded = () if question.variants is None else question.variants.rules.exclude
    # Where machines have devices, what is excluded is none of the problem's.
    named = (("exclude", ",".join(excluded)),) if excluded and not question.problem.rules.exclude else ()
    if question.problem.is_plain and choices == USUAL_CHOICES:
        return named
    return (("offload", choices.offload.value), ("tensor_parallel", choices.width or "auto"), *named)
