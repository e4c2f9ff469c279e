"""`layerfit options`: every way that every artifact could be served on the nodes there are, best first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from solver.cli.exit_code import ExitCode
from solver.cli.options_flags import AskedMethod, OptionsOutput, PoolOptions, RequestOptions
from solver.cli.options_question import OptionsQuestion, options_question
from solver.cli.output import paint, write_document, write_note, write_table, write_text
from solver.cli.reading import MODEL_HELP, ReadOptions
from solver.cli.shared_flags import ClusterOptions
from solver.effort import Effort
from solver.errors import UsageError
from solver.options.explain import explanation
from solver.options.lines import best_line, lines_of
from solver.options.models import beyond_training
from solver.options.simple import simple_options
from solver.report.options_json import options_document
from solver.report.options_tables import options_table
from solver.report.options_text import explanation_text, options_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.options.lines import Line
    from solver.options.option import Option

__all__ = ["options"]

_MODEL = Parameter(
    metavar="MODEL",
    help=f"{MODEL_HELP} A folder or a repository stands for all models in it. [default: the pool's, or an example]",
)


def options(
    *model: Annotated[str, _MODEL],
    reading: ReadOptions = ReadOptions(),
    cluster: ClusterOptions = ClusterOptions(),
    pool: PoolOptions = PoolOptions(),
    request: RequestOptions = RequestOptions(),
    output: OptionsOutput = OptionsOutput(),
) -> ExitCode:
    """List every way that every artifact could be served, best first: where, what it needs, whether that is free."""
    output.check()
    question = options_question(model, reading, cluster, pool, request, output)
    found, notes = _answers(question, request)
    lines = lines_of(found)

    def again(tokens: int) -> tuple[Line, ...]:
        asked = replace(request, context=tokens)
        return lines_of(_answers(options_question(model, reading, cluster, pool, asked, output), asked)[0])

    for remark in question.remarks:
        write_note(remark)
    _write(lines, notes, question, output, again)
    return ExitCode.ANSWERED if best_line(lines) is not None else ExitCode.ANSWER_IS_NO


def _answers(question: OptionsQuestion, request: RequestOptions) -> tuple[tuple[Option, ...], tuple[str, ...]]:
    artifacts = tuple(one.artifact for one in question.offers)
    simple = simple_options(artifacts, question.nodes, question.context_tokens, question.policy)
    if request.method is AskedMethod.SIMPLE:
        return simple, (*question.notes, *beyond_training(question.offers, simple))
    if all(one.inventory is None for one in question.offers):
        note = "The solver was not asked: without headers nobody knows how large blocks are."
        return simple, (*question.notes, note)
    # The engines' tables are imported where they are needed, and nowhere else.
    from solver.options.exact import Engines, exact_options  # noqa: PLC0415

    effort = Effort(request.time_limit, deterministic_limit=None, workers=1, seed=0)
    answer = exact_options(question.offers, question.cluster, simple, Engines(effort))
    found = (*answer.simple, *answer.exact)
    return found, (*question.notes, *answer.notes, *beyond_training(question.offers, found))


def _write(
    lines: tuple[Line, ...],
    notes: tuple[str, ...],
    question: OptionsQuestion,
    output: OptionsOutput,
    again: Callable[[int], tuple[Line, ...]],
) -> None:
    told = (*question.unreadable, *notes)
    if output.explain is not None:
        if output.explain > len(lines):
            known = f"expected one up to {len(lines)}" if lines else "there is no option at all"
            raise UsageError(
                f"layerfit options, --explain: there is no rank {output.explain}; {known}. Look at the list first."
            )
        sentences = explanation(lines, output.explain, question.context_tokens, question.policy, again)
        line = lines[output.explain - 1]
        if output.json:
            document = options_document(lines, question.context_tokens, told, only=(line,))
            write_document({**document, "explanation": list(sentences)})
        else:
            write_text(explanation_text(line, sentences, paint()))
        return
    best = best_line(lines)
    chosen = () if best is None else (best,)
    shown = chosen if output.best else lines
    if output.json:
        write_document(options_document(lines, question.context_tokens, told, only=shown))
    elif output.table is not None:
        for sentence in told:
            write_note(sentence)
        write_table(options_table(shown), output.table)
    else:
        write_text(options_text(shown, notes, paint(), question.unreadable))
