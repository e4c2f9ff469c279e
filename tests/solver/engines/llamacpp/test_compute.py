"""Compute buffers: closed forms of simple models, what settings add, named terms, models that are not understood."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.llamacpp import dense, emulated, llama_70b, mixtral, model

from solver.engines.llamacpp.compute import (
    ComputeTerm,
    compute_buffer,
    compute_interval,
    simulate,
    unseen_interval,
)
from solver.engines.llamacpp.compute_context import Mode
from solver.engines.llamacpp.compute_graph import HOST_PLACE
from solver.engines.llamacpp.facts import HOST, DeviceFacts
from solver.engines.llamacpp.profile import MEASURED_BUILD

if TYPE_CHECKING:
    from solver.engines.llamacpp.emulation import Emulation
    from tensors.inventory import Inventory
    from tensors.metadata import MetadataValue

HIDDEN, WIDE, VOCABULARY, BATCH = 512, 1536, 8192, 512
KEYS: dict[str, MetadataValue] = {
    "block_count": 4,
    "context_length": 8192,
    "embedding_length": HIDDEN,
    "feed_forward_length": WIDE,
    "attention.head_count": 8,
    "attention.head_count_kv": 2,
    "attention.key_length": 64,
    "attention.value_length": 64,
}


def small(family: str = "llama") -> Inventory:
    tensors = dense(4, hidden=HIDDEN, kv_width=128, feed_forward=WIDE, vocabulary=VOCABULARY)
    return model(family, KEYS, tensors, vocabulary=VOCABULARY)


def facts(emulation: Emulation, device: int, *, copies: int = 1) -> DeviceFacts:
    return DeviceFacts(
        inventory=emulation.inventory,
        settings=emulation.settings,
        assignment=emulation.assignment,
        device=device,
        blocks=(),
        parted_blocks=(),
        guest_blocks=(),
        has_head=False,
        pipeline_copies=copies,
        caches=(),
    )


def sizes(emulation: Emulation, *, copies: int = 1, pinned: bool = True, flash: bool = True) -> list[int]:
    """Return the bytes of every device's simulated buffer, the host last."""
    mode = Mode(flash=flash, pinned=pinned, probe=False, unseen=False)
    peaks = simulate(emulation.inventory, emulation.settings, emulation.assignment, copies, mode)
    return [peaks[place].size_bytes for place in (*range(len(emulation.assignment.devices)), HOST_PLACE)]


@pytest.mark.parametrize("context", [512, 2048])
@pytest.mark.parametrize("batch", [64, 512])
def test_a_dense_model_on_one_device_takes_logits_and_one_residual(context: int, batch: int) -> None:
    """Device: micro-batch x (vocabulary + width) floats. Host: its vectors and embeddings, a mask, 28 bytes a token."""
    flags = f"-c {context} -ub {batch} -ngl all"
    device, host = sizes(emulated(small(), flags, servers=1, build=MEASURED_BUILD))

    assert batch * 4 * (VOCABULARY + HIDDEN) == device
    assert 2 * batch * HIDDEN * 4 + context * batch * 2 + 28 * batch == host


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("-c 8192", [327196672, 447266816, 117497856]),
        ("-c 8192 -ub 2048 -b 2048", [1308786688, 1789067264, 469991424]),
    ],
)
def test_estimates_of_a_70b_model(flags: str, expected: list[int]) -> None:
    """llama-fit-params at 0c1e570 with two CPU servers, on a header-only file of that shape; the host last."""
    emulation = emulated(llama_70b(), f"{flags} -ngl all -ts 1,1 -nr", servers=2, build=MEASURED_BUILD)

    assert expected == sizes(emulation, copies=4, pinned=False)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("-c 4096", [440.05, 410.55, 176.08]),
        ("-c 8192", [456.05, 426.55, 192.08]),
        ("-c 8192 -ub 2048 -b 2048", [1824.22, 1706.19, 768.31]),
    ],
)
def test_estimates_of_a_70b_model_with_batches_of_tokens_and_vectors(flags: str, expected: list[float]) -> None:
    """MiB that llama-fit-params of b11434 logs with two CPU servers, on a header-only file of that shape."""
    emulation = emulated(llama_70b(), f"{flags} -ngl all -ts 1,1 -nr", servers=2, build="b11434")

    assert expected == [round(size / 2**20, 2) for size in sizes(emulation, copies=4, pinned=False)]


def test_batches_of_tokens_and_vectors_take_two_more_residuals_of_the_host() -> None:
    """The vectors, a copy of them, and for each token its number and its place; what is read later is no larger."""
    before, after = (
        sizes(emulated(small(), "-c 2048 -ngl all", servers=1, build=build))[-1] for build in (MEASURED_BUILD, "b11434")
    )

    assert 2 * BATCH * HIDDEN * 4 + 12 * BATCH == after - before


def test_a_family_without_such_batches_reserves_nothing_for_them() -> None:
    odd = replace(small(), architecture=replace(small().architecture, family="cogvlm"))
    before, after = (
        sizes(emulated(odd, "-c 2048 -ngl all", servers=1, build=build)) for build in (MEASURED_BUILD, "b11434")
    )

    assert before == after


def test_attention_that_is_not_fused_adds_its_scores() -> None:
    """Scores of every head over all cells, in floats; the mask is of floats too."""
    emulation = emulated(small(), "-c 8192 -ngl all", servers=1)
    fused, plain = sizes(emulation), sizes(emulation, flash=False)

    assert fused[0] < 8 * 8192 * BATCH * 4 <= plain[0]
    assert 8192 * BATCH * 2 <= plain[1] - fused[1]


def test_several_experts_of_a_token_widen_the_activations() -> None:
    one = sizes(emulated(mixtral(), "-c 4096 -ngl all", servers=1))[0]
    counts = mixtral().architecture.experts
    assert counts is not None

    assert counts.used * 14336 * BATCH * 4 < one


def test_every_input_is_kept_once_a_copy_on_every_device() -> None:
    emulation = emulated(small(), "-c 8192 -ngl all -ts 1,1", servers=2)
    alone, copied = sizes(emulation), sizes(emulation, copies=4)
    mask = 8192 * BATCH * 2

    assert all(3 * mask <= four - one for one, four in zip(alone, copied, strict=True))


def test_an_interval_holds_the_simulated_sizes_of_runs_and_dry_runs() -> None:
    emulation = emulated(llama_70b(), "-c 8192 -ngl all -ts 1,2,1", servers=3)
    runs = [sizes(emulation, copies=4, pinned=pinned) for pinned in (True, False)]
    intervals = [compute_interval(facts(emulation, device, copies=4)) for device in (0, 1, 2, HOST)]

    assert runs[0] != runs[1]
    for place, interval in enumerate(intervals):
        assert interval is not None
        assert interval[0] <= min(run[place] for run in runs) <= max(run[place] for run in runs) <= interval[1]


def test_the_terms_of_a_buffer_have_names_and_add_up() -> None:
    known = facts(emulated(small(), "-c 2048 -ngl all", servers=1, build=MEASURED_BUILD), 0)
    buffer = compute_buffer(known)
    residual, logits = BATCH * HIDDEN * 4, BATCH * VOCABULARY * 4
    margin = (logits + residual) * 5 // 100

    assert (
        ComputeTerm("activations", residual, residual),
        ComputeTerm("results that are kept", logits, logits),
        ComputeTerm("layout of this family", -margin, margin),
    ) == buffer.terms
    assert (residual + logits - margin, residual + logits + margin) == compute_interval(known)


def test_a_family_that_was_never_seen_gets_a_wider_interval() -> None:
    known = facts(emulated(small(), "-c 2048 -ngl all", servers=1), 0)
    other = replace(known, inventory=replace(small(), architecture=replace(small().architecture, family="new")))

    assert compute_interval(other) == unseen_interval(known)
    assert compute_buffer(known).low_bytes > compute_buffer(other).low_bytes
    assert compute_buffer(known).high_bytes < compute_buffer(other).high_bytes


def test_a_model_without_a_known_graph_is_bounded_by_the_widths_of_its_tensors() -> None:
    """Its interval holds that of the plain model of the same widths."""
    known = facts(emulated(small(), "-c 2048 -ngl all", servers=1), 0)
    tensors = tuple(tensor for tensor in small().tensors if "attn_k" not in tensor.name)
    odd = compute_buffer(replace(known, inventory=replace(small(), tensors=tensors)))
    plain = compute_buffer(known)

    assert odd.low_bytes <= plain.low_bytes <= plain.high_bytes <= odd.high_bytes


def test_a_model_without_embeddings_gets_no_interval() -> None:
    known = facts(emulated(small(), "-c 2048 -ngl all", servers=1), 0)
    tensors = tuple(tensor for tensor in small().tensors if tensor.name != "token_embd.weight")

    assert compute_interval(replace(known, inventory=replace(small(), tensors=tensors))) is None


def test_other_devices_than_cpus_widen_the_interval() -> None:
    measured = facts(emulated(small(), "-c 2048 -ngl all", servers=1), 0)
    device = measured.assignment.devices[0]
    cards = (replace(device, backend=replace(device.backend, name="CUDA")),)
    cuda = compute_buffer(replace(measured, assignment=replace(measured.assignment, devices=cards)))

    assert "operations of this kind of device" in [term.name for term in cuda.terms]
    assert cuda.high_bytes > compute_buffer(measured).high_bytes


def test_drafting_adds_a_graph_of_its_own() -> None:
    plain = facts(emulated(small(), "-c 2048 -ngl all", servers=1), 0)
    drafting = compute_buffer(replace(plain, settings=replace(plain.settings, drafts=True)))

    assert ComputeTerm("graph of the drafting context", 0, compute_buffer(plain).high_bytes) in drafting.terms


def test_quantised_keys_and_values_are_turned_first() -> None:
    """The matrices are inputs: of 64 x 64 floats for heads of 64, on the host once for keys and once for values."""
    plain = sizes(emulated(small(), "-c 2048 -ngl all -fa on", servers=1))
    quantised = sizes(emulated(small(), "-c 2048 -ngl all -fa on -ctk q8_0 -ctv q8_0", servers=1))

    assert 2 * 64 * 64 * 4 == quantised[-1] - plain[-1]
