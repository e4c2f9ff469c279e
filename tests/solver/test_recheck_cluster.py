"""A cluster that is changed in a plan is found where its problem is another one, whoever wrote the problem."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from support.llamacpp import mixtral
from support.plan_documents import EFFORT, changed, document_of, found_in
from support.plans import REQUEST
from support.problems import NO_RULES

from solver.cluster_file import parse_cluster
from solver.engines.table import ENGINES
from solver.planning import Setting, plan
from solver.workload import USUAL_CHOICES, Choices, EngineName, Offload
from tensors.units import GIB

MACHINES = """
[reserve]
fraction = 0
floor = "0 GiB"
gpu = { fraction = 0 }
[links]
latency = "1 ms"
pair = [{ from = "strix", to = "box", latency = "2 ms" }]
[[node]]
name = "strix"
memory = "20 GiB"
unified = true
cpu = true
ceiling = "13 GiB"
bandwidth = "200 GB/s"
[[node]]
name = "box"
memory = "34 GiB"
bandwidth = "60 GB/s"
gpu = [{ class = "a", memory = "10 GiB", count = 2, bandwidth = "900 GB/s" }]
"""


@cache
def document(engine: EngineName, text: str = MACHINES, choices: Choices = USUAL_CHOICES) -> dict[str, Any]:
    """Return the plan of an expert model of 26 GiB."""
    cluster = parse_cluster(text, "m")
    served = engine in (EngineName.VLLM, EngineName.SGLANG)
    request = replace(REQUEST, cache_type_k="bf16", cache_type_v="bf16") if served else REQUEST
    built = ENGINES[engine].build(mixtral(), cluster, request, NO_RULES, choices)
    setting = Setting(mixtral(), cluster, request, engine.value, built.notes, built.build, None, choices)
    return document_of(plan(built.problem, "nodes", EFFORT, setting=setting), "nodes")


def found(engine: EngineName, *path: str | int, value: object) -> list[str]:
    """Return what is found of a cluster in which one value is another."""
    said = found_in(changed(document(engine), ("inputs", "cluster", *path), value))
    return [finding.problem for finding in said if finding.place == "inputs.cluster"]


@pytest.mark.parametrize("engine", EngineName)
def test_nothing_is_found_where_nothing_is_changed(engine: EngineName) -> None:
    assert () == found_in(document(engine))


def test_what_an_engine_itself_keeps_with_a_host_is_not_taken_for_experts() -> None:
    """Nothing may be left there, and buffers of the process are."""
    alone = MACHINES[: MACHINES.index("[links]")] + MACHINES[MACHINES.index('[[node]]\nname = "box"') :]

    assert () == found_in(document(EngineName.LLAMACPP, alone, Choices(Offload.NONE, 1)))


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (
            ("nodes", 0, "ceiling_bytes"),
            9 * GIB,
            [
                (
                    "strix/gpu0 may take 9.00 GiB (9,663,676,416 bytes), "
                    "and inputs.problem has 13.00 GiB (13,958,643,712 bytes)"
                )
            ],
        ),
        (
            ("nodes", 0, "cpu"),
            False,
            [
                "its device strix is none of inputs.problem",
                "strix/gpu0 of inputs.problem is no device of it",
                "strix/cpu of inputs.problem is no device of it",
            ],
        ),
        (("nodes", 1, "cpu"), True, ["its device box/cpu is none of inputs.problem"]),
        (
            ("nodes", 1, "bytes_per_second"),
            7,
            [f"box/ram reads at 7 bytes/s, and in inputs.problem at {60 * 10**9:,} bytes/s"] * 2,
        ),
        (
            ("nodes", 1, "memory_bytes"),
            33 * GIB,
            [
                (
                    "the memory box/ram may take 33.00 GiB (35,433,480,192 bytes), "
                    "and inputs.problem has 34.00 GiB (36,507,222,016 bytes)"
                )
            ],
        ),
        (
            ("latency_ns",),
            3,
            ["links are of 3 ns and no rate, in inputs.problem of 1,000,000 ns and no rate"],
        ),
        (
            ("links", 0, "forbidden"),
            True,
            ["the link from strix/gpu0 to box/gpu0 is forbidden, in inputs.problem of 2,000,000 ns and no rate"],
        ),
        (
            ("nodes", 1, "inside"),
            {"latency_ns": 5, "bytes_per_second": 8},
            ["the link from box/gpu0 to box/gpu1 is of 5 ns and 8 bytes/s, in inputs.problem of 0 ns and no rate"],
        ),
    ],
)
def test_what_is_changed_in_the_cluster_alone_is_named(
    path: tuple[str | int, ...], value: object, expected: list[str]
) -> None:
    assert expected == found(EngineName.GENERIC, *path, value=value)


@pytest.mark.parametrize("engine", [engine for engine in EngineName if engine is not EngineName.GENERIC])
def test_an_engine_takes_no_more_than_a_cluster_leaves_it(engine: EngineName) -> None:
    """What it takes less is known of the model alone: a card of less memory is found, one of more is not."""
    less = found(engine, "nodes", 1, "gpus", 0, "memory_bytes", value=2 * GIB)

    assert any(line.startswith("box/gpu0 may take at most 2.00 GiB") for line in less)
    assert [] == found(engine, "nodes", 1, "gpus", 0, "memory_bytes", value=11 * GIB)


@pytest.mark.parametrize("engine", [EngineName.GENERIC, EngineName.LLAMACPP, EngineName.VLLM])
def test_a_rate_of_a_card_is_found(engine: EngineName) -> None:
    line = f"box/gpu0 reads at 1 bytes/s, and in inputs.problem at {9 * 10**11:,} bytes/s"

    assert line in found(engine, "nodes", 1, "gpus", 0, "bytes_per_second", value=1)


def test_an_excluded_device_is_not_missed() -> None:
    """A plan that was asked to leave something out says so."""
    cluster = changed(document(EngineName.GENERIC), ("inputs", "cluster", "nodes", 1, "cpu"), True)

    assert [] == [
        finding
        for finding in found_in(changed(cluster, ("inputs", "options", "exclude"), "box/cpu"))
        if finding.place == "inputs.cluster"
    ]
