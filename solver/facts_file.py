"""Architecture files: the facts that the closed forms need, from a short JSON or TOML file or from a config.json.

A short file has exactly the six keys of `ArchitectureFacts`, each a whole number:

    {"trunk_blocks": 78, "latent_values": 576, "full_indexer_blocks": 21,
     "index_head_width": 128, "hidden_size": 6144, "index_topk": 2048}

or the same in a file whose name ends in .toml. A file with the key "model_type" or "architectures" is a config.json,
and its model must keep one latent of the same width in every block.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import msgspec

from solver.closed_form import GLM_5_2, ArchitectureFacts
from solver.closed_form.target import facts_of
from solver.errors import InputError
from solver.small_file import read_small
from solver.wording import quoted, suggestion
from tensors.text import decoder_problem

if TYPE_CHECKING:
    from pathlib import Path

    from tensors.metadata import ConfigValue

__all__ = ["BUILT_IN_FACTS", "NamedFacts", "read_facts"]

_MOST_MIB = 4
_WRONG_TYPE = re.compile(r"Expected `int`, got `(?P<got>[^`]*)` - at `\$\.(?P<key>.*)`")
_TOO_LARGE = re.compile(r"Expected `int` <= (?P<most>\d+) - at `\$\.(?P<key>.*)`")
_MISSING = re.compile(r"Object missing required field `(?P<key>.*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<key>.*)`", re.DOTALL)


@dataclass(frozen=True, slots=True)
class NamedFacts:
    """Facts with the name of their origin; `context_tokens` is the trained length where the file says it."""

    name: str
    facts: ArchitectureFacts
    context_tokens: int | None


BUILT_IN_FACTS = {"glm-5.2": NamedFacts("glm-5.2", GLM_5_2, 2**20)}


# Products of all six with a context still print.
_Fact = Annotated[int, msgspec.Meta(le=2**40)]


class _FactsTable(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    trunk_blocks: _Fact
    latent_values: _Fact
    full_indexer_blocks: _Fact
    index_head_width: _Fact
    hidden_size: _Fact
    index_topk: _Fact


def read_facts(path: Path) -> NamedFacts:
    """Return the facts that a file states.

    Raises:
        InputError: the file cannot be read, a key is missing, unknown or no number, or the model is of another kind.
    """
    where = str(path)
    document = _document(_text(path), where, toml=path.suffix.lower() == ".toml")
    if "model_type" in document or "architectures" in document:
        return _of_config(document, where)
    try:
        table = msgspec.convert(document, _FactsTable)
    except msgspec.ValidationError as error:
        raise InputError(where, _refusal(str(error))) from None
    facts = ArchitectureFacts(
        trunk_blocks=table.trunk_blocks,
        latent_values=table.latent_values,
        full_indexer_blocks=table.full_indexer_blocks,
        index_head_width=table.index_head_width,
        hidden_size=table.hidden_size,
        index_topk=table.index_topk,
    )
    return NamedFacts(path.name, facts, None)


def _of_config(document: dict[str, ConfigValue], where: str) -> NamedFacts:
    # Only this branch needs the rules of all families.
    from tensors.architecture import from_config  # noqa: PLC0415

    architecture = from_config(document, {})
    facts = facts_of(architecture)
    if facts is None:
        raise InputError(
            where,
            f"a model of type {quoted(architecture.family)} is not known to keep one latent of the same width in every "
            "block; expected latent attention. Name the model's files in place of its architecture.",
        )
    return NamedFacts(architecture.family, facts, architecture.context_tokens)


def _text(path: Path) -> str:
    content = read_small(path, _MOST_MIB, f"an architecture file, or one of {', '.join(BUILT_IN_FACTS)}")
    where = str(path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{where}, byte {error.start}", "not UTF-8; expected text. Save it as UTF-8.") from None


def _document(text: str, where: str, *, toml: bool) -> dict[str, ConfigValue]:
    kind = "TOML" if toml else "JSON"
    try:
        document: ConfigValue = tomllib.loads(text) if toml else msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            where, f"{decoder_problem(error)}; expected an architecture file in {kind}. Correct it."
        ) from None
    if not isinstance(document, dict):
        raise InputError(where, "it holds no table of keys; expected an architecture file. Correct it.")
    return document


def _refusal(problem: str) -> str:
    known = _FactsTable.__struct_fields__
    if match := _UNKNOWN.fullmatch(problem):
        hint = suggestion(match["key"], known) or "Remove it."
        return f"there is no key {quoted(match['key'])}; expected {', '.join(known)}. {hint}"
    if match := _MISSING.fullmatch(problem):
        return f"{match['key']} is missing; expected {', '.join(known)}. Add it."
    if match := _WRONG_TYPE.fullmatch(problem):
        return f"{match['key']} is of type {match['got']}; expected a whole number. Correct it."
    if match := _TOO_LARGE.fullmatch(problem):
        return f"{match['key']} is too large; expected a whole number up to {match['most']}. Correct it."
    return f"{problem}; expected {', '.join(known)}. Correct it."
