"""The tables of a plan: objectives with their proofs, stages against budgets, seams, and the closed forms beside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.objectives import Sense
from solver.projection import seam_pairs
from solver.report.amounts import GIBIBYTES, gap_text, ranges, ratio, scale_for, shown_value, size
from solver.report.grid import Bar, Bars, Grid
from solver.report.terminal import Cell, Style, Styled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from solver.closed_form import PlanCheck
    from solver.planning import Plan
    from solver.projection import PlanStage
    from solver.report.amounts import Scale
    from solver.solution import Level, Unreached

__all__ = ["check_grid", "objectives_grid", "scale_of", "seams_grid", "stages_grid"]

_KINDS = ("weights", "cache", "other")
_BITS_PER_BYTE = 8
_NS_PER_US, _NS_PER_MS = 10**3, 10**6
_RATES = ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s"))


def scale_of(plan: Plan) -> Scale:
    """Return the unit of the plan's sizes: GiB for machines, what is short for an abstract problem."""
    if plan.setting is not None:
        return GIBIBYTES
    return scale_for(max([plan.problem.prefix_bytes[-1], *(node.budget_bytes for node in plan.problem.nodes)]))


def objectives_grid(plan: Plan) -> Grid:
    """Return every objective with its value, where that stands to its bound, and what it is.

    Without an answer there are those of which a bound is proved.
    """
    rows = tuple(_objective(level) for level in plan.solution.levels)
    rows += tuple(_unreached(level) for level in plan.solution.unreached if level.bound is not None)
    return Grid((), rows, right=frozenset(), unit="", names=None, bars=None)


def _objective(level: Level) -> tuple[Cell, ...]:
    objective = level.objective
    standing: Cell = "not proved, no bound yet"
    if level.bound is not None and level.value == level.bound:
        standing = Styled(f"= bound (proved by {level.proof})", Style.GOOD)
    elif level.bound is not None:
        gap = gap_text(level.value, level.bound)
        standing = f"not proved: bound {shown_value(level.bound, objective.unit)}, gap {gap}"
    return (objective.name, shown_value(level.value, objective.unit), standing, Styled(objective.formula, Style.FAINT))


def _unreached(level: Unreached) -> tuple[Cell, ...]:
    objective = level.objective
    side = "at least" if objective.sense is Sense.MIN else "at most"
    bound = "" if level.bound is None else shown_value(level.bound, objective.unit)
    return (objective.name, "not known", f"{side} {bound}", Styled(objective.formula, Style.FAINT))


def stages_grid(plan: Plan) -> Grid:
    """Return the stages in order, each load as a bar of its budget, with what all of them hold together.

    A kind of bytes that no stage holds has no column; weights always have theirs.
    """
    scale = scale_of(plan)
    kinds = [kind for kind in _KINDS if kind == "weights" or any(_bytes_of(kind, stage) for stage in plan.stages)]
    rows = [
        (number, stage.node, _blocks(plan, stage), *_sizes(scale, kinds, (stage,), stage.budget_bytes))
        for number, stage in zip(stage_numbers(plan.stages), plan.stages, strict=True)
    ]
    bars: list[Bar | None] = [
        Bar(tuple(_bytes_of(kind, stage) for kind in kinds), stage.budget_bytes) for stage in plan.stages
    ]
    if len(plan.stages) > 1:
        whole = f"{plan.problem.block_count:,} in all"
        rows.append(("", "together", whole, *_sizes(scale, kinds, plan.stages, _budget_together(plan))))
        bars.append(None)
    titles = ("#", "node", "blocks", "full", "load", "budget", "slack", *kinds)
    return Grid(
        titles=titles,
        rows=tuple(rows),
        right=frozenset({0, *range(3, len(titles))}),
        unit=scale.unit,
        names=1,
        bars=Bars("load of budget", 3, tuple(kinds), tuple(bars)),
    )


def stage_numbers(stages: tuple[PlanStage, ...]) -> list[str]:
    """Return the number of every stage along its chain, behind that of the chain where there are several.

    Nodes that share a stage share its number.
    """
    several = any(stage.chain for stage in stages)
    numbers: list[str] = []
    reached: dict[int, tuple[int, int]] = {}
    for stage in stages:
        number, start = reached.get(stage.chain, (0, -1))
        number += stage.start != start
        reached[stage.chain] = (number, stage.start)
        numbers.append(f"{stage.chain + 1}.{number}" if several else str(number))
    return numbers


def _budget_together(plan: Plan) -> int:
    """Return what the stages may hold together: devices of one memory no more than that has."""
    budgets: dict[str, int] = {}
    for stage in plan.stages:
        budgets[stage.pool] = budgets.get(stage.pool, 0) + stage.budget_bytes
    most = {pool.pool: pool.budget_bytes for pool in plan.pools}
    return sum(min(budget, most[pool]) for pool, budget in budgets.items())


def _sizes(scale: Scale, kinds: Sequence[str], stages: tuple[PlanStage, ...], budget: int) -> tuple[str, ...]:
    """Return how full stages are together, of what they may hold, and their sizes."""
    load = sum(stage.load_bytes for stage in stages)
    of_kinds = (sum(_bytes_of(kind, stage) for stage in stages) for kind in kinds)
    sizes = (load, budget, budget - load, *of_kinds)
    return (_percent(load, budget), *(scale.number(amount) for amount in sizes))


def _bytes_of(kind: str, stage: PlanStage) -> int:
    return {"weights": stage.weight_bytes, "cache": stage.cache_bytes, "other": stage.other_bytes}[kind]


def _blocks(plan: Plan, stage: PlanStage) -> str:
    """Return the blocks of a stage, both ends named, with what stands before the first and after the last."""
    ends = plan.problem.ends
    if stage.start == stage.end:
        return "head (copy)" if ends.tied_bytes else "head"
    inner = str(stage.start) if stage.end == stage.start + 1 else f"{stage.start}–{stage.end - 1}"
    before = "input, " if stage.start == 0 and ends.input_bytes + ends.host_bytes else ""
    after = ""
    if stage.head and ends.output_bytes:
        copied = ends.tied_bytes and stage.start > 0
        after = ", head (copy)" if copied else ", tied head" if ends.tied_bytes else ", head"
    return f"{before}{inner}{after}"


def _percent(amount: int, whole: int) -> str:
    """Return amount / whole with one decimal; what is not quite full is never shown as full."""
    tenths = (amount * 2000 + whole) // (whole * 2)
    tenths = min(tenths, 999) if amount < whole else tenths
    return f"{tenths // 10}.{tenths % 10} %"


def seams_grid(plan: Plan) -> Grid | None:
    """Return what crosses the seams, equal ones in one row; None where nothing is known about them."""
    alike: dict[tuple[str, ...], dict[str, None]] = {}
    numbers = stage_numbers(plan.stages)
    for seam, (source, target) in zip(plan.seams, seam_pairs(plan.stages), strict=True):
        rate = plan.problem.link(plan.stages[source].node, plan.stages[target].node).bytes_per_second
        crossing = (
            size(seam.bytes_per_token) if seam.bytes_per_token else "",
            size(seam.prefill_bytes) if seam.prefill_bytes else "",
            size(seam.sideband_bytes_per_query) if seam.sideband_bytes_per_query else "",
            _latency(seam.latency_ns) if seam.latency_ns else "",
            "" if rate is None else _rate(rate),
        )
        alike.setdefault(crossing, {})[numbers[source]] = None
    titles = ("a token", "prefill", "indices a query", "latency", "link rate")
    kept = [place for place in range(len(titles)) if any(crossing[place] for crossing in alike)]
    if not kept:
        return None
    rows = [(_together(after), *(crossing[place] or "–" for place in kept)) for crossing, after in alike.items()]
    return Grid(
        titles=("seam after #", *(titles[place] for place in kept)),
        rows=tuple(rows),
        right=frozenset(range(1, len(kept) + 1)),
        unit="",
        names=None,
        bars=None,
    )


def _together(numbers: Iterable[str]) -> str:
    chained = [number for number in numbers if not number.isdecimal()]
    return ", ".join(chained) if chained else ranges(int(number) for number in numbers)


def _latency(duration_ns: int) -> str:
    return f"{duration_ns / _NS_PER_MS:,.3f} ms" if duration_ns >= _NS_PER_US else f"{duration_ns} ns"


def _rate(bytes_per_second: int) -> str:
    bits = bytes_per_second * _BITS_PER_BYTE
    for least, unit in _RATES:
        if bits >= least:
            return f"{bits / least:,.4g} {unit}"
    return f"{bits} bit/s"


def check_grid(plan: Plan, check: PlanCheck) -> Grid:
    """Return the closed forms beside what the plan has."""
    ceiling = check.imbalance_ceiling
    assumed = f"assumed {ratio(check.assumed_imbalance, 2)}"
    if ceiling is None:
        measured = f"{ratio(check.weighted_imbalance)} weighted by budget ({ratio(check.imbalance)} plain)"
    else:
        assumed, measured = f"{assumed}, ceiling {ratio(ceiling)}", ratio(check.imbalance)
    counts = f"minimum {_known(check.minimum_nodes)}, recommended {_known(check.recommended_nodes)}"
    return Grid(
        titles=("check", "closed forms", "this plan"),
        rows=(
            ("nodes", counts, f"{check.nodes_used}, {_standing(plan, check)}"),
            ("imbalance", assumed, Styled(measured, Style.GOOD if check.assumption_holds else Style.BAD)),
        ),
        right=frozenset(),
        unit="",
        names=None,
        bars=None,
    )


def _standing(plan: Plan, check: PlanCheck) -> str:
    """Say whether the number of nodes is proved the fewest: by the search, or because arithmetic allows no fewer."""
    first = plan.solution.levels[0]
    if check.nodes_used == check.minimum_nodes or (first.objective.name == "nodes" and first.proof != "none"):
        return "proved fewest"
    return "not proved fewest" if first.objective.name == "nodes" else "fewer were not looked for first"


def _known(nodes: int | None) -> str:
    return "more than there are" if nodes is None else str(nodes)
