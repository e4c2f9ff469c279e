"""The smallest single changes that give a problem without a placement one: each has been solved, none is guessed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from solver.objectives import CONTEXT_STEP_TOKENS
from solver.pools import Pool
from solver.wording import exact_size, several

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from solver.problem import Block, Node, Problem
    from solver.trials import Trials

__all__ = ["Variants", "fitting_changes"]

# Cache types from the most exact to the smallest that engines take, and the steps that reserves are tried in.
_SMALLER_TYPES = ("f16", "q8_0", "q5_1", "q4_0")
_RESERVE_STEPS = 1000
_MOST_WITHOUT_BUDGET = 8
_MOST_PROCESSORS = 8


class Variants(Protocol):
    """Ways to build the problem of the same model again with one setting changed."""

    @property
    def reserve_fraction(self) -> Fraction:
        """Return the largest share of a memory that is in reserve."""

    def with_context(self, context_tokens: int) -> Problem:
        """Return the problem at another context per sequence."""

    def with_cache_type(self, name: str) -> Problem | None:
        """Return the problem with keys and values of a type, or None if it is not a smaller one."""

    def with_reserve(self, fraction: Fraction) -> Problem:
        """Return the problem with no more than this fraction of each memory in reserve."""

    @property
    def idle_processors(self) -> tuple[str, ...]:
        """Return the machines whose processors could take blocks beside their cards and are not said to."""

    def with_processors(self, machines: Sequence[str]) -> Problem | None:
        """Return the problem in which processors of machines take blocks, or None where that cannot be."""


def fitting_changes(problem: Problem, variants: Variants | None, trials: Trials) -> tuple[str, ...]:
    """Return a sentence for each single change that was found to make the problem fit, the cheapest to make first."""
    found = (
        _processors(variants, trials),
        _fewer_tokens(problem, variants, trials),
        _smaller_cache(variants, trials),
        _smaller_reserve(variants, trials),
        _more_memory(problem, trials),
        _one_more_node(problem, trials),
    )
    return tuple(sentence for sentence in found if sentence is not None)


def _processors(variants: Variants | None, trials: Trials) -> str | None:
    """Return the machine whose processor is enough, of several the first, else the first so many that are."""
    if variants is None or not variants.idle_processors:
        return None
    idle = variants.idle_processors

    def fits(machines: Sequence[str]) -> bool:
        return trials.fits_built(lambda: variants.with_processors(machines))

    if not fits(idle):
        return None
    alone = next((machine for machine in idle[:_MOST_PROCESSORS] if fits((machine,))), None)
    fewest = 1 if alone is not None else _least(1, len(idle), lambda count: fits(idle[:count]))
    found = idle[:fewest] if alone is None else (alone,)
    whose = "its processor then takes" if len(found) == 1 else "their processors then take"
    return f"With cpu = true for {several(found)} it fits: {whose} blocks too."


def _fewer_tokens(problem: Problem, variants: Variants | None, trials: Trials) -> str | None:
    """Return the longest shorter context that fits, where the caches say how they grow."""
    context = problem.context_tokens
    if context is None or any(block.cache_bytes_per_token is None for block in problem.blocks):
        return None

    def at(steps: int) -> Problem:
        tokens = steps * CONTEXT_STEP_TOKENS
        return _with_context(problem, tokens) if variants is None else variants.with_context(tokens)

    steps = _most(1, (context - 1) // CONTEXT_STEP_TOKENS, lambda count: trials.fits_built(lambda: at(count)))
    if steps is None:
        return None
    return f"With a context of {steps * CONTEXT_STEP_TOKENS} tokens a sequence in place of {context} it fits."


def _smaller_cache(variants: Variants | None, trials: Trials) -> str | None:
    if variants is None:
        return None
    for name in _SMALLER_TYPES:
        if trials.fits_built(partial(variants.with_cache_type, name)):
            return f"With a cache of type {name} it fits."
    return None


def _smaller_reserve(variants: Variants | None, trials: Trials) -> str | None:
    """Return the largest smaller reserve that fits, in tenths of a percent of each memory."""
    if variants is None:
        return None
    highest = -(-variants.reserve_fraction.numerator * _RESERVE_STEPS // variants.reserve_fraction.denominator) - 1
    steps = _most(
        0, highest, lambda count: trials.fits_built(partial(variants.with_reserve, Fraction(count, _RESERVE_STEPS)))
    )
    return None if steps is None else f"With a reserve of {steps / 10:.1f} % of each memory it fits."


def _more_memory(problem: Problem, trials: Trials) -> str | None:
    """Return the least memory that has to be added to one node, and which."""
    best: tuple[int, str] | None = None
    candidates = [group.members[0].name for group in problem.classes]
    without = not candidates
    if without:
        # What their memories lack under their reserves is not known here, so that a budget is asked for.
        left = (node.name for node in problem.nodes if node.name not in problem.rules.exclude)
        candidates = list(islice(left, _MOST_WITHOUT_BUDGET))
    hosts = dict.fromkeys(node.host_pool for node in problem.nodes if problem.may_offload and node.host_pool)
    for name in (*candidates, *(host for host in hosts if host is not None)):
        most = problem.prefix_bytes[-1] if best is None else best[0] - 1
        added = _least_added(problem, name, most, trials)
        if added is not None:
            best = (added, name)
    if best is None:
        return None
    size, name = exact_size(best[0]), best[1]
    return f"With a budget of {size} for {name} it fits." if without else f"With {size} more memory for {name} it fits."


def _least_added(problem: Problem, name: str, most: int, trials: Trials) -> int | None:
    """Return what a node lacks, in its own memory and in those that it draws on, or what a host memory lacks."""
    named = problem.nodes_by_name.get(name)
    growing = {name} if named is None else set(named.pools)

    def fits(added: int) -> bool:
        nodes = tuple(
            replace(node, budget_bytes=node.budget_bytes + added) if node.name == name else node
            for node in problem.nodes
        )
        pools = tuple(
            replace(pool, budget_bytes=pool.budget_bytes + added) if pool.name in growing else pool
            for pool in problem.pools
        )
        return trials.fits(replace(problem, nodes=nodes, pools=pools))

    return _least(1, most, fits) if most >= 1 and fits(most) else None


def _one_more_node(problem: Problem, trials: Trials) -> str | None:
    """Return the smallest kind of node of which one more is enough."""
    for group in sorted(problem.classes, key=lambda group: group.room_bytes):
        member = group.members[0]
        if len(member.pools) > 1:
            # A group is no node of its own: one more card is what there could be.
            continue
        if trials.fits(_with_another(problem, member)):
            kind = "node" if member.machine is None else "device"
            return (
                f"With one more {kind} like {member.name}, with a budget of {exact_size(member.budget_bytes)}, it fits."
            )
    return None


def _with_another(problem: Problem, member: Node) -> Problem:
    """Return the problem with one more node like a member, in a memory of its own."""
    name = next(_free_names(problem, member))
    if member.draws is None:
        return replace(problem, nodes=(*problem.nodes, replace(member, name=name)))
    draws = replace(member.draws, pools=(name,), cards=(name,))
    pool = Pool(name, member.budget_bytes, member.machine or name)
    extra = replace(member, name=name, draws=draws)
    return replace(problem, nodes=(*problem.nodes, extra), pools=(*problem.pools, pool))


def _free_names(problem: Problem, member: Node) -> Iterator[str]:
    taken = problem.nodes_by_name.keys()
    return (name for number in range(len(taken) + 1) if (name := f"{member.name}+{number}") not in taken)


def _with_context(problem: Problem, context_tokens: int) -> Problem:
    def at(block: Block) -> Block:
        growing = (block.cache_bytes_per_token or 0) * context_tokens
        return replace(block, cache_bytes=min(block.cache_fixed_bytes + growing, block.cache_bytes))

    return replace(
        problem,
        context_tokens=context_tokens,
        blocks=tuple(at(block) for block in problem.blocks),
        shapes=tuple(replace(shape, blocks=tuple(at(block) for block in shape.blocks)) for shape in problem.shapes),
    )


def _least(least: int, most: int, fits: Callable[[int], bool]) -> int:
    """Return the smallest number from `least` to `most` that fits, as all larger ones and `most` itself do."""
    while least < most:
        middle = (least + most) // 2
        if fits(middle):
            most = middle
        else:
            least = middle + 1
    return most


def _most(least: int, most: int, fits: Callable[[int], bool]) -> int | None:
    """Return the largest number from `least` to `most` that fits, as all smaller ones do; None if `least` does not."""
    if most < least or not fits(least):
        return None
    low, high = least, most
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
