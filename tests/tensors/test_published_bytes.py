"""Bytes that others published - of indexes, conversions and files - beside what shapes and types multiply to."""

from __future__ import annotations

import csv
import gzip
import json
import re
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.forge import MemoryFolder, safetensors
from tensors.architecture import from_config
from tensors.reader import read_from
from tensors.types import GGML_TYPES, tensor_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tensors.types import BlockType

Config = dict[str, Any]

_GGML_BY_NAME = {kind.name.lower(): kind for kind in GGML_TYPES.values()}
_ALIGNMENT_BYTES = 32


def _hybrid_block_shape(config: Config, kind: str) -> tuple[int, ...]:
    """Return the shape of a tensor of a block of linear or full attention, both with experts."""
    hidden, width = config["hidden_size"], config["moe_intermediate_size"]
    head, heads, kv_heads = config["head_dim"], config["num_attention_heads"], config["num_key_value_heads"]
    values = config["linear_num_value_heads"] * config["linear_value_head_dim"]
    keys = config["linear_num_key_heads"] * config["linear_key_head_dim"]
    shared = config["shared_expert_intermediate_size"]
    return {
        "input_layernorm.weight": (hidden,),
        "post_attention_layernorm.weight": (hidden,),
        "linear_attn.A_log": (config["linear_num_value_heads"],),
        "linear_attn.dt_bias": (config["linear_num_value_heads"],),
        "linear_attn.norm.weight": (config["linear_value_head_dim"],),
        "linear_attn.conv1d.weight": (2 * keys + values, 1, config["linear_conv_kernel_dim"]),
        "linear_attn.in_proj_a.weight": (config["linear_num_value_heads"], hidden),
        "linear_attn.in_proj_b.weight": (config["linear_num_value_heads"], hidden),
        "linear_attn.in_proj_qkv.weight": (2 * keys + values, hidden),
        "linear_attn.in_proj_z.weight": (values, hidden),
        "linear_attn.out_proj.weight": (hidden, values),
        # Queries come with a gate of their own width (attn_output_gate).
        "self_attn.q_proj.weight": (2 * heads * head, hidden),
        "self_attn.k_proj.weight": (kv_heads * head, hidden),
        "self_attn.v_proj.weight": (kv_heads * head, hidden),
        "self_attn.o_proj.weight": (hidden, heads * head),
        "self_attn.q_norm.weight": (head,),
        "self_attn.k_norm.weight": (head,),
        "mlp.gate.weight": (config["num_experts"], hidden),
        "mlp.shared_expert_gate.weight": (1, hidden),
        "mlp.experts.gate_proj.weight": (width, hidden),
        "mlp.experts.up_proj.weight": (width, hidden),
        "mlp.experts.down_proj.weight": (hidden, width),
        "mlp.shared_expert.gate_proj.weight": (shared, hidden),
        "mlp.shared_expert.up_proj.weight": (shared, hidden),
        "mlp.shared_expert.down_proj.weight": (hidden, shared),
    }[kind]


def _hybrid_shape(config: Config, name: str) -> tuple[int, ...]:
    block = re.fullmatch(r"model\.language_model\.layers\.\d+\.(.+)", name)
    if block is not None:
        return _hybrid_block_shape(config, re.sub(r"experts\.\d+\.", "experts.", block[1]))
    if name == "model.language_model.norm.weight":
        return (config["hidden_size"],)
    assert name in {"lm_head.weight", "model.language_model.embed_tokens.weight"}
    return config["vocab_size"], config["hidden_size"]


def _layout(shapes: Iterator[tuple[str, tuple[int, ...]]], kind: str, width: int) -> Config:
    layout, end = {}, 0
    for name, shape in shapes:
        begin, end = end, end + width * prod(shape)
        layout[name] = (kind, list(shape), (begin, end))
    return layout


@pytest.mark.parametrize("stated", [True, False])
def test_an_index_without_shards_adds_up_by_the_shapes_of_its_config(data_folder: Path, stated: bool) -> None:
    """Every tensor of the index in the shard it names, with its shape by the config; the total may be left out."""
    folder = data_folder / "index" / "Qwen3.5-25B-REAP-A3B-Coding"
    config, index = (json.loads((folder / n).read_text()) for n in ("config.json", "model.safetensors.index.json"))
    total = index["metadata"]["total_size"]
    if not stated:
        del index["metadata"]
    shards: dict[str, list[str]] = {}
    for name, shard in index["weight_map"].items():
        shards.setdefault(shard, []).append(name)
    files = {
        shard: safetensors(_layout(((n, _hybrid_shape(config, n)) for n in names), "F16", 2), data_bytes=0)
        for shard, names in shards.items()
    }
    files |= {"config.json": json.dumps(config).encode(), "model.safetensors.index.json": json.dumps(index).encode()}
    inventory = read_from(MemoryFolder(files), None, allow_unknown_types=False)

    assert (total, 22_213, 40) == (inventory.weight_bytes, len(inventory.tensors), inventory.trunk_blocks)
    assert [] == [note for note in inventory.notes if "states" in note or "not recognised" in note]


def test_the_parameters_that_an_index_states_are_those_counted(data_folder: Path) -> None:
    folder = data_folder / "index" / "Qwen3.5-25B-REAP-A3B-Coding"
    config, index = (json.loads((folder / n).read_text()) for n in ("config.json", "model.safetensors.index.json"))

    counted = sum(prod(_hybrid_shape(config, name)) for name in index["weight_map"])
    assert index["metadata"]["total_parameters"] == counted


def test_a_config_without_an_index_still_gives_its_architecture(data_folder: Path) -> None:
    folder = data_folder / "index" / "granite-3.1-1b-a400m-instruct"
    architecture = from_config(json.loads((folder / "config.json").read_text()), {})

    assert ("granitemoe", 24, 1024, True) == (
        architecture.family,
        architecture.trunk_blocks,
        architecture.hidden_size,
        architecture.tied,
    )


def conversions(data_folder: Path, model: str) -> dict[str, Any]:
    """Return one model's conversions: names, shapes innermost first, and types and bytes by nominal type."""
    path = data_folder / "inventories" / "thireus" / f"{model}.json.gz"
    document: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return document


def _as_mapped(kind: BlockType, shape: tuple[int, ...]) -> int:
    """Return bytes as the maps of conversions count them: padded, and without the scale that a row begins with."""
    bare = tensor_bytes(replace(kind, row_bytes=0), shape)
    return -(-bare // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES


def test_every_row_of_every_conversion_has_the_bytes_of_its_shape_and_type(data_folder: Path) -> None:
    rows = 0
    for path in sorted((data_folder / "inventories" / "thireus").glob("*.json.gz")):
        document = conversions(data_folder, path.name.removesuffix(".json.gz"))
        shapes = [tuple(reversed(shape)) for shape in document["shapes"]]
        for quant, stated in document["quants"].items():
            kinds = [_GGML_BY_NAME[kind] for kind in stated["dtypes"]]
            computed = [_as_mapped(kind, shape) for kind, shape in zip(kinds, shapes, strict=True)]
            assert stated["bytes"] == computed, (document["model"], quant)
            rows += len(computed)

    assert rows > 250_000


# The header of a file is its vocabulary, its keys and a line a tensor. Files of one model share all but a few keys of
# the quantisation, so what is left after the tensors must be the same but for these.
_QUANTISATION_KEYS_BYTES = 512


@pytest.mark.parametrize(("model", "rest"), [("Qwen3.5-4B", 10_967_968), ("Qwen3.5-27B", 10_993_536)])
def test_published_files_are_their_tensors_and_one_header(data_folder: Path, model: str, rest: int) -> None:
    with (data_folder / "sizes" / "published_gguf_sizes.tsv").open(newline="") as table:
        published = {
            row["quant"]: int(row["bytes"])
            for row in csv.DictReader(table, delimiter="\t")
            if row["repo"] == f"unsloth/{model}-GGUF"
        }
    document = conversions(data_folder, model)
    infos = sum(
        8 + len(name) + 4 + 8 * len(shape) + 4 + 8
        for name, shape in zip(document["names"], document["shapes"], strict=True)
    )
    left = {
        published_as: published[published_as] - sum(document["quants"][nominal]["bytes"])
        for published_as, nominal in (("BF16", "bf16"), ("Q8_0", "q8_0"))
    }

    assert rest == left["BF16"]
    assert 0 <= left["Q8_0"] - left["BF16"] <= _QUANTISATION_KEYS_BYTES
    assert [0, 0] == [amount % _ALIGNMENT_BYTES for amount in left.values()]
    assert rest > infos
