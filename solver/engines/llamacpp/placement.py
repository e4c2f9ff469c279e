"""On which device each tensor lands, how often, and how large it is there.

src/llama-model-loader.cpp (create_tensor), src/llama-arch.cpp (LLM_TENSOR_INFOS) and src/models/*.cpp of b11434: input
tensors stay on the host; a block's go with its slot, the head's with the last slot; a tied head is a second copy of the
embedding unless it shares its buffer; rope factors are copied once to every buffer that holds a block using them.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from solver.engines.llamacpp import families
from solver.engines.llamacpp.facts import HOST
from solver.engines.llamacpp.profile import CPU
from solver.errors import InputError
from tensors.text import quoted
from tensors.types import GGML_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solver.engines.llamacpp.facts import Assignment, Backend
    from solver.engines.llamacpp.profile import Profile
    from tensors.inventory import Inventory, Tensor

__all__ = ["Copy", "allocated_bytes", "backend_at", "loaded_blocks", "override_of", "placed"]


class Copy(NamedTuple):
    """One copy of a tensor on a device (or HOST); `moved` by an override away from where its slot is."""

    tensor: Tensor
    device: int
    moved: bool


class _Home(Enum):
    """Which slot a tensor outside the blocks goes with."""

    INPUT = auto()
    FIRST_BLOCK = auto()
    ROPE = auto()
    HEAD = auto()


_HOMES = (
    (re.compile(r"(token_embd|position_embd|token_types|per_layer_token_embd)\.weight"), _Home.INPUT),
    (
        re.compile(r"(token_embd_norm|per_layer_model_proj|per_layer_proj_norm|hrm\.z_l_init)(\.\w+)?"),
        _Home.FIRST_BLOCK,
    ),
    (re.compile(r"rope_(freqs|factors_long|factors_short)\.weight"), _Home.ROPE),
    (
        re.compile(
            r"(output|output_norm|output_hc_\w+|output_res_score|cls|cls\.\w+|dense_2|dense_3|altup_proj"
            r"|altup_unembd_proj|dec\.output_norm|enc\.output_norm)\.\w+"
        ),
        _Home.HEAD,
    ),
)
_BLOCK_PREFIX = re.compile(r"blk\.[0-9]+\.")

_ROW_TYPES = {kind.name: kind for kind in GGML_TYPES.values()}


def placed(profile: Profile, inventory: Inventory, assignment: Assignment, *, drafts: bool) -> Iterator[Copy]:
    """Yield every copy of every tensor that is loaded.

    Raises:
        InputError: a tensor belongs to no slot by the rules known here.
    """
    family = inventory.architecture.family
    loaded = loaded_blocks(profile, inventory, drafts=drafts)
    move = override_of(assignment)
    for tensor in inventory.tensors:
        if tensor.block is not None:
            if tensor.block in loaded or _is_loaded_anyway(family, tensor):
                yield _moved(tensor, assignment.slots[tensor.block], move)
            continue
        match _home(inventory, tensor):
            case _Home.INPUT:
                yield _moved(tensor, HOST, move)
                yield from _tied_copy(inventory, tensor, assignment, move)
            case _Home.FIRST_BLOCK:
                yield _moved(tensor, assignment.slots[0], move)
            case _Home.HEAD:
                yield _moved(tensor, assignment.head, move)
            case _Home.ROPE:
                yield from _rope_copies(inventory, tensor, assignment, move)


def loaded_blocks(profile: Profile, inventory: Inventory, *, drafts: bool) -> range:
    """Return the blocks whose tensors are loaded: nextn blocks only where they draft."""
    drafting = drafts and inventory.architecture.family in profile.drafting_families
    return range(inventory.trunk_blocks + (inventory.nextn_blocks if drafting else 0))


def override_of(assignment: Assignment) -> Callable[[str], int | None]:
    """Return a function from a tensor's name to the device that the first override it matches names, None for none."""
    rules = [(re.compile(override.pattern), override.device) for override in assignment.overrides]

    def find(name: str) -> int | None:
        return next((device for pattern, device in rules if pattern.search(name)), None)

    return find


def backend_at(assignment: Assignment, device: int) -> Backend:
    """Return the kind of a device of an assignment."""
    return CPU if device == HOST else assignment.devices[device].backend


def allocated_bytes(tensor: Tensor, backend: Backend) -> int:
    """Return what a buffer sets aside for a tensor: rows filled up where the kind of device does so, then aligned."""
    size = tensor.size_bytes
    if backend.row_elements > 1:
        size += _row_padding(tensor.type, tensor.shape[-1] if tensor.shape else 1, backend.row_elements)
    return -(-size // backend.alignment_bytes) * backend.alignment_bytes


@lru_cache(maxsize=2**12)
def _row_padding(type_name: str, row: int, multiple: int) -> int:
    kind = _ROW_TYPES.get(type_name)
    if kind is None or kind.block_elements == 1 or row % multiple == 0:
        return 0
    return (multiple - row % multiple) * kind.block_bytes // kind.block_elements


def _moved(tensor: Tensor, device: int, move: Callable[[str], int | None]) -> Copy:
    other = move(tensor.name)
    return Copy(tensor, device, moved=False) if other is None else Copy(tensor, other, moved=other != device)


def _tied_copy(
    inventory: Inventory, tensor: Tensor, assignment: Assignment, move: Callable[[str], int | None]
) -> Iterator[Copy]:
    """Yield the head's copy of the embedding, where it would be in another buffer."""
    if not inventory.tied or tensor.name != "token_embd.weight":
        return
    copy = _moved(tensor, assignment.head, move)
    if copy.device != _moved(tensor, HOST, move).device:
        yield copy


def _rope_copies(
    inventory: Inventory, tensor: Tensor, assignment: Assignment, move: Callable[[str], int | None]
) -> Iterator[Copy]:
    """Yield one copy for every buffer that holds a block using these factors."""
    copies: dict[int, Copy] = {}
    for block in _blocks_with_rope(inventory, tensor):
        copy = _moved(tensor, assignment.slots[block], move)
        copies.setdefault(copy.device, copy)
    yield from copies.values()


def _blocks_with_rope(inventory: Inventory, factors: Tensor) -> list[int]:
    blocks = list(range(inventory.trunk_blocks))
    if inventory.architecture.family not in families.ROPE_ON_FULL_BLOCKS:
        return blocks
    widths = {
        tensor.block: tensor.shape[-1] for tensor in inventory.tensors if tensor.name.endswith(".attn_q_norm.weight")
    }
    return [block for block in blocks if widths.get(block, 2 * factors.elements) == 2 * factors.elements]


def _is_loaded_anyway(family: str, tensor: Tensor) -> bool:
    pattern = families.LOADED_OF_SKIPPED.get(family)
    return pattern is not None and pattern.fullmatch(_BLOCK_PREFIX.sub("", tensor.name)) is not None


def _home(inventory: Inventory, tensor: Tensor) -> _Home:
    if tensor.name.startswith("token_embd_norm") and inventory.architecture.family in families.NORM_OF_HEAD:
        return _Home.HEAD
    home = _home_by_name(tensor.name)
    if home is None:
        raise InputError(
            inventory.name,
            f"no rule says where tensor {quoted(tensor.name)} goes; expected the names that llama.cpp gives. "
            "Check that it is a model in GGUF, and not an adapter or a projector.",
        )
    return home


@lru_cache(maxsize=2**10)
def _home_by_name(name: str) -> _Home | None:
    return next((home for pattern, home in _HOMES if pattern.fullmatch(name)), None)
