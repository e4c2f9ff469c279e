"""A GGUF artifact as llama.cpp holds it: one problem for each set of device types, whatever devices there are of them.

The engine is asked for as many devices as one run takes, of memories without limit. What it takes off the budget of a
device is then known by type, and any devices of these types can stand in their place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from solver.cluster import Cluster
from solver.engines.llamacpp.needs import compute_need, planned_settings, weight_need
from solver.engines.llamacpp.problem import llamacpp
from solver.engines.llamacpp.profile import CPU, DEFAULT_BUILD, profile_of
from solver.engines.llamacpp.seats import seats_of
from solver.errors import InputError
from solver.options.cuts import Cutter
from solver.options.kinds import Family, Kind
from solver.problem import Rules
from tensors.errors import TensorsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from solver.effort import Effort
    from solver.engines.llamacpp.facts import Backend
    from solver.engines.llamacpp.needs import ComputeNeed
    from solver.options.cuts import Cut
    from solver.options.kinds import DeviceType
    from solver.problem import Problem
    from solver.workload import Workload
    from tensors.inventory import Inventory

__all__ = ["MOST_DEVICES", "DeviceCut", "LlamacppBase", "LlamacppBases"]

MOST_DEVICES: Final = 16
"""Devices that one run takes at most (ggml/src/ggml-backend.cpp, GGML_SCHED_MAX_BACKENDS)."""

_WITHOUT_LIMIT: Final = 2**50
_NO_RULES: Final = Rules(pins=(), first=None, last=None, order=(), exclude=(), max_nodes=None, min_blocks=1)


@dataclass(frozen=True, slots=True)
class DeviceCut:
    """A cut over devices, with what is set aside of the budget of each."""

    cut: Cut
    aside_bytes: tuple[int, ...]


class LlamacppBase:
    """A problem for devices of some types.

    `host_bytes` must fit in the host memory of the machine that the program is started on, beside its devices.
    """

    def __init__(self, problem: Problem, effort: Effort, aside_bytes: Mapping[DeviceType, int], needs: _Needs) -> None:
        self.cutter = Cutter(problem, effort)
        self.host_bytes = needs.host_bytes
        self._aside_bytes = aside_bytes
        self._needs = needs

    def budget(self, kind: Kind) -> int:
        """Return what blocks may take of a memory."""
        return max(kind.allowed_bytes - self._aside_bytes[kind.type], 0)

    def cut(self, kinds: Sequence[Kind], machines: Sequence[int] = ()) -> DeviceCut | None:
        """Return the cut over devices of these kinds, None where there is none.

        `machines` numbers the machine of each, where it matters that those of one follow one another.

        What a device computes in is that of as many devices as one run takes. With fewer of them it may be a little
        more, which is asked for where so little room is left that it could matter.
        """
        budgets = tuple(self.budget(kind) for kind in kinds)
        cut = self.cutter.cut(budgets, tuple(machines))
        more = 0
        if cut is not None and cut.room_bytes < self._needs.compute_bytes:
            more = self._needs.more_with(len(kinds))
            less = tuple(max(budget - more, 0) for budget in budgets)
            cut = self.cutter.cut(less, tuple(machines)) if more else cut
        return None if cut is None else DeviceCut(cut, tuple(self._aside_bytes[kind.type] + more for kind in kinds))

    def least_devices(self, kind: Kind) -> int | None:
        """Return the fewest devices of a kind that hold the model, up to what one run takes; None if none do."""
        fewest = self.cutter.fewest((self.budget(kind),) * MOST_DEVICES)
        if fewest is None:
            return None
        return next((count for count in range(fewest, MOST_DEVICES + 1) if self.cut((kind,) * count) is not None), None)

    def longest_context(self, kinds: Sequence[Kind]) -> int | None:
        """Return the longest context over these devices by the growth of caches alone; None where none grows."""
        return self.cutter.longest_context(tuple(self.budget(kind) for kind in kinds))


class _Needs:
    """What one model computes in on devices of some kinds of backend, and what its host keeps."""

    def __init__(self, inventory: Inventory, workload: Workload, backends: tuple[Backend, ...], *, apart: bool) -> None:
        self._inventory = inventory
        self._backends = backends
        self._profile = profile_of(DEFAULT_BUILD)
        self._settings = planned_settings(self._profile, inventory, workload)
        self._most = self._with(MOST_DEVICES)
        self._more: dict[int, int] = {MOST_DEVICES: 0}
        self.host_bytes = self._on_host() if apart else 0

    @property
    def compute_bytes(self) -> int:
        """Return what a device computes in where there are as many as one run takes."""
        return self._most.device_bytes

    def more_with(self, devices: int) -> int:
        """Return how much more it may be with so many."""
        if devices not in self._more:
            self._more[devices] = max(self._with(devices).device_bytes - self.compute_bytes, 0)
        return self._more[devices]

    def _with(self, devices: int) -> ComputeNeed:
        return compute_need(self._profile, self._inventory, self._settings, self._backends, moved=None, devices=devices)

    def _on_host(self) -> int:
        """Return what stays on the host that the program is started on, as the engine has it where cards are apart."""
        weights = weight_need(self._profile, self._inventory, self._settings, self._backends, on_host=False)
        return weights.host_bytes + self._most.output_bytes + self._most.host_bytes


class LlamacppBases:
    """The problems of one artifact, made when they are asked for."""

    def __init__(self, inventory: Inventory, workload: Workload, effort: Effort) -> None:
        self._inventory = inventory
        self._workload = workload
        self._effort = effort
        self._known: dict[frozenset[DeviceType], LlamacppBase | None] = {}
        self.refusal = ""

    def of(self, types: frozenset[DeviceType]) -> LlamacppBase | None:
        """Return the problem for devices of these types; None where the engine refuses, and `refusal` says why."""
        if types not in self._known:
            try:
                self._known[types] = self._build(types)
            except (InputError, TensorsError) as error:
                self.refusal = str(error)
                self._known[types] = None
        return self._known[types]

    @property
    def is_open(self) -> bool:
        """Return whether a question was left without an answer."""
        return any(base.cutter.is_open for base in self._known.values() if base is not None)

    def _build(self, types: frozenset[DeviceType]) -> LlamacppBase:
        ordered = sorted(types)
        kinds = [Kind(kind, "any", _WITHOUT_LIMIT, _WITHOUT_LIMIT) for kind in ordered]
        nodes = tuple(
            kinds[number % len(kinds)].machine(str(number), 1, _WITHOUT_LIMIT) for number in range(MOST_DEVICES)
        )
        cluster = Cluster(nodes, latency_ns=0, bytes_per_second=None, links=())
        problem = llamacpp(self._inventory, cluster, self._workload, _NO_RULES).problem
        aside = {kind: node.held_bytes for kind, node in zip(ordered, problem.nodes, strict=False)}
        apart = all(kind.family is Family.CARD for kind in ordered)
        backends = tuple({seat.backend.name: seat.backend for seat in seats_of(cluster, frozenset())}.values())
        if any(kind.family is Family.HOST for kind in ordered):
            backends = (*backends, CPU)
        needs = _Needs(self._inventory, self._workload, backends, apart=apart)
        return LlamacppBase(problem, self._effort, aside, needs)
