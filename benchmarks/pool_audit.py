"""Whether every memory of random plans holds what its budget allows, by the audit alone.

    python -m benchmarks.pool_audit [--plans N] [--first SEED]

Clusters are drawn at random: machines of one to three cards, hosts, unified memories, processors that take blocks,
ceilings, groups of cards. A small expert model is planned on each by way of the whole program: cluster, problem, plan,
document. The document is then audited from its own inputs, and its memories are summed up again from its stages. Prints
every finding, and ends with 1 if there was one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec

import tensors
from solver.claim import claim_from_bytes
from solver.cluster_file import parse_cluster
from solver.effort import Effort
from solver.engines.generic import generic
from solver.errors import AuditError, InputError
from solver.objectives import objectives_named
from solver.planning import Setting, project
from solver.problem import Rules
from solver.recheck import findings
from solver.report.plan_json import PlanInputs, plan_document
from solver.solve import solve
from solver.workload import AUTOMATIC_WIDTH, Choices, IndexerRule, Offload, Workload
from tensors import synthetic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tensors.inventory import Inventory

_RULES = Rules(pins=(), first=None, last=None, order=(), exclude=(), max_nodes=None, min_blocks=1)
_EFFORT = Effort(time_limit_seconds=10.0, deterministic_limit=None, workers=1, seed=0)
_OBJECTIVES = ("nodes,offload,balance", "offload,latency", "balance", "latency", "headroom", "context")


def main() -> int:
    """Plan as many times as the command line asks for, audit every plan, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pool_audit", description="Whether memories hold.")
    parser.add_argument("--plans", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    chosen = parser.parse_args()
    model = small_model()
    counts: Counter[str] = Counter()
    began, seed = time.monotonic(), chosen.first
    while counts["plans"] < chosen.plans:
        for sentence in audited(model, seed, counts):
            print(f"seed {seed}: {sentence}", file=sys.stderr)
            counts["findings"] += 1
        seed += 1
    counts["seconds"] = round(time.monotonic() - began)
    print(", ".join(f"{number} {what}" for what, number in counts.items()))
    return 1 if counts["findings"] else 0


def small_model() -> Inventory:
    """Return a model of six blocks with experts, read from files that are gone when this returns."""
    with tempfile.TemporaryDirectory() as folder:
        return tensors.read(synthetic.write("tiny-experts", folder)[0])


def audited(model: Inventory, seed: int, counts: Counter[str]) -> Iterator[str]:
    """Plan on a random cluster and yield what the audit finds."""
    try:
        document = document_of(model, seed, counts)
    except AuditError as error:
        yield str(error)
        return
    if document is None:
        return
    counts["plans"] += 1
    counts["with something on a host"] += any(stage["offload_bytes"] for stage in document["stages"])
    for finding in findings(claim_from_bytes(msgspec.json.encode(document), "plan")):
        yield f"{finding.place}: {finding.problem}"
    yield from overfull(document)


def document_of(model: Inventory, seed: int, counts: Counter[str]) -> dict[str, Any] | None:
    """Return the document of a plan on a random cluster, None where there is no placement.

    Raises:
        AuditError: the solver contradicts itself.
    """
    random = Random(f"pools {seed}")  # noqa: S311 - clusters need no secrecy
    cluster = parse_cluster(cluster_text(random), "random.toml")
    choices = Choices(random.choice(list(Offload)), random.choice((1, 1, AUTOMATIC_WIDTH)))
    workload = Workload(random.choice((256, 4096)), 1, "q8_0", "q8_0", IndexerRule.CONSERVATIVE, False, None)
    wanted = random.choice(_OBJECTIVES)
    try:
        built = generic(model, cluster, workload, _RULES, choices)
        setting = Setting(model, cluster, workload, "generic", built.notes, None, None, choices)
        solution = solve(built.problem, objectives_named(wanted), _EFFORT)
    except InputError:
        counts["questions that cannot be asked"] += 1
        return None
    counts[solution.outcome.value] += 1
    if solution.placement is None:
        # Why nothing fits is another question.
        return None
    found = project(built.problem, setting, solution, solution.placement)
    options = (("objective", wanted),)
    inputs = PlanInputs(model="tiny-experts", model_path=None, effort=_EFFORT, options=options)
    document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(plan_document(found, inputs, timings=False)))
    return document


def overfull(document: dict[str, Any]) -> Iterator[str]:
    """Yield the memories of a plan whose stages put more into them than their budget, from the document alone."""
    held: Counter[str] = Counter()
    nodes = {node["name"]: node for node in document["inputs"]["problem"]["nodes"]}
    for stage in document["stages"]:
        node = nodes.get(stage["device"], nodes.get(stage["node"], {}))
        of_stage = stage["devices"] if stage["role"] == "group" else [stage["pool"]]
        for pool in of_stage:
            held[pool] += stage["weight_bytes"] + stage["cache_bytes"] + stage["other_bytes"]
        if stage["offload_bytes"]:
            held[node["host_pool"]] += stage["offload_bytes"]
    for pool in document["pools"]:
        if held[pool["pool"]] > pool["budget_bytes"] or pool["load_bytes"] != held[pool["pool"]]:
            yield f"{pool['pool']} holds {held[pool['pool']]} of {pool['budget_bytes']}, {pool['load_bytes']} is said"


def cluster_text(random: Random) -> str:
    """Return a cluster file of one to three random machines, in MiB, with nothing in reserve or a little."""
    parts = ['[reserve]\nfraction = 0.05\nfloor = "0 GiB"\n[links]\nlatency = "0.2 ms"\nrate = "1 Gbit/s"\n']
    parts += [_machine(random, f"m{number}") for number in range(random.randint(1, 3))]
    return "\n".join(parts)


def _machine(random: Random, name: str) -> str:
    text = f'[[node]]\nname = "{name}"\nmemory = "{random.randint(4, 24)} MiB"\n'
    text += f'bandwidth = "{random.randint(2, 9)} GB/s"\n'
    kind = random.random()
    text += "cpu = true\n" if random.random() < 0.3 else ""  # noqa: PLR2004 - now and then
    if kind < 0.2:  # noqa: PLR2004 - one in five
        return f'{text}unified = true\nceiling = "{random.randint(2, 4)} MiB"\n'
    if kind < 0.3:  # noqa: PLR2004 - one in ten
        return text
    groups = ", ".join(
        f'{{ class = "c{number}", memory = "{random.randint(2, 12)} MiB", count = {random.randint(1, 2)}, '
        f'bandwidth = "{random.randint(20, 90)} GB/s" }}'
        for number in range(random.randint(1, 2))
    )
    return f"{text}gpu = [{groups}]\n"


if __name__ == "__main__":
    sys.exit(main())
