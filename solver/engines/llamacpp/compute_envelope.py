"""Bounds of a compute buffer where no graph of the model is known: from the widths of its tensors alone.

Below, what any graph holds at once: its logits, or the widest product of a block. Above, as if everything were held at
once that a block makes, twice over, with masks in float32 and residual streams in numbers above those of any family
that was measured (sparse attention makes up to a dozen masks of one, hyper-connections keep four streams).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from solver.engines.llamacpp.compute_graph import F16, F32, HOST_PLACE
from tensors.cache import CacheKind

if TYPE_CHECKING:
    from solver.engines.llamacpp.compute_context import Context

__all__ = ["Envelope", "envelope"]

_RESIDUALS: Final = 16
_MASK_COPIES: Final = 24
_STATE_COPIES: Final = 6
_TWICE: Final = 2


@dataclass(frozen=True, slots=True)
class Envelope:
    """The least and the most bytes of one part of a compute buffer."""

    name: str
    low_bytes: int
    high_bytes: int


def envelope(here: Context, place: int, copies: int) -> tuple[Envelope, ...]:
    """Return the parts of the compute buffer of a place: its inputs, what its widest block makes, the logits."""
    tokens = here.tokens
    residual = here.hidden * tokens * F32
    terms = [term for items in here.terms.values() for term in items]
    cells = max((here.cells(term) for term in terms if term.kind is not CacheKind.RECURRENT), default=0)
    vectors = residual * (_TWICE if here.settings.mixed_batches else 1)
    mask = cells * tokens * (F16 if here.flash else F32)
    kinds = len({(term.kind, term.tokens_per_cell) for term in terms}) + 1
    blocks = [block for block in here.blocks if here.device(block) == place]
    head = here.device(len(here.assignment.slots) - 1) == place
    logits = here.whole("token_embd.weight", -1).extents[1] * here.outputs * F32 if head else 0
    used = bool(blocks) or head or place == HOST_PLACE
    states = max((term.state_values for term in terms), default=0) * here.sequences * F32
    heads = here.inventory.architecture.heads or 1
    scores = 0 if here.flash or not blocks else cells * tokens * heads * F32
    made = [_made(here, block) for block in blocks]
    widest = max((wide for wide, _ in made), default=0)
    everything = max((total for _, total in made), default=0)
    own = mask if blocks or place == HOST_PLACE else 0
    return (
        Envelope("graph inputs", 0, copies * _TWICE * (kinds * own + vectors) if used else 0),
        Envelope("masks made of others", 0, _MASK_COPIES * cells * tokens * F32 if blocks else 0),
        Envelope(
            "activations", max(widest - logits, 0), _RESIDUALS * residual * copies + _TWICE * everything if used else 0
        ),
        Envelope("scores", 0, _TWICE * scores),
        Envelope("states", 0, _STATE_COPIES * states if blocks else 0),
        Envelope("results that are kept", logits, logits),
    )


def _made(here: Context, block: int) -> tuple[int, int]:
    """Return the bytes of the widest product of a block and of all its products, for one micro-batch."""
    counts = here.inventory.architecture.experts
    used = 1 if counts is None else counts.used
    widths = []
    for name in here.names(block):
        shape = here.shapes[name]
        if len(shape) == _TWICE:
            widths.append(shape[0])
        elif len(shape) > _TWICE and "_exps" in name:
            widths.append(shape[-2] * used)
        elif len(shape) > _TWICE:
            widths.append(shape[0] * shape[-2])
    each = here.tokens * F32
    return max(widths, default=0) * each, sum(widths) * each
