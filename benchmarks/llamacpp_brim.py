"""Whether plans for llama.cpp that fill a device to the brim are ones that load.

    python -m benchmarks.llamacpp_brim [--cases N] [--first SEED] [--context] [MODEL…]

Random clusters are shrunk until a plan is only just there, and the plan is exported: what is typed is emulated with the
upper ends of what is computed in, and held against the budgets. Prints every plan that is refused, and how many plans
had to be solved again with more set aside; ends with 1 if one was refused. With `--context` the longest context is
planned for, and the export is of that context.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Final

import tensors
from solver.cli.export import wanted_of_plan
from solver.cli.question import Question
from solver.cli.sizing import sized_plan
from solver.cluster_file import parse_cluster
from solver.effort import Effort
from solver.engines.commands import Refusal
from solver.engines.exporting import exported
from solver.engines.table import ENGINES
from solver.engines.variants import ModelVariants
from solver.errors import InputError
from solver.objectives import OBJECTIVES, objectives_named
from solver.planning import Setting
from solver.planning import plan as solve_plan
from solver.problem import Rules
from solver.solve import solve
from solver.workload import Choices, EngineName, IndexerRule, Offload, Workload
from tensors import synthetic

if TYPE_CHECKING:
    from solver.planning import Plan
    from solver.problem import Problem
    from tensors.inventory import Inventory

_PARTS: Final = 2**20
_MODELS: Final = ("llama-3.1-70b", "llama-3.2-1b", "mixtral-8x7b", "glm-5.2")
_EFFORT: Final = Effort(time_limit_seconds=5.0, deterministic_limit=None, workers=1, seed=0)
_NO_RULES: Final = Rules((), None, None, (), (), None, 1)
_WIDEST: Final = 64
_NO_RESERVE: Final = """
[reserve]
fraction = 0.0
floor = "0 GiB"
[reserve.gpu]
fraction = 0.0
floor = "0 GiB"
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A model on machines that have so many bytes each, under a workload."""

    inventory: Inventory
    machines: tuple[str, ...]
    workload: Workload
    choices: Choices

    def question(self, memories: tuple[int, ...]) -> Question:
        """Return the question with these memories.

        Raises:
            InputError: the cluster cannot be meant.
        """
        text = _NO_RESERVE + "".join(
            machine.replace("MEMORY", f"{memory} B") for machine, memory in zip(self.machines, memories, strict=True)
        )
        cluster = parse_cluster(text, "machines.toml")
        build = ENGINES[EngineName.LLAMACPP].build
        placed = build(self.inventory, cluster, self.workload, _NO_RULES, self.choices)
        setting = Setting(
            *(self.inventory, cluster, self.workload, EngineName.LLAMACPP.value, placed.notes, placed.build, None),
            choices=self.choices,
        )
        variants = ModelVariants(self.inventory, cluster, self.workload, _NO_RULES, self.choices, build)
        return Question(placed.problem, setting, variants, None, ())


def main() -> int:
    """Plan as many cases as the command line asks for and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.llamacpp_brim", description="Whether plans load")
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--context", action="store_true", help="plan for the longest context")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="headers in place of synthetic ones")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = chosen.models or [synthetic.write(name, f"{folder}/{name}")[0] for name in _MODELS]
        known = {str(path): tensors.read(path) for path in paths}
    plans = once = refused = none = 0
    for seed in range(chosen.first, chosen.first + chosen.cases):
        question, memories = brim_case(known, seed)
        if question is None:
            continue
        wanted = objectives_named("context" if chosen.context else "nodes,balance")
        first = solve_plan(question.problem, wanted, _EFFORT, setting=question.setting)
        answer = sized_plan(question, wanted, _EFFORT, lambda *_: None).plan
        if answer.solution.placement is None:
            none += 1
            once += refusal_of(first) is not None
            continue
        plans += 1
        once += refusal_of(first) is not None
        reason = refusal_of(answer)
        if reason is not None:
            refused += 1
            print(f"seed {seed}, {memories} B: {reason}", file=sys.stderr)
    print(
        f"{plans + none} plans to the brim: {once} refused as first solved; as planned, {refused} refused and {none} "
        "times no plan, as more had to be set aside"
    )
    return 1 if refused else 0


def refusal_of(answer: Plan) -> str | None:
    """Return why a plan is not exported for the longest context that it says; None where it is."""
    contexts = [int(level.value) for level in answer.solution.levels if level.objective.name == "context"]
    wanted = wanted_of_plan(answer, None)
    if wanted is None:
        return None
    if contexts:
        wanted = replace(wanted, workload=replace(wanted.workload, context_tokens=contexts[0]))
    result = exported(EngineName.LLAMACPP, wanted, None)
    return result.reason if isinstance(result, Refusal) else None


def brim_case(known: dict[str, Inventory], seed: int) -> tuple[Question | None, tuple[int, ...]]:
    """Return a question whose memories are only just enough, to a millionth; None where there is none."""
    random = Random(f"brim {seed}")  # noqa: S311 - plans need no secrecy
    inventory = known[random.choice(sorted(known))]
    machines = tuple(_machine(random, number) for number in range(random.randint(1, 4)))
    context = random.choice((1000, 4096, 8192, 16384, 32768))
    workload = Workload(context, random.choice((1, 1, 2)), "q8_0", "q8_0", IndexerRule.OPTIMIZED, False, None)
    case = Case(inventory, machines, workload, Choices(random.choice((Offload.NONE, Offload.EXPERTS)), 1))
    weights = sum(tensor.size_bytes for tensor in inventory.tensors)
    whole = tuple(int(weights * random.uniform(0.2, 1.0)) + 2**30 for _ in machines)
    try:
        problem = case.question(whole).problem
    except InputError:
        return None, ()
    low, high = 0, 4 * _PARTS
    # All grow together until the model fits; hosts beside cards have room in any case.
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _fits(problem, _scaled(whole, middle)) else (middle + 1, high)
    memories = _scaled(whole, low)
    return (case.question(memories), memories) if _fits(problem, memories) else (None, ())


def _scaled(whole: tuple[int, ...], parts: int) -> tuple[int, ...]:
    return tuple(max(size * parts // _PARTS, 1) for size in whole)


def _fits(problem: Problem, memories: tuple[int, ...]) -> bool:
    sizes = {f"m{number}": memory for number, memory in enumerate(memories)}
    nodes = tuple(replace(node, budget_bytes=sizes[node.machine or node.name]) for node in problem.nodes)
    pools = tuple(
        pool if pool.name.endswith("/ram") else replace(pool, budget_bytes=sizes[pool.machine])
        for pool in problem.pools
    )
    scaled = replace(problem, nodes=nodes, pools=pools)
    return solve(scaled, (OBJECTIVES["nodes"],), _EFFORT).placement is not None


def _machine(random: Random, number: int) -> str:
    name = f'[[node]]\nname = "m{number}"\naddress = "10.0.0.{number + 1}"\n'
    kind = random.choice(("host", "unified", "card", "cards", "cards"))
    if kind == "host":
        return f'{name}memory = "MEMORY"\n'
    if kind == "unified":
        return f'{name}memory = "MEMORY"\nunified = true\ngpu = [{{ class = "u", count = 1, device = "MTL0" }}]\n'
    count = 1 if kind == "card" else random.randint(2, 3)
    device = random.choice(("CUDA0", "CUDA0", "Vulkan0", "ROCm0"))
    return (
        f'{name}memory = "{_WIDEST} GiB"\n'
        f'gpu = [{{ class = "c", memory = "MEMORY", count = {count}, device = "{device}" }}]\n'
    )


if __name__ == "__main__":
    sys.exit(main())
