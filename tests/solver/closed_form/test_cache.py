"""Bytes of the cache of a model with latent attention (golden figures G1)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from hypothesis import given
from hypothesis import strategies as st

from solver.closed_form import GLM_5_2, ArchitectureFacts, kv_bytes
from solver.closed_form.cache import BYTES_PER_VALUE
from solver.errors import InputError

KNOWN_TYPES = "BF16, F16, F32, FP8, FP8_E4M3, FP8_E5M2, IQ4_NL, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0"


@pytest.mark.parametrize(
    ("expected", "options"),
    [
        (955_908_096, {}),
        (828_899_328, {"indexer": "optimized"}),
        (782_106_624, {"indexer": "none"}),
        (1_799_356_416, {"cache_type": "F16"}),
        (1_472_200_704, {"cache_type": "F16", "indexer": "none"}),
        (30_589_059_072, {"context_tokens": 131_072, "sequences": 4}),
        (11_829_362_688, {"context_tokens": 202_752}),
        (58_344, {"context_tokens": 1}),
    ],
)
def test_the_cache_of_glm_5_2_has_exactly_these_bytes(expected: int, options: dict[str, Any]) -> None:
    assert expected == kv_bytes(GLM_5_2, **options)


@given(
    context=st.integers(1, 10**7),
    sequences=st.integers(1, 64),
    latent=st.integers(1, 4096),
    blocks=st.integers(1, 200),
    width=st.integers(0, 512),
    data=st.data(),
)
def test_the_cache_is_one_floored_product(
    context: int, sequences: int, latent: int, blocks: int, width: int, data: st.DataObject
) -> None:
    """No rounding happens before the last step, and the rules of the indexer order the sizes."""
    full = data.draw(st.integers(0, blocks))
    name = data.draw(st.sampled_from(sorted(BYTES_PER_VALUE)))
    facts = ArchitectureFacts(blocks, latent, full, width, 6144, 2048)
    sizes = {
        rule: kv_bytes(facts, context_tokens=context, sequences=sequences, cache_type=name, indexer=rule)
        for rule in ("none", "optimized", "conservative")
    }

    values = {"none": 0, "optimized": full, "conservative": blocks}
    for rule, indexers in values.items():
        exact = (latent * blocks + width * indexers) * context * sequences * BYTES_PER_VALUE[name]
        assert sizes[rule] <= exact < sizes[rule] + 1
    assert sizes["none"] <= sizes["optimized"] <= sizes["conservative"]


@pytest.mark.parametrize("name", ["BF16", "F16", "F32", "IQ4_NL", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"])
def test_bytes_a_value_are_those_of_the_format(name: str) -> None:
    values, size_bytes = GGML_QUANT_SIZES[GGMLQuantizationType[name]]

    assert Fraction(size_bytes, values) == BYTES_PER_VALUE[name]


def test_a_type_may_be_written_in_either_letter_case() -> None:
    assert kv_bytes(cache_type="Q8_0") == kv_bytes(cache_type="q8_0")


@pytest.mark.parametrize(
    ("message", "options"),
    [
        (
            f'cache type: "q9" is unknown; expected one of {KNOWN_TYPES}.',
            {"cache_type": "q9"},
        ),
        (
            rf'cache type: "\x1b[1m" is unknown; expected one of {KNOWN_TYPES}.',
            {"cache_type": "\x1b[1m"},
        ),
        ('indexer: "some" is no rule; expected one of conservative, none, optimized.', {"indexer": "some"}),
        ('indexer: "None" is no rule; expected one of conservative, none, optimized.', {"indexer": None}),
        ("context: 0 is too small; expected an integer of 1 or more.", {"context_tokens": 0}),
        ("context: True is not an integer; expected an integer of 1 or more.", {"context_tokens": True}),
        ("context: 16384.0 is not an integer; expected an integer of 1 or more.", {"context_tokens": 16384.0}),
        ("context: nan is not an integer; expected an integer of 1 or more.", {"context_tokens": float("nan")}),
        ("sequences: -1 is too small; expected an integer of 1 or more.", {"sequences": -1}),
        ("sequences: inf is not an integer; expected an integer of 1 or more.", {"sequences": float("inf")}),
        ('sequences: "2" is not an integer; expected an integer of 1 or more.', {"sequences": "2"}),
    ],
)
def test_what_cannot_be_sized_is_refused_by_name(message: str, options: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        kv_bytes(GLM_5_2, **options)

    assert message == str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        (
            "architecture, trunk_blocks: 0 is too small; expected an integer of 1 or more.",
            (0, 576, 0, 128, 6144, 2048),
        ),
        (
            "architecture, latent_values: 576.0 is not an integer; expected an integer of 1 or more.",
            (78, 576.0, 21, 128, 6144, 2048),
        ),
        (
            "architecture, index_topk: -1 is too small; expected an integer of 0 or more.",
            (78, 576, 21, 128, 6144, -1),
        ),
        (
            "architecture, full_indexer_blocks: 79 of 78 blocks have an indexer; expected 78 at most.",
            (78, 576, 79, 128, 6144, 2048),
        ),
    ],
)
def test_facts_that_cannot_be_are_refused(message: str, facts: tuple[Any, ...]) -> None:
    with pytest.raises(InputError) as caught:
        ArchitectureFacts(*facts)

    assert message == str(caught.value)
