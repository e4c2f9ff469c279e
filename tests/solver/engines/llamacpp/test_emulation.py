"""Whole command lines: devices, fitting, notes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.llamacpp import MIB, emulated, run, small_llama

from solver.engines.llamacpp.caches import kept_terms, term_allocation
from solver.engines.llamacpp.facts import HOST_NAME, DeviceBytes
from solver.engines.llamacpp.fit import Fitting, fitting
from solver.engines.llamacpp.profile import BUILDS, CPU, profile_of
from solver.errors import InputError
from tensors.architecture import MissingFact
from tensors.cache import CacheKind
from tensors.errors import ArchitectureError

if TYPE_CHECKING:
    from solver.engines.llamacpp.emulation import Emulation

SERVERS = "--rpc a:1,b:2"
PLAIN = f"llama-server -m model.gguf {SERVERS} -ts 1,1 -c 1024"


def names(emulation: Emulation) -> list[str]:
    return [row.name for row in emulation.rows]


def refusal(line: str, **more: object) -> str:
    with pytest.raises(InputError) as error:
        run(line, **more)  # type: ignore[arg-type]
    return str(error.value)


@pytest.mark.parametrize(
    ("flags", "free", "expected"),
    [
        ("", None, [HOST_NAME]),
        ("-ngl 3", (5,), ["CUDA0", HOST_NAME]),
        (f"{SERVERS} -ts 1,1", None, ["RPC0", "RPC1", HOST_NAME]),
        (SERVERS, (1, 2, 3), ["RPC0", "RPC1", "CUDA0", HOST_NAME]),
        (f"{SERVERS} -dev RPC1,CUDA0,RPC0 -ts 1", None, ["RPC1", "CUDA0", "RPC0", HOST_NAME]),
        (f"{SERVERS} -sm none -mg 1", None, ["RPC1", HOST_NAME]),
        (f"{SERVERS} -sm none -mg -1", None, [HOST_NAME]),
        (f"{SERVERS} -dev none", None, [HOST_NAME]),
        ("-dev Vulkan0,MTL0,ROCm0,SYCL0 -ts 1", None, ["Vulkan0", "MTL0", "ROCm0", "SYCL0", HOST_NAME]),
    ],
)
def test_devices_stand_in_the_engines_order(flags: str, free: tuple[int, ...] | None, expected: list[str]) -> None:
    """Those named, else RPC servers before local ones; the host last."""
    assert expected == names(run(f"llama-server -m model.gguf {flags}", free=free))


@pytest.mark.parametrize(
    ("flags", "free", "message"),
    [
        (SERVERS, (1,), "free memory: 1 size is given; expected one for each of RPC0, RPC1. Correct the list."),
        ("-dev none", (1,), "free memory: 1 size is given; expected none, since no device is used. Correct the list."),
        (
            f"-dev RPC0 {SERVERS}",
            None,
            (
                'device "RPC0": no RPC server named so far is it; expected a server for it. The servers '
                "must be named before "
                "the devices."
            ),
        ),
        (
            f"{SERVERS} -dev RPC2",
            None,
            'device "RPC2": no RPC server named so far is it; expected RPC0 or RPC1.',
        ),
        (
            "-dev GPU",
            None,
            (
                'device "GPU": no rule is known for its buffers; expected one like CUDA0, ROCm0, MUSA0, '
                "SYCL0, Vulkan0, MTL0, "
                "RPC0 or GPUOpenCL0."
            ),
        ),
        (
            f"{SERVERS} -sm none -mg 2",
            None,
            "main device: 2 is asked for; expected a number below 2: they count from 0. Lower it.",
        ),
        (
            f"{SERVERS} -ts 1 -ot x=RPC1",
            None,
            'buffer "RPC1": it is none of this run; expected CPU, RPC0[a:1] or RPC0[b:2]. Correct the name.',
        ),
        (
            f"{SERVERS} -sm none -ot x=RPC0[b:2]",
            None,
            (
                'buffer "RPC0[b:2]": it is none of this run; expected CPU or RPC0[a:1]. Correct the name. '
                "That device is there "
                "and not used."
            ),
        ),
        (
            f"--rpc {','.join(f'a:{number}' for number in range(17))}",
            None,
            "devices: there are 17; the engine takes 16 at most. Name fewer.",
        ),
        (
            "--spec-type draft-mtp",
            None,
            "a model: it has no multi-token prediction blocks to draft with; expected some. Do not draft.",
        ),
    ],
)
def test_devices_that_cannot_be_meant_are_refused(flags: str, free: tuple[int, ...] | None, message: str) -> None:
    assert message == refusal(f"llama-server -m model.gguf {flags}", free=free)


def test_a_family_without_a_rule_is_refused() -> None:
    with pytest.raises(ArchitectureError) as refused:
        run("llama-server -m model.gguf", files={"model.gguf": small_llama("newest")})

    assert (
        'a model: no rule for its caches: "general.architecture" is "newest"; expected a family whose cache '
        "is known here."
    ) == str(refused.value)


def test_only_gguf_is_loaded() -> None:
    inventory = replace(small_llama(), format="safetensors")

    assert ("a model: its format is safetensors; llama.cpp loads GGUF. Convert it, or name a GGUF file.") == refusal(
        "llama-server -m model.gguf", files={"model.gguf": inventory}
    )


@pytest.mark.parametrize("build", BUILDS)
def test_every_known_build_places_a_whole_model_alike(build: str) -> None:
    """They differ in what a number of layers counts, and in blocks that draft."""
    assert run(f"llama-server -m model.gguf {SERVERS} -ts 1,1 -ngl 99", build=build).rows == (
        run(f"llama-server -m model.gguf {SERVERS} -ts 1,1 -ngl 99").rows
    )


def test_an_unknown_build_is_refused() -> None:
    with pytest.raises(InputError) as refused:
        profile_of("b1")

    assert (
        'build: "b1" is not known here; expected b11434, 0c1e570, b10256, b8100 or b7400. Take the nearest one.'
    ) == str(refused.value)


@pytest.mark.parametrize(
    ("flags", "free_mib", "compute", "expected"),
    [
        ("-fit off", (1,), (0, 0), Fitting.OFF),
        ("-ngl 99 -c 512", (1,), (0, 0), Fitting.CANNOT),
        ("-cmoe -c 512", (1,), (0, 0), Fitting.CANNOT),
        ("-ngl 99", (1,), (0, 0), Fitting.ACTS),
        ("-ngl auto -c 512", (1,), (0, 0), Fitting.ACTS),
        ("-c 512", (1100,), (0, 0), Fitting.LEAVES),
        ("-c 512 -fitt 2048", (1100,), (0, 0), Fitting.ACTS),
        ("-c 512", (1100,), (0, 90 * MIB), Fitting.OPEN),
        ("-c 512", (1100,), (90 * MIB, 90 * MIB), Fitting.ACTS),
        ("-c 512", (1100,), None, Fitting.OPEN),
        ("-c 512 -ts 1,1", (1100, 1), (0, 0), Fitting.CANNOT),
        ("-c 512", (1100, 1), (0, 0), Fitting.ACTS),
        ("-c 512", None, (0, 0), Fitting.OPEN),
    ],
)
def test_whether_fitting_acts(
    flags: str, free_mib: tuple[int, ...] | None, compute: tuple[int, int] | None, expected: Fitting
) -> None:
    """Not where all that it could change is named, nor where every device surely keeps its margin."""
    free = None if free_mib is None else tuple(size * MIB for size in free_mib)
    emulation = run(f"llama-server -m model.gguf {flags}", free=free)
    rows = [replace(row, compute_bytes=compute) for row in emulation.rows]

    assert expected is fitting(emulation.request, emulation.assignment.devices, rows)


def test_an_unknown_compute_buffer_makes_no_sum_known() -> None:
    """Until a rule predicts it, it is None, with a draft or without."""
    emulation = run(f"{PLAIN} -md model.gguf")

    assert {None} == {row.compute_bytes for row in emulation.rows}


def test_notes_say_what_bytes_do_not() -> None:
    keys = {"nextn_predict_layers": 1}
    line = f"FOO=1 llama-server -m model.gguf -fit off {SERVERS} -ts 1,1 -ot ffn=CPU"

    assert (
        (
            "Every RPC server is taken to serve one device with the alignment of a CPU; a GPU behind it "
            "takes a few bytes more "
            "a tensor."
        ),
        "Block 3 is for multi-token prediction and not loaded, and takes a slot all the same.",
        "Tensors that are moved leave the caches of their blocks where the blocks are.",
        "Weights on the host may be repacked for its processor, in buffers that are not predicted.",
        "What Host maps of the files is file cache; what it needs of it is the model's bytes there.",
        "FOO is set before the program; it is not read.",
    ) == run(line, files={"model.gguf": small_llama("glm4moe", **keys)}).notes


def test_devices_beside_one_another_keep_inputs_several_times() -> None:
    note = "Inputs of graphs are kept 4 times on every device, so that devices compute beside one another."

    assert note in run(PLAIN).notes
    for flags in ("-ngl 2", "-nkvo", "-ot x=CPU", "-sm none"):
        assert note not in run(f"{PLAIN} {flags}").notes
    assert note not in run(PLAIN, build="b10256").notes


def test_bytes_of_a_device_are_a_value() -> None:
    row = run(PLAIN).rows[0]

    assert row == DeviceBytes("RPC0", row.model_bytes, row.cache_bytes, 0, None, 0, None)
    assert emulated(small_llama(), "-c 1024 -ts 1,1").rows[0].name == row.name


def test_a_card_that_a_server_here_serves_too_may_be_counted_twice() -> None:
    """https://github.com/ggml-org/llama.cpp/issues/11435: local cards behind a server on the same machine."""
    note = (
        "127.0.0.1:50052 is a server on this machine: if the card that it serves is also used as CUDA0 or another "
        "local device, both are in one memory, and their bytes add up there."
    )
    line = "llama-server -m model.gguf -np 1 --rpc 127.0.0.1:50052 --device RPC0,CUDA0 -ngl 99 -ts 1,1"

    assert note in run(line).notes
    assert note not in run(line.replace("127.0.0.1", "10.0.0.2")).notes
    assert note not in run(line.replace("RPC0,CUDA0", "RPC0").replace("1,1", "1")).notes


def test_a_server_that_is_named_twice_is_one_card() -> None:
    line = "llama-server -m model.gguf -np 1 --rpc 10.0.0.2:50052,10.0.0.2:50052 --device RPC0,RPC1 -ngl 99 -ts 1,1"

    assert "10.0.0.2:50052 is named 2 times: its devices are the same card, and add up there." in run(line).notes


def test_patterns_that_fit_no_tensor_are_noted() -> None:
    """A space behind a comma is part of the next pattern; experts of more blocks than there are need no word."""
    words = (
        "llama-server",
        "-m",
        "model.gguf",
        "-c",
        "1024",
        "-ncmoe",
        "99",
        "-ot",
        "ffn_up=CPU, ffn_down=CPU,x.y=CPU",
    )

    assert ['No tensor\'s name fits " ffn_down", "x.y": nothing is moved by it.'] == [
        note for note in run(words, free=(24 * 2**30,)).notes if "fits" in note
    ]


@pytest.mark.parametrize(("build", "width"), [("b11434", 256), ("0c1e570", 128)])
def test_an_indexer_that_pools_keeps_a_second_key_in_every_cell(build: str, width: int) -> None:
    """Runs of qwen4exp with 128 values a key: b11434 logs an indexer cache of 2048 cells x 3 x 256 values a block."""
    plain = run("llama-server -m model.gguf -np 3 -c 6144")
    terms = plain.inventory.architecture.cache
    assert not isinstance(terms, MissingFact)
    indexer = replace(terms[0], kind=CacheKind.INDEXER, key_values=128, value_values=0, own_indices=True)
    odd = replace(
        plain.inventory, architecture=replace(plain.inventory.architecture, family="qwen4exp", cache=(indexer,))
    )
    kept = kept_terms(profile_of(build), odd, plain.settings)

    assert [2048 * 3 * width * 2] == [term_allocation(term, CPU) for term in kept]
