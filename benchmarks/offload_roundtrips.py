"""Whether typed placements with experts on hosts are read back as they were, tensor by tensor.

    python -m benchmarks.offload_roundtrips [--cases N] [--first SEED]

Random chains over the cards and processors of three machines, the head now and then alone, with experts or whole
feed-forward networks of random blocks on hosts, are exported for llama.cpp, and the typed line is emulated. Prints
every tensor that would be elsewhere, and ends with 1 if there was one.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from random import Random
from typing import TYPE_CHECKING

import tensors
from solver.cluster_file import parse_cluster
from solver.engines.commands import Refusal, Run
from solver.engines.llamacpp.assign import assignment_of, devices_of
from solver.engines.llamacpp.export import llamacpp_export
from solver.engines.llamacpp.facts import HOST
from solver.engines.llamacpp.interpret import request_of
from solver.engines.llamacpp.placement import placed
from solver.engines.llamacpp.profile import DEFAULT_BUILD, profile_of
from solver.workload import IndexerRule, Offload, Workload
from tensors import synthetic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tensors.inventory import Inventory

_WORKLOAD = Workload(4096, 1, "q8_0", "q8_0", IndexerRule.OPTIMIZED, False, None)
_CARDS = 'gpu = [{ class = "c", memory = "24 GiB", count = 2, device = "CUDA0" }]'
_MACHINES = f"""
[[node]]
name = "desk"
memory = "256 GiB"
head = true
cpu = true
{_CARDS}
[[node]]
name = "tower"
memory = "128 GiB"
address = "10.0.0.3"
cpu = true
{_CARDS}
[[node]]
name = "attic"
memory = "64 GiB"
address = "10.0.0.4"
{_CARDS}
"""
_LEAVING = ("desk/gpu0", "desk/gpu1", "tower/gpu0", "tower/gpu1")
_OTHERS = ("tower/cpu", "attic/gpu0", "attic/gpu1")
# What stays with a host, said otherwise than the exporter says it.
_MOVED = {
    Offload.EXPERTS: re.compile(r"blk\.\d+\.ffn_(up|down|gate)_exps\.weight"),
    Offload.FFN: re.compile(r"blk\.\d+\.ffn_(up|down|gate)(_exps)?\.weight"),
}


def main() -> int:
    """Compare as many placements as the command line asks for and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.offload_roundtrips", description="Whether flags say so")
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = tensors.read(synthetic.write("glm-5.2", folder)[0])
    wrong = 0
    for seed in range(chosen.first, chosen.first + chosen.cases):
        for sentence in mismatches(model, seed):
            print(f"seed {seed}: {sentence}", file=sys.stderr)
            wrong += 1
    print(f"{chosen.cases} placements of {len(model.tensors)} tensors, {wrong} tensors elsewhere")
    return 1 if wrong else 0


def mismatches(model: Inventory, seed: int) -> Iterator[str]:
    """Yield the tensors of a random placement that the typed line puts elsewhere."""
    random = Random(f"offload {seed}")  # noqa: S311 - placements need no secrecy
    offload = random.choice((Offload.EXPERTS, Offload.FFN))
    runs = _runs(random, model.trunk_blocks)
    export = llamacpp_export(
        runs,
        parse_cluster(_MACHINES, "machines.toml"),
        _WORKLOAD,
        model.trunk_blocks + model.nextn_blocks,
        "m.gguf",
        None,
        strict=False,
        offload=offload,
    )
    if isinstance(export, Refusal):
        yield export.reason
        return
    request = request_of(export.machines[-1].commands[-1].words)
    blocks = model.trunk_blocks + model.nextn_blocks
    profile = profile_of(DEFAULT_BUILD)
    assignment = assignment_of(profile, request, devices_of(request, None), blocks)
    names = _devices(runs)
    for copy in placed(profile, model, assignment, drafts=False):
        # The output's norm and matrix are where the last run is, which may be they alone.
        block = blocks if copy.tensor.name.startswith("output") else copy.tensor.block
        if block is None:
            continue
        run = next((run for run in runs if run.start <= block < run.end), runs[-1])
        proper = run.device
        if block in run.offloaded and _MOVED[offload].fullmatch(copy.tensor.name):
            proper = "desk/cpu" if run.device.startswith("desk/") else "tower/cpu"
        there = "desk/cpu" if copy.device == HOST else names[copy.device]
        if there != proper:
            yield f"{copy.tensor.name} goes to {there} in place of {proper}"


def _runs(random: Random, blocks: int) -> list[Run]:
    used = random.sample([*_LEAVING, *_OTHERS], random.randint(1, 7))
    used = ["desk/cpu", *used] if random.random() < 0.3 else used  # noqa: PLR2004 - now and then
    ends = [*sorted(random.sample(range(1, blocks), len(used) - 1)), blocks]
    if len(used) > 1 and random.random() < 0.3:  # noqa: PLR2004 - now and then the head is alone
        ends[-2] = blocks
    share = random.choice((0.0, 0.4, 1.0))
    return [
        Run(start, end, name, tuple(b for b in range(start, end) if name in _LEAVING and random.random() < share))
        for start, end, name in zip([0, *ends], ends, used, strict=False)
    ]


def _devices(runs: Sequence[Run]) -> list[str]:
    """Return what is behind the devices of the typed line: those of the runs, then a processor that takes experts."""
    names = [run.device for run in runs if run.device != "desk/cpu"]
    helped = "tower/cpu" not in names and any(run.offloaded and run.device.startswith("tower/") for run in runs)
    return [*names, *["tower/cpu"] * helped]


if __name__ == "__main__":
    sys.exit(main())
