"""The problem of one model again with a setting changed: what suggestions try out when nothing fits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from solver.cluster import Reserve
from solver.errors import InputError
from tensors.architecture import MissingFact
from tensors.cache import cache_type
from tensors.errors import TensorsError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solver.cluster import Cluster, ClusterNode
    from solver.engines.generic import EnginePlan
    from solver.problem import Problem, Rules
    from solver.workload import Choices, Workload
    from tensors.inventory import Inventory

__all__ = ["ModelVariants"]


@dataclass(frozen=True, slots=True)
class ModelVariants:
    """A model on a cluster under a workload, rules and choices; `build` makes an engine's problem of the five."""

    inventory: Inventory
    cluster: Cluster
    workload: Workload
    rules: Rules
    choices: Choices
    build: Callable[[Inventory, Cluster, Workload, Rules, Choices], EnginePlan]

    @property
    def reserve_fraction(self) -> Fraction:
        """Return the largest share of a memory that is in reserve."""
        return max(Fraction(node.reserve_bytes, node.memory_bytes) for node in self.cluster.nodes)

    def with_context(self, context_tokens: int) -> Problem:
        """Return the problem at another context per sequence."""
        return self._problem(replace(self.workload, context_tokens=context_tokens))

    def with_cache_type(self, name: str) -> Problem | None:
        """Return the problem with keys and values of a type, or None if that saves nothing."""
        if self.workload.cache_bytes_per_token is not None or isinstance(
            self.inventory.architecture.cache, MissingFact
        ):
            return None
        if _bytes_a_value(name) >= max(map(_bytes_a_value, (self.workload.cache_type_k, self.workload.cache_type_v))):
            return None
        try:
            return self._problem(replace(self.workload, cache_type_k=name, cache_type_v=name))
        except (InputError, TensorsError):
            # Not every engine takes every type.
            return None

    def with_reserve(self, fraction: Fraction) -> Problem:
        """Return the problem with at most this share of each memory in reserve."""
        nodes = tuple(_with_reserve(node, fraction) for node in self.cluster.nodes)
        return self._built(replace(self.cluster, nodes=nodes), self.workload)

    @property
    def idle_processors(self) -> tuple[str, ...]:
        """Return the machines whose processors could take blocks beside their cards and are not said to."""
        return tuple(
            node.name
            for node in self.cluster.nodes
            if (node.gpus or node.unified) and not node.cpu and node.pool_budget_bytes > 0
            if node.name not in self.rules.exclude
        )

    def with_processors(self, machines: Sequence[str]) -> Problem | None:
        """Return the problem in which processors of machines take blocks, or None where rules or engine forbid it."""
        nodes = tuple(replace(node, cpu=node.cpu or node.name in machines) for node in self.cluster.nodes)
        try:
            problem = self._built(replace(self.cluster, nodes=nodes), self.workload)
        except (InputError, TensorsError):
            # A rule may name the one device that a machine had.
            return None
        taking = {node.machine for node in problem.nodes if node.name.endswith("/cpu")}
        return problem if taking.issuperset(machines) else None

    def _problem(self, workload: Workload) -> Problem:
        return self._built(self.cluster, workload)

    def _built(self, cluster: Cluster, workload: Workload) -> Problem:
        return self.build(self.inventory, cluster, workload, self.rules, self.choices).problem


def _bytes_a_value(name: str) -> Fraction:
    kind = cache_type(name)
    return Fraction(kind.block_bytes, kind.block_values)


def _with_reserve(node: ClusterNode, fraction: Fraction) -> ClusterNode:
    reserve = Reserve(
        fraction=min(node.reserve.fraction, fraction),
        floor_bytes=min(node.reserve.floor_bytes, ceil(fraction * node.memory_bytes)),
    )
    return replace(node, reserve=reserve)
