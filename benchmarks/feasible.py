"""Whether a plan is found wherever there is one: random cases of 2 to 7 nodes, 55 to 97 % full.

    python -m benchmarks.feasible [--cases N] [--strategy NAME] [--limit SECONDS] [--first SEED]

Cases are drawn by seed until so many have a plan. Whether one has is decided here by trying every order of the nodes,
each filled as far as it goes, which shares no code with the solver; those without are asked too and must be answered
"infeasible". Objectives take turns. Prints one JSON line, then every case that went wrong, and ends with 1 if any did.
"""

from __future__ import annotations

import argparse
import sys
import time
from bisect import bisect_right
from dataclasses import dataclass
from itertools import permutations
from random import Random
from typing import TYPE_CHECKING

import msgspec

from benchmarks.instances import CONTEXT_TOKENS, link_matrix, plain_problem
from benchmarks.strategies import PROVING, SUBJECT
from solver.effort import Effort
from solver.objectives import OBJECTIVES
from solver.problem import Block, Ends, Node, Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Summary", "has_a_plan", "main", "random_case"]

_MIB = 2**20
_WORKERS = 8


@dataclass(frozen=True, slots=True)
class Summary:
    """What came of the cases. `refuted` of `impossible` cases were answered "infeasible"."""

    strategy: str
    feasible: int
    found: int
    proved: int
    impossible: int
    refuted: int
    seconds: float
    slowest_seconds: float
    wrong: tuple[str, ...]


def main() -> int:
    """Try the cases that the command line asks for and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.feasible", description="Whether plans are found.")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--strategy", choices=sorted(PROVING), default=SUBJECT)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of a case")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    chosen = parser.parse_args()
    summary = tried(chosen.cases, chosen.strategy, chosen.limit, chosen.first)
    print(msgspec.json.encode(summary).decode())
    for sentence in summary.wrong:
        print(sentence, file=sys.stderr)
    return 1 if summary.wrong else 0


def tried(cases: int, strategy: str, limit_seconds: float, first_seed: int) -> Summary:
    """Ask about cases until so many with a plan have been met."""
    feasible = found = proved = impossible = refuted = 0
    wrong, times = [], []
    effort = Effort(limit_seconds, None, _WORKERS, seed=0)
    seed = first_seed
    while feasible < cases:
        problem, objective = random_case(seed), tuple(OBJECTIVES)[seed % len(OBJECTIVES)]
        possible = has_a_plan(problem)
        began = time.perf_counter()
        outcome = PROVING[strategy](problem, objective, effort).outcome.value
        times.append(time.perf_counter() - began)
        feasible, impossible = feasible + possible, impossible + (not possible)
        found += possible and outcome in ("optimal", "feasible")
        proved += possible and outcome == "optimal"
        refuted += not possible and outcome == "infeasible"
        if outcome == "unknown" or possible == (outcome == "infeasible"):
            wrong.append(f"seed {seed}, {objective}: {outcome}, and there is {'a' if possible else 'no'} plan")
        seed += 1
    return Summary(
        strategy,
        feasible,
        found,
        proved,
        impossible,
        refuted,
        round(sum(times), 2),
        round(max(times), 2),
        tuple(wrong),
    )


def random_case(seed: int) -> Problem:
    """Draw blocks all different, of a few sizes in runs, or equal, on nodes that are unlike or of two kinds."""
    random = Random(f"feasible {seed}")  # noqa: S311 - instances need no secrecy
    count = random.randint(2, 7)
    blocks = tuple(_block(size * _MIB, random) for size in _sizes(random, random.randint(count, 60)))
    output = random.choice((0, 0, 400, 900)) * _MIB
    tied = random.choice((0, output))
    input_bytes = max(tied, random.choice((0, 700)) * _MIB)
    kinds = [random.uniform(1, 5) for _ in range(random.choice((2, count, count)))]
    shares = [random.choice(kinds) for _ in range(count)]
    total = sum(block.weight_bytes + block.cache_bytes for block in blocks) + input_bytes + output
    room = total / random.uniform(0.55, 0.97)
    nodes = tuple(
        Node(f"n{number}", int(room * share / sum(shares)), random.choice((100, 200, 800)) * 10**9, None)
        for number, share in enumerate(shares)
    )
    links = link_matrix(random, nodes) if random.random() < 0.5 else None  # noqa: PLR2004 - one in two
    return plain_problem(blocks, Ends(input_bytes, output, tied, host_bytes=0), nodes, links)


def _sizes(random: Random, count: int) -> Sequence[int]:
    """Draw sizes in MiB."""
    shape = random.randrange(3)
    if shape == 0:
        return [random.randint(200, 1400) for _ in range(count)]
    few = [random.randint(200, 1400) for _ in range(random.randint(1, 3))]
    if shape == 1:
        return sorted(random.choice(few) for _ in range(count))
    return [few[number % len(few)] for number in range(count)]


def _block(load: int, random: Random) -> Block:
    per_token = load // random.choice((10, 20)) // CONTEXT_TOKENS
    cache = per_token * CONTEXT_TOKENS
    return Block(load - cache, cache, load // random.choice((1, 8)), per_token, 0)


def has_a_plan(problem: Problem) -> bool:
    """Return whether the blocks fit: on one node, or in some order of the nodes, each filled as far as it goes."""
    budgets = [node.budget_bytes for node in problem.nodes]
    if max(budgets) >= problem.total_bytes:
        return True
    return any(_holds(order, problem.prefix_bytes) for order in set(permutations(budgets)))


def _holds(budgets: Sequence[int], prefix_bytes: Sequence[int]) -> bool:
    reached = 0
    for budget in budgets:
        reached = bisect_right(prefix_bytes, prefix_bytes[reached] + budget) - 1
    return reached == len(prefix_bytes) - 1


if __name__ == "__main__":
    sys.exit(main())
