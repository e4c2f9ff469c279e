"""What is loaded beside the model, and what may come to its buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.llamacpp import MIB, model, run, small_llama

from solver.engines.llamacpp.facts import HOST_NAME
from solver.errors import InputError

if TYPE_CHECKING:
    from solver.engines.llamacpp.emulation import Emulation
    from tensors.inventory import Inventory

SERVERS = "--rpc a:1,b:2"
PLAIN = f"llama-server -m model.gguf {SERVERS} -ts 1,1 -c 1024"


def projector() -> Inventory:
    return model("clip", {}, [("v.patch_embd.weight", (1000, 16), "F32"), ("mm.0.bias", (8,), "F32")], name="eyes")


def adapter(base: str = "blk.3.attn_q.weight") -> Inventory:
    pair = [(f"{base}.lora_a", (8, 256), "F16"), (f"{base}.lora_b", (256, 8), "F16")]
    return model("llama", {}, pair, name="an adapter")


def refusal(line: str, files: dict[str, Inventory]) -> str:
    with pytest.raises(InputError) as error:
        run(line, files=files)
    return str(error.value)


def more_than(one: Emulation, other: Emulation) -> dict[str, int]:
    """Return by how many bytes of tensors each device of one run holds more than the same of the other."""
    before = {row.name: row.model_bytes for row in other.rows}
    more = {row.name: row.model_bytes - before.get(row.name, 0) for row in one.rows}
    return {name: size for name, size in more.items() if size}


@pytest.mark.parametrize(
    ("flags", "device"),
    [
        ("", "RPC0"),
        ("-mmdev RPC1", "RPC1"),
        ("-mmdev CUDA0", "CUDA0"),
        ("-mmdev none", HOST_NAME),
        ("--no-mmproj-offload", HOST_NAME),
        ("-dev RPC1,RPC0", "RPC1"),
    ],
)
def test_a_projector_lies_on_one_device(flags: str, device: str) -> None:
    """The first of those named, else a local one, else a server's; its buffers for images are an interval beside it."""
    with_it = run(f"{PLAIN} {flags} --mmproj eyes.gguf", files={"eyes.gguf": projector()})
    size = 64000 + (128 if device == "CUDA0" else 32)

    assert {device: size} == more_than(with_it, run(f"{PLAIN} {flags.replace('--no-mmproj-offload', '')}"))
    assert [(device, 0, size // 2)] == [
        (beside.device, beside.low_bytes, beside.high_bytes)
        for beside in with_it.beside
        if beside.what == "buffers for images"
    ]


def test_a_model_is_no_projector() -> None:
    message = refusal(f"{PLAIN} --mmproj model.gguf", {})

    assert 'a model: it is a model of family "llama"; expected a projector (clip). Name that file.' == message


def test_adapters_lie_where_the_tensors_lie_that_they_adapt() -> None:
    with_it = run(f"{PLAIN} --lora a.gguf,a.gguf", files={"a.gguf": adapter()})

    assert {"RPC1": 2 * 2 * 8 * 256 * 2} == more_than(with_it, run(PLAIN))


def test_an_adapter_of_another_model_is_refused() -> None:
    message = refusal(f"{PLAIN} --lora a.gguf", {"a.gguf": adapter("blk.9.attn_q.weight")})

    assert (
        'an adapter: tensor "blk.9.attn_q.weight.lora_a" adapts none of the model\'s; expected an adapter '
        "of this model. "
        "Leave it out."
    ) == message


def test_a_draft_has_layers_devices_and_types_of_its_own() -> None:
    """Its context is as long as the model's; everything else is added to the same devices."""
    alone = run(
        f"llama-server -m draft.gguf -c 1024 -ngl 2 {SERVERS} -dev RPC1 -ctk q8_0 -ctv q8_0",
        files={"draft.gguf": small_llama()},
    )
    both = run(f"{PLAIN} -md draft.gguf -ngld 2 -devd RPC1 -ctkd q8_0 -ctvd q8_0", files={"draft.gguf": small_llama()})
    expected = {row.name: row for row in run(PLAIN).rows}
    for row in both.rows:
        before = expected[row.name]
        more = next((other for other in alone.rows if other.name == row.name), None)

        assert row.cache_bytes == before.cache_bytes + (more.cache_bytes if more else 0)
        assert row.model_bytes == before.model_bytes + (more.model_bytes if more else 0)


def test_prompts_and_checkpoints_are_bounded_beside_the_host() -> None:
    """A server keeps prompts up to 8 GiB by default, and up to 32 checkpoints of windows for each sequence."""
    plain = {beside.what: beside.high_bytes for beside in run("llama-server -m model.gguf -c 1024").beside}
    windows = small_llama("gemma3", attention__sliding_window=64)
    windowed = run("llama-server -m model.gguf -c 1024 -cram 16 -np 2", files={"model.gguf": windows})

    assert {"prompts that are kept": 8192 * MIB} == plain
    assert {"prompts that are kept": 16 * MIB, "checkpoints of sequences": 32 * 2 * 4 * 512 * 512} == {
        beside.what: beside.high_bytes for beside in windowed.beside
    }
    assert () == run("llama-completion -m model.gguf -c 1024").beside


def test_a_driver_takes_memory_on_every_card() -> None:
    found = run("llama-completion -m model.gguf -c 1024", free=(2**30, 2**30)).beside

    assert [("CUDA0", 320 * MIB, 460 * MIB), ("CUDA1", 320 * MIB, 460 * MIB)] == [
        (beside.device, beside.low_bytes, beside.high_bytes) for beside in found
    ]
