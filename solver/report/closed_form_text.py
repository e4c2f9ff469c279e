"""The closed forms as text for a person, and as tables of exact numbers for other programs."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from solver.report.table import Table
from solver.report.terminal import Cell, Paint, Style, Styled, columns, escape
from tensors.units import GIB

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from solver.closed_form.memory import ReservePolicy
    from solver.closed_form.proven import MeasuredBalance, ProvenRoute
    from solver.closed_form.route import RoutePlan
    from solver.closed_form.seams import SeamsPlan
    from solver.closed_form.target import Target
    from solver.closed_form.topology import TopologyPlan

__all__ = ["route_table", "route_text", "seams_table", "seams_text", "tiers_table", "tiers_text"]

_NS_PER_MS = 10**6


def tiers_text(
    plans: Mapping[str, TopologyPlan],
    target: Target,
    reserve: ReservePolicy,
    notes: Sequence[str],
    paint: Paint,
) -> str:
    """Return the tier table under the numbers that it follows from, with proven figures where there are any."""
    proven = any(plan.proven is not None for plan in plans.values())
    titles = ["tier", "usable", "reserve", "budget", "minimum", "recommended"]
    if proven:
        titles += ["proven", "imbalance", "at recommended", "used", "assumption"]
    table: list[Sequence[Cell]] = [_heading(*titles)]
    table += [_tier_row(name, plan, proven=proven) for name, plan in plans.items()]
    first = next(iter(plans.values()))
    lines = [
        *_target_lines(target, paint),
        f"reserve      {_policy(reserve)}; assumed imbalance {_ratio(first.imbalance_factor, 2)}",
        "",
        *columns(table, range(10), paint),
    ]
    return _joined(lines, notes)


def tiers_table(plans: Mapping[str, TopologyPlan]) -> Table:
    """Return the tiers with exact numbers; proven figures are empty where none were asked for."""
    rows = tuple(
        (
            name,
            plan.physical_usable_bytes,
            plan.reserve_bytes,
            plan.placement_budget_bytes,
            plan.weight_bytes,
            plan.kv_bytes,
            plan.total_placement_bytes,
            plan.arithmetic_minimum_nodes,
            plan.recommended_nodes,
            str(plan.imbalance_factor),
            *_proven_cells(plan),
        )
        for name, plan in plans.items()
    )
    return Table(
        columns=(
            "tier",
            "physical_usable_bytes",
            "reserve_bytes",
            "placement_budget_bytes",
            "weight_bytes",
            "kv_bytes",
            "total_placement_bytes",
            "arithmetic_minimum_nodes",
            "recommended_nodes",
            "imbalance_factor",
            "proven_nodes",
            "imbalance_at_proven",
            "imbalance_at_recommended",
            "devices_used_at_recommended",
            "assumption_holds",
        ),
        rows=rows,
    )


def route_text(plan: RoutePlan, target: Target, notes: Sequence[str], paint: Paint) -> str:
    """Return the nodes of a route, their sums, and what speaks for and against it."""
    rows: list[Sequence[Cell]] = [_heading("node", "usable", "reserve", "budget")]
    for node in plan.nodes:
        sizes = (node.physical_usable_bytes, node.reserve_bytes, node.placement_budget_bytes)
        rows.append([escape(node.name), *(_gib(size) for size in sizes)])
    total = (plan.aggregate_usable_bytes, sum(node.reserve_bytes for node in plan.nodes))
    rows.append(["together", *(_gib(size) for size in (*total, plan.aggregate_placement_budget_bytes))])
    verdict = (
        paint("fits", Style.GOOD) + f" by arithmetic, with {_gib(plan.headroom_bytes)} GiB to spare"
        if plan.fits
        else paint("does not fit", Style.BAD) + f": {_gib(-plan.headroom_bytes)} GiB are missing"
    )
    counts = f"{_count(plan.arithmetic_minimum_nodes)}, recommended {_count(plan.recommended_nodes)}"
    lines = [
        *_target_lines(target, paint),
        "",
        *columns(rows, range(1, 4), paint),
        "",
        f"verdict      {verdict}",
        f"nodes        minimum {counts} at an assumed imbalance of {_ratio(plan.imbalance_factor, 2)}",
    ]
    if plan.floor_bytes is not None:
        met = "met" if plan.meets_hard_fit_floor else "not met"
        lines.append(f"floor        {_gib(plan.floor_bytes)} GiB usable in all: {met}")
    if plan.proven is not None:
        lines.extend(_proven_route_lines(plan.proven, paint))
    lines.extend(f"reason       {escape(reason)}" for reason in plan.reasons)
    return _joined(lines, [*plan.notes, *notes])


def route_table(plan: RoutePlan) -> Table:
    """Return the nodes of a route with exact numbers."""
    return Table(
        columns=("node", "physical_usable_bytes", "reserve_bytes", "placement_budget_bytes"),
        rows=tuple(
            (node.name, node.physical_usable_bytes, node.reserve_bytes, node.placement_budget_bytes)
            for node in plan.nodes
        ),
    )


def seams_text(plan: SeamsPlan, architecture: str, notes: Sequence[str], paint: Paint) -> str:
    """Return what crosses the seams, and the two kinds of time side by side, never added."""
    seams = "seam" if plan.seam_count == 1 else "seams"
    rate = f"{float(plan.link_rate_bits_per_second / 10**9):g} Gbit/s"
    decode = (_ms(plan.decode_serialization_ns(1), 4), _ms(plan.decode_serialization_ns(plan.seam_count), 4))
    prefill = (_ms(plan.prefill_serialization_ns(1), 3), _ms(plan.prefill_serialization_ns(plan.seam_count), 3))
    rows: list[Sequence[Cell]] = [
        _heading("", "bytes a seam", "ms a seam", "ms over all seams"),
        ["decode, a token: serialization", f"{plan.bytes_per_token_per_seam:,}", *decode],
        ["decode, a token: latency", "", _ms(plan.hop_latency_ns, 4), _ms(plan.decode_latency_ns, 4)],
        [f"prefill, {plan.context_tokens:,} tokens: serialization", f"{plan.prefill_bytes_per_seam:,}", *prefill],
        ["index sideband, a query", f"{plan.dsa_sideband_bytes_per_query:,}", "", ""],
    ]
    lines = [
        paint(f"{plan.seam_count} {seams} between {plan.node_count} nodes", Style.TITLE)
        + f", hidden size {plan.hidden_size:,} ({escape(architecture)})",
        f"link         {rate}: {_met(plan, paint)}",
        "",
        *columns(rows, range(1, 4), paint),
    ]
    return _joined(lines, notes)


def seams_table(plan: SeamsPlan) -> Table:
    """Return what crosses the seams in bytes and nanoseconds."""
    seams = plan.seam_count
    return Table(
        columns=("quantity", "bytes_per_seam", "ns_per_seam", "ns_over_all_seams"),
        rows=(
            (
                "decode_serialization",
                plan.bytes_per_token_per_seam,
                plan.decode_serialization_ns(1),
                plan.decode_serialization_ns(seams),
            ),
            ("decode_latency", None, plan.hop_latency_ns, plan.decode_latency_ns),
            (
                "prefill_serialization",
                plan.prefill_bytes_per_seam,
                plan.prefill_serialization_ns(1),
                plan.prefill_serialization_ns(seams),
            ),
            ("dsa_sideband", plan.dsa_sideband_bytes_per_query, None, None),
        ),
    )


def _tier_row(name: str, plan: TopologyPlan, *, proven: bool) -> list[Cell]:
    sizes = (plan.physical_usable_bytes, plan.reserve_bytes, plan.placement_budget_bytes)
    row: list[Cell] = [name, *(_gib(size) for size in sizes)]
    row += [str(plan.arithmetic_minimum_nodes), str(plan.recommended_nodes)]
    if not proven:
        return row
    found = plan.proven
    if found is None:
        return [*row, "-", "-", "-", "-", "-"]
    verdict: Cell = "unknown"
    if found.assumption_holds is not None:
        verdict = Styled("holds", Style.GOOD) if found.assumption_holds else Styled("does not hold", Style.BAD)
    count = _count(found.fewest_nodes) if found.outcome != "feasible" else f"≤ {_count(found.fewest_nodes)}"
    used = "-" if found.at_recommended is None else str(found.at_recommended.devices_used)
    return [*row, count, _balance(found.at_fewest), _balance(found.at_recommended), used, verdict]


def _proven_cells(plan: TopologyPlan) -> tuple[str | int | None, ...]:
    found = plan.proven
    if found is None:
        return (None,) * 5
    at_fewest, at_recommended = found.at_fewest, found.at_recommended
    return (
        found.fewest_nodes,
        None if at_fewest is None else str(at_fewest.imbalance),
        None if at_recommended is None else str(at_recommended.imbalance),
        None if at_recommended is None else at_recommended.devices_used,
        None if found.assumption_holds is None else str(found.assumption_holds).lower(),
    )


def _proven_route_lines(proven: ProvenRoute, paint: Paint) -> list[str]:
    if proven.sufficient is None:
        return ["placement    unknown: no answer within the limits"]
    if not proven.sufficient:
        why = "; ".join(escape(reason) for reason in proven.reasons)
        return [f"placement    {paint('none exists', Style.BAD)} ({proven.proof}){': ' + why if why else ''}"]
    count = f"{proven.nodes_used} nodes" + (", proved fewest" if proven.outcome == "optimal" else "")
    return [f"placement    {paint('exists', Style.GOOD)} on {count} ({proven.proof})"]


def _target_lines(target: Target, paint: Paint) -> list[str]:
    request = target.request
    tokens = f"{request.context_tokens:,} tokens x {request.sequences}"
    types = request.type_k if request.type_k == request.type_v else f"{request.type_k}, {request.type_v}"
    indexer = "" if target.indexer is None else f", indexer {target.indexer}"
    return [
        paint(escape(target.name), Style.TITLE) + f", {tokens}, cache {types}{indexer}",
        f"weights      {_gib(target.weight_bytes)} GiB ({escape(target.weight_rule)})",
        f"cache        {_gib(target.kv_bytes)} GiB ({escape(target.kv_rule)})",
        f"to place     {_gib(target.weight_bytes + target.kv_bytes)} GiB",
    ]


def _met(plan: SeamsPlan, paint: Paint) -> str:
    if plan.meets_recommended_rate:
        return paint("recommended", Style.GOOD)
    if plan.meets_minimum_rate:
        return "meets the minimum of 2.5 Gbit/s, below the recommended 10 Gbit/s"
    return paint("below the minimum", Style.BAD) + " of 2.5 Gbit/s"


def _joined(lines: Sequence[str], notes: Sequence[str]) -> str:
    shown = [*lines, *([""] if notes else []), *(f"note: {escape(note)}" for note in notes)]
    return "\n".join(shown) + "\n"


def _policy(reserve: ReservePolicy) -> str:
    return f"the larger of {float(reserve.fraction * 100):g} % and {_gib(reserve.floor_bytes)} GiB of every memory"


def _balance(balance: MeasuredBalance | None) -> str:
    return "-" if balance is None else _ratio(balance.imbalance, 4)


def _count(nodes: int | None) -> str:
    return "-" if nodes is None else str(nodes)


def _heading(*titles: str) -> list[Cell]:
    return [Styled(title, Style.FAINT) for title in titles]


def _gib(size_bytes: int) -> str:
    return f"{float(round(Fraction(size_bytes, GIB), 3)):,.3f}"


def _ratio(ratio: Fraction, decimals: int) -> str:
    return f"{float(round(ratio, decimals)):.{decimals}f}"


def _ms(duration_ns: int, decimals: int) -> str:
    return f"{float(round(Fraction(duration_ns, _NS_PER_MS), decimals)):,.{decimals}f}"
