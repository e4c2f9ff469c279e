"""`layerfit plan --nodes` and `--frontier`: the best for each number of nodes, as text, a table or a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.cli.exit_code import ExitCode
from solver.cli.files import write_file
from solver.cli.output import document_text, paint, write_note, write_table, write_text
from solver.cli.progress import shown_progress
from solver.cli.search_flags import FrontierOptions, ObjectiveOptions
from solver.errors import UsageError
from solver.frontier import Point, best_by_nodes, unbeaten
from solver.objectives import OBJECTIVES, Objective, objectives_named
from solver.problem_file import problem_to_document
from solver.report.frontier import frontier_document, frontier_table, frontier_text
from solver.solution import Outcome

if TYPE_CHECKING:
    from solver.cli.question import Question
    from solver.cli.shared_flags import PlanOutputOptions, ProblemOptions
    from solver.effort import Effort

__all__ = ["show_frontier"]


def show_frontier(
    question: Question,
    wanted: tuple[Objective, ...],
    effort: Effort,
    options: FrontierOptions,
    problem: ProblemOptions,
    output: PlanOutputOptions,
) -> ExitCode:
    """Answer for each number of nodes, and write the answers in the form asked for.

    Raises:
        UsageError: flags contradict each other.
    """
    _check(options, wanted, ObjectiveOptions().names(question.problem), output)
    objectives = _objectives(options, wanted)
    counts = options.nodes or range(1, max(question.problem.stages_at_most, 1) + 1)
    with shown_progress(quiet=output.json) as progress:
        points = best_by_nodes(question.problem, objectives, counts, effort, progress)
    shown = unbeaten(points) if options.frontier else points
    document = frontier_document(question.problem, objectives, shown)
    if problem.write_problem is not None:
        write_file(problem.write_problem, document_text(problem_to_document(question.problem)))
    if output.output is not None:
        write_file(output.output, document_text(document))
    for remark in question.remarks:
        write_note(remark)
    if output.json:
        write_text(document_text(document))
    elif options.format is not None:
        write_table(frontier_table(objectives, shown), options.format)
    else:
        write_text(frontier_text(objectives, shown or points, paint()))
    return _code(points)


def _check(
    options: FrontierOptions, wanted: tuple[Objective, ...], usual: tuple[str, ...], output: PlanOutputOptions
) -> None:
    if options.nodes is None and not options.frontier:
        raise UsageError("layerfit plan, --format: there is no table; expected --nodes or --frontier. Add one of them.")
    if options.nodes is not None and options.frontier:
        raise UsageError("layerfit plan, --nodes and --frontier: both are given; expected one. Leave one out.")
    if options.frontier and tuple(objective.name for objective in wanted) != usual:
        raise UsageError(
            "layerfit plan, --objective: --frontier names objectives too; expected one of them. Leave one out."
        )
    if options.format is not None and output.json:
        raise UsageError("--json and --format: both are given; expected one form of output. Leave one out.")
    for flag, given in (("--no-timings", output.no_timings), ("--no-paths", output.no_paths)):
        if given:
            raise UsageError(
                f"layerfit plan, {flag}: --nodes and --frontier show neither times nor paths; expected it without. "
                "Leave it out."
            )
    if output.report is not None:
        raise UsageError("layerfit plan, --report: it shows one plan; expected --json or --format here. Leave it out.")


def _objectives(options: FrontierOptions, wanted: tuple[Objective, ...]) -> tuple[Objective, ...]:
    """Return what is best on so many nodes: the objectives behind `nodes`, which the number itself stands for."""
    if options.frontier:
        named = objectives_named(",".join(options.frontier))
        if named[0].name != "nodes" or len(named) == 1:
            raise UsageError(
                "layerfit plan, --frontier: it does not begin with nodes and another objective; "
                "expected a list like nodes,latency. Correct it."
            )
        return named[1:]
    return tuple(objective for objective in wanted if objective.name != "nodes") or (OBJECTIVES["balance"],)


def _code(points: tuple[Point, ...]) -> ExitCode:
    outcomes = {point.solution.outcome for point in points}
    if points[-1].solution.interrupted:
        return ExitCode.INTERRUPTED
    if outcomes & {Outcome.OPTIMAL, Outcome.FEASIBLE}:
        return ExitCode.ANSWERED
    return ExitCode.NO_ANSWER if Outcome.UNKNOWN in outcomes else ExitCode.ANSWER_IS_NO
