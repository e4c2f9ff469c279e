"""From a request to settings: defaults of the program, padding, and what a family forces.

src/llama-context.cpp (llama_context, llama_init_from_model), tools/server/server.cpp, tools/cli/cli-server.h,
common/common.h and common/fit.cpp of b11434.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from solver.engines.llamacpp import families
from solver.engines.llamacpp.facts import FlashAttention, Program, Settings
from solver.engines.llamacpp.request import ContextTerms
from solver.errors import InputError
from tensors.architecture import MissingFact
from tensors.architecture.gguf_families import WITHOUT_CACHE
from tensors.cache import CacheKind

if TYPE_CHECKING:
    from solver.engines.llamacpp.profile import Profile
    from tensors.inventory import Inventory

__all__ = ["ContextRequest", "settings_of"]

_CONTEXT_MULTIPLE = 256
_LEAST_COMPLETION_TOKENS = 8
_MOST_SEQUENCES = 256
"""src/llama-cparams.h, LLAMA_MAX_SEQ."""

_SERVERS = frozenset({Program.SERVER, Program.CLI})
"""llama-cli runs a server within itself."""


@dataclass(frozen=True, slots=True)
class ContextRequest(ContextTerms):
    """What is asked of a context; `context_tokens` of 0 asks for the trained length.

    `fitted` says that the engine may adapt what is not said to the memory that is free.
    """

    maps_files: bool
    fitted: bool


def settings_of(profile: Profile, inventory: Inventory, request: ContextRequest) -> Settings:
    """Return the settings that a program makes of a request for a model.

    Raises:
        InputError: the engine refuses the request for this model.
    """
    sequences, unified = _sequences(profile, request)
    family = inventory.architecture.family
    attention = _attention(inventory, request)
    total = _context_tokens(inventory, request, sequences, unified=unified)
    batch = request.batch_tokens if family in WITHOUT_CACHE else min(total, request.batch_tokens)
    micro_batch = min(batch, request.micro_batch_tokens or request.batch_tokens)
    _check_even(family, min(_rounded_up(total), micro_batch), sequences)
    padded = _rounded_up(total)
    sequence_tokens = padded if unified else _rounded_up(padded // sequences)
    if not sequence_tokens:
        raise InputError(inventory.name, f"{padded} tokens leave none to each of {sequences} sequences. Ask for more.")
    return Settings(
        program=request.program,
        context_tokens=padded if unified else sequence_tokens * sequences,
        sequence_tokens=sequence_tokens,
        sequences=sequences,
        unified=unified,
        batch_tokens=batch,
        micro_batch_tokens=micro_batch,
        output_rows=_output_rows(request, batch, sequences),
        type_k=request.type_k,
        type_v=request.type_v,
        draft_type_k=request.draft_type_k,
        draft_type_v=request.draft_type_v,
        flash_attention=attention,
        full_windows=request.full_windows,
        offloads_cache=request.offloads_cache,
        offloads_operations=request.offloads_operations,
        maps_files=request.maps_files,
        lazy_bytes=request.lazy_bytes,
        drafts=request.drafts,
        mixed_batches=profile.mixed_batches and family not in families.NO_MIXED_BATCHES,
        states_per_sequence=1 + (request.rolled_back_tokens if family in families.ROLLED_BACK_STATES else 0),
    )


def _sequences(profile: Profile, request: ContextRequest) -> tuple[int, bool]:
    """Return the number of sequences, and whether they share one run of cells."""
    if request.sequences is None and request.program is Program.SERVER:
        return profile.automatic_sequences, True
    sequences = 1 if request.sequences is None else request.sequences
    if sequences > _MOST_SEQUENCES:
        raise InputError("sequences", f"{sequences} are asked for; expected at most {_MOST_SEQUENCES}. Lower it.")
    return sequences, bool(request.unified)


def _check_even(family: str, tokens: int, sequences: int) -> None:
    """Refuse sequences that would end the program."""
    if family in families.EVEN_BATCHES and tokens % sequences:
        raise InputError(
            "sequences",
            f"a micro-batch of {tokens} tokens does not split evenly among {sequences}, which ends the program for "
            f"{family}; expected a number that divides it. Take a power of 2.",
        )


def _context_tokens(inventory: Inventory, request: ContextRequest, sequences: int, *, unified: bool) -> int:
    if request.context_tokens:
        # tools/completion/completion.cpp.
        least = _LEAST_COMPLETION_TOKENS if request.program is Program.COMPLETION else 1
        return max(request.context_tokens, least)
    if request.context_tokens is None and request.slot_tokens:
        return request.slot_tokens * sequences
    trained = inventory.architecture.context_tokens
    if trained is None:
        raise InputError(
            inventory.name, "its header has no trained context, and none is asked for; expected one. Ask for a context."
        )
    # common/fit.cpp: fitting begins with the trained length for every run of cells.
    return trained * (sequences if request.fitted and not unified else 1)


def _attention(inventory: Inventory, request: ContextRequest) -> FlashAttention:
    """Return whether attention is fused, with the engine's own refusals of cache types."""
    family = inventory.architecture.family
    attention = FlashAttention.OFF if family in families.FLASH_ATTENTION_OFF else request.flash_attention
    _check_latent_types(inventory, request)
    if request.type_v.block_values > 1:
        if attention is FlashAttention.OFF:
            raise InputError(
                f"cache type {request.type_v.name}",
                "a quantised V needs fused attention, which is off; expected f32, f16 or bf16. "
                "Choose one of them, or fuse attention.",
            )
        attention = FlashAttention.ON
    if attention is not FlashAttention.OFF:
        _check_widths(inventory, request)
    return attention


def _check_latent_types(inventory: Inventory, request: ContextRequest) -> None:
    terms = inventory.architecture.cache
    latent = not isinstance(terms, MissingFact) and any(term.kind is CacheKind.LATENT for term in terms)
    if latent and request.type_k != request.type_v:
        raise InputError(
            f"cache types {request.type_k.name} and {request.type_v.name}",
            "K is a latent that serves as V too; expected one type for both. Give both the same type.",
        )


def _check_widths(inventory: Inventory, request: ContextRequest) -> None:
    """Refuse types whose blocks do not fill the heads of a trunk block."""
    terms = inventory.architecture.cache
    for term in () if isinstance(terms, MissingFact) else terms:
        if (
            term.kind not in {CacheKind.FULL, CacheKind.WINDOW, CacheKind.LATENT}
            or term.block >= inventory.trunk_blocks
        ):
            continue
        widths = (("K", term.key_values, request.type_k), ("V", term.value_values, request.type_v))
        for what, values, kind in widths:
            if values // term.heads % kind.block_values:
                raise InputError(
                    f"cache type {kind.name}",
                    f"its blocks of {kind.block_values} values do not fill the {values // term.heads} of one head of "
                    f"{what}; expected a type whose blocks do. Choose f16.",
                )


def _output_rows(request: ContextRequest, batch: int, sequences: int) -> int:
    """Return the rows of logits that graphs are reserved for (common/speculative.cpp, get_output_limits)."""
    if request.program not in _SERVERS:
        return batch
    return max(1, min(request.batch_tokens, sequences * (1 + request.draft_tokens)))


def _rounded_up(tokens: int) -> int:
    return -(-tokens // _CONTEXT_MULTIPLE) * _CONTEXT_MULTIPLE
