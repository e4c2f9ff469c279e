"""Ranks are where a launcher puts them, and a plan that wants them elsewhere is refused."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

import pytest
from support.plans import REQUEST, six_blocks
from support.problems import NO_RULES

from solver.cluster_file import parse_cluster
from solver.engines.commands import Export, Refusal, Run
from solver.engines.servers.export import Launcher, launched, server_export
from solver.engines.sglang import sglang
from solver.engines.vllm import vllm
from tensors.architecture.terms import indexer, latent

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.engines.servers.build import ServedProblem
    from tensors.inventory import Inventory

WORKLOAD = replace(REQUEST, cache_type_k="bf16", cache_type_v="bf16")


def exported(
    build: Callable[..., ServedProblem],
    counts: tuple[int, ...],
    pools: list[str],
    launcher: Launcher | None = None,
    inventory: Inventory | None = None,
) -> Export | Refusal:
    """Return the export of runs of so many blocks on two machines, of two cards and of one."""
    text = """
    [[node]]
    name = "a"
    memory = "64 GiB"
    address = "10.0.0.9"
    gpu = [{ class = "big", memory = "48 GiB", count = 2, device = "CUDA1" }]
    [[node]]
    name = "b"
    memory = "64 GiB"
    address = "10.0.0.10"
    gpu = [{ class = "big", memory = "48 GiB", count = 2 }]
    [[node]]
    name = "c"
    memory = "64 GiB"
    gpu = [{ class = "big", memory = "48 GiB" }]
    """
    cluster = parse_cluster(text, "m")
    inventory = inventory or six_blocks()
    ends = list(accumulate(counts))
    runs = [Run(start, end, pool) for start, end, pool in zip([0, *ends], ends, pools, strict=False)]
    served = build(inventory, cluster, WORKLOAD, NO_RULES)
    return server_export(served, runs, cluster, WORKLOAD, 6, "org/model", launcher)


def test_ray_begins_with_the_driver_then_fewer_workers_then_the_lower_address_as_text() -> None:
    workers = {"d": 4, "a": 2, "b": 2, "c": 1}
    addresses = {"d": "10.0.0.1", "a": "10.0.0.9", "b": "10.0.0.10", "c": "10.0.0.99"}

    assert ("d", "c", "b", "a") == launched(Launcher.RAY, workers, addresses, "d")
    assert ("d", "a", "b", "c") == launched(Launcher.MP, workers, addresses, "d")


def test_the_lines_of_one_machine() -> None:
    export = exported(vllm, (2, 4), ["a/gpu1", "a/gpu0"])

    assert isinstance(export, Export)
    (machine,) = export.machines
    (command,) = machine.commands
    assert (
        "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=2,1 VLLM_PP_LAYER_PARTITION=2,4 vllm serve org/model "
        "--pipeline-parallel-size 2 --tensor-parallel-size 1 --distributed-executor-backend mp --max-model-len 16384 "
        "--gpu-memory-utilization 0.9 --kv-cache-dtype auto --block-size 16 --max-num-batched-tokens 2048 "
        "--max-num-seqs 256" == command.shell
    )


def test_machines_join_ray_before_the_model_is_started() -> None:
    export = exported(vllm, (2, 2, 1, 1), ["b/gpu0", "b/gpu1", "a/gpu0", "a/gpu1"])

    assert isinstance(export, Export)
    assert [("b", "--head"), ("b", "serve"), ("a", "--address")] == [
        (machine.node, command.words[1] if command.words[0] == "vllm" else command.words[2])
        for machine in export.machines
        for command in machine.commands
    ]


@pytest.mark.parametrize(
    ("build", "counts", "pools", "launcher", "reason"),
    [
        (
            vllm,
            (2, 1, 1, 1, 1),
            ["a/gpu0", "a/gpu1", "b/gpu0", "b/gpu1", "c/gpu0"],
            Launcher.MP,
            (
                "the emulation does not give the plan back: without ray every machine has equally many ranks, "
                "and these have a 2, b 2, c 1."
            ),
        ),
        (
            vllm,
            (2, 1, 1, 1, 1),
            ["a/gpu0", "a/gpu1", "b/gpu0", "b/gpu1", "c/gpu0"],
            None,
            "the emulation does not give the plan back: ray would number the machines a, c, b in place of a, b, c.",
        ),
        (
            sglang,
            (2, 2, 2),
            ["a/gpu0", "a/gpu1", "b/gpu0"],
            None,
            (
                "the emulation does not give the plan back: without ray every machine has equally many ranks, "
                "and these have a 2, b 1."
            ),
        ),
        (
            vllm,
            (2, 2, 2),
            ["a/gpu0", "b/gpu0", "a/gpu1"],
            None,
            "the ranks of a do not follow one another; a launcher numbers those of a machine in a row.",
        ),
        (vllm, (6,), ["a/ram"], None, "a/ram is no card that vllm places blocks on."),
        (
            vllm,
            (6, 0),
            ["a/gpu0", "a/gpu1"],
            None,
            "every rank takes a block of the trunk at least; the last run begins at 6.",
        ),
    ],
    ids=["mp uneven", "ray's order", "sglang uneven", "apart", "no card", "no block"],
)
def test_what_no_launcher_gives_is_refused_with_the_reason(
    build: Callable[..., ServedProblem],
    counts: tuple[int, ...],
    pools: list[str],
    launcher: Launcher | None,
    reason: str,
) -> None:
    refusal = exported(build, counts, pools, launcher)

    assert isinstance(refusal, Refusal)
    assert reason == refusal.reason


@pytest.mark.parametrize(
    ("build", "pages", "kind"), [(vllm, "--block-size 64", "bfloat16"), (sglang, "--page-size 64", "bf16")]
)
def test_sparse_attention_has_pages_that_its_kernels_take_and_a_cache_of_the_type_planned(
    build: Callable[..., ServedProblem], pages: str, kind: str
) -> None:
    """Smaller pages start no engine, and the type that it chooses by itself depends on the card."""
    plain = six_blocks()
    terms = tuple(term for block in range(6) for term in (latent(block, 576), indexer(block, 128, own_indices=True)))
    sparse = replace(plain, architecture=replace(plain.architecture, cache=terms))
    lines = [exported(build, (3, 3), ["a/gpu0", "a/gpu1"], inventory=inventory) for inventory in (plain, sparse)]
    usual, typed = (str(line.machines[0].commands[-1].words) for line in lines if isinstance(line, Export))

    assert f"'--kv-cache-dtype', '{kind}'" in typed
    assert str(tuple(pages.split()))[1:-1] in typed
    assert "'--kv-cache-dtype', 'auto'" in usual
    assert "64" not in usual
