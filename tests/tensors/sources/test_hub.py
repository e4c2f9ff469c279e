"""Models on a hub: listed, selected, read and kept."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.hub import COMMIT
from support.refused import refusal

import tensors
from tensors import synthetic
from tensors.errors import SourceError
from tensors.reader import read_every
from tensors.sources.hub import from_page

if TYPE_CHECKING:
    from pathlib import Path

    from support.hub import Hub


_LIST = "/api/models/org/repo?blobs=true"


def test_a_repository_with_one_model_is_read(hub: Hub, split: tuple[Path, ...]) -> None:
    """One listing; each part is asked of the hub once for every range, and comes from where the hub leads."""
    hub.add_folder("org/repo", split[0].parent)
    inventory = tensors.read("hf://org/repo")

    assert tensors.read(split[0]) == inventory
    assert [_LIST, *sorted(f"/org/repo/resolve/{COMMIT}/{path.name}" for path in split)] == [
        hub.paths[0],
        *sorted(hub.paths[1:]),
    ]
    for file in inventory.files:
        path = f"/org/repo/{file.name}"

        assert 1 == len(hub.store.data_requests(path))
        assert hub.store.sent_bytes(path) <= hub.store.header_bytes_allowed(file.header_bytes)


def test_a_sharded_repository_is_read_by_its_index(hub: Hub, sharded: Path) -> None:
    """The model is called after the repository."""
    hub.add_folder("org/repo", sharded)
    inventory = tensors.read("hf://org/repo")

    assert tensors.read(sharded).tensors == inventory.tensors
    assert "repo" == inventory.name
    assert len(list(sharded.iterdir())) + 1 == len(hub.paths)


def test_the_second_look_costs_one_listing(hub: Hub, sharded: Path) -> None:
    """It names the digest of every file, whichever commit they are of."""
    hub.add_folder("org/repo", sharded)
    first = tensors.read("hf://org/repo")
    hub.forget()
    hub.revisions["main"] = "d" * 40

    assert first == tensors.read("hf://org/repo")
    assert ([_LIST], []) == (hub.paths, hub.store.requests)


def test_a_new_process_asks_the_hub_for_nothing_else(
    hub: Hub, tiny: Path, cache: Path, repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its library would fetch a list for its statistics."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    hub.add("org/repo", {"m.gguf": tiny})
    code = "import tensors; print(tensors.read('hf://org/repo').weight_bytes)"
    command = [sys.executable, "-c", code]
    ran = [subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True) for _ in range(2)]

    assert [f"{tensors.read(tiny).weight_bytes}\n"] * 2 == [one.stdout for one in ran]
    assert [_LIST, f"/org/repo/resolve/{COMMIT}/m.gguf", _LIST] == hub.paths
    assert 1 == len(list(cache.iterdir()))


def test_a_file_whose_digest_changes_is_read_anew(hub: Hub, tiny: Path) -> None:
    hub.add("org/repo", {"m.gguf": tiny})
    tensors.read("hf://org/repo")
    hub.add("org/repo", {"m.gguf": tiny.read_bytes() + b"\0"})

    assert tiny.stat().st_size + 1 == tensors.read("hf://org/repo").files[0].size_bytes


@pytest.mark.parametrize(
    ("revision", "asked"),
    [("v1.0", "v1.0"), ("refs/pr/7", "refs%2Fpr%2F7"), ("refs%2Fpr%2F7", "refs%2Fpr%2F7"), (COMMIT, COMMIT)],
)
def test_a_revision_is_asked_for_and_all_files_are_of_its_commit(
    revision: str, asked: str, hub: Hub, tiny: Path
) -> None:
    hub.add("org/repo", {"m.gguf": tiny})
    hub.revisions |= {"v1.0": "1" * 40, "refs/pr/7": "7" * 40, "1" * 40: "1" * 40, "7" * 40: "7" * 40}
    tensors.read(f"hf://org/repo@{revision}")
    tensors.read(f"hf://org/repo@{revision}/m.gguf", cache=False)
    commit = hub.revisions[revision.replace("%2F", "/")]

    assert f"/api/models/org/repo/revision/{asked}?blobs=true" == hub.paths[0]
    assert {f"/org/repo/resolve/{commit}/m.gguf"} == {path for path in hub.paths if "resolve" in path}


@pytest.mark.parametrize(
    "selector",
    [
        "Q4_K_M",
        "q4_k_m",
        "UD/Model-Q4_K_M-00002-of-00004.gguf",
        "UD/Model-Q4_K_M",
        "UD",
        "UD/",
        "Model-Q4_K_M",
    ],
)
def test_one_of_several_models_is_selected(selector: str, hub: Hub, tiny: Path, tmp_path: Path) -> None:
    """By a folder, by the end of its name, by its name, or by any of its parts."""
    parts = synthetic.write("tiny-experts", tmp_path)
    renamed = {f"UD/Model-Q4_K_M-{number:05}-of-00004.gguf": path for number, path in enumerate(parts, 1)}
    hub.add("org/repo", renamed | {"Model-Q8_0.gguf": tiny})
    inventory = tensors.read(f"hf://org/repo/{selector}")

    assert [path.rpartition("/")[2] for path in renamed] == [file.name for file in inventory.files]


def test_several_models_are_listed_with_their_sizes(hub: Hub, tiny: Path, sharded: Path) -> None:
    """Projectors, importance matrices and other files are no models."""
    hub.add("org/repo", dict.fromkeys(["Q8.gguf", "mmproj-F16.gguf", "imatrix.gguf", "README.md"], tiny))
    hub.add("org/repo", {f"UD/M-0000{number}-of-00002.gguf": b"GGUF" * number for number in (1, 2)})
    hub.add_folder("org/repo", sharded, "bf16/")

    assert (
        "hf://org/repo: 3 models are here: Q8.gguf (7.46 MiB), UD/M (2 files, 12 B) and "
        "bf16/model.safetensors.index.json (19 files, 86.99 GiB); expected one. "
        "Add the name of the one that you mean."
    ) == refusal("hf://org/repo")
    assert (
        "hf://org/repo/Q9: no model is called so; expected one of Q8.gguf (7.46 MiB), UD/M (2 files, 12 B) and "
        "bf16/model.safetensors.index.json (19 files, 86.99 GiB). Name one of them."
    ) == refusal("hf://org/repo/Q9")


def test_a_companion_is_read_when_it_is_named(hub: Hub, tiny: Path) -> None:
    hub.add("org/repo", {"a.gguf": tiny, "mmproj-F16.gguf": tiny})

    assert ["mmproj-F16.gguf"] == [file.name for file in tensors.read("hf://org/repo/mmproj-F16.gguf").files]


def test_a_repository_without_a_model(hub: Hub) -> None:
    hub.add("org/repo", {"README.md": b"#"})

    assert "hf://org/repo: holds no model; expected .gguf or .safetensors files. Check the name." == refusal(
        "hf://org/repo"
    )


def test_a_set_that_lacks_a_part(hub: Hub, split: tuple[Path, ...]) -> None:
    hub.add("org/repo", {f"q/{path.name}": path for path in split if path != split[2]})

    assert (
        f"hf://org/repo/q: {split[2].name} is missing; expected all 6 parts of GLM-5.2-UD-IQ2_XXS in one folder. "
        "Fetch the rest."
    ) == refusal("hf://org/repo/q")


def test_the_token_is_shown_to_the_hub_and_to_nobody_else(
    hub: Hub, tiny: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.token = "hf_secret"  # noqa: S105
    hub.add("org/repo", {"m.gguf": tiny, "config.json": b"{}"})
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    inventory = tensors.read("hf://org/repo")

    assert ["Bearer hf_secret"] * 2 == [request.headers["authorization"] for request in hub.web.requests]
    assert [False] == ["authorization" in request.headers for request in hub.store.requests]
    assert ["Signature=secret-signature"] == [request.query for request in hub.store.requests]
    assert "secret" not in repr(inventory)
    assert not [path for path in cache.iterdir() if b"secret" in path.read_bytes()]


def test_sizes_are_looked_up_where_the_listing_lacks_them(hub: Hub, tiny: Path) -> None:
    hub.lists_sizes = False
    hub.add("org/repo", {"m.gguf": tiny})
    first = tensors.read("hf://org/repo")
    hub.forget()

    assert first == tensors.read("hf://org/repo")
    assert [_LIST, f"/api/models/org/repo/tree/{COMMIT}?recursive=true&expand=false"] == hub.paths


def test_a_hub_that_says_no_sizes_at_all_is_asked_file_by_file(hub: Hub, tiny: Path) -> None:
    hub.lists_sizes = hub.lists_trees = False
    hub.add("org/repo", {"m.gguf": tiny})
    first = tensors.read("hf://org/repo")
    hub.forget()

    assert first == tensors.read("hf://org/repo")
    assert [304] == [request.status for request in hub.store.requests]


def test_paths_that_lead_out_of_a_repository_are_not_listed(hub: Hub, tiny: Path) -> None:
    hub.add("org/repo", {"../../etc/m.gguf": tiny, "/m.gguf": tiny, "a//b.gguf": tiny, "..\\m.gguf": tiny})

    assert "hf://org/repo: holds no model; expected .gguf or .safetensors files. Check the name." == refusal(
        "hf://org/repo"
    )


def test_names_of_a_listing_stay_text(hub: Hub, tiny: Path) -> None:
    hub.add("org/repo", {"a\x1b[31m.gguf": tiny, "b.gguf": tiny})

    assert refusal("hf://org/repo").startswith('hf://org/repo: 2 models are here: "a\\x1b[31m.gguf" (7.46 MiB) and')


@pytest.mark.parametrize(
    ("page", "location"),
    [
        ("https://huggingface.co/org/repo", "hf://org/repo"),
        ("https://huggingface.co/org/repo/", "hf://org/repo"),
        ("https://hf.co/org/repo?library=gguf", "hf://org/repo"),
        ("https://huggingface.co/org/repo/tree/main/UD", "hf://org/repo/UD"),
        ("https://huggingface.co/org/repo/blob/v1/a/m.gguf", "hf://org/repo@v1/a/m.gguf"),
        ("https://huggingface.co/org/repo/resolve/main/m.gguf?download=true", "hf://org/repo/m.gguf"),
        ("https://huggingface.co/datasets/org/repo", None),
        ("https://huggingface.co/datasets/org", None),
        ("https://huggingface.co/org/repo/discussions", None),
        ("https://elsewhere/org/repo/blob/main/m.gguf", None),
    ],
)
def test_pages_of_the_hub_are_locations_too(page: str, location: str | None) -> None:
    assert location == from_page(page)


def test_a_page_is_read_through_the_hub(hub: Hub, tiny: Path) -> None:
    hub.add("org/repo", {"a/m.gguf": tiny, "b.gguf": tiny})
    inventory = tensors.read("https://huggingface.co/org/repo/blob/main/a/m.gguf")

    assert tensors.read(tiny).tensors == inventory.tensors
    assert _LIST == hub.paths[0]


def test_every_model_of_a_repository_is_read_after_one_listing(hub: Hub, split: tuple[Path, ...], tiny: Path) -> None:
    """A path, or the end of a name, selects some of them."""
    hub.add_folder("org/repo", split[0].parent, "UD-IQ2_XXS/")
    hub.add_folder("org/repo", tiny.parent)
    found = [one for one in read_every("hf://org/repo") if isinstance(one, tensors.Inventory)]

    assert [1, len(split)] == [len(one.files) for one in found]
    assert [tensors.read(tiny).tensors, tensors.read(split[0]).tensors] == [one.tensors for one in found]
    assert 1 == sum(path.startswith("/api/") for path in hub.paths)
    (only,) = read_every("hf://org/repo/UD-IQ2_XXS")
    assert found[1] == only
    with pytest.raises(SourceError) as caught:
        read_every("hf://org/repo/Q4_K_M")
    assert "hf://org/repo/Q4_K_M: no model is called so; expected one of " in str(caught.value)
