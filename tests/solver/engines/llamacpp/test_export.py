"""Placements become counts, and the slot rule makes the placements of them again."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import accumulate

import pytest
from support.llamacpp import llama_70b
from support.plans import REQUEST

from solver.cluster_file import parse_cluster
from solver.engines.commands import Export, Refusal, Run
from solver.engines.llamacpp.assign import assignment_of, devices_of
from solver.engines.llamacpp.export import Split, llamacpp_export, split_flags
from solver.engines.llamacpp.facts import HOST
from solver.engines.llamacpp.float32 import from_text
from solver.engines.llamacpp.interpret import request_of
from solver.engines.llamacpp.profile import DEFAULT_BUILD, profile_of
from solver.engines.llamacpp.slots import slot_devices

PROFILE = profile_of(DEFAULT_BUILD)

MACHINES = """
[[node]]
name = "desk"
memory = "64 GiB"
head = true

[[node]]
name = "studio"
memory = "64 GiB"
unified = true
address = "10.0.0.2"
gpu = [{ class = "m3", device = "MTL0" }]

[[node]]
name = "tower"
memory = "64 GiB"
address = "10.0.0.3"
rpc_port = 6000
gpu = [{ class = "rtx-4090-24g", memory = "24 GiB", count = 2, device = "CUDA0" }]
"""


def random_split(generator: random.Random) -> Split:
    """Return counts over 2 to 8 devices, some of none, with up to 201 slots, some of them on the host."""
    slots = generator.randint(8, 201)
    host = generator.choice((0, generator.randint(0, slots - 1)))
    devices = generator.randint(2, 8)
    ends = sorted(generator.randint(0, slots - host) for _ in range(devices - 1))
    return Split(host, tuple(end - start for start, end in zip([0, *ends], [*ends, slots - host], strict=True)))


def test_ten_thousand_random_placements_are_given_back_by_their_flags() -> None:
    """Counts as shares are exact in 32-bit floats, whatever they are: this is what exports stand on."""
    generator = random.Random(20)
    wrong = []
    for _ in range(10_000):
        split = random_split(generator)
        flags = split_flags(split)
        layers, shares = int(flags[1]), [from_text(share) for share in flags[3].split(",")]
        slots = split.host + sum(split.counts)
        expected = [HOST] * split.host
        for device, count in enumerate(split.counts):
            expected += [device] * count
        if tuple(expected) != slot_devices(PROFILE, slots - 1, layers, shares, len(split.counts)):
            wrong.append(split)

    assert [] == wrong


def test_a_placement_is_given_back_by_whole_command_lines() -> None:
    """The command that is typed is read as one that is pasted: 200 random cuts over four devices and a host."""
    generator = random.Random(21)
    cluster = parse_cluster(MACHINES, "machines.toml")
    pools = ("desk/ram", "studio/unified", "tower/gpu0", "tower/gpu1")
    for _ in range(200):
        blocks = generator.randint(4, 200)
        used = [pool for pool in pools if generator.random() < 0.7] or ["desk/ram"]
        ends = [*sorted(generator.sample(range(1, blocks), len(used) - 1)), blocks]
        runs = [Run(start, end, pool) for start, end, pool in zip([0, *ends], ends, used, strict=False)]
        spare = generator.randint(0, 2)
        export = llamacpp_export(runs, cluster, REQUEST, blocks + spare, "model.gguf", None, strict=True)

        assert isinstance(export, Export)
        words = export.machines[-1].commands[-1].words
        request = request_of(words)
        slots = assignment_of(PROFILE, request, devices_of(request, None), blocks + spare).slots
        first = 1 if used[0] == "desk/ram" else 0
        bounds = list(accumulate((run.end - run.start for run in runs), initial=0))
        for number in range(len(runs)):
            expected = HOST if number < first else number - first
            assert {expected} == set(slots[bounds[number] : bounds[number + 1]])
        assert (HOST if len(runs) == first else len(runs) - 1 - first) == slots[-1]


def test_the_lines_of_every_machine() -> None:
    runs = [Run(0, 20, "desk/ram"), Run(20, 50, "tower/gpu1"), Run(50, 80, "studio/unified")]
    export = llamacpp_export(
        runs, parse_cluster(MACHINES, "m"), replace(REQUEST, sequences=2), 80, "my model.gguf", None, strict=True
    )

    assert isinstance(export, Export)
    assert [
        ("tower", "CUDA_DEVICE_ORDER=PCI_BUS_ID ggml-rpc-server --host 0.0.0.0 --port 6001 --device CUDA1"),
        ("studio", "ggml-rpc-server --host 0.0.0.0 --port 50052 --device MTL0"),
        (
            "desk",
            (
                "llama-server -m 'my model.gguf' --rpc 10.0.0.3:6001,10.0.0.2:50052 --device RPC0,RPC1 "
                "-ngl 61 -ts 30,31 -c 32768 -np 2 -ctk q8_0 -ctv q8_0 -fa on -fit off"
            ),
        ),
    ] == [(machine.node, command.shell) for machine in export.machines for command in machine.commands]


@pytest.mark.parametrize(
    ("runs", "reason"),
    [
        (
            [Run(0, 40, "studio/unified"), Run(40, 80, "desk/ram")],
            "blocks on the host of desk, the head, come before all others; the plan has them later.",
        ),
        ([Run(0, 80, "attic/ram")], "attic/ram is no device of this engine."),
    ],
    ids=["host last", "unknown"],
)
def test_what_cannot_be_typed_is_refused_with_the_reason(runs: list[Run], reason: str) -> None:
    refusal = llamacpp_export(runs, parse_cluster(MACHINES, "m"), REQUEST, 80, "m.gguf", None, strict=True)

    assert isinstance(refusal, Refusal)
    assert reason == refusal.reason


def test_a_plan_that_takes_more_than_there_is_is_refused_and_one_of_no_engine_is_warned_of() -> None:
    """30 blocks of Llama 70B with a head are more than 24 GiB hold of 60 blocks."""
    cluster, inventory = parse_cluster(MACHINES, "m"), llama_70b()
    runs = [Run(0, 20, "desk/ram"), Run(20, 80, "tower/gpu0")]
    strict = llamacpp_export(runs, cluster, REQUEST, 80, "m.gguf", inventory, strict=True)
    loose = llamacpp_export(runs, cluster, REQUEST, 80, "m.gguf", inventory, strict=False)

    assert isinstance(strict, Refusal)
    assert strict.reason.startswith("the emulation takes more than there is: tower/gpu0 would hold up to ")
    assert isinstance(loose, Export)
    assert any(note.startswith("tower/gpu0 would hold up to ") for note in loose.notes)


def test_an_address_that_a_shell_or_the_engine_would_split_is_refused() -> None:
    cluster = parse_cluster(MACHINES.replace("10.0.0.2", "10.0.0.2,evil"), "m")
    refusal = llamacpp_export([Run(0, 80, "studio/unified")], cluster, REQUEST, 80, "m.gguf", None, strict=True)

    assert isinstance(refusal, Refusal)
    assert "the address of studio has characters that no address has; expected a name or a number." == refusal.reason
