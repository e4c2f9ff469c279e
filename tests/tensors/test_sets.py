"""Models of several files: split GGUF sets, safetensors shards with an index, and the config.json beside them."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest

from benchmarks.forge import MemoryFolder, Pair, Stated, gguf, safetensors, seeds
from tensors.errors import FormatError, SourceError, TensorsError
from tensors.inventory import Inventory, ModelFile, Part
from tensors.reader import read, read_from

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
INDEX = "model.safetensors.index.json"
LAST = "model.layers.0.mlp.up_proj.weight"
SHARDS = {
    FIRST: safetensors({"model.embed_tokens.weight": ("BF16", (8, 4), (0, 64))}),
    SECOND: safetensors({LAST: ("BF16", (4, 4), (0, 32))}),
}
WEIGHT_MAP = {"model.embed_tokens.weight": FIRST, LAST: SECOND}
CONFIG = {"config.json": b'{"model_type": "llama", "num_hidden_layers": 1}'}


def index(weight_map: Mapping[str, object], **metadata: object) -> dict[str, bytes]:
    """Return an index file."""
    return {INDEX: json.dumps({"metadata": metadata, "weight_map": weight_map}).encode()}


def load(files: Mapping[str, bytes], name: str | None = None) -> Inventory:
    """Read a model from files in memory."""
    return read_from(MemoryFolder(dict(files)), name, allow_unknown_types=False)


def refusal(files: Mapping[str, bytes], name: str | None = None) -> str:
    """Return the message that refuses the files."""
    with pytest.raises(TensorsError) as caught:
        load(files, name)
    return str(caught.value)


def parts(**pairs: list[Pair]) -> dict[str, bytes]:
    """Return a split set of two parts with these pairs in them."""
    first, second = (Stated(name, (1,), 0, 0) for name in (b"a", b"b"))
    return {
        "m-00001-of-00002.gguf": gguf(pairs.get("first", []), [first], data_bytes=4),
        "m-00002-of-00002.gguf": gguf(pairs.get("second", []), [second], data_bytes=4),
    }


@pytest.mark.parametrize("name", ["split-00001-of-00002.gguf", "split-00002-of-00002.gguf", None])
def test_any_part_of_a_split_set_is_the_whole_model(name: str | None) -> None:
    """It equals the same model in one file, but for the files."""
    split, whole = load(seeds()["split"], name), load(seeds()["little.gguf"])

    assert [tensor.name for tensor in whole.tensors] == [tensor.name for tensor in split.tensors]
    assert whole.weight_bytes == split.weight_bytes
    assert whole.architecture == split.architecture
    assert [0, 0, 1, 1] == [tensor.file for tensor in split.tensors]
    assert ["split-00001-of-00002.gguf", "split-00002-of-00002.gguf"] == [file.name for file in split.files]


def test_the_digest_is_taken_over_all_headers_in_order() -> None:
    """And over no byte of data."""
    files = seeds()["split"]
    inventory = load(files)
    headers = [files[file.name][: file.header_bytes] for file in inventory.files]

    assert hashlib.sha256(b"".join(headers)).hexdigest() == inventory.header_sha256


def test_a_set_that_says_something_else_of_itself_than_its_names_is_refused() -> None:
    def stated(key: str, number: int) -> list[Pair]:
        return [Pair(key, "u16", number)]

    named = "Give every part its name back"
    alike = f"{named}, like NAME-00001-of-00006.gguf."

    assert (
        f"m-00001-of-00002.gguf, byte 0: is one of 3 parts by its own word; expected 2 by its name. {alike}"
        == refusal(parts(first=stated("split.count", 3)))
    )
    assert f"a.gguf, byte 0: is one of 2 parts by its own word; expected 1 by its name. {alike}" == refusal(
        {"a.gguf": parts(first=stated("split.count", 2))["m-00001-of-00002.gguf"]}
    )
    assert (
        "m-00002-of-00002.gguf, byte 0: is part 0 by its own word, counted from 0; expected part 1 by its name. "
        f"{named}."
    ) == refusal(parts(second=stated("split.no", 0)))
    assert (
        "m-00001-of-00002.gguf, byte 0: announces 7 tensors in all parts; expected the 2 that are there. "
        "Fetch the set again."
    ) == refusal(parts(first=stated("split.tensors.count", 7)))


def test_two_files_may_not_hold_a_tensor_of_the_same_name() -> None:
    one = gguf([], [Stated(b"a", (1,), 0, 0)], data_bytes=4)

    assert (
        'm-00002-of-00002.gguf, byte 64: tensor "a" is in m-00001-of-00002.gguf too; expected every name once. '
        "Fetch the files again."
    ) == refusal({"m-00001-of-00002.gguf": one, "m-00002-of-00002.gguf": one})


def test_a_model_is_called_by_its_header_or_else_by_its_file() -> None:
    assert ["GLM", "m", "model", "memory"] == [
        load(parts(first=[Pair("general.name", "str", "GLM")])).name,
        load(parts()).name,
        load({"model.gguf": gguf([], [])}).name,
        load({"model.safetensors": safetensors({})}).name,
    ]


@pytest.mark.parametrize("name", [FIRST, SECOND, INDEX, "config.json", None])
def test_any_shard_the_index_the_config_and_the_folder_are_the_whole_model(name: str | None) -> None:
    inventory = load(SHARDS | index(WEIGHT_MAP, total_size=96) | CONFIG, name)

    assert (
        ModelFile(FIRST, len(SHARDS[FIRST]), len(SHARDS[FIRST]) - 64, 64, 0, 0),
        ModelFile(SECOND, len(SHARDS[SECOND]), len(SHARDS[SECOND]) - 32, 32, 0, 0),
    ) == inventory.files
    assert [(Part.INPUT, 0, None), (Part.TRUNK, 1, 0)] == [(t.part, t.file, t.block) for t in inventory.tensors]
    assert (True, "llama", ()) == (inventory.tied, inventory.architecture.family, inventory.notes)


def test_shards_need_no_index_where_their_names_say_what_is_there() -> None:
    assert [FIRST, SECOND] == [file.name for file in load(SHARDS | CONFIG, SECOND).files]


def test_a_model_without_a_config_says_so() -> None:
    notes = load(SHARDS | index(WEIGHT_MAP)).notes

    assert (
        "there is no config.json beside the tensors: what they do not show of the architecture is unknown",
    ) == notes


def test_what_an_index_states_is_compared_with_what_the_files_hold() -> None:
    extra = safetensors({LAST: ("U8", (1,), (0, 1)), "extra": ("U8", (1,), (1, 2))})

    assert (
        f'{INDEX} does not list "extra"',
        f"{INDEX} states 96 bytes in all; the files hold 66",
        'not recognised by name, listed as other: "extra"',
    ) == load(SHARDS | {SECOND: extra} | index(WEIGHT_MAP, total_size=96) | CONFIG).notes


@pytest.mark.parametrize(
    "shard",
    ["../model.safetensors", "/etc/model.safetensors", "..", "", "a/b.safetensors", "a\\b", "C:model", "a\0b"],
)
def test_an_index_may_not_name_files_outside_of_its_folder(shard: str) -> None:
    message = refusal(SHARDS | index({"a": shard}))

    assert message.startswith(f"memory/{INDEX}, byte 0: lists the file ")
    assert message.endswith("; expected plain names of files in its own folder. Do not use this model.")
    assert message.isprintable()


def test_a_link_may_not_lead_out_of_the_folder_of_its_index(tmp_path: Path) -> None:
    """Only the folder beside it, where huggingface_hub keeps the files of a download, is inside too."""
    hub = tmp_path / "models--o--m"
    snapshot, blobs, elsewhere = hub / "snapshots" / "abc", hub / "blobs", tmp_path / "elsewhere"
    for folder in (snapshot, blobs, elsewhere):
        folder.mkdir(parents=True)
    for place, name in ((blobs, FIRST), (blobs, SECOND), (elsewhere, SECOND)):
        (place / f"blob-{name}").write_bytes(SHARDS[name])
    (snapshot / INDEX).write_bytes(index(WEIGHT_MAP)[INDEX])
    for name in (FIRST, SECOND):
        (snapshot / name).symlink_to(f"../../blobs/blob-{name}")

    assert 96 == read(snapshot).weight_bytes
    (snapshot / SECOND).unlink()
    (snapshot / SECOND).symlink_to(elsewhere / f"blob-{SECOND}")
    with pytest.raises(FormatError, match="lists the file"):
        read(snapshot)


SUCH = "expected an object whose weight_map gives the file of every tensor. Fetch the index again."
TOO_DEEP = "maximum recursion depth exceeded while deserializing an object"
AGAIN = "Fetch it again."
BROKEN = {
    "a shard is missing": (
        {FIRST: SHARDS[FIRST]} | index(WEIGHT_MAP),
        f"memory: {SECOND} is missing; expected every file that {INDEX} lists. Fetch the rest.",
    ),
    "a tensor is elsewhere": (
        SHARDS | index(dict.fromkeys(WEIGHT_MAP, FIRST)),
        f'memory/{INDEX}, byte 0: lists "{LAST}" in "{FIRST}"; expected that file to hold it. Fetch both again.',
    ),
    "no map": (
        {INDEX: b"{}"},
        f"memory/{INDEX}, byte 0: is no index: object missing required field `weight_map`; {SUCH}",
    ),
    "no JSON": (
        {INDEX: b"<html>"},
        f"memory/{INDEX}, byte 0: is no index: JSON is malformed: invalid character (byte 0); {SUCH}",
    ),
    "an empty map": (
        index({}),
        f"memory/{INDEX}, byte 0: lists no file; {SUCH}",
    ),
    "a map of numbers": (
        index({"a": 1}),
        f"memory/{INDEX}, byte 0: its weight_map has no sound entry here; {SUCH}",
    ),
    "many files": (
        index({f"{number}": f"{number}" for number in range(10_001)}),
        f"memory/{INDEX}, byte 0: lists more than 10,000 files; {SUCH}",
    ),
    "a config that is none": (
        SHARDS | index(WEIGHT_MAP) | {"config.json": b"[]"},
        f"memory/config.json, byte 0: is no config: expected `object`, got `array`; expected a JSON object. {AGAIN}",
    ),
    "a deep config": (
        SHARDS | index(WEIGHT_MAP) | {"config.json": b'{"a":' * 100_000},
        f"memory/config.json, byte 0: is no config: {TOO_DEEP}; expected a JSON object. {AGAIN}",
    ),
    "a large config": (
        SHARDS | index(WEIGHT_MAP) | {"config.json": b" " * (2**20 + 1)},
        "config.json, byte 0: has 1,048,577 bytes; expected at most 1,048,576. Is this the right file?",
    ),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_set_that_breaks_a_rule_is_refused(broken: str) -> None:
    files, message = BROKEN[broken]

    assert message == refusal(files)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(SourceError) as caught:
        load({}, "model.gguf")

    assert "memory/model.gguf: there is no such file; expected a model file. Check the path." == str(caught.value)
