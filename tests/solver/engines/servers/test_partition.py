"""How engines cut a model where nobody tells them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.engines.servers.partition import extra_at_the_end, extra_before_the_last
from solver.engines.sglang import PROFILE as SGLANG
from solver.engines.vllm import PROFILE as VLLM


@pytest.mark.parametrize(
    ("blocks", "ranks", "cut"),
    [
        (22, 4, (5, 6, 6, 5)),
        (43, 10, (4, 4, 4, 4, 4, 4, 5, 5, 5, 4)),
        (80, 8, (10,) * 8),
        (7, 4, (2, 2, 2, 1)),
        (5, 1, (5,)),
    ],
)
def test_vllm_gives_what_is_left_over_to_the_ranks_before_the_last(
    blocks: int, ranks: int, cut: tuple[int, ...]
) -> None:
    assert cut == VLLM.default_partition(blocks, ranks)


@pytest.mark.parametrize(
    ("blocks", "ranks", "cut"),
    [(22, 4, (5, 5, 6, 6)), (43, 10, (4, 4, 4, 4, 4, 4, 4, 5, 5, 5)), (80, 8, (10,) * 8), (7, 4, (1, 2, 2, 2))],
)
def test_sglang_gives_what_is_left_over_to_the_last_ranks(blocks: int, ranks: int, cut: tuple[int, ...]) -> None:
    assert cut == SGLANG.default_partition(blocks, ranks)


@given(blocks=st.integers(1, 200), ranks=st.integers(1, 40))
def test_every_block_is_in_one_rank_and_no_rank_has_two_more_than_another(blocks: int, ranks: int) -> None:
    for cut in (extra_before_the_last(blocks, ranks), extra_at_the_end(blocks, ranks)):
        assert (blocks, ranks) == (sum(cut), len(cut))
        assert max(cut) - min(cut) <= 1


@given(blocks=st.integers(1, 200), ranks=st.integers(2, 40))
def test_the_last_rank_of_vllm_never_has_more_and_the_first_only_if_all_others_do(blocks: int, ranks: int) -> None:
    cut = extra_before_the_last(blocks, ranks)

    assert blocks // ranks == cut[-1]
    assert (cut[0] > blocks // ranks) == (blocks % ranks == ranks - 1)
