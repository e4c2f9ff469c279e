"""The engines by name: who turns a model, a cluster and a request into a problem, and what each takes by default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from solver.engines.generic import EnginePlan, generic
from solver.workload import EngineName, IndexerRule

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.cluster import Cluster
    from solver.engines.servers.build import ServedProblem
    from solver.problem import Rules
    from solver.workload import Choices, Workload
    from tensors.inventory import Inventory

__all__ = ["ENGINES", "Engine"]


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine. `indexer` is which blocks keep indexer keys where nobody says it; `build` makes the problem.

    `given_cache` says that a number of cache bytes a token may stand for the engine's own rule, `resident_nextn` that
    it can be planned with its multi-token prediction blocks. `offloads` and `groups` say that it can leave weights with
    a host, and that several cards can share every block.
    """

    name: EngineName
    indexer: IndexerRule
    given_cache: bool
    resident_nextn: bool
    offloads: bool
    groups: bool
    build: Callable[[Inventory, Cluster, Workload, Rules, Choices], EnginePlan]


# What an engine needs is imported when it is asked for.
def _llamacpp(inventory: Inventory, cluster: Cluster, workload: Workload, rules: Rules, choices: Choices) -> EnginePlan:
    from solver.engines.llamacpp.problem import llamacpp  # noqa: PLC0415

    return llamacpp(inventory, cluster, workload, rules, choices)


def _vllm(inventory: Inventory, cluster: Cluster, workload: Workload, rules: Rules, choices: Choices) -> EnginePlan:
    from solver.engines.vllm import PROFILE, vllm  # noqa: PLC0415

    return _of_ranks(vllm(inventory, cluster, workload, rules, PROFILE.settings(choices.width)))


def _sglang(inventory: Inventory, cluster: Cluster, workload: Workload, rules: Rules, choices: Choices) -> EnginePlan:
    from solver.engines.sglang import PROFILE, sglang  # noqa: PLC0415

    return _of_ranks(sglang(inventory, cluster, workload, rules, PROFILE.settings(choices.width)))


def _of_ranks(served: ServedProblem) -> EnginePlan:
    return EnginePlan(problem=served.problem, notes=served.notes, build=served.profile.build, served=served)


def _engine(
    name: EngineName,
    indexer: IndexerRule,
    build: Callable[[Inventory, Cluster, Workload, Rules, Choices], EnginePlan],
    *,
    fixed_cache: bool = False,
    offloads: bool,
    groups: bool,
) -> Engine:
    free = not fixed_cache
    return Engine(name, indexer, given_cache=free, resident_nextn=free, offloads=offloads, groups=groups, build=build)


ENGINES = {
    engine.name: engine
    for engine in (
        _engine(EngineName.GENERIC, IndexerRule.CONSERVATIVE, generic, offloads=True, groups=True),
        _engine(EngineName.LLAMACPP, IndexerRule.OPTIMIZED, _llamacpp, fixed_cache=True, offloads=True, groups=False),
        _engine(EngineName.VLLM, IndexerRule.CONSERVATIVE, _vllm, offloads=False, groups=True),
        _engine(EngineName.SGLANG, IndexerRule.CONSERVATIVE, _sglang, offloads=False, groups=True),
    )
}
