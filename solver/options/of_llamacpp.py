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
from solver.engines.llamacpp.profile import DEFAULT_BUILD, profile_of
from solver.engines.llamacpp.seats import seats_of
from solver.errors import InputError
from solver.options.cuts import Cutter
from solver.options.kinds import Family, Kind
from solver.problem import Rules
from tensors.errors import TensorsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solver.effort import Effort
    from solver.options.kinds import DeviceType
    from solver.workload import Workload
    from tensors.inventory import Inventory

__all__ = ["MOST_DEVICES", "LlamacppBase", "LlamacppBases"]

MOST_DEVICES: Final = 16
"""Devices that one run takes at most (ggml/src/ggml-backend.cpp, GGML_SCHED_MAX_BACKENDS)."""

_WITHOUT_LIMIT: Final = 2**50
_NO_RULES: Final = Rules(pins=(), first=None, last=None, order=(), exclude=(), max_nodes=None, min_blocks=1)


@dataclass(frozen=True, slots=True)
class LlamacppBase:
    """A problem for devices of some types. `aside_bytes` is what the engine takes off the budget of each type.

    `host_bytes` must fit in the host memory of the machine that the program is started on, beside its devices.
    """

    cutter: Cutter
    aside_bytes: Mapping[DeviceType, int]
    host_bytes: int

    def budget(self, kind: Kind) -> int:
        """Return what blocks may take of a memory."""
        return max(kind.allowed_bytes - self.aside_bytes[kind.type], 0)

    def least_devices(self, kind: Kind) -> int | None:
        """Return the fewest devices of a kind that hold the model, up to what one run takes; None if none do."""
        return self.cutter.fewest((self.budget(kind),) * MOST_DEVICES)


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
        aside = {kind: _WITHOUT_LIMIT - node.budget_bytes for kind, node in zip(ordered, problem.nodes, strict=False)}
        apart = all(kind.family is Family.CARD for kind in ordered)
        return LlamacppBase(Cutter(problem, self._effort), aside, self._host_bytes(cluster) if apart else 0)

    def _host_bytes(self, cluster: Cluster) -> int:
        """Return what stays in the host memory of the machine that the program is started on, as the engine has it."""
        profile = profile_of(DEFAULT_BUILD)
        settings = planned_settings(profile, self._inventory, self._workload)
        backends = tuple({seat.backend.name: seat.backend for seat in seats_of(cluster, frozenset())}.values())
        weights = weight_need(profile, self._inventory, settings, backends, on_host=False)
        compute = compute_need(profile, self._inventory, settings, backends, devices=MOST_DEVICES)
        return weights.host_bytes + compute.output_bytes + compute.host_bytes
