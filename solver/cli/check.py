"""`layerfit check`: audit a plan again from its own inputs, and on request prove it again by another method."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from solver.claim import read_claim
from solver.cli.exit_code import ExitCode
from solver.cli.output import paint, write_document, write_text
from solver.cli.reading import ReadOptions
from solver.cli.search_flags import LimitOptions
from solver.effort import Effort
from solver.recheck import Finding, findings, reproved, same_model
from solver.report.terminal import sentence_lines
from solver.wording import counted

if TYPE_CHECKING:
    from solver.claim import Claim
    from solver.recheck import Reproof
    from solver.report.terminal import Paint

__all__ = ["check"]

CHECK_SCHEMA = "layerfit/check/1"


def check(
    plan: Annotated[Path, Parameter(metavar="PLAN.json", help="A plan as `layerfit plan -o` writes it.")],
    /,
    *,
    model: Annotated[
        str | None, Parameter(metavar="MODEL", help="Also read this model and compare its headers and its problem.")
    ] = None,
    reprove: Annotated[
        bool, Parameter(show_default=False, help="Solve the problem again by another method than the plan's.")
    ] = False,
    json: Annotated[bool, Parameter(show_default=False, help="Write one JSON document and nothing else.")] = False,
    reading: ReadOptions = ReadOptions(),
    limits: LimitOptions = LimitOptions(),
) -> ExitCode:
    """Audit a plan again from its own inputs, trusting none of its results."""
    claim = read_claim(plan)
    found = list(findings(claim))
    if model is not None:
        found.extend(same_model(claim, reading.read(model)))
    reproof = None
    if reprove:
        effort = Effort(limits.time_limit, limits.deterministic_limit, limits.workers, limits.seed)
        reproof = reproved(claim, effort)
        found.extend(reproof.findings)
    if json:
        write_document(_document(plan.name, claim, found, reproof))
    else:
        write_text(_text(plan.name, found, reproof, paint()))
    return _code(found, reproof)


def _code(found: list[Finding], reproof: Reproof | None) -> ExitCode:
    if reproof is not None and reproof.solution.interrupted:
        return ExitCode.INTERRUPTED
    if found:
        return ExitCode.ANSWER_IS_NO
    return ExitCode.ANSWERED if reproof is None or reproof.reached else ExitCode.NO_ANSWER


def _document(name: str, claim: Claim, found: list[Finding], reproof: Reproof | None) -> dict[str, object]:
    return {
        "schema": CHECK_SCHEMA,
        "plan": name,
        "outcome": claim.outcome.value,
        "holds": not found,
        "findings": [{"place": finding.place, "problem": finding.problem} for finding in found],
        "reproved": None if reproof is None else reproof.solution.outcome.value,
        "proofs": None
        if reproof is None
        else [{"name": level.objective.name, "proof": level.proof} for level in reproof.solution.levels],
    }


def _text(name: str, found: list[Finding], reproof: Reproof | None, paint: Paint) -> str:
    if found:
        lines = [f"{name}: the plan does not stand; {counted(len(found), 'finding')}."]
        lines += [f"  {finding.place}: {finding.problem}" for finding in found]
    else:
        lines = [f"{name}: the plan stands; every figure follows from its own inputs."]
    if reproof is not None:
        solution = reproof.solution
        proofs = ", ".join(f"{level.objective.name} by {level.proof}" for level in solution.levels)
        said = "Proved again" if reproof.reached else "Not proved again within the limits"
        lines.append(f"{said}: {solution.outcome.value}{f' ({proofs})' if proofs else ''}.")
    elif not found:
        lines.append("Proofs are its own claims: --reprove proves them again by another method.")
    return "".join(f"{part}\n" for line in lines for part in sentence_lines(line, paint, indent=4))
