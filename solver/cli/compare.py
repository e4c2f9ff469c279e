"""`layerfit compare`: a plan beside the split rules of engines on the same model and machines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from solver.cli.exit_code import ExitCode
from solver.cli.output import OutputOptions, paint, write_document, write_note, write_table, write_text
from solver.cli.plan import MODEL_OR_EXAMPLE, exit_code
from solver.cli.progress import shown_progress
from solver.cli.question import question_of
from solver.cli.reading import ReadOptions
from solver.cli.search_flags import LimitOptions, ObjectiveOptions, RuleOptions
from solver.cli.shared_flags import ClusterOptions, EngineOptions, ProblemOptions, WorkloadOptions
from solver.comparison import compare as compared
from solver.effort import Effort
from solver.objectives import objectives_named
from solver.planning import plan as solve_plan
from solver.report.comparison import comparison_document, comparison_table
from solver.report.comparison_text import comparison_text

__all__ = ["ComparedProblem", "compare"]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedProblem:
    """An abstract problem in place of a model and a cluster."""

    problem: Annotated[
        Path | None, Parameter(metavar="FILE", help="Compare on this abstract problem, in place of a model.")
    ] = None


def compare(
    model: Annotated[str | None, MODEL_OR_EXAMPLE] = None,
    /,
    *,
    reading: ReadOptions = ReadOptions(),
    cluster: ClusterOptions = ClusterOptions(),
    problem: ComparedProblem = ComparedProblem(),
    workload: WorkloadOptions = WorkloadOptions(),
    engine: EngineOptions = EngineOptions(),
    objective: ObjectiveOptions = ObjectiveOptions(),
    limits: LimitOptions = LimitOptions(),
    rules: RuleOptions = RuleOptions(),
    output: OutputOptions = OutputOptions(),
) -> ExitCode:
    """Set the plan beside the split rules of the engines that people use."""
    output.check()
    if objective.objective:
        objectives_named(",".join(objective.objective))
    asked = ProblemOptions(problem=problem.problem)
    question = question_of(model, reading, cluster, asked, workload, engine, rules, "compare")
    wanted = objectives_named(",".join(objective.names(question.problem)))
    effort = Effort(limits.time_limit, limits.deterministic_limit, limits.workers, limits.seed)
    with shown_progress(quiet=output.json) as progress:
        plan = solve_plan(
            question.problem, wanted, effort, setting=question.setting, variants=question.variants, progress=progress
        )
    entries = compared(question.problem, plan.solution, wanted)
    for remark in question.remarks:
        write_note(remark)
    if output.json:
        write_document(comparison_document(plan, wanted, entries))
    elif output.format is not None:
        write_table(comparison_table(wanted, entries), output.format)
    else:
        write_text(comparison_text(plan, wanted, entries, paint()))
    return exit_code(plan)
