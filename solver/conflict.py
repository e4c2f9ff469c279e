"""Which rules contradict each other: a smallest set of rules that together leave no placement.

Rules are left out one by one, for good where the rest still leaves nothing; what remains is needed, every one of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from solver.problem import Links, Problem, Rules
from solver.solution import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.trials import Trials

__all__ = ["NO_RULES", "conflicting_rules", "without_rules"]

NO_RULES = Rules(pins=(), first=None, last=None, order=(), exclude=(), max_nodes=None, min_blocks=1)


@dataclass(frozen=True, slots=True)
class _Rule:
    """One thing that a person insists on: what it says, and its place in the problem."""

    text: str
    kind: str
    index: int


def without_rules(problem: Problem) -> Problem:
    """Return the problem with nothing to obey but memory."""
    return replace(problem, rules=NO_RULES, links=_allowing(problem.links))


def conflicting_rules(problem: Problem, trials: Trials) -> tuple[str, ...]:
    """Return a set of rules, as a person gave them, of which none can be spared: together they leave no placement.

    Where the time runs out, rules that may not be needed stay in it.
    """
    kept = _rules_of(problem)
    for rule in tuple(kept):
        fewer = [other for other in kept if other is not rule]
        if trials.clock.spent:
            break
        if trials.solve(_only(problem, fewer), "nodes").outcome is Outcome.INFEASIBLE:
            kept = fewer
    return tuple(rule.text for rule in kept)


def _rules_of(problem: Problem) -> list[_Rule]:
    rules = problem.rules
    found = [_Rule(f"block {block} on {node}", "pins", index) for index, (block, node) in enumerate(rules.pins)]
    if rules.first is not None:
        found.append(_Rule(f"first {rules.first}", "first", 0))
    if rules.last is not None:
        found.append(_Rule(f"last {rules.last}", "last", 0))
    if rules.order:
        found.append(_Rule(f"order {', '.join(rules.order)}", "order", 0))
    found += [_Rule(f"exclude {node}", "exclude", index) for index, node in enumerate(rules.exclude)]
    if rules.max_nodes is not None:
        found.append(_Rule(f"at most {rules.max_nodes} node{'s' if rules.max_nodes > 1 else ''}", "max_nodes", 0))
    if rules.min_blocks > 1:
        found.append(_Rule(f"at least {rules.min_blocks} blocks a node", "min_blocks", 0))
    if problem.has_forbidden_links:
        found.append(_Rule("the forbidden links", "links", 0))
    return found


def _only(problem: Problem, kept: Sequence[_Rule]) -> Problem:
    """Return the problem with these rules alone."""
    there = {(rule.kind, rule.index) for rule in kept}
    kinds = {rule.kind for rule in kept}
    own = problem.rules
    rules = Rules(
        pins=tuple(pin for index, pin in enumerate(own.pins) if ("pins", index) in there),
        first=own.first if "first" in kinds else None,
        last=own.last if "last" in kinds else None,
        order=own.order if "order" in kinds else (),
        exclude=tuple(node for index, node in enumerate(own.exclude) if ("exclude", index) in there),
        max_nodes=own.max_nodes if "max_nodes" in kinds else None,
        min_blocks=own.min_blocks if "min_blocks" in kinds else 1,
    )
    links = problem.links if "links" in kinds else _allowing(problem.links)
    return replace(problem, rules=rules, links=links)


def _allowing(links: Links) -> Links:
    return replace(links, pairs=tuple(pair for pair in links.pairs if not pair.link.forbidden))
