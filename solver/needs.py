"""What a problem must say for an objective to be asked of it, and how large its figures may be.

Searches add times and bytes in 64 bits: what could leave that range is refused here, before anything is added up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.errors import InputError
from solver.measures import block_ns

if TYPE_CHECKING:
    from solver.problem import Link, Problem

__all__ = ["CONTEXT_STEP_TOKENS", "flow", "growth", "hosts", "nothing", "times"]

# The longest context is looked for in steps of this many tokens.
CONTEXT_STEP_TOKENS = 256
# Beyond this a search could take a sum for "never", or overflow.
_LONGEST_NS = 2**60
_LARGEST_BYTES = 2**61


def nothing(problem: Problem, name: str) -> None:
    """Need no more than every problem has.

    Raises:
        InputError: replicas are allowed.
    """
    _refuse_replicas(problem, name)


def flow(problem: Problem, name: str) -> None:
    """Need times, and with replicas devices that keep what they hold.

    Raises:
        InputError: a time is not known, or replicas are allowed and experts may stay with a host.
    """
    if problem.rules.replicas and any(block.expert_bytes for block in problem.blocks):
        for group in problem.classes:
            if group.members[0].host_pool is not None:
                raise InputError(
                    "rule replicas",
                    f"node {group.members[0].name} may leave experts with its host; expected replicas of whole stages, "
                    "since this version does not share the tokens of such. Leave the rule or the host memory out.",
                )
    _known_times(problem, name)


def times(problem: Problem, name: str) -> None:
    """Need a bandwidth or measured times of every node that may take a stage.

    Raises:
        InputError: a node has neither, a token could take longer than searches can count, or replicas are allowed.
    """
    _refuse_replicas(problem, name)
    _known_times(problem, name)


def _refuse_replicas(problem: Problem, name: str) -> None:
    """Refuse what is about one token on one way, or about each block held once, where replicas are allowed."""
    if problem.rules.replicas:
        raise InputError(
            f"objective {name}",
            "replicas are allowed, which only the objective throughput knows; expected that alone. "
            "Ask for throughput, or leave the rule replicas out.",
        )


def _known_times(problem: Problem, name: str) -> None:
    for group in problem.classes:
        node = group.members[0]
        if node.bytes_per_second is None and node.stage_ns is None:
            raise InputError(
                f"objective {name}",
                f"node {node.name} has neither a bandwidth nor measured times; expected one of them for every node. "
                "Give it, or exclude the node.",
            )
        if node.draws is not None and node.draws.host_pool is not None and node.draws.host_bytes_per_second is None:
            raise InputError(
                f"objective {name}",
                f"the rate of the host memory of node {node.name} is not known; expected one, since experts may live "
                "there. Give it, or exclude the node.",
            )
    longest = _longest_ns(problem)
    if longest > _LONGEST_NS:
        raise InputError(
            f"objective {name}",
            f"one token could take {longest} ns; expected at most 2^60, some 36 years. "
            "Give rates in bytes a second and times in nanoseconds.",
        )


def hosts(problem: Problem, name: str) -> None:
    """Need a device with a host memory beside its own.

    Raises:
        InputError: no device has one, or replicas are allowed.
    """
    _refuse_replicas(problem, name)
    if all(node.host_pool is None for node in problem.nodes):
        raise InputError(
            f"objective {name}",
            "no node has cards beside a host memory; expected one that could leave something there. Leave it out.",
        )


def growth(problem: Problem, name: str) -> None:
    """Need to know how caches grow.

    Raises:
        InputError: a block does not say it, none grows, the bytes are more than searches can count, or replicas are
            allowed.
    """
    _refuse_replicas(problem, name)
    for index, block in enumerate(problem.blocks):
        if block.cache_bytes_per_token is None:
            raise InputError(
                f"objective {name}",
                f"block {index} does not say how its cache grows; expected cache_bytes_per_token. Give it.",
            )
    if not any(block.cache_bytes_per_token for block in problem.blocks):
        raise InputError(
            f"objective {name}", "no block has a cache that grows; expected one, or any length fits. Leave it out."
        )
    filled = sum(item.weight_bytes + item.other_bytes for item in problem.items) + sum(
        block.cache_fixed_bytes + (block.cache_bytes_per_token or 0) * CONTEXT_STEP_TOKENS for block in problem.blocks
    )
    budgets = sum(group.members[0].budget_bytes * group.count for group in problem.classes)
    for what, amount in ((f"a context of {CONTEXT_STEP_TOKENS} tokens takes", filled), ("the budgets are", budgets)):
        if amount > _LARGEST_BYTES:
            raise InputError(
                f"objective {name}", f"{what} {amount} bytes together; expected at most 2^61. Give sizes in bytes."
            )


def _longest_ns(problem: Problem) -> int:
    """Return a time that no placement's latency exceeds: every block on the slowest node, every hop the slowest."""
    nodes = [group.members[0] for group in problem.classes]
    rates = [node.bytes_per_second for node in nodes if node.stage_ns is None and node.bytes_per_second is not None]
    measured = max((time for node in nodes for time in node.stage_ns or ()), default=0)
    rates += [
        node.draws.host_bytes_per_second
        for node in nodes
        if node.draws is not None and node.draws.host_bytes_per_second is not None
    ]
    # What is read from two memories is rounded up twice.
    read = (
        sum(block_ns(block.active_bytes, min(rates)) + (block.expert_bytes > 0) for block in problem.blocks)
        if rates
        else 0
    )
    links = [problem.links.default, *(pair.link for pair in problem.links.pairs)]
    hop = max(_hop_ns(problem, link) for link in links)
    return read + problem.stages_at_most * (measured + hop)


def _hop_ns(problem: Problem, link: Link) -> int:
    rate = link.bytes_per_second
    return link.latency_ns + (0 if rate is None else block_ns(problem.activation_bytes, rate))
