"""What a model's files hold, as text, tables and a document."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from solver.report.inventory_json import inventory_document, tensor_documents
from solver.report.inventory_tables import View, inventory_table
from solver.report.inventory_text import inventory_text
from solver.report.terminal import Paint
from tensors.architecture import Architecture, Experts, MissingFact
from tensors.inventory import Inventory, ModelFile, Part, Role, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MIB = 2**20


def tensor(name: str, part: Part, role: Role, block: int | None, size_bytes: int) -> Tensor:
    """Return a tensor of 8.5 bits a value."""
    return Tensor(
        name=name,
        shape=(size_bytes * 32 // 34 // 32, 32),
        type="Q8_0",
        size_bytes=size_bytes,
        file=0,
        offset=64,
        part=part,
        role=role,
        block=block,
    )


@pytest.fixture
def inventory() -> Inventory:
    """Return a model of two trunk blocks, one with experts, and a nextn block; its head is tied."""
    tensors = (
        tensor("token_embd.weight", Part.INPUT, Role.EMBEDDING, None, 34 * MIB),
        tensor("blk.0.ffn_up.weight", Part.TRUNK, Role.FEED_FORWARD, 0, 17 * MIB),
        tensor("blk.1.ffn_up_exps.weight", Part.TRUNK, Role.ROUTED_EXPERT, 1, 68 * MIB),
        tensor("blk.2.nextn.eh_proj.weight", Part.NEXTN, Role.NEXTN, 2, 17 * MIB),
        replace(tensor("output_norm.weight", Part.HEAD, Role.NORM, None, 1024), type="F32", shape=(256,)),
    )
    return Inventory(
        name="tiny\x1b[31m",
        format="gguf",
        files=(
            ModelFile(
                name="tiny.gguf",
                size_bytes=136 * MIB + 1024 + 4096 - 7,
                header_bytes=4064,
                tensor_bytes=136 * MIB + 1024,
                padding_bytes=32,
                missing_bytes=7,
            ),
        ),
        tensors=tensors,
        trunk_blocks=2,
        nextn_blocks=1,
        tied=True,
        architecture=Architecture(
            family="llama",
            trunk_blocks=2,
            nextn_blocks=1,
            hidden_size=32,
            vocabulary_size=None,
            context_tokens=4096,
            heads=4,
            experts=Experts(routed=8, used=2, shared=0),
            index_topk=None,
            index_block_tokens=None,
            banked_every=None,
            full_indexer_blocks=(),
            tied=True,
            cache=MissingFact("no header says so"),
        ),
        header_sha256="0" * 64,
        notes=("tiny.gguf ends 7 bytes early\n",),
    )


HEAD = """\
tiny\\x1b[31m

format        gguf, 1 file of 136.00 MiB, not complete
architecture  llama
weights       136.00 MiB (142,607,360 bytes)
parameters    134,217,984, 8.500 bits (1.0625 bytes) each
blocks        2 trunk, 1 nextn
trained for   4,096 tokens
experts       8 routed, 2 of them a token, 0 shared
resident      119.00 MiB: 2 trunk blocks, input, head; the head is tied to the input
not resident  17.00 MiB: 1 nextn block, unless asked for

"""

TAIL = "\nNote: tiny.gguf ends 7 bytes early\\n\n"

VIEWS = {
    View.BLOCK: """\
block  part      weight     expert  tensors
       input  34.00 MiB        0 B        1  ███████████████
    0  trunk  17.00 MiB        0 B        1  ███████▌
    1  trunk  68.00 MiB  68.00 MiB        1  ██████████████████████████████
    2  nextn  17.00 MiB        0 B        1  ███████▌
       head    1.00 KiB        0 B        1  ▏
""",
    View.ROLE: """\
role           tensors     weight  parameters
embedding            1  34.00 MiB  33,554,432  ███████████████
norm                 1   1.00 KiB         256  ▏
feed_forward         1  17.00 MiB  16,777,216  ███████▌
routed_expert        1  68.00 MiB  67,108,864  ██████████████████████████████
nextn                1  17.00 MiB  16,777,216  ███████▌
""",
    View.TYPE: """\
type  tensors      weight   parameters
Q8_0        4  136.00 MiB  134,217,728  ██████████████████████████████
F32         1    1.00 KiB          256  ▏
""",
    View.FILE: """\
file             size    header      tensor  padding  missing
tiny.gguf  136.00 MiB  3.97 KiB  136.00 MiB     32 B      7 B  ██████████████████████████████
""",
    View.TENSOR: """\
tensor                      shape         type     weight  part   role           block
token_embd.weight           1048576 × 32  Q8_0  34.00 MiB  input  embedding
blk.0.ffn_up.weight         524288 × 32   Q8_0  17.00 MiB  trunk  feed_forward       0
blk.1.ffn_up_exps.weight    2097152 × 32  Q8_0  68.00 MiB  trunk  routed_expert      1
blk.2.nextn.eh_proj.weight  524288 × 32   Q8_0  17.00 MiB  nextn  nextn              2
output_norm.weight          256           F32    1.00 KiB  head   norm
""",
}
WIDE_TENSORS = """\
tensor                      shape         type     weight  part   role           block  file       offset
token_embd.weight           1048576 × 32  Q8_0  34.00 MiB  input  embedding             tiny.gguf      64
blk.0.ffn_up.weight         524288 × 32   Q8_0  17.00 MiB  trunk  feed_forward       0  tiny.gguf      64
blk.1.ffn_up_exps.weight    2097152 × 32  Q8_0  68.00 MiB  trunk  routed_expert      1  tiny.gguf      64
blk.2.nextn.eh_proj.weight  524288 × 32   Q8_0  17.00 MiB  nextn  nextn              2  tiny.gguf      64
output_norm.weight          256           F32    1.00 KiB  head   norm                  tiny.gguf      64
"""


@pytest.mark.parametrize("view", list(View))
def test_text_shows_the_facts_one_table_and_the_notes(view: View, inventory: Inventory) -> None:
    """Text of the files is escaped wherever it stands."""
    assert HEAD + VIEWS[view] + TAIL == inventory_text(inventory, view, Paint(enabled=False))


def test_where_tensors_are_is_shown_where_lines_have_room(inventory: Inventory) -> None:
    wide = Paint(enabled=False, width=120)

    assert HEAD + WIDE_TENSORS + TAIL == inventory_text(inventory, View.TENSOR, wide)


def test_the_document_keeps_the_contract(
    inventory: Inventory, validate_document: Callable[[Mapping[str, Any]], None]
) -> None:
    """Keys in their order, exact integers, and nothing else unless tensors are asked for."""
    document = inventory_document(inventory)
    validate_document(document)
    validate_document({**document, "tensors": tensor_documents(inventory)})

    assert ["schema", "model", "blocks", "roles", "types", "files", "notes"] == list(document)
    assert {
        "name": "tiny\x1b[31m",
        "architecture": "llama",
        "files": [{"name": "tiny.gguf", "bytes": 142_611_449}],
        "tensors": 5,
        "parameters": 134_217_984,
        "weight_bytes": 142_607_360,
        "trunk_blocks": 2,
        "nextn_blocks": 1,
        "tied": True,
        "complete": False,
    } == document["model"]
    assert {
        "index": 1,
        "kind": "trunk",
        "weight_bytes": 68 * MIB,
        "expert_bytes": 68 * MIB,
        "tensors": 1,
    } == document["blocks"][1]
    assert {"Q8_0": 4, "F32": 1} == {name: total["tensors"] for name, total in document["types"].items()}


@pytest.mark.parametrize("view", [View.BLOCK, View.ROLE, View.TYPE, View.TENSOR])
def test_the_bytes_of_a_table_add_up_to_the_model(view: View, inventory: Inventory) -> None:
    """Nothing of a model stands in no row."""
    table = inventory_table(inventory, view)
    sizes = [row[table.columns.index("weight_bytes")] for row in table.rows]

    assert inventory.weight_bytes == sum(size for size in sizes if isinstance(size, int))
