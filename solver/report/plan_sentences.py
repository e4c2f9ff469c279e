"""The sentences of a plan's report: the outcome, the verdict of the check, and what the plan was asked."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from solver.pool_loads import machine_budgets
from solver.report.amounts import GIBIBYTES, count, gap_text, listed, ratio
from solver.report.grid import Fact
from solver.report.plan_tables import scale_of
from solver.solution import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solver.closed_form import PlanCheck
    from solver.cluster import Cluster, Reserve
    from solver.planning import Plan
    from solver.problem import Rules
    from solver.solution import Level

__all__ = ["headline", "remarks", "request_facts", "unused_facts", "verdict"]


def headline(plan: Plan) -> str:
    """Say in one sentence what was asked and how it ended."""
    subject, plural = _subject(plan)
    offered = len({node.machine or node.name for node in plan.problem.nodes})
    these = "this 1 node" if offered == 1 else f"these {offered:,} nodes"
    match plan.outcome:
        case Outcome.INFEASIBLE:
            return f"{subject} {'do' if plural else 'does'} not fit on {these}: proved, no placement exists."
        case Outcome.UNKNOWN:
            why = "the search was interrupted" if plan.solution.interrupted else "the limits ran out"
            return f"Whether {subject} {'fit' if plural else 'fits'} on {these} is not known: {why} first."
    used = len({stage.machine for stage in plan.stages})
    where = f"{used:,} of {count(offered, 'node')}"
    return f"{subject} {'fit' if plural else 'fits'} on {where}, {_standing(plan.solution.levels)}."


def _subject(plan: Plan) -> tuple[str, bool]:
    blocks = plan.problem.block_count
    return (count(blocks, "block"), blocks != 1) if plan.setting is None else (plan.setting.inventory.name, False)


def _standing(levels: tuple[Level, ...]) -> str:
    proofs = list(dict.fromkeys(level.proof for level in levels))
    if "none" not in proofs:
        return f"proved optimal by {_and(proofs)}"
    return "not proved optimal: " + ", ".join(_open(level) for level in levels if level.proof == "none")


def _open(level: Level) -> str:
    gap = "no bound" if level.bound is None else f"gap {gap_text(level.value, level.bound)}"
    return f"{level.objective.name} open ({gap})"


def remarks(plan: Plan) -> tuple[str, ...]:
    """Say why a search ended early, where it did."""
    outcome, interrupted = plan.outcome, plan.solution.interrupted
    if outcome is Outcome.FEASIBLE:
        # The search for replicas may end before its limits: some of its bounds stay short of what is possible.
        ended = "The search ended" if plan.problem.rules.replicas else "The limits ran out"
        why = "The search was interrupted" if interrupted else ended
        return (f"{why} before every objective was proved; this is the best plan found.",)
    if outcome is Outcome.OPTIMAL and interrupted:
        return ("The search was interrupted while it chose among equally good plans: the next run may show another.",)
    return ()


def verdict(plan: Plan, check: PlanCheck) -> str:
    """Say in one sentence how the plan stands to the closed forms, which know nothing of rules."""
    fewest = check.minimum_nodes == check.nodes_used
    if fewest:
        nodes = "As few nodes as arithmetic allows"
    else:
        arithmetic = "arithmetic without the rules" if _rules(plan.problem.rules) else "arithmetic"
        nodes = f"{count(check.nodes_used, 'node')} where {arithmetic} asks for {check.minimum_nodes}"
    if check.devices_used == 1:
        return f"{nodes}, and one alone has nothing to be uneven with."
    assumed = check.assumed_imbalance
    measured = check.weighted_imbalance if check.imbalance_ceiling is None else check.imbalance
    link = "and" if check.assumption_holds == fewest else "but"
    holds = "holds" if check.assumption_holds else "does not hold"
    shown = _told_apart(measured, assumed)
    return f"{nodes}, {link} the assumed imbalance of {ratio(assumed, 2)} {holds} at {shown}."


def _told_apart(measured: Fraction, assumed: Fraction) -> str:
    """Return the measured ratio with four decimals, or as many as keep it on its own side of the assumed one."""
    for decimals in range(4, 16):
        text = f"{float(measured):.{decimals}f}"
        if (Fraction(text) <= assumed) == (measured <= assumed):
            return text
    return f"a little more than {ratio(assumed)}"


def unused_facts(plan: Plan) -> tuple[Fact, ...]:
    """Name the nodes or devices that hold nothing, with the reason where they could not; empty where all are used."""
    used = {stage.node for stage in plan.stages}
    taken = {card for name in used for card in plan.problem.nodes_by_name[name].cards}
    free = []
    for node in plan.problem.nodes:
        # Devices that share a processor with one that is used, or listed, are no others.
        if node.name not in used and taken.isdisjoint(node.cards):
            free.append(node)
            taken.update(node.cards)
    if not free:
        return ()
    excluded = frozenset(plan.problem.rules.exclude)
    barred = [node.name for node in free if node.name in excluded]
    empty = [node.name for node in free if node.name not in excluded and node.budget_bytes <= 0]
    spare = [node for node in free if node.name not in excluded and node.budget_bytes > 0]
    sentences = []
    if spare:
        budget = scale_of(plan).amount(sum(node.budget_bytes for node in spare))
        names = listed([node.name for node in spare])
        kind = "device" if any(node.machine for node in spare) else "node"
        sentences.append(f"{count(len(spare), kind)} with a budget of {budget} ({names})")
    if barred:
        sentences.append(f"{len(barred):,} excluded ({listed(barred)})")
    if empty:
        sentences.append(f"{len(empty):,} without a budget ({listed(empty)})")
    return (Fact("unused", "; ".join(sentences)),)


def request_facts(plan: Plan) -> tuple[Fact, ...]:
    """Return what was to be placed, for which workload, under which rules: every default that was used is named."""
    rules = _rules(plan.problem.rules)
    return (
        Fact("to place", _to_place(plan)),
        *_workload(plan),
        *((Fact("rules", rules),) if rules else ()),
    )


def _to_place(plan: Plan) -> str:
    problem, amount = plan.problem, scale_of(plan).amount
    weights = sum(item.weight_bytes for item in problem.items) - problem.shared_bytes
    parts = (
        ("weights", weights),
        ("cache", sum(item.cache_bytes for item in problem.items)),
        ("other", sum(item.other_bytes for item in problem.items)),
    )
    kinds = ", ".join(f"{name} {amount(held)}" for name, held in parts if held or name == "weights")
    budgets = machine_budgets(problem)
    held = " beside what devices hold anyway" if any(node.held_bytes for node in problem.nodes) else ""
    budget = f"{amount(sum(budgets.values()))}{held}"
    nodes = count(len(problem.nodes if problem.is_plain else budgets), "node")
    return f"{count(problem.block_count, 'block')}, {amount(problem.total_bytes)} ({kinds}) on {nodes}, budget {budget}"


def _workload(plan: Plan) -> tuple[Fact, ...]:
    setting, tokens = plan.setting, plan.problem.context_tokens
    if setting is None:
        return () if tokens is None else (Fact("workload", f"context {count(tokens, 'token')}"),)
    asked = setting.workload
    each = "" if asked.sequences == 1 else " each"
    parts = [f"context {count(asked.context_tokens, 'token')}{each}", count(asked.sequences, "sequence")]
    if asked.cache_bytes_per_token is None:
        parts.append(f"cache type {_types(asked.cache_type_k, asked.cache_type_v)}")
        if setting.inventory.architecture.index_topk is not None:
            parts.append(f"indexer rule {asked.indexer.value}")
    else:
        parts.append(f"cache {asked.cache_bytes_per_token:,} B a token as given")
    if setting.inventory.nextn_blocks:
        parts.append(f"nextn blocks {'placed' if asked.resident_nextn else 'left out'}")
    parts.append(f"engine {setting.engine}")
    return (Fact("workload", ", ".join(parts)), Fact("reserve", _reserve(setting.cluster)))


def _types(keys: str, values: str) -> str:
    return keys if keys == values else f"{keys} for keys and {values} for values"


def _reserve(cluster: Cluster) -> str:
    """Say what stays free of the memories and of the cards, and which ceilings lower a budget further."""
    with_cards = [node for node in cluster.nodes if node.gpus and not node.unified]
    hosts = [(node.reserve, node.name) for node in cluster.nodes]
    cards = [(group.reserve, node.name) for node in with_cards for group in node.gpus]
    parts = [*_policies(hosts, "host memory" if with_cards else "memory"), *_policies(cards, "card")]
    ceilings: dict[int, list[str]] = {}
    for node in cluster.nodes:
        if node.ceiling_bytes is not None and node.ceiling_bytes < node.memory_bytes - node.reserve_bytes:
            ceilings.setdefault(node.ceiling_bytes, []).append(node.name)
    parts += [f"a ceiling of {GIBIBYTES.amount(ceiling)} on {listed(names)}" for ceiling, names in ceilings.items()]
    return "; ".join(parts)


def _policies(reserves: Iterable[tuple[Reserve, str]], of: str) -> list[str]:
    """Return each reserve in words with the nodes that have it, or that all of them do."""
    policies: dict[str, list[str]] = {}
    for reserve, node in reserves:
        share, floor = f"{float(reserve.fraction * 100):g} %", GIBIBYTES.amount(reserve.floor_bytes)
        policy = f"the larger of {share} and {floor}" if reserve.floor_bytes else share
        names = policies.setdefault(policy, [])
        if node not in names:
            names.append(node)
    if len(policies) == 1:
        return [f"{policy} of every {of}" for policy in policies]
    which = {"memory": "", "host memory": " of host memory", "card": " of each card"}[of]
    return [f"{policy}{which} on {listed(names)}" for policy, names in policies.items()]


def _rules(rules: Rules) -> str:
    parts = [f"block {block} on {node}" for block, node in rules.pins]
    if rules.first is not None:
        parts.append(f"first {rules.first}")
    if rules.last is not None:
        parts.append(f"last {rules.last}")
    if rules.order:
        parts.append(f"in the order {', '.join(rules.order)}")
    if rules.exclude:
        parts.append(f"without {listed(rules.exclude)}")
    if rules.max_nodes is not None:
        parts.append(f"at most {count(rules.max_nodes, 'node')}")
    if rules.min_blocks > 1:
        parts.append(f"at least {rules.min_blocks} blocks a node")
    if rules.replicas:
        parts.append("nodes may share a stage, and chains run side by side")
    return "; ".join(parts)


def _and(words: Iterable[str]) -> str:
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last
