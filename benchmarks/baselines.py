"""How often the split rules of engines fit, and what they cost beside the solver: random cases that have a plan.

    python -m benchmarks.baselines [--cases N] [--first SEED] [--limit SECONDS] [--json]

The cases are those of `benchmarks.feasible`: 2 to 7 nodes, 55 to 97 % full, decided to have a plan by trying every
order of the nodes. Each is solved for latency and for balance; a rule is compared wherever it fits. Prints a Markdown
table, or one JSON line a strategy, and ends with 1 if the solver missed a plan or a rule was better than a proved one.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import median
from typing import TYPE_CHECKING

import msgspec

from benchmarks.feasible import has_a_plan, random_case
from solver.baselines import STRATEGIES, NoPlacement
from solver.comparison import PLAN, measured
from solver.effort import Effort
from solver.objectives import OBJECTIVES
from solver.problem import Placement
from solver.rules import violations
from solver.solution import Outcome
from solver.solve import solve

if TYPE_CHECKING:
    from solver.comparison import Figures
    from solver.problem import Problem

__all__ = ["BEST", "Row", "Tally", "main", "rows", "tried"]

_WORKERS = 8
BEST = "the best of them"


@dataclass(slots=True)
class Tally:
    """What came of a strategy: how often it gave a placement and how often that fits, and its figures over ours."""

    placed: int = 0
    fits: int = 0
    latency: list[Fraction] = field(default_factory=list)
    fullest: list[Fraction] = field(default_factory=list)
    imbalance: list[Fraction] = field(default_factory=list)

    def add(self, ratios: tuple[Fraction, ...]) -> None:
        """Count a placement that fits, with its three ratios."""
        self.fits += 1
        for known, ratio in zip((self.latency, self.fullest, self.imbalance), ratios, strict=True):
            known.append(ratio)


@dataclass(frozen=True, slots=True)
class Row:
    """One strategy over all cases. Ratios are over ours, where it fits: median and worst; None where it never does."""

    strategy: str
    cases: int
    fits_percent: float
    places_percent: float
    latency_median: float | None
    latency_worst: float | None
    fullest_median: float | None
    fullest_worst: float | None
    imbalance_median: float | None
    imbalance_worst: float | None


def main() -> int:
    """Try the cases that the command line asks for and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.baselines", description="Split rules beside the solver."
    )
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of a question")
    parser.add_argument("--json", action="store_true", help="one JSON line a strategy")
    chosen = parser.parse_args()
    tallies, wrong = tried(chosen.cases, chosen.first, chosen.limit)
    found = rows(tallies, chosen.cases)
    if chosen.json:
        for row in found:
            print(msgspec.json.encode(row).decode())
    else:
        print("\n".join(_table(found)))
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


def tried(cases: int, first_seed: int, limit_seconds: float) -> tuple[dict[str, Tally], list[str]]:
    """Try every rule and the solver on cases that have a plan, until so many have been met."""
    tallies = {name: Tally() for name in (PLAN, *STRATEGIES, BEST)}
    wrong: list[str] = []
    met, seed = 0, first_seed
    while met < cases:
        problem = random_case(seed)
        if has_a_plan(problem):
            met += 1
            wrong += (f"seed {seed}: {sentence}" for sentence in _case(problem, tallies, limit_seconds))
        seed += 1
    return tallies, wrong


def _case(problem: Problem, tallies: dict[str, Tally], limit_seconds: float) -> list[str]:
    quickest = _best(problem, "latency", limit_seconds)
    evenest = _best(problem, "balance", limit_seconds)
    if quickest is None or evenest is None:
        return ["the solver has no plan"]
    tallies[PLAN].placed += 1
    tallies[PLAN].add((Fraction(1),) * 3)
    tallies[BEST].placed += 1
    found = {}
    for name, strategy in STRATEGIES.items():
        answer = strategy.place(problem)
        if isinstance(answer, NoPlacement):
            continue
        tallies[name].placed += 1
        placement = Placement(answer)
        if not violations(problem, placement):
            found[name] = _over(measured(problem, placement, ()), quickest, evenest)
            tallies[name].add(found[name])
    if found:
        tallies[BEST].add(tuple(min(ratios) for ratios in zip(*found.values(), strict=True)))
    return [f"{name} is better than a plan called the best" for name, ratios in found.items() if min(ratios[:2]) < 1]


def _over(figures: Figures, quickest: Figures, evenest: Figures) -> tuple[Fraction, Fraction, Fraction]:
    """Return latency over the least, the fullest node over the least full, and imbalance over that of the evenest."""
    if figures.latency_ns is None or not quickest.latency_ns:
        raise ValueError("a random case has a speed for every node")
    return (
        Fraction(figures.latency_ns, quickest.latency_ns),
        figures.fill / evenest.fill,
        figures.weighted_imbalance / evenest.weighted_imbalance,
    )


def _best(problem: Problem, objective: str, limit_seconds: float) -> Figures | None:
    """Return the figures of a proved plan, or None where there is none."""
    solution = solve(problem, (OBJECTIVES[objective],), Effort(limit_seconds, None, _WORKERS, 0))
    if solution.outcome is not Outcome.OPTIMAL or solution.placement is None:
        return None
    return measured(problem, solution.placement, ())


def rows(tallies: dict[str, Tally], cases: int) -> list[Row]:
    """Return a row a strategy, the solver first and the best of all rules, figure by figure, last."""
    return [
        Row(
            name,
            cases,
            round(100 * tally.fits / cases, 1),
            round(100 * tally.placed / cases, 1),
            *_spread(tally.latency),
            *_spread(tally.fullest),
            *_spread(tally.imbalance),
        )
        for name, tally in tallies.items()
    ]


def _spread(ratios: list[Fraction]) -> tuple[float | None, float | None]:
    if not ratios:
        return None, None
    return round(float(median(ratios)), 3), round(float(max(ratios)), 2)


def _table(found: list[Row]) -> list[str]:
    titles = ("strategy", "fits", "places", "latency over ours", "fullest node over ours", "imbalance over ours")
    lines = [f"| {' | '.join(titles)} |", "|---|---:|---:|---|---|---|"]
    for row in found:
        cells = (
            row.strategy,
            f"{row.fits_percent:.1f} %",
            f"{row.places_percent:.1f} %",
            _pair(row.latency_median, row.latency_worst),
            _pair(row.fullest_median, row.fullest_worst),
            _pair(row.imbalance_median, row.imbalance_worst),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _pair(middle: float | None, worst: float | None) -> str:
    return "" if middle is None or worst is None else f"{middle:.2f}, worst {worst:.2f}"


if __name__ == "__main__":
    sys.exit(main())
