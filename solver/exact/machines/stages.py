"""What a stage of every run of items costs on a device of one kind, with the cheapest set of experts left to its host.

Costs are single integers: several figures, the most important first, as the digits of one number (see `Prices`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from solver.exact.machines.sets import Choices, Needs, Sets, sets_of
from solver.limits import cap_bytes
from solver.measures import block_ns, offloaded_block_ns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from solver.blocks import Item
    from solver.exact.machines.fleet import Device
    from solver.limits import Limits
    from solver.problem import Problem

__all__ = ["Prices", "StageCosts", "stage_costs"]


@dataclass(frozen=True, slots=True)
class Prices:
    """What a nanosecond, `grain_bytes` left with a host, a stage, and a byte put into resource `resource` cost.

    `never` stands for what cannot be; it is above every sum and its double fits `dtype`. With `filled`, the use of a
    resource is counted with caches of as many tokens as the limits ask for.
    """

    time: int
    offload: int
    stage: int
    use: int
    grain_bytes: int
    resource: int | None
    filled: bool
    never: int
    dtype: type


@dataclass(frozen=True, eq=False)
class StageCosts:
    """Costs of one kind of device: `costs`, shape (items + 1, items + 1), by start and end of a run.

    The rest is what a cheapest set is found again by: `base` costs without anything left with the host, `needs_excess`
    and `slack_ns` by run (slack None: any time), `kind_of` the kind of each block (-1: none to leave).
    """

    costs: NDArray[np.int64]
    base: NDArray[np.int64]
    excess_bytes: NDArray[np.int64]
    slack_ns: NDArray[np.int64] | None
    sets: Sets | None
    kind_of: tuple[int, ...]
    prices: Prices

    def offloaded(self, start: int, end: int) -> tuple[int, ...]:
        """Return the cheapest set of blocks of a run to leave with the host: of equals the one with the first blocks.

        Nothing is left where that is as cheap and all fits, unless what is left has a price of its own.
        """
        if self.sets is None:
            return ()
        choices = self.sets.choices
        excess = int(self.excess_bytes[start, end])
        slack = None if self.slack_ns is None else int(self.slack_ns[start, end])
        free = all(unit == 0 for unit in choices.units)
        target = self.costs[start, end] - self.base[start, end]
        chosen = []
        for index in range(start, end):
            if free and excess <= 0 and (slack is None or slack >= 0):
                break
            kind = self.kind_of[index]
            if kind < 0:
                continue
            left_excess = excess - choices.relieved_bytes[kind]
            left_slack = None if slack is None else slack - choices.penalties_ns[kind]
            rest = self._least(self.sets, index + 1, end, left_excess, left_slack)
            if rest + choices.units[kind] == target:
                chosen.append(index)
                excess, slack, target = left_excess, left_slack, rest
        return tuple(chosen)

    def _least(self, sets: Sets, start: int, end: int, excess: int, slack: int | None) -> int:
        counts = [0] * len(sets.choices.units)
        for index in range(start, end):
            if self.kind_of[index] >= 0:
                counts[self.kind_of[index]] += 1
        needs = Needs(
            np.array([counts], dtype=np.int64),
            np.array([excess], dtype=np.int64),
            None if slack is None else np.array([slack], dtype=np.int64),
        )
        return int(sets.least(needs)[0])


def stage_costs(
    problem: Problem, device: Device, limits: Limits, prices: Prices, kept: dict[tuple[object, ...], Sets]
) -> StageCosts:
    """Return the costs of every run on a device; `kept` holds sets from one call to the next.

    Raises:
        TableError: its blocks are of too many kinds.
    """
    kind, shape = device.kind, problem.shape_of(device.node)
    items = problem.items_of_shapes[kind.shape]
    timed = prices.time > 0 or limits.max_slowest_ns is not None
    loads = _sums([_kept(item, hosted=kind.host is not None) for item in items], shape.ends.tied_bytes)
    filled, grows = _filled(problem, device, items, limits)
    caps = min(cap_bytes(limits, kind.budget_bytes, kind.held_bytes), kind.cap_bytes)
    excess = loads - caps
    if filled is not None:
        excess = np.maximum(excess, np.where(grows, filled - kind.cap_bytes, excess))
    times = _times(problem, device) if timed else np.zeros_like(loads)
    slack = None if limits.max_slowest_ns is None else limits.max_slowest_ns - times
    choices, kind_of = _choices(problem, device, prices, timed=timed)
    used = np.where(grows, filled, np.minimum(loads, filled)) if prices.filled and filled is not None else loads
    base = _base(problem, device, prices, times, used)
    allowed = _allowed(problem, device, caps)
    sets = None
    if choices.units:
        key = (choices, prices.never, prices.dtype, slack is not None)
        if key not in kept:
            kept[key] = sets_of(choices, prices.never, prices.dtype, slack=slack is not None)
        sets = kept[key]
    costs = _with_sets(base, allowed, excess, slack, sets, kind_of, prices)
    return StageCosts(costs, base, excess, slack, sets, kind_of, prices)


def _kept(item: Item, *, hosted: bool) -> int:
    return item.weight_bytes + item.cache_bytes + (0 if hosted else item.other_bytes)


def _sums(amounts: Sequence[int], saved: int = 0) -> NDArray[np.int64]:
    """Return the sums over all runs, by start and end, less what is saved where a run is everything."""
    prefix = np.array(list(accumulate(amounts, initial=0)), dtype=np.int64)
    sums: NDArray[np.int64] = prefix[None, :] - prefix[:, None]
    sums[0, -1] -= saved
    return sums


def _filled(
    problem: Problem, device: Device, items: Sequence[Item], limits: Limits
) -> tuple[NDArray[np.int64] | None, NDArray[np.bool_]]:
    """Return the loads with caches of the tokens asked for, None where none are, and which runs' caches grow."""
    shape = problem.shape_of(device.node)
    growth = _sums([block.cache_bytes_per_token or 0 for block in shape.blocks]) > 0
    if limits.min_tokens is None or limits.min_tokens <= 0:
        return None, growth
    hosted = device.kind.host is not None
    amounts = [
        _kept(item, hosted=hosted)
        - item.cache_bytes
        + block.cache_fixed_bytes
        + (block.cache_bytes_per_token or 0) * limits.min_tokens
        for item, block in zip(items, shape.blocks, strict=True)
    ]
    return _sums(amounts, shape.ends.tied_bytes), growth


def _times(problem: Problem, device: Device) -> NDArray[np.int64]:
    """Return the time of every run with nothing left with the host; as measured, where it was."""
    count = len(problem.items)
    if device.kind.stage_ns is not None:
        times = np.zeros(count + 1, dtype=np.int64)
        measured = device.kind.stage_ns[:count]
        times[1 : len(measured) + 1] = measured
        lengths = np.arange(count + 1)
        found: NDArray[np.int64] = times[np.clip(lengths[None, :] - lengths[:, None], 0, count)]
        return found
    rate = device.kind.bytes_per_second or 1
    return _sums([block_ns(block.active_bytes, rate) for block in problem.shape_of(device.node).blocks])


def _choices(problem: Problem, device: Device, prices: Prices, *, timed: bool) -> tuple[Choices, tuple[int, ...]]:
    """Return the kinds of blocks whose experts the device may leave, and the kind of every block."""
    kind = device.kind
    kinds: dict[tuple[int, int], int] = {}
    kind_of = []
    for block in problem.shape_of(device.node).blocks:
        if not block.expert_bytes or not kind.leaves_experts:
            kind_of.append(-1)
            continue
        penalty = 0
        if timed:
            penalty = offloaded_block_ns(block, device.node) - block_ns(block.active_bytes, kind.bytes_per_second or 1)
        kind_of.append(kinds.setdefault((block.expert_bytes, penalty), len(kinds)))
    use = (kind.width if kind.host == prices.resource else 0) - (prices.resource in kind.draws)
    units = tuple(
        prices.time * penalty
        + prices.offload * (size * kind.width // prices.grain_bytes)
        + (prices.use * size * use if prices.resource is not None else 0)
        for size, penalty in kinds
    )
    sizes, penalties = tuple(size for size, _ in kinds), tuple(penalty for _, penalty in kinds)
    return Choices(sizes, penalties, units, tuple(kind_of.count(number) for number in range(len(kinds)))), tuple(
        kind_of
    )


def _base(
    problem: Problem, device: Device, prices: Prices, times: NDArray[np.int64], used: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return what every run costs with nothing left with the host."""
    kind, shape = device.kind, problem.shape_of(device.node)
    base: NDArray[np.int64] = times.astype(prices.dtype) * prices.time + prices.stage
    if kind.counts_whole and prices.offload:
        whole = _sums([block.weight_bytes // prices.grain_bytes for block in shape.blocks])
        base = base + whole.astype(prices.dtype) * prices.offload
    if prices.resource is not None and prices.use:
        if prices.resource in kind.draws:
            base = base + (used.astype(prices.dtype) + kind.held_bytes) * prices.use
        if kind.host == prices.resource:
            base[0, :] = base[0, :] + shape.ends.host_bytes * prices.use
    return base


def _allowed(problem: Problem, device: Device, cap: int) -> NDArray[np.bool_]:
    """Return which runs the rules let the device hold: as many blocks as asked for and measured, pins, first, last."""
    count, name, rules = len(problem.items), device.node.name, problem.rules
    starts, ends = np.arange(count + 1)[:, None], np.arange(count + 1)[None, :]
    allowed = (ends - starts >= max(rules.min_blocks, 1)) & (cap >= 0)
    if device.kind.stage_ns is not None:
        allowed &= ends - starts <= len(device.kind.stage_ns)
    for item, pinned in rules.pins:
        inside = (starts <= item) & (item < ends)
        allowed &= inside if pinned == name else ~inside
    if rules.first is not None:
        allowed &= (starts == 0) == (rules.first == name)
    if rules.last is not None:
        allowed &= (ends == count) == (rules.last == name)
    return allowed


def _with_sets(
    base: NDArray[np.int64],
    allowed: NDArray[np.bool_],
    excess: NDArray[np.int64],
    slack: NDArray[np.int64] | None,
    sets: Sets | None,
    kind_of: Sequence[int],
    prices: Prices,
) -> NDArray[np.int64]:
    """Return the costs of all runs: base costs where nothing needs to be left, else with the cheapest set."""
    pressed = excess > 0
    if slack is not None:
        pressed |= slack < 0
    costs = np.where(allowed & ~pressed, base, prices.never)
    if sets is None:
        return costs
    choices = sets.choices
    if any(unit < 0 for unit in choices.units):
        pressed = np.ones_like(pressed)
    counts = np.stack([_sums([int(kind == number) for kind in kind_of]) for number in range(len(choices.units))])
    sizes = np.array(choices.relieved_bytes, dtype=np.int64)
    pressed &= allowed & (np.tensordot(sizes, counts, axes=1) >= excess)
    starts, ends = np.nonzero(pressed)
    needs = Needs(counts[:, starts, ends].T, excess[starts, ends], None if slack is None else slack[starts, ends])
    costs[starts, ends] = np.minimum(base[starts, ends] + sets.least(needs), prices.never)
    return costs
