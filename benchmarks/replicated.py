"""How far apart value and bound are with replicas and chains: random cases of unlike nodes at one to three sites.

    python -m benchmarks.replicated [--cases N] [--limit SECONDS] [--first SEED] [--nodes A..B] [--rules]

5 to 16 nodes, each with a memory and a bandwidth of its own, hold 1.2 to 3 times the blocks; links between sites carry
between a third of and three times what all nodes could together. `--rules` adds a pin, ends or an order. Prints one
JSON line a case (gap as a share of the bound), then one for each number of sites.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from statistics import mean, median

import msgspec

from benchmarks.instances import plain_problem
from solver.effort import Effort
from solver.flow.ceiling import least_pace_ns
from solver.objectives import objectives_named
from solver.problem import Block, Ends, Link, LinkPair, Links, Node, Problem, Rules
from solver.solve import solve

__all__ = ["Case", "main", "random_case", "tried"]

_MIB, _NS = 2**20, 10**9
_ACTIVATION_BYTES = 16_384


@dataclass(frozen=True, slots=True)
class Case:
    """What came of one case. `gap` is what the bound leaves open, as a share of it; None without a placement."""

    seed: int
    nodes: int
    sites: int
    outcome: str
    gap: float | None
    proof: str
    seconds: float


def main() -> int:
    """Try the cases that the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replicated", description="Gaps with replicas.")
    parser.add_argument("--cases", type=int, default=50)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of a case")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--nodes", default="5..16", help="fewest and most nodes")
    parser.add_argument("--rules", action="store_true", help="with a pin, ends or an order")
    chosen = parser.parse_args()
    low, high = (int(part) for part in chosen.nodes.split(".."))
    by_sites: dict[int, list[Case]] = defaultdict(list)
    for seed in range(chosen.first, chosen.first + chosen.cases):
        case = tried(seed, (low, high), chosen.limit, ruled=chosen.rules)
        by_sites[case.sites].append(case)
        print(msgspec.json.encode(case).decode(), flush=True)
    for sites, cases in sorted(by_sites.items()):
        gaps = [case.gap for case in cases if case.gap is not None]
        summary = {
            "sites": sites,
            "cases": len(cases),
            "placed": len(gaps),
            "proved": sum(case.outcome in ("optimal", "infeasible") for case in cases),
            "median_gap": median(gaps) if gaps else None,
            "mean_gap": mean(gaps) if gaps else None,
            "largest_gap": max(gaps, default=None),
            "slowest_seconds": max(case.seconds for case in cases),
        }
        print(msgspec.json.encode(summary).decode())
    return 0


def tried(seed: int, nodes: tuple[int, int], limit_seconds: float, *, ruled: bool) -> Case:
    """Ask about one case."""
    problem, sites = random_case(seed, nodes, ruled=ruled)
    began = time.perf_counter()
    found = solve(problem, objectives_named("throughput"), Effort(limit_seconds, None, 1, seed=0))
    seconds = round(time.perf_counter() - began, 2)
    level = found.levels[0] if found.levels else None
    gap = None if level is None or level.bound is None else float(1 - Fraction(level.value) / Fraction(level.bound))
    proof = "none" if level is None else level.proof
    return Case(seed, len(problem.nodes), sites, found.outcome.value, gap, proof, seconds)


def random_case(seed: int, nodes: tuple[int, int], *, ruled: bool) -> tuple[Problem, int]:
    """Draw a case, and say how many sites its nodes are at."""
    random = Random(f"replicated {seed}")  # noqa: S311 - instances need no secrecy
    count, sites = random.randint(*nodes), random.randint(1, 3)
    blocks = _blocks(random, random.randint(max(count, 16), 64))
    total = sum(block.weight_bytes for block in blocks)
    shares = [random.uniform(1, 4) for _ in range(count)]
    room = total * random.uniform(1.2, 3)
    placed = tuple(
        Node(f"n{number}", int(room * share / sum(shares)), random.randint(100, 900) * 10**9, None)
        for number, share in enumerate(shares)
    )
    problem = replace(plain_problem(blocks, Ends(0, 0, 0, 0), placed, None), activation_bytes=_ACTIVATION_BYTES)
    pace = least_pace_ns(replace(problem, rules=replace(problem.rules, replicas=True)))
    rules = replace(_rules(random, problem) if ruled else problem.rules, replicas=True)
    if sites == 1 or pace is None:
        return replace(problem, rules=rules), sites
    pairs = tuple(
        LinkPair(one.name, other.name, Link(0, int(_ACTIVATION_BYTES * _NS / pace * random.uniform(0.33, 3)), False))
        for number, one in enumerate(placed)
        for place, other in enumerate(placed)
        if number % sites != place % sites
    )
    wide = Link(0, 10**13, forbidden=False)
    return replace(problem, links=Links(wide, pairs), rules=rules), sites


def _blocks(random: Random, count: int) -> tuple[Block, ...]:
    """Draw blocks that are all equal, or all different."""
    one = random.randint(200, 1400) * _MIB
    equal = random.random() < 0.5  # noqa: PLR2004 - one in two
    sizes = [one if equal else random.randint(200, 1400) * _MIB for _ in range(count)]
    return tuple(Block(size, 0, size, None, 0) for size in sizes)


def _rules(random: Random, problem: Problem) -> Rules:
    names = [node.name for node in problem.nodes]
    kind = random.randrange(4)
    order = tuple(random.sample(names, len(names) // 2)) if kind == 0 else ()
    first = random.choice(names) if kind == 1 else None
    last = random.choice(names) if kind == 2 else None  # noqa: PLR2004 - one of four
    pins = ((random.randrange(len(problem.blocks)), random.choice(names)),) if kind == 3 else ()  # noqa: PLR2004
    return replace(problem.rules, order=order, first=first, last=last, pins=pins)


if __name__ == "__main__":
    sys.exit(main())
