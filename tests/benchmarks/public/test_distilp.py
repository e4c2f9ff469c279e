"""distilp's profiles are read in its own units, and its objective is minimised as it is written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import pytest

from benchmarks.public.distilp import DEVICES, MODELS, DistilpDevice, DistilpModel, problem_of, read_device, read_model

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("highspy", reason="the objective is minimised by HiGHS, of the extra bench")

from benchmarks.public.distilp_objective import (
    Assignment,
    best_of_all,
    best_of_choice,
    best_of_subsets,
    seconds_of,
)

GB = 10**9


@pytest.fixture(scope="session")
def distilp(data_folder: Path) -> Path:
    """Return the folder of distilp's profiles."""
    folder = data_folder / "instances" / "distilp"
    if not folder.is_dir():
        pytest.skip(f"no public instances at {folder}")
    return folder


def model(layers: int = 6) -> DistilpModel:
    """Return layers of 1 GB that hold 1.15 GB, with nothing to compute and no cache."""
    return DistilpModel(
        name="plain",
        layers=layers,
        layer_bytes=GB,
        input_bytes=0,
        output_bytes=0,
        vocabulary=1,
        cache_elements=0,
        hidden_size=1,
        context_tokens=1,
        layer_operations=0.0,
        output_operations=0.0,
        quantization="Q8_0",
    )


def device(gb: float, gpu_gb_per_second: float, hop_seconds: float, *, is_head: bool = False) -> DistilpDevice:
    """Return a Mac whose CPU reads 10 GB and whose disk 1 GB a second."""
    rates = {"Q8_0": {"b_1": 1.0}}
    return DistilpDevice(
        name="mac",
        os_type="mac_metal",
        is_head=is_head,
        is_unified_mem=True,
        cpu_operations_per_second=rates,
        gpu_operations_per_second=rates,
        cpu_bytes_per_second=10.0 * GB,
        gpu_bytes_per_second=gpu_gb_per_second * GB,
        cpu_cache_copy_seconds=0.0,
        gpu_cache_copy_seconds=0.0,
        hop_seconds=hop_seconds,
        disk_bytes_per_second=1.0 * GB,
        metal_bytes=int(gb * GB),
        cpu_fixed_bytes=0,
        gpu_fixed_bytes=0,
    )


def test_one_device_that_holds_all_beats_two_by_their_hop() -> None:
    """Six layers of 1.15 GB at 100 GB/s take 0.069 s, and each device used a hop of 0.05 s."""
    pool = (device(7, 100, 0.05, is_head=True), device(7, 100, 0.05))
    everyone, choice = best_of_all(model(), pool), best_of_choice(model(), pool)

    assert everyone is not None
    assert 0.169 == pytest.approx(everyone.seconds)
    assert 0.119 == pytest.approx(choice.seconds)
    assert {(6, 0), (0, 6)} >= {choice.layers}
    assert choice.layers == choice.on_gpu


def test_layers_that_memory_lacks_are_read_from_disk() -> None:
    """Room for 3 of 5 layers, in one round: 2 s from disk, and 2 s more if the GPU took them, not the CPU."""
    alone = best_of_all(model(layers=5), (device(3.4501, 100, 0.0, is_head=True),))

    assert alone is not None
    assert 2.0 + 3 * 0.0115 + 2 * 0.115 == pytest.approx(alone.seconds)
    assert ((5,), (3,)) == (alone.layers, alone.on_gpu)


def test_more_devices_than_layers_cannot_all_be_used() -> None:
    """But some of them can."""
    pool = tuple(device(9, 100, 0.01, is_head=number == 0) for number in range(3))

    assert best_of_all(model(layers=2), pool) is None
    assert 2 == sum(best_of_choice(model(layers=2), pool).layers)


def test_the_objective_of_an_assignment_is_arithmetic() -> None:
    """Two rounds of 3 layers: one pass, and once more the busiest device with half of what it fetches."""
    pool = (device(9, 100, 0.05, is_head=True), device(9, 50, 0.01))
    placed = Assignment(0.0, 2, (1, 2), (1, 2))

    busy = (0.0115 + 0.05, 0.046 + 0.01)
    assert sum(busy) + max(busy[0] + 1.15 / 2, busy[1] + 2.30 / 2) == pytest.approx(seconds_of(model(), pool, placed))


@pytest.mark.parametrize("seed", range(6))
def test_the_choice_in_one_program_is_the_best_of_all_subsets(distilp: Path, seed: int) -> None:
    """On pools drawn between the extremes of the published devices; each value is what arithmetic says."""
    from benchmarks.public.distilp_subset import drawn_pool  # noqa: PLC0415 - needs the data

    llama = replace_layers(read_model(distilp, "Llama-3-70B 4-bit"), 20)
    pool = drawn_pool(distilp, 4, seed)
    choice, subsets = best_of_choice(llama, pool), best_of_subsets(llama, pool)

    assert choice.seconds == pytest.approx(subsets.seconds, rel=1e-6)
    assert choice.seconds == pytest.approx(seconds_of(llama, pool, choice), rel=1e-6)


def replace_layers(whole: DistilpModel, layers: int) -> DistilpModel:
    """Return a model cut short."""
    return msgspec.structs.replace(whole, layers=layers)


def test_every_published_profile_is_read(distilp: Path) -> None:
    """Layers, bytes of a layer, and what it takes with 15 % and an 8-bit cache."""
    read = {name: read_model(distilp, name) for name in MODELS}

    assert {
        "Llama-3-70B 4-bit": (80, 454_557_696, 523_822_694),
        "Hermes-70B bf16": (80, 1_711_276_032, 1_968_237_772),
        "Qwen3-32B bf16": (64, 904_396_800, 1_126_563_840),
        "Qwen3-4B 8-bit": (36, 74_711_040, 172_425_216),
    } == {name: (one.layers, one.layer_bytes, one.held_bytes) for name, one in read.items()}
    assert {"m1": 0.06355, "m2": 0.06292, "m3 (Hermes)": 0.0, "m3 (Llama)": 0.0, "m3 (Qwen)": 0.0} == {
        name: read_device(distilp, name, is_head=False).hop_seconds for name in DEVICES
    }


def test_the_same_question_for_layerfit_keeps_bytes_and_hops(distilp: Path) -> None:
    """Budgets are Metal's bytes; the slowest device's seconds are every hop's."""
    devices = tuple(read_device(distilp, name, is_head=False) for name in ("m1", "m2"))
    problem = problem_of(read_model(distilp, "Qwen3-4B 8-bit"), devices)

    assert 36 * 172_425_216 == problem.total_bytes
    assert [6_831_800_320, 18_986_024_960] == [node.budget_bytes for node in problem.nodes]
    assert replace(problem.links.default, latency_ns=63_550_000) == problem.links.default
