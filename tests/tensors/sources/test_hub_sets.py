"""Which models the files of a repository make up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensors.errors import SourceError
from tensors.sources.hub_sets import chosen, sets_of


def described(*paths: str) -> list[str]:
    """Return what the models of files of one byte each are called."""
    return [one.described() for one in sets_of(dict.fromkeys(paths, 1))]


@pytest.mark.parametrize(
    ("paths", "models"),
    [
        (["a.gguf", "b.GGUF", "README.md", "config.json"], ["a.gguf (1 B)", "b.GGUF (1 B)"]),
        (["a-00001-of-00002.gguf", "a-00002-of-00002.gguf"], ["a (2 files, 2 B)"]),
        (["q/a-00001-of-00002.gguf", "q/b.gguf"], ["q/a-00001-of-00002.gguf (1 B)", "q/b.gguf (1 B)"]),
        (["mmproj-F16.gguf", "model-mmproj.gguf", "x-imatrix.gguf", "a.gguf"], ["a.gguf (1 B)"]),
        (["model.safetensors", "adapter_model.safetensors"], ["model.safetensors (1 B)"]),
        (["adapter_model.safetensors"], ["adapter_model.safetensors (1 B)"]),
        (
            ["model-00001-of-00001.safetensors", "model.safetensors.index.json", "consolidated.safetensors"],
            ["model.safetensors.index.json (1 B)"],
        ),
        (
            ["weird.safetensors.index.json", "part-a.safetensors", "part-b.safetensors"],
            ["weird.safetensors.index.json (2 files, 2 B)"],
        ),
        (["a/model.safetensors", "b/model.safetensors"], ["a/model.safetensors (1 B)", "b/model.safetensors (1 B)"]),
        (["a.gguf", "model.safetensors"], ["a.gguf (1 B)", "model.safetensors (1 B)"]),
        ([], []),
    ],
)
def test_files_make_up_models(paths: list[str], models: list[str]) -> None:
    assert models == described(*paths)


def test_a_size_that_is_not_listed_is_not_shown() -> None:
    sets = sets_of({"a.gguf": None, "b-00001-of-00002.gguf": 5, "b-00002-of-00002.gguf": None})

    assert ["a.gguf", "b (2 files)"] == [one.described() for one in sets]


def test_long_lists_are_cut() -> None:
    sets = sets_of({f"m{number:03}.gguf": 1 for number in range(40)})
    with pytest.raises(SourceError) as caught:
        chosen(sets, "", "hf://org/repo")

    assert str(caught.value).startswith("hf://org/repo: 40 models are here: m000.gguf (1 B), m001.gguf (1 B), ")
    assert str(caught.value).endswith(
        "m031.gguf (1 B) and 8 more; expected one. Add the name of the one that you mean."
    )


_STEMS = ("a", "b-Q4_K_M", "c-00001-of-00002", "c-00002-of-00002", "model", "model-00001-of-00001")
_ENDINGS = (".gguf", ".safetensors", ".safetensors.index.json")
_PATHS = [folder + stem + ending for folder in ("", "x/", "x/y/") for stem in _STEMS for ending in _ENDINGS]


@given(st.sets(st.sampled_from(_PATHS), max_size=12))
def test_every_model_is_selected_by_its_own_label(paths: set[str]) -> None:
    """And no file belongs to two models."""
    sets = sets_of(dict.fromkeys(paths, 1))
    parts = [part for one in sets for part in one.parts]

    assert len(parts) == len(set(parts))
    for one in sets:
        assert one.first in paths
        assert one == chosen(sets, one.first, "here")
