"""Descriptions of other programs: workers of GPUStack as a cluster, model cards of exo as artifacts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from solver.errors import InputError
from solver.options import DEFAULT_POLICY, Artifact, Shape, options
from solver.options.exo import read_cards
from solver.options.gpustack import read_workers
from solver.options.machines import pool_of_cluster

if TYPE_CHECKING:
    from pathlib import Path

GB = 10**9


def card(
    name: str, total: int, *, used: int | None = 0, allocated: int | None = 0, unified: bool = False
) -> dict[str, Any]:
    memory = {"total": total, "used": used, "allocated": allocated, "is_unified_memory": unified}
    return {"name": name, "type": "mps" if unified else "cuda", "memory": memory, "vendor": "x"}


def worker(name: str, *cards: dict[str, Any], ram: int = 64 * GB, used: int = 4 * GB) -> dict[str, Any]:
    memory = {"total": ram, "used": used, "allocated": 0, "is_unified_memory": False}
    status = {"memory": memory, "gpu_devices": list(cards), "os": {"name": "any"}}
    return {"name": name, "state": "ready", "system_reserved": {"ram": 2 * GB, "vram": GB}, "status": status}


def write(folder: Path, *workers: dict[str, Any]) -> Path:
    for number, one in enumerate(workers):
        (folder / f"{number}.json").write_text(json.dumps(one), encoding="utf-8")
    return folder


def test_workers_are_nodes_with_classes_by_name_and_size_and_free_cards_by_use(tmp_path: Path) -> None:
    """What an idle card's driver takes does not make it busy; anything allocated does."""
    cards = (
        card("NVIDIA GeForce RTX 4090", 24 * GB, used=GB // 2, allocated=None),
        card("NVIDIA GeForce RTX 4090", 24 * GB, used=20 * GB, allocated=None),
        card("NVIDIA GeForce RTX 4090", 24 * GB, used=0, allocated=1),
        card("AMD Radeon RX 7800 XT", 16 * GB),
    )
    (first, second) = pool_of_cluster(read_workers(write(tmp_path, worker("a", *cards)), DEFAULT_POLICY))

    assert ("a", "geforce-rtx-4090-24g", 24 * GB, 3, 1) == (
        first.name, first.gpu_class, first.gpu_memory_bytes, first.gpus, first.free_gpus
    )  # fmt: skip
    assert (64 * GB, 60 * GB) == (first.host_memory_bytes, first.host_free_bytes)
    assert ("a", "radeon-rx-7800-xt-16g", 1, 1, 0) == (
        second.name, second.gpu_class, second.gpus, second.free_gpus, second.host_memory_bytes
    )  # fmt: skip


def test_a_unified_memory_is_one_card_up_to_what_the_system_gives_it(tmp_path: Path) -> None:
    (node,) = read_workers(
        write(tmp_path, worker("mac", card("Apple M2", 17 * GB, unified=True), ram=24 * GB)), DEFAULT_POLICY
    ).nodes

    assert (True, 24 * GB, 17 * GB) == (node.unified, node.memory_bytes, node.ceiling_bytes)
    assert 17 * GB == node.budget_bytes
    assert ["m2-17g"] == [group.label for group in node.gpus]


def test_reserves_are_the_policys_or_what_the_worker_keeps_where_that_is_more(tmp_path: Path) -> None:
    node = read_workers(write(tmp_path, worker("a", card("T4", 8 * GB), ram=8 * GB)), DEFAULT_POLICY).nodes[0]

    assert (2 * GB, GB) == (node.reserve_bytes, node.gpus[0].reserve.bytes_of(8 * GB))


def test_workers_of_one_name_are_told_apart(tmp_path: Path) -> None:
    nodes = read_workers(write(tmp_path, worker("a"), worker("b"), worker("a")), DEFAULT_POLICY).nodes

    assert ["a", "b", "a#2"] == [node.name for node in nodes]


def test_one_file_is_one_worker(tmp_path: Path) -> None:
    write(tmp_path, worker("a"), worker("b"))

    assert ["b"] == [node.name for node in read_workers(tmp_path / "1.json", DEFAULT_POLICY).nodes]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"name": "a"}',
            "object missing required field `status`; expected worker descriptions of GPUStack in JSON. Check the file.",
        ),
        ("{", "input data was truncated; expected worker descriptions of GPUStack in JSON. Check the file."),
    ],
)
def test_a_file_that_is_no_worker_is_named(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "w.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_workers(path, DEFAULT_POLICY)

    assert f"{path}: {message}" == str(error.value)


def test_a_folder_without_workers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read_workers(tmp_path, DEFAULT_POLICY)

    assert (
        f"{tmp_path}: the folder holds no .json file; expected worker descriptions of GPUStack in JSON. Check the path."
    ) == str(error.value)


def test_forty_real_workers_are_pool_nodes(data_folder: Path) -> None:
    cluster = read_workers(data_folder / "instances" / "gpustack" / "workers", DEFAULT_POLICY)
    nodes = pool_of_cluster(cluster)

    assert 40 == len(cluster.nodes) == len({node.name for node in cluster.nodes})
    assert 3 == sum(node.unified for node in cluster.nodes)
    assert 3 == sum(not node.gpu_class for node in nodes)
    # One box has cards of two classes, one of three, one of two makers.
    assert 44 == len(nodes)
    assert {"h100-sxm5-85g", "910b1-68g", "m2-ultra-200g", "radeon-rx-7800-xt-17g"} <= {
        node.gpu_class for node in nodes
    }
    assert 8 * 4 == sum(node.gpus for node in nodes if node.gpu_class == "h100-sxm5-85g")
    assert 0 == sum(node.free_gpus or 0 for node in nodes if node.gpu_class == "radeon-rx-7800-xt-17g")


CARD = """
model_id = "org/Model-4bit"
n_layers = 32
num_key_value_heads = 8
quantization = "4bit"
[storage_size]
in_bytes = 4000000000
"""


def test_a_model_card_is_an_artifact(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text(CARD, encoding="utf-8")

    expected = Artifact("org/Model-4bit", "safetensors", 4 * GB, 1, "4bit", Shape(131_072, 8, 0))
    assert (expected,) == read_cards(path, 131_072) == read_cards(tmp_path, 131_072)
    assert expected.bits_per_weight is None


def test_a_card_without_a_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text('model_id = "a"\n', encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_cards(path, 0)

    assert f"{path}: object missing required field `storage_size`; expected model cards of exo. Check the file." == str(
        error.value
    )


def test_all_published_model_cards_are_artifacts_with_options(data_folder: Path) -> None:
    folder = data_folder / "instances" / "exo"
    cards = read_cards(folder / "inference_model_cards", 100_000)
    collected = read_cards(folder / "model_cards.json", 100_000)
    nodes = pool_of_cluster(read_workers(data_folder / "instances" / "gpustack" / "workers", DEFAULT_POLICY))

    assert 123 == len(cards) == len(collected)
    assert {(one.name, one.size_bytes) for one in cards} == {(one.name, one.size_bytes) for one in collected}
    served = {option.artifact.name for option in options(cards, nodes, 8192)}
    assert len(served) >= 115
