"""The table of ranks, as text and in documents."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from support.problems import NO_RULES
from support.served import REQUEST, cards, llama_70b_fp8, small_model

from solver.engines.servers.ranks import default_placement, served_figures
from solver.engines.sglang import sglang
from solver.engines.vllm import PROFILE, vllm
from solver.problem import Placement, Stage
from solver.report.ranks_json import ranks_document
from solver.report.ranks_text import ranks_text
from solver.report.terminal import Paint
from tensors.units import GIB

if TYPE_CHECKING:
    from solver.engines.servers.ranks import ServedFigures

PLAIN = Paint(enabled=False)


def two_ranks(width: int = 1, sequences: int = 1, name: str = "desk") -> ServedFigures:
    settings = replace(PROFILE.settings(width), overhead_bytes=GIB)
    cluster = cards((name, 2 * width, "48 GiB"))
    served = vllm(llama_70b_fp8(), cluster, replace(REQUEST, sequences=sequences), NO_RULES, settings)
    first, second = (device.name for device in served.devices)
    return served_figures(served, Placement((Stage(0, 39, first), Stage(39, 80, second))))


def test_every_rank_has_a_line_and_all_have_what_the_weakest_has_room_for() -> None:
    text = """\
vllm 0.28: 2 ranks of 1 card, --gpu-memory-utilization 0.9 (bound by desk/gpu0: its reserve)

rank  device     blocks    weights     other  cache memory  pages  tokens  concurrency
   0  desk/gpu0  0–38    33.04 GiB  1.00 GiB      9.16 GiB  3,849  61,584        7.51x
   1  desk/gpu1  39–79   34.63 GiB  1.00 GiB      7.57 GiB  3,024  48,384        5.90x

All ranks have 3,024 pages, 48,384 tokens: rank 1 has room for no more.
Concurrency 5.90x: 1 sequence of 8,192 tokens fits.
"""

    assert text == ranks_text(two_ranks(), PLAIN)


def test_sizes_of_wider_ranks_are_of_one_card() -> None:
    text = ranks_text(two_ranks(2), PLAIN)

    assert "2 ranks of 2 cards" in text
    assert "desk/gpu2" in text
    assert text.endswith("Sizes are of one card; each of a rank's 2 holds as much.\n")


def test_what_does_not_fit_is_said() -> None:
    assert ranks_text(two_ranks(sequences=6), PLAIN).endswith("6 sequences of 8,192 tokens do not fit.\n")
    assert ranks_text(two_ranks(sequences=5), PLAIN).endswith("5 sequences of 8,192 tokens fit.\n")


def test_memory_below_nothing_is_shown_as_bad() -> None:
    served = vllm(
        llama_70b_fp8(), cards(("desk", 2, "32 GiB")), REQUEST, NO_RULES, replace(PROFILE.settings(), overhead_bytes=0)
    )
    figures = served_figures(served, default_placement(served, ("desk/gpu0", "desk/gpu1")))

    assert "\033[31m-5.03 GiB\033[0m" in ranks_text(figures, Paint(enabled=True))
    assert "1 sequence of 8,192 tokens does not fit" in ranks_text(figures, PLAIN)


def test_slots_are_tokens_and_shared_by_the_least_memory_and_the_most_layers() -> None:
    served = sglang(llama_70b_fp8(), cards(("l4", 2, "80 GiB")), REQUEST, NO_RULES)
    figures = served_figures(served, Placement((Stage(0, 35, "l4/gpu0"), Stage(35, 80, "l4/gpu1"))))
    lines = ranks_text(figures, PLAIN).splitlines()

    assert "rank  device   blocks    weights       other  cache memory   tokens  concurrency" in lines
    assert figures.ranks[1].units == figures.units
    more = served_figures(served, Placement((Stage(0, 1, "l4/gpu0"), Stage(1, 80, "l4/gpu1"))))
    assert "the least memory left, over the most layers of any" not in ranks_text(more, PLAIN)


def test_a_rank_that_keeps_nothing_has_room_for_any() -> None:
    given = replace(REQUEST, cache_bytes_per_token=1)
    served = vllm(small_model(2), cards(("desk", 2, "1 GiB")), given, NO_RULES, PROFILE.settings())
    lines = ranks_text(
        served_figures(served, default_placement(served, ("desk/gpu0", "desk/gpu1"))), PLAIN
    ).splitlines()

    assert lines[3].split()[-3:] == ["any"] * 3


def test_names_are_escaped() -> None:
    figures = two_ranks()
    hostile = tuple(replace(rank, device="\x1b[2J") for rank in figures.ranks)
    share = replace(figures.share, card="\x1b[2J/gpu0")

    assert "\x1b" not in ranks_text(replace(figures, ranks=hostile, share=share), PLAIN)


def test_the_document_has_the_same_figures() -> None:
    figures = two_ranks()
    document = ranks_document(figures)

    assert {
        "engine": "vllm",
        "build": "0.28",
        "width": 1,
        "share": {"flag": "--gpu-memory-utilization", "value": 0.9, "card": "desk/gpu0"},
        "context_tokens": 8192,
        "sequences": 1,
        "unit": "pages",
        "units": 3024,
        "tokens": 48384,
        "concurrency": 5.90625,
        "weakest": 1,
        "fits": True,
    } == {key: value for key, value in document.items() if key != "ranks"}
    assert {
        "rank": 1,
        "device": "desk/gpu1",
        "cards": ["desk/gpu1"],
        "start": 39,
        "end": 80,
        "requested_bytes": figures.ranks[1].requested_bytes,
        "weight_bytes": figures.ranks[1].weight_bytes,
        "other_bytes": GIB,
        "available_cache_bytes": figures.ranks[1].available_bytes,
        "units": 3024,
        "tokens": 48384,
        "concurrency": 5.90625,
    } == document["ranks"][1]
    assert document == json.loads(json.dumps(document))
