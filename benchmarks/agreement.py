"""Whether the solver, its CP-SAT model alone and both rivals say the same on small instances, for every objective.

    python -m benchmarks.agreement [--cases N] [--first SEED]

Instances have 6 to 9 blocks on 2 to 4 nodes, unlike with all links different or of two kinds joined alike. Two proofs
may differ by what rivals round: HiGHS's tolerance, and a millionth of a budget. Prints every difference, and every
answer that is not a proof within a minute, and ends with 1 if there was one.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

from benchmarks.instances import nodes_of_kinds, unlike
from benchmarks.records import PROVED
from benchmarks.report import near
from benchmarks.strategies import PROVING, missing_library
from solver.effort import Effort
from solver.objectives import OBJECTIVES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.rivals.plain import Answer
    from solver.problem import Problem

_EFFORT = Effort(time_limit_seconds=60.0, deterministic_limit=None, workers=4, seed=0)


def main() -> int:
    """Compare on as many instances as the command line asks for and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agreement", description="Whether all say the same.")
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    chosen = parser.parse_args()
    asked = [name for name in PROVING if missing_library(name) is None]
    wrong = 0
    for seed in range(chosen.first, chosen.first + chosen.cases):
        for sentence in differences(small(seed), asked):
            print(f"seed {seed}, {sentence}", file=sys.stderr)
            wrong += 1
    print(f"{chosen.cases} instances, {len(OBJECTIVES)} objectives, {', '.join(asked)}: {wrong} differences")
    return 1 if wrong else 0


def small(seed: int) -> Problem:
    """Draw a small instance, now and then one without a plan."""
    random = Random(f"agreement {seed}")  # noqa: S311 - instances need no secrecy
    blocks, fill = random.randint(6, 9), random.uniform(0.55, 0.95)
    if seed % 2:
        kinds = ((24, random.randint(1, 2)), (40, random.randint(1, 2)))
        alike = nodes_of_kinds(blocks, kinds, fill, seed)
        return replace(alike, nodes=tuple(replace(node, bytes_per_second=300 * 10**9) for node in alike.nodes))
    return unlike(blocks, random.randint(2, 4), fill, seed)


def differences(problem: Problem, strategies: list[str]) -> Iterator[str]:
    """Yield a sentence for every answer that is open or unlike the one before."""
    for objective in OBJECTIVES:
        answers = {name: PROVING[name](problem, objective, _EFFORT) for name in strategies}
        for name, answer in answers.items():
            if answer.outcome.value not in PROVED:
                yield f"{objective}: {name} proves nothing"
        for one, other in pairwise(answers):
            if not _same(answers[one], answers[other]):
                yield f"{objective}: {one} says {_said(answers[one])}, {other} says {_said(answers[other])}"


def _same(one: Answer, other: Answer) -> bool:
    if one.value is None or other.value is None:
        return one.outcome == other.outcome
    return near(float(one.value), float(other.value))


def _said(answer: Answer) -> str:
    return answer.outcome.value if answer.value is None else str(answer.value)


if __name__ == "__main__":
    sys.exit(main())
