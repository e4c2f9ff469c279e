"""Values of single flags, as the engine takes them: numbers, switches, lists of shares and of moved tensors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from solver.engines.llamacpp.facts import FlashAttention
from solver.engines.llamacpp.float32 import from_text
from solver.engines.llamacpp.request import SplitMode
from solver.errors import InputError
from solver.wording import either, quoted
from tensors.cache import CACHE_TYPES
from tensors.metadata import MAXIMUM_BLOCKS

if TYPE_CHECKING:
    from solver.engines.llamacpp.flags import Given
    from tensors.cache import CacheType

__all__ = [
    "DENSE",
    "EXPERTS",
    "LAZY_BYTES",
    "MAPPING",
    "attention",
    "cache_kind",
    "dense_of_first_blocks",
    "experts_of_first_blocks",
    "layers",
    "one_of",
    "overrides",
    "refused",
    "shares",
    "split_mode",
    "switch",
    "whole",
]

# common/common.h: LLM_FFN_EXPS_REGEX, LLM_FFNDENSE_REGEX, llm_ffn_block_regex.
EXPERTS: Final = r"\.ffn_(up|down|gate|gate_up)_(ch|)exps"
DENSE: Final = r"\.ffn_(up|down|gate)\."

MAPPING: Final = {"auto": None, "none": False, "mmap": True, "mlock": False, "mmap+mlock": True, "dio": False}
"""Load modes: whether files are mapped, None where every device allows it."""

LAZY_BYTES: Final = {"on": 0, "auto": 4 * 2**30, "off": None}
"""Lazy modes: the size above which tensors that allow it are read by row (src/llama-model-loader.cpp)."""

_ON, _OFF = ("on", "enabled", "true", "1"), ("off", "disabled", "false", "0")
_AUTO = ("auto", "-1")
_MOST_DEVICES = 16
"""src/llama.cpp, llama_max_devices."""

_LARGEST = 2**31 - 1
_WHOLE = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)
_SHARE = re.compile(r"[0-9]{0,40}\.?[0-9]{0,40}(?:[eE][+-]?[0-9]{1,2})?", re.ASCII)

# common/arg.cpp, kv_cache_types.
_CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")


def refused(given: Given, problem: str) -> InputError:
    """Return a refusal of one flag's value."""
    return InputError(given.word, problem)


def whole(given: Given, least: int, value: str | None = None) -> int:
    """Return a whole number from `least` that an engine's 32 bits hold.

    Raises:
        InputError: it is none.
    """
    text = given.value if value is None else value
    number = int(text) if _WHOLE.fullmatch(text) else None
    if number is None or not least <= number <= _LARGEST:
        raise refused(given, f"{quoted(text)} cannot be meant; expected a whole number from {least}. Correct it.")
    return number


def switch(given: Given) -> bool:
    """Return whether a value switches on or off.

    Raises:
        InputError: it does neither.
    """
    if given.value in _ON:
        return True
    if given.value in _OFF:
        return False
    raise refused(given, f"{quoted(given.value)} cannot be meant; expected on or off. Correct it.")


def attention(given: Given) -> FlashAttention:
    """Return on, off or auto.

    Raises:
        InputError: it is none of them.
    """
    for values, meant in ((_ON, FlashAttention.ON), (_OFF, FlashAttention.OFF), (_AUTO, FlashAttention.AUTO)):
        if given.value in values:
            return meant
    raise refused(given, f"{quoted(given.value)} cannot be meant; expected on, off or auto. Correct it.")


def one_of(given: Given, known: tuple[str, ...], unsupported: tuple[str, ...] = ()) -> str:
    """Return one of the words that are known.

    Raises:
        InputError: it is another, or one that is not emulated.
    """
    if given.value in unsupported:
        raise refused(given, f"{quoted(given.value)} is not emulated; expected {either(known)}. Choose one of them.")
    if given.value not in known:
        raise refused(given, f"{quoted(given.value)} cannot be meant; expected {either(known)}. Correct it.")
    return given.value


def cache_kind(given: Given) -> CacheType:
    """Return a type of cache values.

    Raises:
        InputError: the engine has no cache of that type.
    """
    if given.value not in _CACHE_TYPES:
        problem = (
            f"{quoted(given.value)} is no type of its caches; expected {either(_CACHE_TYPES)}. Choose one of them."
        )
        raise refused(given, problem)
    return CACHE_TYPES[given.value]


def shares(given: Given, separators: str = ",/") -> tuple[float, ...]:
    """Return shares as 32-bit floats; a list may end in a separator.

    Raises:
        InputError: one is no number from 0, or there are more than the engine has devices.
    """
    texts = re.split(f"[{separators}]+", given.value)
    if len(texts) > 1 and not texts[-1]:
        texts.pop()
    if len(texts) >= _MOST_DEVICES:
        raise refused(given, f"it holds {len(texts)} shares; expected fewer than {_MOST_DEVICES}. Shorten it.")
    return tuple(_share(given, text) for text in texts)


def overrides(given: Given, separator: str = ",") -> tuple[tuple[str, str], ...]:
    """Return (regular expression, buffer) of every part, as the engine splits them.

    Raises:
        InputError: a part names no buffer, or its regular expression cannot be read.
    """
    found = []
    for part in filter(None, given.value.split(separator)):
        pattern, equals, buffer = part.partition("=")
        if not (pattern and equals and buffer):
            problem = f"{quoted(part)} names no buffer; expected NAME-PATTERN=BUFFER. Write it like ffn_.*_exps=CPU."
            raise refused(given, problem)
        try:
            re.compile(pattern)
        except re.error as error:
            problem = f"{quoted(pattern)} is no regular expression ({error}); expected one. Correct it."
            raise refused(given, problem) from error
        found.append((pattern, buffer))
    return tuple(found)


def layers(given: Given) -> int | None:
    """Return a number of layers, None for all of them.

    Raises:
        InputError: it is neither a number nor a word for all.
    """
    if given.value in ("auto", "all"):
        return None
    count = whole(given, -_LARGEST)
    return None if count < 0 else count


def split_mode(given: Given) -> SplitMode:
    """Return how the model is split.

    Raises:
        InputError: it is split in a way that is not emulated, or is no way.
    """
    return SplitMode(one_of(given, ("layer", "none"), ("row", "tensor")))


def experts_of_first_blocks(count: int) -> tuple[tuple[str, str], ...]:
    """Return overrides that keep the routed experts of the first blocks on the host."""
    return _of_first_blocks(EXPERTS, count)


def dense_of_first_blocks(count: int) -> tuple[tuple[str, str], ...]:
    """Return overrides that keep the feed-forward networks of the first blocks on the host."""
    return _of_first_blocks(DENSE, count)


def _of_first_blocks(pattern: str, count: int) -> tuple[tuple[str, str], ...]:
    return tuple((rf"blk\.{block}{pattern}", "CPU") for block in range(min(count, MAXIMUM_BLOCKS)))


def _share(given: Given, text: str) -> float:
    if not _SHARE.fullmatch(text) or not any(character.isdigit() for character in re.split("[eE]", text)[0]):
        raise refused(given, f"{quoted(text)} is no share; expected numbers from 0 between commas. Correct it.")
    try:
        return from_text(text)
    except OverflowError:
        raise refused(given, f"{quoted(text)} is too large for a share; expected a smaller number.") from None
