"""Caches of real runs of llama.cpp, to the byte."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tensors.architecture import from_gguf
from tensors.cache import CacheKind, CacheSettings, cache_type, term_bytes, with_indexers
from tensors.gguf import read_header
from tensors.sources import FileSource

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tensors.architecture import Architecture
    from tensors.cache import CacheTerm

STATE = CacheKind.RECURRENT
RUNS_WITH_A_CACHE = 1993


@pytest.fixture(scope="module")
def architectures(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Architecture]:
    """Return the architecture of every header that was run, by file name."""
    folder = tmp_path_factory.mktemp("headers")
    archive = data_folder / "llamacpp_truth" / "headers.tar.xz"
    subprocess.run(["tar", "-xJSf", archive, "-C", folder], check=True)
    return {path.name: architecture_of(path) for path in sorted(folder.glob("*.gguf"))}


def architecture_of(path: Path) -> Architecture:
    """Return what one file says, be it a part whose siblings are not there."""
    with FileSource(path) as source:
        header = read_header(source, allow_unknown_types=False)
    return from_gguf(header.metadata, {tensor.name: tensor.shape for tensor in header.tensors})


@pytest.fixture(scope="module")
def runs(data_folder: Path) -> list[dict[str, Any]]:
    """Return the runs that made a cache."""
    with gzip.open(data_folder / "llamacpp_truth" / "truth.jsonl.gz", "rt", encoding="utf-8") as lines:
        every = [json.loads(line) for line in lines]
    return [run for run in every if run.get("kv_caches") or run.get("rs_caches")]


def settings_of(run: dict[str, Any]) -> CacheSettings:
    """Return the settings that a run's log shows: context of a sequence, streams, types, micro-batch."""
    first = (run["kv_caches"] or [{"streams": 1, "type_k": "f16", "type_v": "f16"}])[0]
    states = run.get("rs_caches") or [{"rs_seq": 0}]
    return CacheSettings(
        stream_tokens=run["n_ctx_seq"],
        streams=first["streams"],
        sequences=run["n_seq_max"],
        type_k=cache_type(first["type_k"]),
        type_v=cache_type(first["type_v"]),
        cell_multiple=256,
        window_extra_tokens=run["n_ubatch"],
        states_per_sequence=1 + states[0]["rs_seq"],
    )


def kept(architecture: Architecture, run: dict[str, Any]) -> tuple[CacheTerm, ...]:
    """Return the terms that the engine keeps: windows unless they were switched off, nextn blocks where they draft."""
    assert isinstance(architecture.cache, tuple), architecture
    terms = tuple(
        term
        for term in with_indexers(architecture.cache, own=True, shared=False)
        if term.block < architecture.trunk_blocks or "draft-mtp" in run["options"]
    )
    if "--swa-full" in run["options"]:
        return tuple(replace(term, window_tokens=None) for term in terms)
    return terms


def every_run(
    runs: list[dict[str, Any]], architectures: dict[str, Architecture]
) -> Iterator[tuple[dict[str, Any], tuple[CacheTerm, ...], CacheSettings]]:
    for run in runs:
        yield run, kept(architectures[run["model"]], run), settings_of(run)


def test_every_device_of_every_run_keeps_the_bytes_that_the_terms_say(
    runs: list[dict[str, Any]], architectures: dict[str, Architecture]
) -> None:
    """The one difference is V rows padded to the widest block, which flash attention switched off brings to gemma4.

    A draft's cache has types of its own, 16 bits by default.
    """
    different = []
    for run, terms, settings in every_run(runs, architectures):
        if "kv_bytes" not in run:
            continue
        devices = dict(run["kv_layers"])
        drafting = replace(settings, type_k=cache_type("f16"), type_v=cache_type("f16"))
        sizes: Counter[str] = Counter()
        for term in terms:
            if term.kind is not STATE:
                drafts = term.block >= architectures[run["model"]].trunk_blocks
                sizes[devices[term.block]] += term_bytes(term, drafting if drafts else settings)
        logged: Counter[str] = Counter()
        for device, size in run["kv_bytes"]:
            logged[device] += size
        if logged != sizes:
            different.append((run["model"], "-fa off" in run["options"]))

    assert RUNS_WITH_A_CACHE == len(runs)
    assert [("gemma4-f16.gguf", True)] == different


def test_every_run_keeps_the_bytes_of_state_that_the_terms_say(
    runs: list[dict[str, Any]], architectures: dict[str, Architecture]
) -> None:
    """Logs give the state of compressors (deepseek4) in MiB with two digits, three of them."""
    families = Counter()
    for run, terms, settings in every_run(runs, architectures):
        if "rs_bytes" not in run:
            continue
        size = sum(term_bytes(term, settings) for term in terms if term.kind is STATE)
        if run["dsv4_state_mib"]:
            logged = sum(float(state["mib"]) for state in run["dsv4_state_mib"])
            assert abs(size / 2**20 - logged) <= 0.005 * len(run["dsv4_state_mib"])
        else:
            assert sum(size for _, size in run["rs_bytes"]) == size, run["model"]
        families[run["arch"]] += bool(size)

    assert {
        "deepseek4", "falcon-h1", "glm5-next", "granitehybrid", "jamba", "kimi-k3", "kimi-linear", "lfm2", "lfm2moe",
        "mamba", "mamba2", "minimax-01", "nemotron_h", "nemotron_h_moe", "qwen35", "qwen35moe", "qwen4exp",
    } == {family for family, count in families.items() if count}  # fmt: skip


def test_every_run_keeps_them_on_the_blocks_that_the_terms_say(
    runs: list[dict[str, Any]], architectures: dict[str, Architecture]
) -> None:
    for run, terms, _ in every_run(runs, architectures):
        if "kv_layers" not in run or not (run["kv_layers"] or run["rs_layers"]):
            continue
        logged = sorted(block for block, _ in run["kv_layers"])
        assert logged == sorted(term.block for term in terms if term.kind is not STATE), run["model"]
        if "rs_layers" in run and not run.get("dsv4_state_mib"):
            logged = sorted({block for block, _ in run["rs_layers"]})
            assert logged == sorted({term.block for term in terms if term.kind is STATE}), run["model"]


def test_estimates_at_real_size_agree(runs: list[dict[str, Any]], architectures: dict[str, Architecture]) -> None:
    """The engine's own dry run, on headers of published models."""
    models = set()
    for run, terms, settings in every_run(runs, architectures):
        if not run.get("estimate_bytes"):
            continue
        expected = sum(row["context"] for row in run["estimate_bytes"])
        assert expected == sum(term_bytes(term, settings) for term in terms), (run["model"], run["options"])
        models.add(run["model"])

    assert 8 <= len(models)
