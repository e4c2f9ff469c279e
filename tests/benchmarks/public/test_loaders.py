"""Public files become problems with the sizes that their sources state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.public import exo, gpustack, parallax, prima
from benchmarks.public.folder import PublicDataError, instances_folder
from solver.planning import plan
from solver.solution import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from solver.problem import Problem

GIB = 2**30


@pytest.fixture(scope="session")
def public(data_folder: Path) -> Path:
    """Return the folder of public instances, with those of every source."""
    folder = data_folder / "instances"
    for source in ("exo/tests", "gpustack/estimates", "gpustack/workers", "parallax", "prima_cpp"):
        if not (folder / source).is_dir():
            pytest.skip(f"no public instances at {folder / source}")
    return folder


def stages(problem: Problem) -> list[tuple[int, int]]:
    """Return the ranges of a proved plan."""
    found = plan(problem)
    assert Outcome.OPTIMAL == found.outcome
    assert found.solution.placement is not None
    return [(stage.start, stage.end) for stage in found.solution.placement.stages]


def test_the_folder_is_the_one_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it there is none, and nothing fails for that."""
    monkeypatch.setenv("LAYERFIT_DATA", str(tmp_path))
    assert instances_folder() is None

    (tmp_path / "instances").mkdir()
    assert tmp_path / "instances" == instances_folder()


def test_a_gpu_offers_its_total_less_what_is_reserved_and_allocated(public: Path) -> None:
    """Both namings of the reserve are read; every worker is."""
    workers = {
        name: gpustack.read_worker(public / "gpustack", name) for name in gpustack.worker_names(public / "gpustack")
    }
    older, newer = workers["linux_nvidia_4_4080_16gx4"], workers["macos_metal_3_m2ultra_192g"]

    assert 40 == len(workers)
    assert [17_171_480_576 - GIB, 17_171_480_576 - GIB, 17_171_480_576 - GIB - 524_288_000] == [
        gpu.placeable_bytes for gpu in older.gpus[:3]
    ]
    assert (True, 206_158_430_208 - 32_589_091_760 - 2 * GIB) == (newer.unified, newer.placeable_bytes)


def test_an_estimate_gives_the_bytes_of_every_layer(public: Path) -> None:
    """Layers, the output and the bare device add up to what all layers together are said to take."""
    estimate = gpustack.read_estimate(public / "gpustack", "llama3_70b_partial_offload")

    assert [514_916_352, 548_474_880] == sorted(set(estimate.layer_bytes))
    assert 80 == len(estimate.layer_bytes)
    assert 43_509_097_472 == sum(estimate.layer_bytes) + estimate.output_bytes + estimate.device_bytes
    assert 8192 == estimate.context_tokens


def test_unlike_gpus_of_two_workers_take_a_70b_model(public: Path) -> None:
    """One card of 24 and two of 16 GiB."""
    folder = public / "gpustack"
    workers = tuple(gpustack.read_worker(folder, f"linux_nvidia_{name}") for name in ("1_4090_24gx1", "2_4080_16gx2"))

    assert 3 == len(stages(gpustack.problem_of(gpustack.read_estimate(folder, "llama3_70b_partial_offload"), workers)))


def test_an_estimate_of_a_split_is_no_list_of_layers(public: Path) -> None:
    """Since differences would be those of one GPU of several."""
    with pytest.raises(PublicDataError) as caught:
        gpustack.read_estimate(public / "gpustack", "llama3_70b_full_offload_split_2_4080")

    assert (
        "llama3_70b_full_offload_split_2_4080.json: steps [81] …; expected every number of layers on one GPU."
        == str(caught.value)
    )


def test_the_cluster_on_which_rounding_failed_has_a_plan(public: Path) -> None:
    """Without the card of 24 GB, which exo's rounding had given one layer too many."""
    model = exo.read_models(public / "exo")[exo.REPORTED]
    problem = exo.problem_of(model, tuple(gb * 10**9 for gb in exo.REPORTED_GB))

    assert 422_032_580_192 == problem.total_bytes
    assert [(0, 15), (15, 30), (30, 60)] == stages(problem)


def test_every_model_card_and_split_of_exo_is_read(public: Path) -> None:
    """Cards name bytes and layers; splits add up."""
    assert 123 == len(exo.read_models(public / "exo"))
    assert [(3, 3, 6), (4, 4, 4), (2, 3, 7), (18, 1, 1)] == [split.layers for split in exo.read_splits(public / "exo")]


def test_parallax_capacities_are_those_listed_else_half_the_memory(public: Path) -> None:
    """And one pipeline has a plan in every case."""
    cases = parallax.read_cases(public / "parallax")

    assert [
        [13, 13, 13, 13, 13, 13],
        [13, 13, 6, 6, 3, 3],
        [13, 13, 6, 6, 3, 3],
        [13, 5, 5, 3, 3],
        [6, 5, 5, 3, 3],
    ] == [[device.capacity_layers for device in case.devices] for case in cases]
    assert [3, 2, 2, 2, 2] == [len(stages(parallax.problem_of(case))) for case in cases]
    assert 3_211_591_680 == cases[0].layer_bytes


def test_the_home_cluster_holds_8b_on_one_machine_and_not_70b(public: Path) -> None:
    """As published: all layers of the 8B model on one machine, and the 70B model with the disk's help only."""
    cluster = prima.read_cluster(public / "prima_cpp")
    small, large = (
        gpustack.read_estimate(public / "gpustack", f"{name}_partial_offload") for name in ("llama3_8b", "llama3_70b")
    )

    assert [(0, 32)] == stages(prima.problem_of(cluster, small.layer_bytes, small.output_bytes))
    assert Outcome.INFEASIBLE == plan(prima.problem_of(cluster, large.layer_bytes, large.output_bytes)).outcome
    assert 674 == cluster.token_latency_ms["Llama 3-70B"]["prima.cpp"]


def test_a_file_of_another_form_is_refused_by_name(tmp_path: Path) -> None:
    """With the path of what is wrong in it."""
    (tmp_path / "model_cards.json").write_text('{"models": [{"model_id": 3}]}')
    with pytest.raises(PublicDataError) as caught:
        exo.read_models(tmp_path)

    assert (
        "model_cards.json: expected `str`, got `int` at models[0].model_id. "
        "docs/benchmarks.md names the folder of data."
    ) == str(caught.value)
