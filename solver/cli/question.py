"""What `plan` and `compare` are asked: a model on a cluster, the built-in example, or a problem from a file."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from solver.cli.inputs import cluster_of
from solver.cli.reading import ReadOptions
from solver.cli.rule_names import with_members
from solver.cli.search_flags import RuleOptions
from solver.cli.shared_flags import ClusterOptions, EngineOptions, WorkloadOptions
from solver.engines.table import ENGINES
from solver.engines.variants import ModelVariants
from solver.errors import UsageError
from solver.planning import Setting
from solver.problem_file import checked, read_problem
from solver.workload import EngineName
from tensors.errors import ArchitectureError
from tensors.sources import has_scheme

if TYPE_CHECKING:
    from solver.cli.shared_flags import ProblemOptions
    from solver.cluster import Cluster
    from solver.engines.table import Engine
    from solver.problem import Problem, Rules
    from tensors.inventory import Inventory

__all__ = ["Question", "question_of", "setting_of"]


@dataclass(frozen=True, slots=True)
class Question:
    """A problem with what stands behind it (None for an abstract one); remarks are for standard error."""

    problem: Problem
    setting: Setting | None
    variants: ModelVariants | None
    model_path: str | None
    remarks: tuple[str, ...]


def question_of(
    model: str | None,
    reading: ReadOptions,
    cluster: ClusterOptions,
    problem: ProblemOptions,
    workload: WorkloadOptions,
    engine: EngineOptions,
    rules: RuleOptions,
    command: str = "plan",
) -> Question:
    """Return the question that arguments and flags ask; errors name the command.

    Raises:
        UsageError: flags contradict each other, or no cluster is named.
        InputError, TensorsError: a file or value cannot be meant.
    """
    where = f"layerfit {command}"
    if problem.problem is not None:
        _refuse_beside_problem(where, model, reading, cluster, workload, engine)
        asked = read_problem(problem.problem)
        given = with_members(rules.rules(), [node.name for node in asked.nodes], where)
        merged = replace(asked, rules=_merged(asked.rules, given, rules))
        return Question(checked(merged, where), None, None, None, ())
    machines = cluster_of(cluster, command, has_model=model is not None)
    inventory, remarks = _example() if model is None else (reading.read(model), ())
    if rules.replicas and engine.engine is not EngineName.GENERIC:
        raise UsageError(
            f"{where}, --replicas: {engine.engine} runs one chain of stages, each on one node; expected the engine "
            "generic. Leave one of them out."
        )
    own = with_members(rules.rules(), [node.name for node in machines.nodes], where)
    setting, asked = setting_of(inventory, machines, workload, engine, own, command)
    path = None if model is None or has_scheme(model) else str(Path(model).absolute())
    build = ENGINES[engine.engine].build
    variants = ModelVariants(
        inventory, machines, setting.workload, replace(own, replicas=False), setting.choices, build
    )
    return Question(checked(asked, where), setting, variants, path, remarks)


def setting_of(
    inventory: Inventory,
    cluster: Cluster,
    options: WorkloadOptions,
    engine: EngineOptions,
    rules: Rules,
    command: str = "plan",
) -> tuple[Setting, Problem]:
    """Return the setting and the problem of a model on a cluster.

    Raises:
        UsageError: a flag asks for what the engine's rules have no place for.
        ArchitectureError: the cache cannot be sized.
    """
    chosen = ENGINES[engine.engine]
    _refuse_beside_engine(command, chosen, options, engine)
    choices = engine.choices
    workload = options.workload(engine.engine, inventory.architecture.context_tokens)
    if options.indexer is None:
        workload = replace(workload, indexer=chosen.indexer)
    try:
        placed = chosen.build(inventory, cluster, workload, rules, choices)
    except ArchitectureError as error:
        if not chosen.given_cache:
            raise
        advice = "Give --cache-bytes-per-token to plan without that rule."
        raise ArchitectureError(error.model, f"{error.problem} {advice}") from None
    setting = Setting(
        inventory, cluster, workload, engine.engine.value, placed.notes, placed.build, placed.served, choices
    )
    return setting, placed.problem


def _refuse_beside_engine(
    command: str, engine: Engine, options: WorkloadOptions, asked_of_engine: EngineOptions
) -> None:
    """Refuse what an engine does in one way alone."""
    asked = {
        "--cache-bytes-per-token": options.cache_bytes_per_token is not None and not engine.given_cache,
        "--indexer": options.indexer not in (None, engine.indexer) and not engine.given_cache,
        "--resident-nextn": options.resident_nextn and not engine.resident_nextn,
        "--offload": asked_of_engine.offload is not None and not engine.offloads,
        "--tensor-parallel": asked_of_engine.tensor_parallel not in (None, 1) and not engine.groups,
    }
    for flag, is_refused in asked.items():
        if is_refused:
            raise UsageError(
                f"layerfit {command}, {flag}: the rules of {engine.name} leave no choice there; expected it without. "
                "Leave it out."
            )


def _example() -> tuple[Inventory, tuple[str, ...]]:
    from tensors.synthetic import example_inventory  # noqa: PLC0415 - made only when nothing is named

    remark = "No model is named: this is the built-in example, made from architecture arithmetic."
    return example_inventory(), (remark,)


def _refuse_beside_problem(
    where: str,
    model: str | None,
    reading: ReadOptions,
    cluster: ClusterOptions,
    workload: WorkloadOptions,
    engine: EngineOptions,
) -> None:
    """Refuse what an abstract problem leaves no room for, so that no flag is passed over in silence."""
    if model is not None:
        raise UsageError(f"{where}, --problem: MODEL is named too; expected one of them. Leave one out.")
    groups = (
        (reading, ReadOptions()),
        (cluster, ClusterOptions()),
        (workload, WorkloadOptions()),
        (engine, EngineOptions()),
    )
    for group, plain in groups:
        for field in fields(plain):
            if getattr(group, field.name) != getattr(plain, field.name):
                flag = field.name.replace("_", "-")
                raise UsageError(
                    f"{where}, --{flag}: it means nothing beside --problem; "
                    "expected limits, objectives and rules alone. Leave it out."
                )


def _merged(own: Rules, given: Rules, options: RuleOptions) -> Rules:
    """Return the problem's rules with those that flags give in place of its own."""
    return replace(
        own,
        pins=given.pins or own.pins,
        first=own.first if given.first is None else given.first,
        last=own.last if given.last is None else given.last,
        order=given.order or own.order,
        exclude=given.exclude or own.exclude,
        max_nodes=own.max_nodes if given.max_nodes is None else given.max_nodes,
        min_blocks=own.min_blocks if options.min_blocks is None else options.min_blocks,
        replicas=own.replicas or given.replicas,
    )
