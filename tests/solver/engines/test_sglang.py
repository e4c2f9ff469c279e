"""Problems of SGLang's ranks: the share of weights and cache, and what the engine keeps free by itself."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from support.problems import NO_RULES
from support.served import REQUEST, cards, llama_70b_fp8, model, small_model

from solver.engines.servers.ranks import default_placement, served_figures
from solver.engines.sglang import PROFILE, own_reserve_bytes, sglang
from tensors.architecture.terms import full, state
from tensors.errors import ArchitectureError
from tensors.units import GIB

MIB = 2**20


@pytest.mark.parametrize(
    ("card_gib", "cards_in_all", "batched", "sequences", "mib"),
    [
        (24, 1, 4096, 48, 512 + 6144 + 128 + 96),
        (24, 8, 1000, 8, 512 + 3072 + 1024 + 16),
        (80, 8, 8192, 256, 512 + 12288 + 1024 + 512),
        (80, 1, 2048, 8, 10 * 1024),
        (60, 1, 2048, 8, 512 + 3072 + 128 + 16),
    ],
)
def test_what_the_engine_keeps_free_of_a_card(
    card_gib: int, cards_in_all: int, batched: int, sequences: int, mib: int
) -> None:
    """Steps count as 2048 tokens at least, and cards above 60 GiB keep 10 GiB at least."""
    assert mib * MIB == own_reserve_bytes(card_gib * GIB, cards_in_all, batched, sequences)


def test_the_share_leaves_what_the_engine_keeps_free() -> None:
    """2 cards of 24 GiB: 512 + 6144 + 256 + 96 MiB stay free of 24,576; the reserve of a tenth would be less."""
    served = sglang(small_model(), cards(("desk", 2, "24 GiB")), REQUEST, NO_RULES)

    assert Fraction((24576 - 7008) * 1000 // 24576, 1000) == served.share.value
    assert (
        "--mem-fraction-static is 0.714 on every card: what the engine keeps free leaves desk/gpu0 no more. "
        "Assumed: sglang 0.5.14, ranks of 1 card."
    ) in served.notes


def test_a_larger_reserve_binds_in_its_place() -> None:
    served = sglang(small_model(), cards(("desk", 2, "24 GiB"), reserve="0.5"), REQUEST, NO_RULES)

    assert (Fraction(1, 2), "its reserve") == (served.share.value, served.share.why)


def test_only_the_drivers_context_is_taken_off_inside_the_share() -> None:
    settings = replace(PROFILE.settings(), overhead_bytes=0)
    served = sglang(small_model(), cards(("desk", 2, "24 GiB")), REQUEST, NO_RULES, settings)

    assert {-(-24 * GIB * 9 // 10) - 460 * MIB} == {node.budget_bytes for node in served.problem.nodes}


def test_a_token_takes_a_cell_and_no_page() -> None:
    """2 heads of 16 + 16 values of 2 bytes in each of 4 blocks."""
    served = sglang(small_model(), cards(("desk", 1, "24 GiB")), replace(REQUEST, context_tokens=1001), NO_RULES)

    assert [(1001 * 128, 128)] * 4 == [
        (block.cache_bytes, block.cache_bytes_per_token) for block in served.problem.blocks
    ]
    figures = served_figures(served, default_placement(served, ("desk",)))
    assert figures.ranks[0].available_bytes // (4 * 128) == figures.tokens
    assert "tokens" == figures.unit


def test_the_default_cut_gives_more_to_the_last_ranks() -> None:
    served = sglang(llama_70b_fp8(), cards(("desk", 6, "48 GiB")), REQUEST, NO_RULES)
    placement = default_placement(served, tuple(device.name for device in served.devices))

    assert [13, 13, 13, 13, 14, 14] == [stage.end - stage.start for stage in placement.stages]


def test_models_that_carry_a_state_have_no_rule() -> None:
    mixed = model((), (full(0, 1, 8, 8), state(1, 1, 100)), 2)
    with pytest.raises(ArchitectureError) as caught:
        sglang(mixed, cards(("desk", 1, "24 GiB")), REQUEST, NO_RULES)

    assert "Served: no rule for sglang: some of its blocks carry a state beside a cache." == str(caught.value)
