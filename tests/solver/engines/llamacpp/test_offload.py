"""Experts that a plan leaves with a host are where llama.cpp would leave them, to the byte."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.llamacpp import llama_70b, mixtral
from support.plans import REQUEST
from support.problems import NO_RULES

from solver.cluster_file import parse_cluster
from solver.engines.commands import Export, Refusal, Run
from solver.engines.llamacpp.assign import assignment_of, devices_of
from solver.engines.llamacpp.export import llamacpp_export
from solver.engines.llamacpp.interpret import request_of
from solver.engines.llamacpp.memory import device_bytes, not_predicted
from solver.engines.llamacpp.movable import movable_bytes, pattern_of
from solver.engines.llamacpp.needs import planned_settings
from solver.engines.llamacpp.problem import llamacpp
from solver.engines.llamacpp.profile import DEFAULT_BUILD, backend_of, profile_of
from solver.errors import InputError
from solver.measures import offload_bytes, pool_loads, stage_load
from solver.problem import Placement, Stage
from solver.rules import violations
from solver.workload import USUAL_CHOICES, Choices, Offload

if TYPE_CHECKING:
    from solver.engines.llamacpp.facts import DeviceBytes

PROFILE = profile_of(DEFAULT_BUILD)
CARDS = 'gpu = [{ class = "c", memory = "48 GiB", count = 2, device = "CUDA0" }]'
MACHINES = f"""
[[node]]
name = "desk"
memory = "256 GiB"
head = true
cpu = true
{CARDS}
[[node]]
name = "tower"
memory = "128 GiB"
address = "10.0.0.3"
rpc_port = 6000
cpu = true
{CARDS}
[[node]]
name = "attic"
memory = "64 GiB"
address = "10.0.0.4"
{CARDS}
"""
CLUSTER = parse_cluster(MACHINES, "machines.toml")
LEAVING = ("desk/gpu0", "desk/gpu1", "tower/gpu0", "tower/gpu1")
OTHERS = ("tower/cpu", "attic/gpu0", "attic/gpu1")


def random_placement(generator: random.Random, blocks: int) -> Placement:
    """Return a chain over some devices, the head's processor first where it is one, with some experts left behind.

    The head is one more than the blocks, and now and then alone.
    """
    used = generator.sample([*LEAVING, *OTHERS], generator.randint(1, 7))
    used = ["desk/cpu", *used] if generator.random() < 0.3 else used
    ends = [*sorted(generator.sample(range(1, blocks), len(used) - 1)), blocks + 1]
    if len(used) > 1 and generator.random() < 0.3:
        ends[-2] = blocks
    share = generator.choice((0.0, 0.4, 1.0))
    return Placement(
        tuple(
            Stage(
                start,
                end,
                device,
                tuple(b for b in range(start, min(end, blocks)) if device in LEAVING and generator.random() < share),
            )
            for start, end, device in zip([0, *ends], ends, used, strict=False)
        )
    )


def emulated(words: tuple[str, ...], backends: list[str]) -> tuple[DeviceBytes, ...]:
    """Return the bytes of a typed command, with the kind of device that is behind every server."""
    request = request_of(words)
    model = mixtral()
    assignment = assignment_of(PROFILE, request, devices_of(request, None), model.trunk_blocks)
    devices = tuple(
        replace(device, backend=backend_of(kind)) for device, kind in zip(assignment.devices, backends, strict=True)
    )
    settings = planned_settings(PROFILE, model, REQUEST)
    return device_bytes(PROFILE, model, settings, replace(assignment, devices=devices), not_predicted)


@pytest.mark.parametrize("offload", [Offload.EXPERTS, Offload.FFN])
def test_random_placements_are_typed_and_read_back_to_the_byte(offload: Offload) -> None:
    """What a plan counts on every device, and of experts on every host, is what the typed command allocates."""
    model = mixtral()
    problem = llamacpp(model, CLUSTER, REQUEST, NO_RULES, replace(USUAL_CHOICES, offload=offload)).problem
    generator = random.Random(7)
    for _ in range(25):
        placement = random_placement(generator, model.trunk_blocks)
        runs = [Run(*problem.span(stage), stage.node, stage.offloaded) for stage in placement.stages]
        export = llamacpp_export(
            runs, CLUSTER, REQUEST, model.trunk_blocks, "m.gguf", model, strict=False, offload=offload
        )
        assert isinstance(export, Export)
        words = export.machines[-1].commands[-1].words
        devices = [stage for stage in placement.stages if stage.node != "desk/cpu"]
        kinds = ["RPC0" if stage.node == "tower/cpu" else "CUDA0" for stage in devices]
        helped = any(s.offloaded and s.node.startswith("tower") for s in devices) and "RPC0" not in kinds
        *rows, host = emulated(words, [*kinds, *["RPC0"] * helped])
        served = dict(zip([stage.node for stage in devices] + ["tower/cpu"] * helped, rows, strict=True))
        pools = pool_loads(problem, placement)
        tower = sum(movable_bytes(model, offload)[b][0] for s in devices if s.node[0] == "t" for b in s.offloaded)
        for stage in devices:
            load = stage_load(problem, stage)
            row, beside = served[stage.node], tower if stage.node == "tower/cpu" else 0

            assert load.weight_bytes + load.cache_bytes == row.model_bytes + row.cache_bytes - beside
        if tower:
            assert tower == pools["tower/ram"].offload_bytes
        at_desk = sum(movable_bytes(model, offload)[b][0] for s in devices if s.node[0] == "d" for b in s.offloaded)
        embedding = next(tensor.size_bytes for tensor in model.tensors if tensor.name == "token_embd.weight")
        own = sum(stage_load(problem, s).weight_bytes for s in placement.stages if s.node == "desk/cpu")

        assert embedding + at_desk + own == host.model_bytes


def test_only_the_head_and_machines_that_serve_their_processor_take_experts() -> None:
    """A card of the attic leaves nothing: no process there could keep it."""
    plan = llamacpp(mixtral(), CLUSTER, REQUEST, NO_RULES)
    attic = Placement((Stage(0, 16, "desk/gpu0"), Stage(16, 33, "attic/gpu0", (20,))))

    assert {"desk/ram", "tower/ram", None} == {node.host_pool for node in plan.problem.nodes}
    assert ["offload"] == [violation.rule for violation in violations(plan.problem, attic)]
    assert any(note.startswith("Experts cannot stay in the memory of attic: ") for note in plan.notes)


def test_without_a_head_no_host_takes_experts_unless_it_is_served() -> None:
    text = MACHINES.replace("head = true\ncpu = true", "")
    problem = llamacpp(mixtral(), parse_cluster(text, "m"), REQUEST, NO_RULES).problem

    assert {"tower/ram", None} == {node.host_pool for node in problem.nodes}


def test_the_heads_processor_comes_before_all_devices_and_a_served_one_before_its_own() -> None:
    problem = llamacpp(mixtral(), CLUSTER, REQUEST, NO_RULES).problem
    names = [node.name for node in problem.nodes]
    barred = {name: {one for one in names if problem.link(one, name).forbidden} for name in names}

    assert set(names) - {"desk/cpu"} == barred["desk/cpu"]
    assert {"tower/gpu0", "tower/gpu1"} == barred["tower/cpu"]
    assert set() == barred["attic/gpu0"]


def test_experts_of_the_first_blocks_are_a_number_and_others_are_named_from_the_start() -> None:
    def typed(blocks: tuple[int, ...], offload: Offload = Offload.EXPERTS) -> list[str]:
        runs = [Run(0, 32, "desk/gpu0", blocks)]
        export = llamacpp_export(runs, CLUSTER, REQUEST, 32, "m.gguf", mixtral(), strict=False, offload=offload)
        assert isinstance(export, Export)
        words = list(export.machines[-1].commands[-1].words)
        return [word for flag in ("--n-cpu-moe", "-ot") if flag in words for word in words[words.index(flag) :][:2]]

    assert ["--n-cpu-moe", "3"] == typed((0, 1, 2))
    assert ["-ot", r"^blk\.(1|2)\.ffn_(up|down|gate|gate_up)_(ch|)exps=CPU"] == typed((1, 2))
    assert ["-ot", r"^blk\.(0)\.ffn_(up|down|gate|gate_up)(_(ch|)exps)?\.=CPU"] == typed((0,), Offload.FFN)
    assert [] == typed(())


def test_experts_of_another_machine_go_to_a_processor_that_is_served_without_blocks() -> None:
    runs = [Run(0, 16, "desk/gpu0"), Run(16, 32, "tower/gpu1", (20, 21))]
    export = llamacpp_export(runs, CLUSTER, REQUEST, 32, "m.gguf", mixtral(), strict=False)

    assert isinstance(export, Export)
    assert [
        "CUDA_DEVICE_ORDER=PCI_BUS_ID ggml-rpc-server --host 0.0.0.0 --port 6001 --device CUDA1",
        "ggml-rpc-server --host 0.0.0.0 --port 6002 --device CPU",
    ] == [command.shell for command in export.machines[0].commands]
    assert (
        "CUDA_DEVICE_ORDER=PCI_BUS_ID llama-server -m m.gguf --rpc 10.0.0.3:6001,10.0.0.3:6002 "
        "--device CUDA0,RPC0,RPC1 -ngl 33 -ts 16,17,0 "
        r"-ot '^blk\.(20|21)\.ffn_(up|down|gate|gate_up)_(ch|)exps=RPC0[10.0.0.3:6002]' "
        "-c 16384 -np 1 -ctk q8_0 -ctv q8_0 -fa on -fit off" == export.machines[1].commands[0].shell
    )


def test_experts_of_a_machine_that_serves_no_processor_cannot_be_typed() -> None:
    runs = [Run(0, 16, "desk/gpu0"), Run(16, 32, "attic/gpu0", (20,))]
    refusal = llamacpp_export(runs, CLUSTER, REQUEST, 32, "m.gguf", mixtral(), strict=False)

    assert isinstance(refusal, Refusal)
    assert (
        "weights that attic/gpu0 leaves stay with the head's host, desk, or with a processor that is served; attic has "
        "no cpu = true." == refusal.reason
    )


def test_a_pattern_finds_the_tensors_of_its_blocks_alone() -> None:
    names = [tensor.name for tensor in mixtral().tensors]
    found = [name for name in names if re.search(pattern_of(Offload.EXPERTS, (1, 11)), name)]

    assert sorted(f"blk.{b}.ffn_{part}_exps.weight" for b in (1, 11) for part in ("up", "down", "gate")) == sorted(
        found
    )
    dense = [t.name for t in llama_70b().tensors if re.search(pattern_of(Offload.FFN, (7,)), t.name)]
    assert ["blk.7.ffn_gate.weight", "blk.7.ffn_up.weight", "blk.7.ffn_down.weight"] == dense


def test_what_the_head_holds_is_set_aside_where_the_first_stage_may_be_elsewhere() -> None:
    """Embeddings and buffers are in the head's memory wherever the chain begins."""
    alone = parse_cluster(MACHINES.split('[[node]]\nname = "tower"', maxsplit=1)[0], "m")
    one = llamacpp(mixtral(), alone, REQUEST, NO_RULES).problem
    several = llamacpp(mixtral(), CLUSTER, REQUEST, NO_RULES).problem
    rooms = [problem.pools_by_name["desk/ram"].room_bytes for problem in (one, several)]

    assert (None, None) == (one.rules.first, several.rules.first)
    assert 0 == several.ends.host_bytes < one.ends.host_bytes <= rooms[0] - rooms[1]
    first = replace(NO_RULES, first="desk/gpu1")
    assert llamacpp(mixtral(), CLUSTER, REQUEST, first).problem.ends.host_bytes > 0


def test_offloaded_bytes_are_those_on_hosts_and_compute_buffers_hold_for_both() -> None:
    with_experts = llamacpp(mixtral(), CLUSTER, REQUEST, NO_RULES).problem
    without = llamacpp(mixtral(), CLUSTER, REQUEST, NO_RULES, Choices(Offload.NONE, 1)).problem
    stage = Stage(0, 32, "desk/gpu0", tuple(range(5, 15)))

    assert sum(movable_bytes(mixtral(), Offload.EXPERTS)[b][0] for b in range(5, 15)) == offload_bytes(
        with_experts, Placement((stage,))
    )
    assert with_experts.nodes[0].held_bytes >= without.nodes[0].held_bytes


def test_a_head_whose_memory_is_too_small_is_refused_also_where_it_need_not_be_first() -> None:
    text = MACHINES.replace('"256 GiB"', '"8 GiB"')
    with pytest.raises(InputError, match=r"^node desk: its host may hold 0 B; the head needs .* there for embeddings"):
        llamacpp(mixtral(), parse_cluster(text, "m"), REQUEST, NO_RULES)
