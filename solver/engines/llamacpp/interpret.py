"""From flags to a request, with the defaults of each program (common/common.h and common/arg.cpp of b11434)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from solver.engines.llamacpp.bench import bench_request
from solver.engines.llamacpp.command_line import command_line
from solver.engines.llamacpp.facts import FlashAttention, Program
from solver.engines.llamacpp.flag_values import (
    EXPERTS,
    LAZY_BYTES,
    MAPPING,
    attention,
    cache_kind,
    dense_of_first_blocks,
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
from solver.engines.llamacpp.flags import parse_flags
from solver.engines.llamacpp.given_flags import GivenFlags
from solver.engines.llamacpp.interpret_files import adapters_of, device_names, draft_of, projector_of
from solver.engines.llamacpp.request import CACHE_RAM_BYTES, Fit, Request, SplitMode
from solver.errors import InputError
from solver.wording import either, quoted
from tensors.cache import CACHE_TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.engines.llamacpp.flags import Given

__all__ = ["request_of"]

_MIB: Final = 2**20
_BATCH_TOKENS, _MICRO_BATCH_TOKENS = 2048, 512
_DRAFT_TOKENS = 3
_CHECKPOINTS = 32

# common/common.h (common_params_speculative_ngram_*) and common/speculative.cpp (common_speculative_n_max).
_NGRAMS: Final = {
    "ngram-simple": ("spec-ngram-simple-size-m", 48),
    "ngram-map-k": ("spec-ngram-map-k-size-m", 48),
    "ngram-map-k4v": ("spec-ngram-map-k4v-size-m", 48),
    "ngram-mod": ("spec-ngram-mod-n-max", 64),
    "ngram-cache": (None, 8),
}
"""How many tokens each kind of n-grams drafts at once: the flag that says so, and the usual number."""

_FIT_MARGIN_BYTES, _FIT_CONTEXT_TOKENS = 1024 * _MIB, 4096

_OLDER_MODES = {("mmap", True): "mmap", ("mmap", False): "none", ("mlock", True): "mlock", ("direct-io", True): "dio",
                ("direct-io", False): "mmap"}  # fmt: skip


class _Speculation(NamedTuple):
    """Whether nextn blocks draft, the most tokens drafted at once, and states kept to go back by."""

    drafts: bool
    tokens: int
    rolled_back: int
    notes: tuple[str, ...]


def request_of(words: Sequence[str]) -> Request:
    """Return what a pasted command line asks for.

    Raises:
        InputError: it starts another program, or a flag or its value is not one that is emulated; it is named.
    """
    line = command_line(words)
    given = parse_flags(line.program, line.words)
    if line.program is Program.BENCH:
        return bench_request(given, line.notes)
    return _request(line.program, GivenFlags(line.program, given), line.notes)


def _request(program: Program, flags: GivenFlags, notes: tuple[str, ...]) -> Request:
    f16 = CACHE_TYPES["f16"]
    servers, before = _servers(flags)
    speculation = _speculation(flags)
    mode, mode_notes = _load_mode(flags)
    return Request(
        program=program,
        model=_model(flags),
        context_tokens=flags.value("ctx-size", lambda given: whole(given, 0), None),
        slot_tokens=flags.value("kv-unified-per-slot", lambda given: whole(given, 0), None) or None,
        sequences=_sequences(flags),
        unified=flags.on("kv-unified", default=False) if flags.last("kv-unified") else None,
        batch_tokens=flags.value("batch-size", lambda given: whole(given, 1), _BATCH_TOKENS),
        micro_batch_tokens=flags.value("ubatch-size", lambda given: whole(given, 0), _MICRO_BATCH_TOKENS),
        type_k=flags.value("cache-type-k", cache_kind, f16),
        type_v=flags.value("cache-type-v", cache_kind, f16),
        draft_type_k=flags.value("spec-draft-type-k", cache_kind, f16),
        draft_type_v=flags.value("spec-draft-type-v", cache_kind, f16),
        flash_attention=flags.value("flash-attn", attention, FlashAttention.AUTO),
        full_windows=flags.on("swa-full", default=False),
        offloads_cache=flags.on("kv-offload", default=True),
        offloads_operations=flags.on("op-offload", default=True),
        repacks=flags.on("repack", default=True),
        maps_files=mode,
        lazy_bytes=_lazy_bytes(flags),
        layers=flags.value("gpu-layers", layers, None),
        layers_said=flags.value("gpu-layers", lambda given: given.value not in ("auto", "-1"), default=False),
        shares=flags.value("tensor-split", shares, ()),
        split=flags.value("split-mode", split_mode, SplitMode.LAYER),
        main_device=flags.value("main-gpu", lambda given: whole(given, -1), 0),
        devices=flags.value("device", device_names, None),
        rpc_servers=servers,
        servers_before_devices=before,
        overrides=_overrides(flags),
        fit=_fit(program, flags),
        drafts=speculation.drafts,
        draft_tokens=speculation.tokens,
        rolled_back_tokens=speculation.rolled_back,
        draft=draft_of(flags),
        projector=projector_of(flags),
        adapters=adapters_of(flags),
        cache_ram_bytes=_cache_ram(program, flags),
        checkpoints=flags.value("ctx-checkpoints", lambda given: whole(given, 0), _CHECKPOINTS)
        if program in (Program.SERVER, Program.CLI)
        else 0,
        notes=(*notes, *mode_notes, *speculation.notes),
    )


def _model(flags: GivenFlags) -> str:
    given = flags.last("model")
    if given is None:
        raise InputError(str(flags.program), "no model is named; expected -m FILE. Name the file.")
    return given.value


def _sequences(flags: GivenFlags) -> int | None:
    given = flags.last("parallel")
    if given is None:
        return None
    count = whole(given, -1)
    if count == 0:
        raise refused(
            given, "0 sequences are asked for; expected 1 or more, or -1 for the engine's choice. Correct it."
        )
    return None if count < 0 else count


def _servers(flags: GivenFlags) -> tuple[tuple[str, ...], int]:
    """Return all RPC servers, and how many are named before the devices: those behind are not known there yet."""
    servers: list[str] = []
    before: int | None = None
    for given in flags.given:
        if given.flag.name == "rpc":
            servers.extend(filter(None, given.value.split(",")))
        elif given.flag.name == "device":
            before = len(servers)
    return tuple(servers), len(servers) if before is None else before


def _overrides(flags: GivenFlags) -> tuple[tuple[str, str], ...]:
    """Return tensors that are moved, in the order of their flags: the first that fits decides."""
    moved: list[tuple[str, str]] = []
    for given in flags.given:
        match given.flag.name:
            case "override-tensor":
                moved.extend(overrides(given))
            case "cpu-moe":
                moved.append((EXPERTS, "CPU"))
            case "n-cpu-moe":
                moved.extend(experts_of_first_blocks(whole(given, 0)))
            case "n-cpu-ffn":
                moved.extend(dense_of_first_blocks(whole(given, 0)))
            case _:
                continue
    return tuple(moved)


def _load_mode(flags: GivenFlags) -> tuple[bool | None, tuple[str, ...]]:
    """Return whether files are mapped (None: where every device allows it), and a note on an older spelling."""
    mode = "auto"
    notes: tuple[str, ...] = ()
    for given in flags.given:
        if given.flag.name == "load-mode":
            mode = one_of(given, tuple(MAPPING))
        elif given.flag.name in {name for name, _ in _OLDER_MODES}:
            mode = _OLDER_MODES[given.flag.name, given.is_on]
            notes = (f"{given.word} is the spelling of older builds; newer ones take -lm {mode}.",)
    return MAPPING[mode], notes


def _lazy_bytes(flags: GivenFlags) -> int | None:
    return LAZY_BYTES[flags.value("lazy-mode", lambda given: one_of(given, tuple(LAZY_BYTES)), "auto")]


def _fit(program: Program, flags: GivenFlags) -> Fit:
    def margins(given: Given) -> tuple[int, ...]:
        parts = given.value.replace("/", ",").split(",")
        return tuple(whole(given, 0, part) * _MIB for part in parts)

    # The estimator prints what was asked for, unless it is to choose: then it prints what it chose.
    printed = flags.value("fit-print", switch, default=False) if program is Program.FIT_PARAMS else False
    enabled = flags.value("fit", switch, default=True) and not printed
    return Fit(
        enabled=enabled,
        margin_bytes=flags.value("fit-target", margins, (_FIT_MARGIN_BYTES,)),
        least_context_tokens=flags.value("fit-ctx", lambda given: whole(given, 0), _FIT_CONTEXT_TOKENS),
    )


def _speculation(flags: GivenFlags) -> _Speculation:
    """Return how tokens are drafted: by nextn blocks, by a model, or from n-grams of what was said."""
    known = ("none", "draft-simple", "draft-mtp", *_NGRAMS)
    kinds = {"ngram-mod"} if flags.last("spec-default") else set()
    for given in flags.every("spec-type"):
        for kind in given.value.split(","):
            if kind not in known:
                raise refused(given, f"{quoted(kind)} is not emulated; expected {either(known)}. Choose one of them.")
            kinds.add(kind)
    drafted = flags.value("spec-draft-n-max", lambda given: whole(given, 0), _DRAFT_TOKENS)
    tokens = [drafted for kind in kinds & {"draft-simple", "draft-mtp"}]
    for kind in kinds & _NGRAMS.keys():
        flag, usual = _NGRAMS[kind]
        tokens.append(usual if flag is None else flags.value(flag, lambda given: whole(given, 0), usual))
    notes = ("Tables of n-grams on the host are not counted; that of ngram-mod is 16 MiB.",)
    return _Speculation(
        drafts="draft-mtp" in kinds,
        tokens=max(tokens, default=0),
        rolled_back=drafted if "draft-mtp" in kinds else 0,
        notes=notes if kinds & _NGRAMS.keys() else (),
    )


def _cache_ram(program: Program, flags: GivenFlags) -> int | None:
    if program not in (Program.SERVER, Program.CLI):
        return 0
    given = flags.last("cache-ram")
    if given is None:
        return CACHE_RAM_BYTES
    size = whole(given, -1)
    return None if size < 0 else size * _MIB
