"""Small plans of every outcome: of a model of six blocks on four machines, and of abstract problems."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from solver.cluster_file import parse_cluster
from solver.engines.generic import generic
from solver.objectives import OBJECTIVES, objectives_named
from solver.planning import Plan, Setting, plan, project
from solver.problem import Placement, Stage
from solver.solution import Bound, Level, Outcome, Solution, Unreached
from solver.workload import IndexerRule, Workload
from support.problems import NO_RULES, problem_of
from tensors.architecture import Architecture
from tensors.cache import CacheKind, CacheTerm
from tensors.inventory import Inventory, Part, Role, Tensor
from tensors.units import GIB

if TYPE_CHECKING:
    from solver.limits import Value
    from solver.problem import Rules

FOUR_MACHINES = """
[reserve]
fraction = 0.20
floor = "8 GiB"

[[node]]
name = "desk"
count = 2
memory = "32 GiB"

[[node]]
name = "studio"
memory = "64 GiB"
unified = true
ceiling = "20 GiB"
reserve = { fraction = 0.25, floor = "8 GiB" }

[[node]]
name = "pocket"
memory = "8 GiB"

[links]
latency = "0.5 ms"
rate = "2.5 Gbit/s"
pair = [{ from = "studio", to = "desk-1", latency = "300 ns", rate = "10 Gbit/s" }]
"""

REQUEST = Workload(
    context_tokens=16384,
    sequences=1,
    cache_type_k="q8_0",
    cache_type_v="q8_0",
    indexer=IndexerRule.CONSERVATIVE,
    resident_nextn=False,
    cache_bytes_per_token=None,
)


def six_blocks(name: str = "Six") -> Inventory:
    """Return a model of six equal blocks with a sparse indexer, both ends, and one block for multi-token prediction."""
    blocks = [_tensor(f"blk.{block}", 5 * GIB, Part.TRUNK, block) for block in range(6)]
    return Inventory(
        name=name,
        format="gguf",
        files=(),
        tensors=(
            _tensor("embedding", GIB, Part.INPUT, None),
            *blocks,
            _tensor("blk.6", 2 * GIB, Part.NEXTN, 6),
            _tensor("output", GIB, Part.HEAD, None),
        ),
        trunk_blocks=6,
        nextn_blocks=1,
        tied=False,
        architecture=Architecture(
            family="six",
            trunk_blocks=6,
            nextn_blocks=1,
            hidden_size=6144,
            vocabulary_size=None,
            context_tokens=131072,
            heads=None,
            experts=None,
            index_topk=2048,
            index_block_tokens=None,
            banked_every=None,
            full_indexer_blocks=(0, 2),
            tied=False,
            cache=tuple(
                CacheTerm(CacheKind.LATENT, block, 1, 65536, 0, 0, None, 1, own_indices=True) for block in range(7)
            ),
        ),
        header_sha256="0" * 64,
        notes=(),
    )


def model_plan(
    inventory: Inventory, workload: Workload = REQUEST, cluster_text: str = FOUR_MACHINES, rules: Rules = NO_RULES
) -> Plan:
    """Plan a model on the machines of a cluster file."""
    cluster = parse_cluster(cluster_text, "machines.toml")
    placed = generic(inventory, cluster, workload, rules)
    return plan(placed.problem, setting=Setting(inventory, cluster, workload, "generic", placed.notes, None, None))


def stopped_plan(*, interrupted: bool, bound: Value | None = Fraction(3, 4), wall_ms: int = 60_000) -> Plan:
    """Return the plan of a search that proved the number of nodes and knew no more than `bound` of the balance."""
    problem = problem_of((5, 9, 3, 4), (10, 12, 9))
    placement = Placement((Stage(0, 1, "n0"), Stage(1, 2, "n1"), Stage(2, 4, "n2")))
    levels = (
        Level(OBJECTIVES["nodes"], 3, 3, (), "cp-sat"),
        Level(OBJECTIVES["balance"], OBJECTIVES["balance"].cost(problem, placement), bound, (), "none"),
    )
    solution = Solution(Outcome.FEASIBLE, placement, levels, interrupted, 1.5, wall_ms)
    return project(problem, None, solution, placement)


def interrupted_plan() -> Plan:
    """Return the plan of a search that was interrupted after its proofs, before it had chosen a placement."""
    found = plan(problem_of((3,), (5,)))
    return replace(found, solution=replace(found.solution, interrupted=True))


def unknown_plan(*, interrupted: bool) -> Plan:
    """Return the plan of a search that ended before it found anything."""
    objectives = objectives_named("nodes,balance")
    bounds = (Bound("closed form", 2),)
    unreached = (Unreached(objectives[0], 2, bounds), Unreached(objectives[1], None, ()))
    solution = Solution(Outcome.UNKNOWN, None, (), interrupted, 0.0, 60_000, unreached=unreached)
    return Plan(problem_of((5, 9), (10, 12)), None, solution, (), (), None, (), (), (), ())


def _tensor(name: str, size_bytes: int, part: Part, block: int | None) -> Tensor:
    role = Role.EMBEDDING if part is Part.INPUT else Role.OUTPUT if part is Part.HEAD else Role.FEED_FORWARD
    return Tensor(f"{name}.weight", (size_bytes,), "I8", size_bytes, 0, 0, part, role, block)
