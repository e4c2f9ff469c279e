"""Exact options on unlike memories: the fewest cards, unified memories and hosts that hold the model only together.

A kind that holds it by itself takes part with fewer than it would then need, so that all parts are needed. Of m devices
the m largest suffice if any do: the least m is exact. Which nodes they are in is searched for, few nodes first.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Final

from solver.options.kinds import Family
from solver.options.like import host_label
from solver.options.of_llamacpp import MOST_DEVICES
from solver.options.option import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from solver.options.kinds import DeviceType, Kind, Machine
    from solver.options.of_llamacpp import DeviceCut, LlamacppBase
    from solver.options.supply import Supply

__all__ = ["Mix", "fewest_unlike", "free_now", "unlike_place"]

_MOST_TRIES: Final = 2000
_MOST_CUTS: Final = 6


@dataclass(frozen=True, slots=True)
class Mix:
    """Devices of unlike kinds, the largest first, with the machine of each, and the cut over them."""

    devices: tuple[tuple[Kind, Machine], ...]
    cut: DeviceCut

    @property
    def kinds(self) -> dict[Kind, int]:
        """Return how many there are of each kind, the largest first."""
        found: dict[Kind, int] = {}
        for kind, _ in self.devices:
            found[kind] = found.get(kind, 0) + 1
        return found

    @property
    def nodes(self) -> int:
        """Return how many machines they are in."""
        return len({machine.position for _, machine in self.devices})


def fewest_unlike(
    base: LlamacppBase, supply: Supply, types: frozenset[DeviceType], caps: Mapping[Kind, int | None]
) -> tuple[Mix, ...]:
    """Return the mixes of memories of exactly these types with the fewest devices, on the fewest nodes.

    Of many the first few, those with most memory first: which are free now must not decide what is an option.

    `caps` has, for every kind, how many of it would suffice alone; None where none would.
    """
    most = _offered(base, supply, types, caps)
    ordered = sorted(most, key=lambda kind: (-base.budget(kind), kind))
    devices = [kind for kind in ordered for _ in range(min(most[kind], MOST_DEVICES))][:MOST_DEVICES]
    count = base.cutter.fewest(_budgets(base, devices))
    if count is None or count < 2:  # noqa: PLR2004 - unlike ones
        return ()
    found = _on_fewest(base, supply, most, ordered, count)
    return tuple(mix for mix in found if {kind.type for kind in mix.kinds} == types)


def unlike_place(mix: Mix) -> Place:
    """Return the place of a mix."""
    kinds = mix.kinds
    families = {kind.type.family for kind in kinds}
    names: dict[str, int] = {}
    for kind, count in kinds.items():
        name = host_label(kind) if kind.type.family is Family.HOST else kind.label
        names[name] = names.get(name, 0) + count
    listed = " + ".join(f"{count} × {name}" for name, count in names.items())
    return Place(
        cpu=Family.HOST in families,
        gpu_class=" + ".join(dict.fromkeys(kind.label for kind in kinds if kind.type.family is not Family.HOST)),
        fabric="",
        gpus_per_node=None,
        nodes=mix.nodes,
        cards=len(mix.devices),
        label=listed if mix.nodes == 1 else f"{mix.nodes} nodes: {listed}",
    )


def free_now(mix: Mix, supply: Supply) -> bool | None:
    """Return whether as many of each kind are free on as many machines; None where nobody says it."""
    wanted = mix.kinds
    if any(kind.type.family is Family.HOST for kind in wanted):
        return None
    key = (tuple(sorted(wanted.items())), mix.nodes)
    if key not in supply.free_mixes:
        supply.free_mixes[key] = _has_free(wanted, mix.nodes, supply)
    return supply.free_mixes[key]


def _has_free(wanted: Mapping[Kind, int], nodes: int, supply: Supply) -> bool | None:
    answers = []
    for having in (supply.surely_free, supply.perhaps_free):
        found = _cover(wanted, _few_of_each(having, wanted))
        answers.append(found is not None and len(found) <= nodes)
    return True if answers[0] else None if answers[1] else False


def _few_of_each(
    having: Sequence[tuple[Machine, Mapping[Kind, int]]], wanted: Mapping[Kind, int]
) -> list[tuple[Machine, Mapping[Kind, int]]]:
    """Return machines that have what is wanted, of those that have as much no more than could be of use."""
    most = sum(wanted.values())
    seen: dict[tuple[int, ...], int] = {}
    found = []
    for machine, counts in having:
        useful = tuple(min(counts.get(kind, 0), number) for kind, number in wanted.items())
        seen[useful] = seen.get(useful, 0) + 1
        if any(useful) and seen[useful] <= most:
            found.append((machine, counts))
    return found


def _offered(
    base: LlamacppBase, supply: Supply, types: frozenset[DeviceType], caps: Mapping[Kind, int | None]
) -> dict[Kind, int]:
    """Return how many of each kind may take part: what there is, and fewer than suffice alone."""
    found: dict[Kind, int] = {}
    for offer in (*supply.kinds, *supply.hosts):
        if offer.kind.type not in types or base.budget(offer.kind) <= 0:
            continue
        cap = caps[offer.kind]
        most = offer.total if cap is None else min(offer.total, cap - 1)
        if most > 0:
            found[offer.kind] = most
    return found


def _budgets(base: LlamacppBase, kinds: Sequence[Kind]) -> tuple[int, ...]:
    return tuple(sorted((base.budget(kind) for kind in kinds), reverse=True))


def _on_fewest(
    base: LlamacppBase, supply: Supply, most: Mapping[Kind, int], ordered: Sequence[Kind], count: int
) -> list[Mix]:
    """Return mixes of so many devices on the fewest machines that a search of bounded length finds."""
    machines = [(machine, _useful(machine, most)) for machine in supply.machines]
    useful = [(machine, counts) for machine, counts in machines if counts]
    sorts: dict[tuple[tuple[Kind, int], ...], list[Machine]] = {}
    for machine, counts in useful:
        sorts.setdefault(tuple(sorted(counts.items())), []).append(machine)
    mixes: list[Mix] = []
    # By kinds whether there is a cut; it may depend on the machines that they are in.
    tried: dict[tuple[Kind, ...], bool] = {}
    for chosen in _sets_of_machines(sorts, count):
        if len(tried) >= _MOST_CUTS or (mixes and len(chosen) > mixes[0].nodes):
            break
        devices = _largest(chosen, most, ordered, count)
        kinds = tuple(kind for kind, _ in devices)
        if len(kinds) < count or tried.get(kinds, False) or not base.cutter.can_fit(_budgets(base, kinds)):
            continue
        if not _has_head(base, chosen):
            continue
        cut = _cut(base, devices)
        tried[kinds] = cut is not None
        if cut is not None:
            mixes.append(Mix(tuple(devices), cut))
    return mixes or _on_any(base, useful, ordered, most, count)


def _useful(machine: Machine, most: Mapping[Kind, int]) -> dict[Kind, int]:
    counts = dict(machine.counts)
    if not machine.seats and machine.host is not None:
        counts[machine.host] = 1
    return {kind: min(number, most[kind]) for kind, number in counts.items() if kind in most}


def _sets_of_machines(
    sorts: Mapping[tuple[tuple[Kind, int], ...], list[Machine]], devices: int
) -> Iterator[tuple[Machine, ...]]:
    """Yield sets of machines, few machines first, of each size those with most memory first, up to a limit in all."""
    keys = sorted(sorts, key=lambda key: -sum(kind.allowed_bytes * number for kind, number in key))
    widest = max(sum(number for _, number in key) for key in keys) if keys else 1
    tries = 0
    for size in range(-(-devices // widest), devices + 1):
        for combination in combinations_with_replacement(range(len(keys)), size):
            tries += 1
            if tries > _MOST_TRIES:
                return
            wanted = {one: combination.count(one) for one in combination}
            if all(number <= len(sorts[keys[one]]) for one, number in wanted.items()):
                yield tuple(machine for one, number in wanted.items() for machine in sorts[keys[one]][:number])


def _largest(
    machines: Sequence[Machine], most: Mapping[Kind, int], ordered: Sequence[Kind], count: int
) -> list[tuple[Kind, Machine]]:
    """Return the largest devices of machines, of no kind more than may take part, every machine with one at least."""
    having = [(machine, _useful(machine, most)) for machine in machines]
    found: list[tuple[Kind, Machine]] = []
    for kind in ordered:
        of_kind = [(kind, machine) for machine, counts in having for _ in range(counts.get(kind, 0))]
        found.extend(of_kind[: most[kind]])
    return found[:count]


def _cut(base: LlamacppBase, devices: Sequence[tuple[Kind, Machine]]) -> DeviceCut | None:
    """Return the cut over devices, of which those of one machine follow one another."""
    numbers: dict[int, int] = {}
    for _, machine in devices:
        numbers.setdefault(machine.position, len(numbers))
    return base.cut([kind for kind, _ in devices], [numbers[machine.position] for _, machine in devices])


def _has_head(base: LlamacppBase, machines: Sequence[Machine]) -> bool:
    """Return whether a machine has room beside its devices for what the program keeps where it is started."""
    if base.host_bytes == 0:
        return True
    return any(one.host is not None and one.host.allowed_bytes >= base.host_bytes for one in machines)


def _on_any(
    base: LlamacppBase,
    useful: Sequence[tuple[Machine, dict[Kind, int]]],
    ordered: Sequence[Kind],
    most: Mapping[Kind, int],
    count: int,
) -> list[Mix]:
    """Return the mix of the largest devices on as few machines as hold just these."""
    devices = [kind for kind in ordered for _ in range(most[kind])][:count]
    wanted = {kind: devices.count(kind) for kind in devices}
    taken = _cover(wanted, useful)
    if taken is None or not _has_head(base, taken):
        return []
    found = _largest(taken, wanted, [kind for kind in ordered if kind in wanted], count)
    cut = _cut(base, found)
    return [] if cut is None or len(found) < count else [Mix(tuple(found), cut)]


def _cover(wanted: Mapping[Kind, int], useful: Sequence[tuple[Machine, Mapping[Kind, int]]]) -> list[Machine] | None:
    """Return machines that have what is wanted, each time the one that has most of what is still missing."""
    missing = dict(wanted)
    left = list(useful)
    taken: list[Machine] = []
    while any(missing.values()):
        best = max(
            range(len(left)),
            key=lambda one: sum(min(missing[kind], left[one][1].get(kind, 0)) for kind in missing),
            default=None,
        )
        if best is None:
            return None
        machine, counts = left.pop(best)
        gained = {kind: min(number, counts.get(kind, 0)) for kind, number in missing.items()}
        if not any(gained.values()):
            return None
        missing = {kind: number - gained[kind] for kind, number in missing.items()}
        taken.append(machine)
    return taken
