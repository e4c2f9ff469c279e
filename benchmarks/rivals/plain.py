"""What rivals share: the problems they take, and how a placement that they return becomes an audited answer."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

from solver.errors import AuditError, InputError
from solver.measures import block_ns, hop_ns, transfer_ns
from solver.objectives import OBJECTIVES
from solver.problem import Placement, Stage
from solver.rules import violations
from solver.solution import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.limits import Value
    from solver.problem import Problem

__all__ = ["Answer", "answer_of", "hops_of", "most_tokens", "require_plain", "stages_from", "times_of", "transfers_of"]


@dataclass(frozen=True, slots=True)
class Answer:
    """How a run ended. `value` is exact, `bound` (perhaps a rival's float) valid for it, both in the objective's unit.

    `deterministic_time` is None where a solver counts none.
    """

    outcome: Outcome
    value: Value | None
    bound: Value | float | None
    proof: str
    deterministic_time: float | None


def require_plain(problem: Problem) -> None:
    """Refuse what the rivals were not taught.

    Raises:
        InputError: the problem has rules, measured times, forbidden links, fixed cache or something shared by the ends.
    """
    rules = problem.rules
    ruled = bool(rules.named or rules.exclude or rules.max_nodes is not None or rules.min_blocks > 1)
    measured = any(node.stage_ns is not None for node in problem.nodes)
    fixed = any(block.cache_fixed_bytes for block in problem.blocks)
    if ruled or measured or fixed or problem.shared_bytes or problem.has_forbidden_links:
        raise InputError("rival", "the problem is not plain; expected blocks, budgets, speeds and links. Leave it out.")


def times_of(problem: Problem, node: int) -> tuple[int, ...]:
    """Return the nanoseconds of every block on a node."""
    rate = problem.nodes[node].bytes_per_second
    assert rate is not None
    return tuple(block_ns(block.active_bytes, rate) for block in problem.blocks)


def hops_of(problem: Problem) -> dict[tuple[int, int], int]:
    """Return the nanoseconds of a hop for every ordered pair of nodes."""
    names = [node.name for node in problem.nodes]
    return {(a, b): hop_ns(problem, names[a], names[b]) for a, b in permutations(range(len(names)), 2)}


def transfers_of(problem: Problem) -> dict[tuple[int, int], int]:
    """Return the nanoseconds of a transfer, without latency, for every ordered pair of nodes."""
    names = [node.name for node in problem.nodes]
    return {(a, b): transfer_ns(problem, names[a], names[b]) for a, b in permutations(range(len(names)), 2)}


def most_tokens(problem: Problem) -> int:
    """Return cache tokens that no placement exceeds: each block must find room somewhere, and all of them together."""
    budgets = [node.budget_bytes for node in problem.nodes]
    bare = [item.weight_bytes + item.other_bytes for item in problem.items]
    growth = [block.cache_bytes_per_token or 0 for block in problem.blocks]
    alone = min(
        (max(budgets) - weight) // per_token for weight, per_token in zip(bare, growth, strict=True) if per_token
    )
    return min(alone, (sum(budgets) - sum(bare)) // sum(growth))


def stages_from(nodes: Sequence[int], problem: Problem) -> Placement:
    """Return the placement in which block b is on node `nodes[b]`; runs become stages."""
    cuts = [b for b in range(1, len(nodes)) if nodes[b] != nodes[b - 1]]
    ends = [*cuts, len(nodes)]
    return Placement(
        tuple(Stage(start, end, problem.nodes[nodes[start]].name) for start, end in zip([0, *cuts], ends, strict=True))
    )


def answer_of(
    problem: Problem,
    objective: str,
    placement: Placement | None,
    bound: Value | float | None,
    *,
    settled: bool,
    proof: str,
    deterministic_time: float | None,
) -> Answer:
    """Return the audited answer; `settled` is the rival's own word that its search is over.

    Raises:
        AuditError: the rules reject the placement.
    """
    if placement is None:
        outcome = Outcome.INFEASIBLE if settled else Outcome.UNKNOWN
        return Answer(outcome, None, bound, proof if settled else "none", deterministic_time)
    broken = violations(problem, placement)
    if broken:
        raise AuditError(f"{proof} breaks the rule on {broken[0].rule}: {broken[0].witness}")
    entry = OBJECTIVES[objective]
    outcome = Outcome.OPTIMAL if settled else Outcome.FEASIBLE
    value = entry.value(entry.cost(problem, placement))
    return Answer(outcome, value, bound, proof if settled else "none", deterministic_time)
