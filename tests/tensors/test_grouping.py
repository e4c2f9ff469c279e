"""Tensors put into the parts of a chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from tensors.architecture import Architecture, MissingFact
from tensors.grouping import Grouping, group
from tensors.header import FileHeader, StoredTensor
from tensors.inventory import Part, Role

if TYPE_CHECKING:
    from collections.abc import Sequence


def architecture(trunk_blocks: int, nextn_blocks: int = 0, *, tied: bool | None = None) -> Architecture:
    """Return an architecture that states nothing but its blocks."""
    return Architecture(
        family="any",
        trunk_blocks=trunk_blocks,
        nextn_blocks=nextn_blocks,
        hidden_size=None,
        vocabulary_size=None,
        context_tokens=None,
        heads=None,
        experts=None,
        index_topk=None,
        index_block_tokens=None,
        banked_every=None,
        full_indexer_blocks=(),
        tied=tied,
        cache=MissingFact("nothing is stated"),
    )


def header(names: Sequence[str]) -> FileHeader:
    """Return a file of matrices of 6 bytes each."""
    tensors = tuple(StoredTensor(name, (2, 3), "U8", 6, 100 + 6 * place) for place, name in enumerate(names))
    size = 100 + 6 * len(tensors)
    return FileHeader("file", "file", size, memoryview(b""), {}, tensors, 6 * len(tensors), 0, 0)


def grouped(names: Sequence[str], stated: Architecture) -> Grouping:
    """Group the tensors of one file."""
    return group([header(names)], stated)


def places(grouping: Grouping) -> list[tuple[Part, int | None]]:
    """Return part and block of every tensor in order."""
    return [(tensor.part, tensor.block) for tensor in grouping.tensors]


def test_blocks_behind_the_stated_trunk_are_nextn() -> None:
    """GGUF and most checkpoints number them on."""
    names = [
        "token_embd.weight",
        "blk.0.attn_q.weight",
        "blk.1.attn_q.weight",
        "blk.2.nextn.eh_proj.weight",
        "output.weight",
    ]
    grouping = grouped(names, architecture(2, 1))

    assert [
        (Part.INPUT, None),
        (Part.TRUNK, 0),
        (Part.TRUNK, 1),
        (Part.NEXTN, 2),
        (Part.HEAD, None),
    ] == places(grouping)
    assert (2, 1, False, ()) == grouping[1:]


def test_blocks_of_a_stack_of_their_own_are_numbered_behind_the_trunk() -> None:
    names = ["model.layers.2.mlp.up_proj.weight", "mtp.layers.0.mlp.up_proj.weight", "mtp.fc.weight"]
    grouping = grouped(names, architecture(3, 1))

    assert [(Part.TRUNK, 2), (Part.NEXTN, 3), (Part.NEXTN, 3)] == places(grouping)
    assert (3, 1) == (grouping.trunk_blocks, grouping.nextn_blocks)


def test_without_a_stated_count_all_numbered_blocks_are_the_trunk() -> None:
    grouping = grouped(["blk.0.attn_q.weight", "blk.4.attn_q.weight"], architecture(0))

    assert (5, 0, ()) == (grouping.trunk_blocks, grouping.nextn_blocks, grouping.notes)


def test_where_header_and_tensors_disagree_a_note_says_so() -> None:
    short = grouped(["blk.0.attn_q.weight"], architecture(4, 1))
    long = grouped(["blk.4.attn_q.weight"], architecture(4, 0))

    assert (4, 0) == (short.trunk_blocks, short.nextn_blocks)
    assert (
        "4 trunk blocks are stated, and tensors are numbered for 1 of them",
        "1 nextn block is stated, and the files hold 0",
    ) == short.notes
    assert (4, 1) == (long.trunk_blocks, long.nextn_blocks)
    assert ("0 nextn blocks are stated, and the files hold 1",) == long.notes


def test_an_encoder_is_the_trunk_of_a_model_that_has_no_other_blocks() -> None:
    encoder, decoder = "encoder.layer.1.output.dense.weight", "decoder.block.0.layer.0.SelfAttention.q.weight"

    assert [(Part.TRUNK, 1)] == places(grouped([encoder], architecture(2)))
    both = grouped([encoder, decoder], architecture(1))
    assert [(Part.OTHER, None), (Part.TRUNK, 0)] == places(both)
    assert (f'blocks of an encoder beside the trunk, listed as other: "{encoder}"',) == both.notes


def test_what_is_not_recognised_is_listed_as_other_with_a_note() -> None:
    names = [f"foo{number}.\x1b" for number in range(6)]
    grouping = grouped(["blk.0.novel.weight", *names], architecture(1))

    assert [(Part.TRUNK, 0)] + [(Part.OTHER, None)] * 6 == places(grouping)
    assert {Role.OTHER} == {tensor.role for tensor in grouping.tensors}
    listing = '"blk.0.novel.weight", "foo0.\\x1b", "foo1.\\x1b", "foo2.\\x1b" and 3 more'
    assert (f"not recognised by name, listed as other: {listing}",) == grouping.notes


def test_a_head_is_tied_where_an_embedding_is_there_and_no_matrix_of_a_head() -> None:
    embedding, norm, head = "model.embed_tokens.weight", "model.norm.weight", "lm_head.weight"

    assert [True, False, False, False] == [
        grouped(names, architecture(0)).tied
        for names in ([embedding, norm], [embedding, norm, head], [head], ["v.patch_embd.weight"])
    ]


def test_a_head_that_is_stated_and_not_there_is_noted() -> None:
    names = ["model.embed_tokens.weight", "model.norm.weight"]

    assert ("a matrix of the head's own is stated, and the files hold none: the input's is taken for it",) == grouped(
        names, architecture(0, tied=False)
    ).notes
    assert () == grouped(names, architecture(0, tied=True)).notes


NAMES = st.lists(
    st.one_of(
        st.from_regex(r"blk\.[0-9]{1,5}\.[a-z_]{1,9}(\.weight)?", fullmatch=True),
        st.from_regex(r"(model|mtp|encoder)\.layers\.[0-9]{1,3}\.(mlp|attn)", fullmatch=True),
        st.text(max_size=9),
    ),
    unique=True,
)


@given(NAMES, st.integers(0, 4096), st.integers(0, 3))
def test_every_tensor_is_in_one_place_and_every_block_has_a_number(
    names: list[str], trunk_blocks: int, nextn_blocks: int
) -> None:
    """None is dropped, whatever the names and whatever is stated."""
    grouping = grouped(names, architecture(trunk_blocks, nextn_blocks))
    count = grouping.trunk_blocks + grouping.nextn_blocks

    assert names == [tensor.name for tensor in grouping.tensors]
    for tensor in grouping.tensors:
        assert (tensor.part in {Part.TRUNK, Part.NEXTN}) == (tensor.block is not None)
        assert tensor.block is None or 0 <= tensor.block < count
        assert tensor.block is None or (tensor.part is Part.TRUNK) == (tensor.block < grouping.trunk_blocks)
