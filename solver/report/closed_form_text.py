"""The closed forms as text for a person, and as tables of exact numbers for other programs."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from solver.report.columns import columns
from solver.report.table import Table
from solver.report.terminal import Cell, Paint, Style, Styled, escape, sentence_lines
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
_INDENT = 13
_SILENT = Styled("", Style.FAINT)


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
        titles += ["proven", "imbalance", "at recommended", "used", "holds"]
    table: list[Sequence[Cell]] = [_heading(*titles)]
    table += [_tier_row(name, plan, proven=proven) for name, plan in plans.items()]
    first = next(iter(plans.values()))
    lines = [
        *_target_lines(target, paint),
        *_fact("reserve", f"{_policy(reserve)}; assumed imbalance {_ratio(first.imbalance_factor, 2)}", paint),
        "",
        *columns(table, range(10), paint),
    ]
    return _joined(lines, notes, paint)


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
    counts = f"{_count(plan.arithmetic_minimum_nodes)}, recommended {_count(plan.recommended_nodes)}"
    lines = [
        *_target_lines(target, paint),
        "",
        *columns(rows, range(1, 4), paint),
        "",
        *_verdict(plan, paint),
        *_fact("nodes", f"minimum {counts} at an assumed imbalance of {_ratio(plan.imbalance_factor, 2)}", paint),
    ]
    if plan.floor_bytes is not None:
        met = "met" if plan.meets_hard_fit_floor else "not met"
        lines += _fact("floor", f"{_gib(plan.floor_bytes)} GiB usable in all: {met}", paint)
    if plan.proven is not None:
        lines += _proven_route_lines(plan.proven, paint)
    lines += [line for reason in plan.reasons for line in _fact("reason", reason, paint)]
    return _joined(lines, [*plan.notes, *notes], paint)


def _verdict(plan: RoutePlan, paint: Paint) -> list[str]:
    if plan.fits:
        spare = f" by arithmetic, with {_gib(plan.headroom_bytes)} GiB to spare"
        return _fact("verdict", spare, paint, Styled("fits", Style.GOOD))
    missing = f": {_gib(-plan.headroom_bytes)} GiB are missing"
    return _fact("verdict", missing, paint, Styled("does not fit", Style.BAD))


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
    title = Styled(f"{plan.seam_count} {seams} between {plan.node_count} nodes", Style.TITLE)
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
        *_loud(title, f", hidden size {plan.hidden_size:,} ({architecture})", paint),
        *_link(plan, paint),
        "",
        *columns(rows, range(1, 4), paint),
    ]
    return _joined(lines, notes, paint)


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
    verdict: Cell = "?"
    if found.assumption_holds is not None:
        verdict = Styled("yes", Style.GOOD) if found.assumption_holds else Styled("no", Style.BAD)
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
        return _fact("placement", "unknown: no answer within the limits", paint)
    if not proven.sufficient:
        why = "; ".join(proven.reasons)
        said = f" ({proven.proof}){': ' + why if why else ''}"
        return _fact("placement", said, paint, Styled("none exists", Style.BAD))
    count = f"{proven.nodes_used} nodes" + (", proved fewest" if proven.outcome == "optimal" else "")
    return _fact("placement", f" on {count} ({proven.proof})", paint, Styled("exists", Style.GOOD))


def _target_lines(target: Target, paint: Paint) -> list[str]:
    request = target.request
    tokens = f"{request.context_tokens:,} tokens x {request.sequences}"
    types = request.type_k if request.type_k == request.type_v else f"{request.type_k}, {request.type_v}"
    indexer = "" if target.indexer is None else f", indexer {target.indexer}"
    return [
        *_loud(Styled(target.name, Style.TITLE), f", {tokens}, cache {types}{indexer}", paint),
        *_fact("weights", f"{_gib(target.weight_bytes)} GiB ({target.weight_rule})", paint),
        *_fact("cache", f"{_gib(target.kv_bytes)} GiB ({target.kv_rule})", paint),
        *_fact("to place", f"{_gib(target.weight_bytes + target.kv_bytes)} GiB", paint),
    ]


def _link(plan: SeamsPlan, paint: Paint) -> list[str]:
    rate = f"{float(plan.link_rate_bits_per_second / 10**9):g} Gbit/s: "
    if plan.meets_recommended_rate:
        return _fact("link", "", paint, Styled("recommended", Style.GOOD), before=rate)
    if plan.meets_minimum_rate:
        return _fact("link", f"{rate}meets the minimum of 2.5 Gbit/s, below the recommended 10 Gbit/s", paint)
    return _fact("link", " of 2.5 Gbit/s", paint, Styled("below the minimum", Style.BAD), before=rate)


def _fact(word: str, sentence: str, paint: Paint, loud: Styled = _SILENT, *, before: str = "") -> list[str]:
    """Return a sentence behind its word; what is loud stands at its start, or behind what stands before that."""
    return _loud(loud, sentence, paint, before=word.ljust(_INDENT) + before, indent=_INDENT)


def _loud(loud: Styled, sentence: str, paint: Paint, *, before: str = "", indent: int = 2) -> list[str]:
    first, *rest = sentence_lines(f"{before}{loud.text}{sentence}", paint, indent=indent)
    text = escape(loud.text)
    return [first.replace(text, paint(text, loud.style), 1), *rest]


def _joined(lines: Sequence[str], notes: Sequence[str], paint: Paint) -> str:
    shown = [*lines, *([""] if notes else [])]
    shown += [line for note in notes for line in sentence_lines(f"note: {note}", paint, indent=6)]
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
