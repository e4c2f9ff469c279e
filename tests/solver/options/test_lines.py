"""Both answers on one line a place, and why a line stands where it does."""

from __future__ import annotations

from dataclasses import replace

from support.pools import GOLDEN_ARTIFACTS, GOLDEN_NODES

from solver.options import DEFAULT_POLICY, Method, Verdict, options
from solver.options.explain import explanation
from solver.options.lines import Line, best_line, lines_of, reason_of

GOLDEN = options(GOLDEN_ARTIFACTS, GOLDEN_NODES, 8192)


def test_two_answers_about_one_place_share_a_line_that_the_solver_places() -> None:
    busy = replace(GOLDEN[0], method=Method.EXACT, verdict=Verdict.FITS, free_now=False)
    lines = lines_of([GOLDEN[1], GOLDEN[0], busy])

    assert [1, 2] == [line.rank for line in lines]
    assert (GOLDEN[0], busy) == (lines[0].simple, lines[0].exact)
    assert busy == lines[0].leading
    assert (GOLDEN[0], busy) == lines[0].options
    assert lines[1].exact is None


def test_a_refuted_line_keeps_its_place_and_is_not_the_best() -> None:
    lines = lines_of([replace(GOLDEN[0], verdict=Verdict.REFUTED), GOLDEN[1]])

    assert [True, False] == [line.refuted for line in lines]
    assert lines[1] == best_line(lines)
    assert best_line(lines[:1]) is None
    assert best_line(()) is None


def test_every_place_in_the_order_has_its_reason() -> None:
    lines = lines_of(GOLDEN)

    assert [
        "first of all",
        "behind #1, which has higher quality (6.564 against 4.821)",
        "behind #2, which has fewer cards (1 against 2)",
        "behind #3, which has fewer cards (2 against 3)",
        "behind #4, which has fewer cards (3 against 4)",
        "behind #5, which has higher quality (8.501 against 6.564)",
        "behind #6, which has fewer nodes (1 against 2)",
        "behind #7, which has cards and no processor",
    ] == [reason_of(lines, number) for number in range(1, 9)]


def test_free_now_and_room_decide_last_and_ties_are_said() -> None:
    first = GOLDEN[0]
    other = replace(first, order=1, artifact=replace(first.artifact, name="other"))

    assert "behind #1, which has a place that is free now" == reason_of(
        lines_of([first, replace(other, free_now=False)]), 2
    )
    assert "behind #1, which has more room (7.460 against 6.460 GB)" == reason_of(
        lines_of([first, replace(other, need_bytes=first.need_bytes + 10**9)]), 2
    )
    assert "equal to #1; the order of artifacts and classes decides" == reason_of(lines_of([first, other]), 2)


def test_an_explanation_says_what_would_raise_an_option() -> None:
    """Q4_K_M on 3 cards of 24 GB would do with 2 only without its weights; Q8_0 on 4 with none."""
    lines = lines_of(GOLDEN)

    assert (
        "Arithmetic: 64.540 of 72.000 GB, 7.460 GB of room; 2 nodes offer such a place.",
        "Quality 6.564 from 6.564 bits a weight.",
        "Rank: first of all.",
        "Nothing ranks before it.",
    ) == explanation(lines, 1, 8192, DEFAULT_POLICY)
    assert (
        "No single change here raises it: another artifact or another place is better by the order."
        == (explanation(lines, 4, 8192, DEFAULT_POLICY)[-1])
    )


def test_an_option_that_waits_says_where_it_would_be_if_it_were_free() -> None:
    first = GOLDEN[0]
    busy = replace(first, order=0, free_now=False, artifact=replace(first.artifact, name="busy"))
    other = replace(first.place, gpu_class="a100-80g", label="1 × a100-80g")
    lines = lines_of([busy, replace(first, order=1, need_bytes=first.need_bytes + 1, place=other)])

    assert "busy" == lines[1].leading.artifact.name
    assert "Free now, it would be #1." == explanation(lines, 2, 8192, DEFAULT_POLICY)[-1]


def test_a_shorter_context_that_saves_a_card_is_said() -> None:
    """At 262,144 tokens Q4_K_M takes two cards of 80 GB; at 80,200 one would do."""
    lines = lines_of(options(GOLDEN_ARTIFACTS[:1], GOLDEN_NODES[:1] + GOLDEN_NODES[3:], 150_000))

    assert ["2 × h100-80g", "CPU"] == [line.leading.place.label for line in lines]
    assert "Nothing ranks before it." == explanation(lines, 1, 150_000, DEFAULT_POLICY)[-1]
    small = replace(GOLDEN_ARTIFACTS[0], name="small", size_bytes=10**9)
    cards_alone = [replace(node, host_memory_bytes=0) for node in GOLDEN_NODES[:1]]
    both = lines_of(options([GOLDEN_ARTIFACTS[0], small], cards_alone, 150_000))
    assert ["small", "Q4_K_M"] == [line.leading.artifact.name for line in both]

    def again(tokens: int) -> tuple[Line, ...]:
        return lines_of(options([GOLDEN_ARTIFACTS[0], small], cards_alone, tokens))

    assert (
        "At a context of 80,200 tokens it fits on 1 card and would be #1."
        == explanation(both, 2, 150_000, DEFAULT_POLICY, again)[-1]
    )
    assert "Q4_K_M" == again(80_200)[0].leading.artifact.name
    assert explanation(both, 2, 150_000, DEFAULT_POLICY, lambda _: both)[-1].startswith("No single change here")


def test_what_is_part_of_a_freed_place_is_free_too() -> None:
    """Two artifacts alike wait for one class of cards: freed, they stay in the order of their room."""
    first = replace(GOLDEN[0], free_now=False)
    lines = lines_of([first, replace(first, order=1, need_bytes=first.need_bytes + 1)])

    assert explanation(lines, 2, 8192, DEFAULT_POLICY)[-1].startswith("No single change here raises it")


def test_a_refuted_option_says_so() -> None:
    lines = lines_of([replace(GOLDEN[0], verdict=Verdict.REFUTED)])

    assert "The solver refutes it: no cut of its blocks fits there." == explanation(lines, 1, 8192, DEFAULT_POLICY)[1]
