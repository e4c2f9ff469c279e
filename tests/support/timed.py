"""Speeds, measured times, hops and caches that grow, added to plain problems by hand; limits; and what can be asked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from solver.errors import InputError
from solver.limits import NO_LIMITS, Limits
from solver.objectives import OBJECTIVES
from solver.problem import Link, LinkPair, Links

if TYPE_CHECKING:
    from solver.objectives import Objective
    from solver.problem import Problem

__all__ = ["GB", "PLAIN_OBJECTIVES", "askable", "barred", "growing", "joined", "near", "timed", "within"]

# What nodes of one memory can be asked: they leave nothing with a host.
PLAIN_OBJECTIVES = tuple(name for name in OBJECTIVES if name != "offload")
# A node that reads so many bytes a second takes one nanosecond a byte.
GB = 10**9

Speed = int | tuple[int, ...] | None


def timed(problem: Problem, speeds: tuple[Speed, ...], active: tuple[int, ...] | None = None) -> Problem:
    """Give every node a bandwidth (an integer), measured times (a tuple) or neither, and every block its active bytes.

    Without active bytes a block reads its weights.
    """
    read = tuple(block.weight_bytes for block in problem.blocks) if active is None else active
    return replace(
        problem,
        blocks=tuple(
            replace(block, active_bytes=active_bytes) for block, active_bytes in zip(problem.blocks, read, strict=True)
        ),
        nodes=tuple(
            replace(
                node,
                bytes_per_second=speed if isinstance(speed, int) else None,
                stage_ns=speed if isinstance(speed, tuple) else None,
            )
            for node, speed in zip(problem.nodes, speeds, strict=True)
        ),
    )


def joined(problem: Problem, default: Link, *pairs: tuple[str, str, Link], activation_bytes: int) -> Problem:
    """Give a problem links, and bytes that cross a seam for every token."""
    links = Links(default, tuple(LinkPair(source, target, link) for source, target, link in pairs))
    return replace(problem, links=links, activation_bytes=activation_bytes)


def near(latency_ns: int, bytes_per_second: int | None = None) -> Link:
    """Return a link of a latency, and of a rate where one is given."""
    return Link(latency_ns, bytes_per_second, forbidden=False)


def barred() -> Link:
    """Return a link that no hop may take."""
    return Link(latency_ns=0, bytes_per_second=None, forbidden=True)


def growing(problem: Problem, per_token: tuple[int | None, ...], fixed: tuple[int, ...] | None = None) -> Problem:
    """Give every block what its cache takes for a token, and what it takes without any."""
    bases = (0,) * len(per_token) if fixed is None else fixed
    return replace(
        problem,
        blocks=tuple(
            replace(block, cache_bytes_per_token=growth, cache_fixed_bytes=base)
            for block, growth, base in zip(problem.blocks, per_token, bases, strict=True)
        ),
    )


def within(**values: object) -> Limits:
    """Return the limits of these names and no others."""
    return replace(NO_LIMITS, **values)  # type: ignore[arg-type]


def askable(problem: Problem) -> tuple[Objective, ...]:
    """Return the objectives for which a problem has the facts."""
    return tuple(objective for objective in OBJECTIVES.values() if _has_facts(problem, objective))


def _has_facts(problem: Problem, objective: Objective) -> bool:
    try:
        objective.needs(problem, objective.name)
    except InputError:
        return False
    return True
