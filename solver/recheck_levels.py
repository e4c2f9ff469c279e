"""The objectives of a plan's document audited: values, bounds, gaps and proofs against the placement and each other."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from solver.bounds import BOUNDS
from solver.finding import Finding, differences, short
from solver.limits import NO_LIMITS, Limits
from solver.objectives import Sense
from solver.pooled_bounds import POOLED_BOUNDS
from solver.provers import ClosedForm
from solver.report.plan_json import PROOFS, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from solver.limits import Value
    from solver.objectives import Objective
    from solver.problem import Placement, Problem

__all__ = ["level_findings", "unreached_findings"]

_NO_PROOF = PROOFS[-1]
_NEGLIGIBLE = Fraction(1, 10**9)


def level_findings(
    problem: Problem,
    objectives: Sequence[Objective],
    placement: Placement,
    entries: Sequence[dict[str, Any]],
    *,
    optimal: bool,
) -> Iterator[Finding]:
    """Yield what is wrong with the entries of `objective`, one for each objective, in order.

    A bound is a claim, except that of the closed form, which is computed anew where every earlier level is closed.
    """
    if [objective.name for objective in objectives] != [entry["name"] for entry in entries]:
        yield Finding("objective", "the entries are not those of inputs.options.objective")
        return
    limits: Limits = NO_LIMITS
    closed = True
    for objective, entry in zip(objectives, entries, strict=True):
        place = f"objective {objective.name}"
        cost = objective.cost(problem, placement)
        value = objective.value(cost)
        yield from _value_findings(place, entry, value, objective.unit)
        yield from _bound_findings(place, entry, shown(value), objective, closed=closed, optimal=optimal)
        if closed:
            yield from _arithmetic_findings(place, entry, _arithmetic(problem, objective, limits), objective)
        closed = closed and entry["proof"] != _NO_PROOF
        limits = objective.at_most(limits, cost)


def unreached_findings(
    problem: Problem, objectives: Sequence[Objective], entries: Sequence[dict[str, Any]]
) -> Iterator[Finding]:
    """Yield what is wrong with the entries of a plan without an answer: no values, and bounds of the first alone."""
    if [objective.name for objective in objectives] != [entry["name"] for entry in entries]:
        yield Finding("objective", "the entries are not those of inputs.options.objective")
        return
    for number, (objective, entry) in enumerate(zip(objectives, entries, strict=True)):
        place = f"objective {objective.name}"
        proper = {"value": None, "gap": None, "unit": objective.unit, "proof": _NO_PROOF}
        proper |= {"numerator": None, "denominator": None}
        yield from differences(place, {name: entry.get(name) for name in proper}, proper)
        bounds = _bounds(entry)
        if bounds is None:
            yield Finding(f"{place}.bounds", "they are no list of a name and a number each")
            continue
        if bounds and number:
            yield Finding(f"{place}.bounds", "a level behind an open one has none")
        yield from _best_findings(place, entry, bounds, objective)
        if not number:
            yield from _arithmetic_findings(place, entry, _arithmetic(problem, objective, NO_LIMITS), objective)


def _arithmetic(problem: Problem, objective: Objective, limits: Limits) -> float | None:
    """Return the bound of the closed form as a document shows it; None where there is none."""
    bounds = BOUNDS if problem.is_plain else POOLED_BOUNDS
    figure = bounds[objective.name](problem, limits)
    return None if figure is None else shown(objective.value(figure))


def _value_findings(place: str, entry: dict[str, Any], value: Value, unit: str) -> Iterator[Finding]:
    """Yield where the value in its forms, or its unit, is not that of the placement."""
    ratio = value if isinstance(value, Fraction) else None
    proper = {
        "value": shown(value),
        "unit": unit,
        "numerator": None if ratio is None else ratio.numerator,
        "denominator": None if ratio is None else ratio.denominator,
    }
    yield from differences(place, {name: entry.get(name) for name in proper}, proper)


def _bound_findings(
    place: str, entry: dict[str, Any], value: float, objective: Objective, *, closed: bool, optimal: bool
) -> Iterator[Finding]:
    """Yield where bounds contradict the value, or the summary of the bounds contradicts them."""
    bounds = _bounds(entry)
    if bounds is None:
        yield Finding(f"{place}.bounds", "they are no list of a name and a number each")
        return
    if bounds and not closed:
        yield Finding(f"{place}.bounds", "a level behind an open one has none")
    yield from _best_findings(place, entry, bounds, objective)
    bound = entry["bound"]
    if bound is not None and objective.better(value, bound):
        side = "above" if objective.sense is Sense.MIN else "below"
        yield Finding(f"{place}.bound", f"{short(bound)} is {side} the value {value}")
    if optimal and bound != value:
        yield Finding(f"{place}.bound", f"optimal is said, and the bound is {short(bound)}")
    if not _is_gap(entry.get("gap"), value, bound):
        yield Finding(f"{place}.gap", f"{short(entry.get('gap'))} does not follow from value and bound")
    sufficient = next((name for name, amount in bounds if amount == value), _NO_PROOF)
    # Two ratios that are not equal can look equal as floats: a feasible plan may rightly claim no proof then.
    if entry["proof"] != sufficient and (optimal or entry["proof"] != _NO_PROOF):
        yield Finding(f"{place}.proof", f"{short(entry['proof'])} is said, its bounds give {short(sufficient)}")


def _best_findings(
    place: str, entry: dict[str, Any], bounds: Sequence[tuple[str, int | float]], objective: Objective
) -> Iterator[Finding]:
    tightest = max if objective.sense is Sense.MIN else min
    best = tightest((amount for _, amount in bounds), default=None)
    if entry["bound"] != best:
        yield Finding(f"{place}.bound", f"{short(entry['bound'])} is said, the best of its bounds is {short(best)}")


def _arithmetic_findings(
    place: str, entry: dict[str, Any], proper: float | None, objective: Objective
) -> Iterator[Finding]:
    """Yield where the bound of the closed form is not what arithmetic gives, or the best bound is looser than that."""
    said = [amount for name, amount in _bounds(entry) or () if name == ClosedForm.name]
    for amount in said:
        if amount != proper:
            yield Finding(
                f"{place}.bounds", f"{short(amount)} is said for the closed form, which gives {short(proper)}"
            )
    bound = entry["bound"]
    if bound is not None and proper is not None and objective.better(bound, proper):
        yield Finding(f"{place}.bound", f"{short(bound)} is looser than the closed form's {short(proper)}")


def _bounds(entry: dict[str, Any]) -> list[tuple[str, int | float]] | None:
    listed = entry.get("bounds")
    if not isinstance(listed, list):
        return None
    found: list[tuple[str, int | float]] = []
    for item in listed:
        name = item.get("name") if isinstance(item, dict) else None
        amount = item.get("value") if isinstance(item, dict) else None
        if name not in PROOFS[:-1] or isinstance(amount, bool) or not isinstance(amount, (int, float)):
            return None
        found.append((name, amount))
    return found


def _is_gap(said: object, value: float, bound: float | None) -> bool:
    if bound is None:
        return said is None
    if isinstance(said, bool) or not isinstance(said, (int, float)):
        return False
    if value == 0:
        return said == 0
    gap = abs(Fraction(value) - Fraction(bound)) / abs(Fraction(value))
    # The document's floats stand for exact ratios, so that the last digits may differ.
    return abs(Fraction(said) - gap) <= _NEGLIGIBLE
