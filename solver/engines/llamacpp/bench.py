"""What a command line of llama-bench asks for (tools/llama-bench/llama-bench.cpp, b11434).

It runs one test after another, each with a context of its own; the largest is what must fit. Flags take lists, of which
one entry is a run; one run is emulated.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from solver.engines.llamacpp.facts import FlashAttention, Program
from solver.engines.llamacpp.flag_values import (
    LAZY_BYTES,
    MAPPING,
    attention,
    cache_kind,
    experts_of_first_blocks,
    layers,
    one_of,
    overrides,
    refused,
    shares,
    split_mode,
    switch,
    whole,
)
from solver.engines.llamacpp.request import Adapters, Fit, Request, SplitMode
from solver.errors import InputError
from solver.wording import quoted
from tensors.cache import CACHE_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from solver.engines.llamacpp.flags import Given

    Value = TypeVar("Value")

__all__ = ["bench_request"]

_PROMPT_TOKENS, _GENERATED_TOKENS = 512, 128
_BATCH_TOKENS, _MICRO_BATCH_TOKENS = 2048, 512
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})(?:([+*])([0-9]{1,9}))?)?", re.ASCII)


def bench_request(flags: tuple[Given, ...], notes: tuple[str, ...]) -> Request:
    """Return the largest test that the flags ask for.

    Raises:
        InputError: no model is named, or a flag that memory depends on has several values.
    """
    last = {given.flag.name: given for given in flags if given.flag.name != "rpc"}

    def single(name: str, parse: Callable[[Given], Value], default: Value) -> Value:
        given = last.get(name)
        if given is None:
            return default
        if "," in given.value or sum(other.flag.name == name for other in flags) > 1:
            choose = "Choose one" if name != "tensor-split" else "Part the shares of one run by /"
            raise refused(given, f"it holds several runs; expected one value, since one run is emulated. {choose}.")
        return parse(given)

    model = single("model", lambda given: given.value, None)
    if model is None:
        raise InputError(str(Program.BENCH), "no model is named; expected -m FILE. Name the file.")
    f16 = CACHE_TYPES["f16"]
    no_overrides: tuple[tuple[str, str], ...] = ()
    experts = single("n-cpu-moe", lambda given: whole(given, 0), 0)
    servers = tuple(
        server for given in flags if given.flag.name == "rpc" for server in given.value.split(",") if server
    )
    return Request(
        program=Program.BENCH,
        model=model,
        context_tokens=_largest_context(flags),
        slot_tokens=None,
        sequences=1,
        unified=False,
        batch_tokens=single("batch-size", lambda given: whole(given, 1), _BATCH_TOKENS),
        micro_batch_tokens=single("ubatch-size", lambda given: whole(given, 1), _MICRO_BATCH_TOKENS),
        type_k=single("cache-type-k", cache_kind, f16),
        type_v=single("cache-type-v", cache_kind, f16),
        draft_type_k=f16,
        draft_type_v=f16,
        flash_attention=single("flash-attn", attention, FlashAttention.AUTO),
        full_windows=False,
        offloads_cache=not single("no-kv-offload", switch, default=False),
        offloads_operations=not single("no-op-offload", switch, default=False),
        repacks=single("repack", switch, default=True),
        maps_files=single(
            "mmap", switch, MAPPING[single("load-mode", lambda given: one_of(given, tuple(MAPPING)), "auto")]
        ),
        lazy_bytes=LAZY_BYTES[single("lazy-mode", lambda given: one_of(given, tuple(LAZY_BYTES)), "auto")],
        layers=single("n-gpu-layers", layers, None),
        layers_said=True,
        shares=single("tensor-split", lambda given: shares(given, ";/"), ()),
        split=single("split-mode", split_mode, SplitMode.LAYER),
        main_device=single("main-gpu", lambda given: whole(given, -1), 0),
        devices=single("device", _devices, None),
        rpc_servers=servers,
        servers_before_devices=_servers_before_devices(flags),
        overrides=(
            *single("override-tensor", lambda given: overrides(given, ";"), no_overrides),
            *experts_of_first_blocks(experts),
        ),
        fit=Fit(enabled=False, margin_bytes=(0,), least_context_tokens=0),
        drafts=False,
        draft_tokens=0,
        rolled_back_tokens=0,
        draft=None,
        projector=None,
        adapters=Adapters(()),
        cache_ram_bytes=0,
        checkpoints=0,
        notes=(*notes, "llama-bench runs its tests one after another; the one with the longest context is shown."),
    )


def _devices(given: Given) -> tuple[str, ...] | None:
    if given.value == "auto":
        return None
    # Devices of one run stand between slashes here, since commas part runs.
    return () if given.value == "none" else tuple(name.strip() for name in given.value.split("/"))


def _servers_before_devices(flags: tuple[Given, ...]) -> int:
    count = 0
    for given in flags:
        if given.flag.name == "device":
            return count
        if given.flag.name == "rpc":
            count += len([server for server in given.value.split(",") if server])
    return count


def _largest_context(flags: tuple[Given, ...]) -> int:
    """Return the most tokens that prompt, generation and depth of one test add up to."""
    numbers = {
        name: [number for given in flags if given.flag.name == name for number in _numbers(given)]
        for name in ("n-prompt", "n-gen", "n-depth")
    }
    prompts = numbers["n-prompt"] or [_PROMPT_TOKENS]
    generated = numbers["n-gen"] or [_GENERATED_TOKENS]
    pairs = [sum(_pair(given)) for given in flags if given.flag.name == "pg"]
    longest = max(*prompts, *generated, *pairs, 0) + max(numbers["n-depth"] or [0])
    if not longest:
        raise InputError(str(Program.BENCH), "no test has a token; expected a prompt or a generation. Ask for one.")
    return longest


def _numbers(given: Given) -> list[int]:
    """Return the last number of every range in a list."""
    return [_last_of(given, part) for part in given.value.split(",")]


def _last_of(given: Given, text: str) -> int:
    match = _RANGE.fullmatch(text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, -1)
    step = int(match[4] or 1) if match else 0
    grows = match is not None and match[3] == "*"
    if last < first or step < 1 or (grows and (step == 1 or not first) and last > first):
        raise refused(given, f"{quoted(text)} cannot be meant; expected a number or FIRST-LAST+STEP. Correct it.")
    if not grows:
        return last - (last - first) % step
    while first * step <= last:
        first *= step
    return first


def _pair(given: Given) -> tuple[int, int]:
    prompt, _, generated = given.value.partition(",")
    return whole(given, 0, prompt), whole(given, 0, generated)
