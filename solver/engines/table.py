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
    from solver.workload import Workload
    from tensors.inventory import Inventory

__all__ = ["ENGINES", "Engine"]


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine. `indexer` is which blocks keep indexer keys where nobody says it; `build` makes the problem.

    `given_cache` says that a number of cache bytes a token may stand for the engine's own rule, `resident_nextn` that
    it can be planned with its multi-token prediction blocks.
    """

    name: EngineName
    indexer: IndexerRule
    given_cache: bool
    resident_nextn: bool
    build: Callable[[Inventory, Cluster, Workload, Rules], EnginePlan]


# What an engine needs is imported when it is asked for.
def _llamacpp(inventory: Inventory, cluster: Cluster, workload: Workload, rules: Rules) -> EnginePlan:
    from solver.engines.llamacpp.problem import llamacpp  # noqa: PLC0415

    return llamacpp(inventory, cluster, workload, rules)


def _vllm(inventory: Inventory, cluster: Cluster, workload: Workload, rules: Rules) -> EnginePlan:
    from solver.engines.vllm import vllm  # noqa: PLC0415

    return _of_ranks(vllm(inventory, cluster, workload, rules))


def _sglang(inventory: Inventory, cluster: Cluster, workload: Workload, rules: Rules) -> EnginePlan:
    from solver.engines.sglang import sglang  # noqa: PLC0415

    return _of_ranks(sglang(inventory, cluster, workload, rules))


def _of_ranks(served: ServedProblem) -> EnginePlan:
    return EnginePlan(problem=served.problem, notes=served.notes, build=served.profile.build, served=served)


ENGINES = {
    engine.name: engine
    for engine in (
        Engine(EngineName.GENERIC, IndexerRule.CONSERVATIVE, given_cache=True, resident_nextn=True, build=generic),
        Engine(EngineName.LLAMACPP, IndexerRule.OPTIMIZED, given_cache=False, resident_nextn=False, build=_llamacpp),
        Engine(EngineName.VLLM, IndexerRule.CONSERVATIVE, given_cache=True, resident_nextn=True, build=_vllm),
        Engine(EngineName.SGLANG, IndexerRule.CONSERVATIVE, given_cache=True, resident_nextn=True, build=_sglang),
    )
}
