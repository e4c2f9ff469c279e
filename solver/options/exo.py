"""Model cards of exo as artifacts: TOML files with the size of a model, or their collection in one JSON file.

Cards say bytes, heads of keys and values and a quantisation, but not how wide a head is: the cache has to be given.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from solver.errors import InputError
from solver.options.artifact import SAFETENSORS, Artifact, Shape
from solver.options.foreign import files_of, read_whole
from solver.options.quantisation import quant_of
from tensors.text import decoder_problem

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_cards"]

_WHAT: Final = "model cards of exo"

_Bytes = Annotated[int, msgspec.Meta(ge=1, le=2**60)]
_Heads = Annotated[int, msgspec.Meta(ge=0, le=2**20)]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]


class _Size(msgspec.Struct, frozen=True):
    in_bytes: _Bytes


class _Card(msgspec.Struct, frozen=True):
    model_id: _Name
    storage_size: _Size
    num_key_value_heads: _Heads = 0
    quantization: str = ""


class _Collected(msgspec.Struct, frozen=True):
    model_id: _Name
    storage_bytes: _Bytes
    num_key_value_heads: _Heads | None = None
    quantization: str | None = None


class _Collection(msgspec.Struct, frozen=True):
    models: Annotated[tuple[_Collected, ...], msgspec.Meta(max_length=10_000)]


def read_cards(path: Path, cache_bytes_per_token: int) -> tuple[Artifact, ...]:
    """Return the models of a card, of a folder of cards, or of a collection, each with this cache.

    Raises:
        InputError: a file cannot be read, or is no model card; the message names it.
    """
    return tuple(
        artifact
        for file in files_of(path, (".toml",), _WHAT)
        for artifact in (
            _collection(file, cache_bytes_per_token)
            if file.suffix.lower() == ".json"
            else (_card(file, cache_bytes_per_token),)
        )
    )


def _card(path: Path, cache_bytes_per_token: int) -> Artifact:
    content = read_whole(path, _WHAT)
    try:
        card = msgspec.convert(tomllib.loads(content.decode("utf-8-sig")), _Card)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise _refusal(path, error) from None
    return _artifact(
        card.model_id, card.storage_size.in_bytes, card.num_key_value_heads, card.quantization, cache_bytes_per_token
    )


def _collection(path: Path, cache_bytes_per_token: int) -> tuple[Artifact, ...]:
    try:
        collection = msgspec.json.decode(read_whole(path, _WHAT), type=_Collection)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _refusal(path, error) from None
    return tuple(
        _artifact(
            one.model_id,
            one.storage_bytes,
            one.num_key_value_heads or 0,
            one.quantization or "",
            cache_bytes_per_token,
        )
        for one in collection.models
    )


def _artifact(name: str, size_bytes: int, kv_heads: int, quantization: str, cache_bytes_per_token: int) -> Artifact:
    return Artifact(
        name=name,
        format=SAFETENSORS,
        size_bytes=size_bytes,
        shards=1,
        quant=quantization or quant_of(name),
        shape=Shape(cache_bytes_per_token, kv_heads, 0),
    )


def _refusal(path: Path, error: Exception) -> InputError:
    return InputError(str(path), f"{decoder_problem(error)}; expected {_WHAT}. Check the file.")
