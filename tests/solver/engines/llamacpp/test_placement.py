"""Where single tensors land, and how much of a buffer they take."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from support.llamacpp import Specification, dense, emulated, model

from solver.engines.llamacpp.facts import HOST, Assignment, Device, Override
from solver.engines.llamacpp.placement import allocated_bytes, placed
from solver.engines.llamacpp.profile import CPU, backend_of, profile_of
from solver.errors import InputError

if TYPE_CHECKING:
    from tensors.inventory import Inventory
    from tensors.metadata import MetadataValue

PROFILE = profile_of("b11434")
KEYS: dict[str, MetadataValue] = {
    "block_count": 3,
    "context_length": 4096,
    "embedding_length": 256,
    "attention.head_count": 4,
    "attention.head_count_kv": 2,
}
DEVICES = tuple(Device(f"CUDA{number}", f"CUDA{number}", backend_of("CUDA0"), None) for number in range(2))


def places(inventory: Inventory, slots: tuple[int, ...], *overrides: Override, drafts: bool = False) -> Counter[str]:
    """Return "tensor on device" for every copy, with how often it is there."""
    assignment = Assignment(DEVICES, slots, overrides)
    copies = placed(PROFILE, inventory, assignment, drafts=drafts)
    return Counter(f"{copy.tensor.name} on {'host' if copy.device == HOST else copy.device}" for copy in copies)


def with_tensors(*more: Specification, family: str = "llama", tied: bool = False, blocks: int = 3) -> Inventory:
    """Return a small model with further tensors."""
    tensors = dense(
        blocks,
        hidden=256,
        kv_width=128,
        feed_forward=512,
        vocabulary=512,
        kind="F16",
        head_kind=None if tied else "F16",
    )
    return model(family, KEYS, [*tensors, *more], vocabulary=512)


def test_blocks_go_with_their_slot_and_the_ends_with_theirs() -> None:
    found = places(with_tensors(), (HOST, 0, 1, 1))

    assert 1 == found["blk.0.ffn_up.weight on host"] == found["blk.1.ffn_up.weight on 0"]
    assert 1 == found["token_embd.weight on host"] == found["output.weight on 1"] == found["output_norm.weight on 1"]
    assert 30 == found.total()


@pytest.mark.parametrize(("head", "expected"), [(1, {"host": 1, "1": 1}), (HOST, {"host": 1})])
def test_a_tied_head_is_a_copy_unless_it_shares_the_buffer(head: int, expected: dict[str, int]) -> None:
    found = places(with_tensors(tied=True), (0, 0, 0, head))

    assert expected == {
        name.rpartition(" ")[2]: count for name, count in found.items() if name.startswith("token_embd")
    }


def test_an_override_of_the_embedding_moves_both_uses_of_it() -> None:
    """The name is the same, so a tied head finds its copy there already."""
    found = places(with_tensors(tied=True), (0, 0, 0, 1), Override("^token_embd", 0))

    assert [("token_embd.weight on 0", 1)] == [item for item in found.items() if item[0].startswith("token_embd")]


def test_rope_factors_are_copied_once_to_every_buffer_with_blocks() -> None:
    found = places(with_tensors(("rope_freqs.weight", (32,), "F32")), (HOST, 0, 0, 1))

    assert {"rope_freqs.weight on host", "rope_freqs.weight on 0"} == {name for name in found if "rope" in name}


def test_rope_factors_of_gemma4_go_with_blocks_without_a_window() -> None:
    """Their heads are twice as wide as there are factors."""
    norms = [(f"blk.{block}.attn_q_norm.weight", (128 if block == 2 else 64,), "F32") for block in range(3)]
    inventory = with_tensors(("rope_freqs.weight", (64,), "F32"), *norms, family="gemma4")

    assert {"rope_freqs.weight on 1"} == {name for name in places(inventory, (0, 0, 1, 1)) if "rope" in name}


@pytest.mark.parametrize(
    ("tensor", "family", "expected"),
    [
        ("token_embd_norm.weight", "llama", "0"),
        ("token_embd_norm.weight", "lfm2", "1"),
        ("per_layer_model_proj.weight", "gemma4", "0"),
        ("per_layer_token_embd.weight", "gemma4", "host"),
        ("position_embd.weight", "gpt2", "host"),
        ("output_hc_fn.weight", "deepseek4", "1"),
        ("output_norm.bias", "bloom", "1"),
    ],
)
def test_tensors_outside_of_blocks_have_a_slot(tensor: str, family: str, expected: str) -> None:
    """The first block's, the head's, or none: the host."""
    found = places(with_tensors((tensor, (256,), "F32"), family=family), (0, 0, 1, 1))

    assert [f"{tensor} on {expected}"] == [name for name in found if name.startswith(tensor)]


def test_a_tensor_of_no_slot_is_refused() -> None:
    with pytest.raises(InputError) as refusal:
        places(with_tensors(("v.patch_embd.weight", (256,), "F32")), (0, 0, 1, 1))

    assert (
        'a model: no rule says where tensor "v.patch_embd.weight" goes; expected the names that llama.cpp gives. Check '
        "that it is a model in GGUF, and not an adapter or a projector."
    ) == str(refusal.value)


def drafting(family: str) -> Inventory:
    """Return a model whose third block is for multi-token prediction."""
    keys = KEYS | {"nextn_predict_layers": 1}
    tensors = [
        *dense(3, hidden=256, kv_width=128, feed_forward=512, vocabulary=512, kind="F16", head_kind="F16"),
        ("blk.2.nextn.eh_proj.weight", (256, 512), "F16"),
        ("blk.2.nextn.shared_head_norm.weight", (256,), "F32"),
        ("blk.2.exp_probs_b.bias", (8,), "F32"),
    ]
    return model(family, keys, tensors, vocabulary=512)


@pytest.mark.parametrize(
    ("family", "drafts", "loaded"),
    [
        ("glm4moe", False, 0),
        ("glm4moe", True, 12),
        ("exaone4", True, 0),
        ("glm-dsa", False, 1),
        ("cohere2moe", False, 1),
        ("hy_v3", False, 5),
    ],
)
def test_blocks_for_multi_token_prediction_are_loaded_where_they_draft(family: str, drafts: bool, loaded: int) -> None:
    """Some loaders take single tensors of them all the same."""
    found = places(drafting(family), (0, 0, 1, 1), drafts=drafts)

    assert loaded == sum(count for name, count in found.items() if name.startswith("blk.2."))


def test_the_first_override_that_fits_decides() -> None:
    found = places(with_tensors(), (0, 0, 0, 0), Override("ffn_up", HOST), Override("ffn", 1))

    assert 1 == found["blk.0.ffn_up.weight on host"] == found["blk.0.ffn_down.weight on 1"]
    assert 1 == found["blk.0.attn_q.weight on 0"]


@pytest.mark.parametrize(
    ("backend", "shape", "kind", "expected"),
    [
        ("RPC0", (3, 256), "Q4_K", 3 * 144 + 16),
        ("CUDA0", (3, 256), "Q4_K", 3 * 144 + 144 + 64),
        ("CUDA0", (3, 512), "Q4_K", 3 * 288 + 32),
        ("CUDA0", (3, 96), "Q8_0", 3 * 102 + 13 * 34 + 20),
        ("CUDA0", (3, 96), "F16", 3 * 192 + 64),
        ("CUDA0", (1,), "F32", 128),
    ],
)
def test_buffers_round_tensors_up(backend: str, shape: tuple[int, ...], kind: str, expected: int) -> None:
    """CUDA fills quantised rows up to 512 values, once a tensor, and aligns to 128 bytes; others to 32."""
    inventory = with_tensors(("rope_freqs.weight", shape, kind))
    tensor = next(tensor for tensor in inventory.tensors if tensor.name == "rope_freqs.weight")

    assert expected == allocated_bytes(tensor, backend_of(backend))
    assert allocated_bytes(tensor, CPU) <= expected


def test_the_host_maps_each_file_from_its_first_tensor_to_its_last() -> None:
    """Of three files, the span of what stays on the host; devices do not count, nor do gaps between files."""
    inventory = model(
        "llama",
        KEYS,
        dense(3, hidden=256, kv_width=128, feed_forward=512, vocabulary=512, kind="F16", head_kind="F16"),
        vocabulary=512,
        files=3,
    )
    emulation = emulated(inventory, "-c 256 -ngl 2 -nr", servers=1)
    spans = []
    for file in range(3):
        kept = [
            tensor
            for tensor in inventory.tensors
            if tensor.file == file and (tensor.block in (0, 1) or tensor.name == "token_embd.weight")
        ]
        if kept:
            start = min(tensor.offset for tensor in kept)
            spans.append(max(tensor.offset + tensor.size_bytes for tensor in kept) - start)

    assert 2 == len(spans)
    assert sum(spans) == emulation.rows[-1].mapped_bytes


def test_nothing_is_mapped_where_files_are_read() -> None:
    assert emulated(with_tensors(), "-c 256 -ngl 0 -lm none", servers=0).rows[-1].mapped_bytes is None


def test_large_lookup_tables_are_read_by_row() -> None:
    """They are mapped, in a buffer of their own, and not counted as needed; -lzm off keeps them."""
    inventory = with_tensors(("per_layer_token_embd.weight", (2**17, 2**15), "F16"), family="gemma4")
    lazy, resident = (emulated(inventory, f"-c 256 -ngl 0 {flags}", servers=0).rows[-1] for flags in ("", "-lzm off"))

    assert 2**33 == resident.model_bytes - lazy.model_bytes
    assert lazy.mapped_bytes is not None
    assert 2**33 < lazy.mapped_bytes
