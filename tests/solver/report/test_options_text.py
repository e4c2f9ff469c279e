"""Options as a person reads them, with the solver's answers beside."""

from __future__ import annotations

from dataclasses import replace

from support.pools import GOLDEN_ARTIFACTS, GOLDEN_NODES

from solver.options import DEFAULT_POLICY, Method, PlacedStage, Verdict, options
from solver.options.explain import explanation
from solver.options.lines import lines_of
from solver.report.options_text import explanation_text, options_text
from solver.report.terminal import Paint

PLAIN = Paint(enabled=False)
GOLDEN = options(GOLDEN_ARTIFACTS, GOLDEN_NODES, 8192)


def test_both_answers_stand_side_by_side() -> None:
    """A refuted option, one that holds where the solver lists a better place, and one that both list."""
    exact = replace(GOLDEN[2], method=Method.EXACT, verdict=Verdict.FITS, need_bytes=40 * 10**9, free_now=None)
    lines = lines_of(
        [replace(GOLDEN[0], verdict=Verdict.REFUTED), replace(GOLDEN[1], verdict=Verdict.FITS), GOLDEN[2], exact]
    )

    assert options_text(lines, ["a note"], PLAIN) == (
        "✓ Best: Q4_K_M on 1 × h100-80g by llamacpp, free now.\n"
        "\n"
        "#  artifact  where         GB needs/has       solver  bits  free now  longest context\n"
        "1  Q6_K      1 × h100-80g   64.54/72.00      refuted  6.56  yes                30,956\n"
        "2  Q4_K_M    1 × h100-80g   48.40/72.00         fits  4.82  yes                80,200\n"
        "3  Q8_0      2 × h100-80g   41.78/72.00  40.00/72.00  8.50  ?                 192,653\n"
        "\n"
        "GB are 10^9 bytes, of the fullest card or of the host.\n"
        "Note: a note\n"
    )


def test_one_artifact_is_named_once_and_counts_stay_with_what_they_count() -> None:
    """In the verdict, not in a column; a narrow terminal breaks a place between its parts."""
    label = "2 nodes: 1 × m2-ultra-200g + 1 × h200-sxm5-151g"
    only = replace(GOLDEN[0], verdict=Verdict.FITS, place=replace(GOLDEN[0].place, label=label))

    assert (
        "✓ Best: Q6_K on 2 nodes: 1 × m2-ultra-200g + 1 × h200-sxm5-151g by llamacpp,\n"
        "  free now.\n"
        "\n"
        "#  where                   GB needs/has  solver  bits  free now  longest context\n"
        "1  2 nodes:                 64.54/72.00    fits  6.56  yes                30,956\n"
        "   1 × m2-ultra-200g +\n"
        "   1 × h200-sxm5-151g\n"
    ) in options_text(lines_of([only]), [], replace(PLAIN, width=80))


def test_what_all_names_begin_with_is_said_once() -> None:
    names = ("Some-Model-7B-Instruct-Q6_K", "Some-Model-7B-Instruct-Q4_K_M")
    lines = lines_of(
        replace(option, artifact=replace(option.artifact, name=name))
        for option, name in zip(GOLDEN, names, strict=False)
    )
    text = options_text(lines, [], PLAIN)

    assert "✓ Best: Some-Model-7B-Instruct-Q6_K on" in text
    assert "1  …Q6_K " in text
    assert "2  …Q4_K_M " in text
    assert "Names of artifacts begin with Some-Model-7B-Instruct-, shown as …." in " ".join(text.split())


def test_what_cannot_be_read_has_its_own_line_also_where_nothing_is_left() -> None:
    lost = "b.gguf: unreadable: the file is empty. Fetch the file again."

    assert f"\n✗ {lost}\n\nGB are" in options_text(lines_of(GOLDEN), [], PLAIN, [lost])
    assert f"✗ Nothing here can be served on these nodes.\n✗ {lost}\n" == options_text((), [], PLAIN, [lost])


def test_a_list_of_refuted_options_alone_has_no_best() -> None:
    text = options_text(lines_of([replace(GOLDEN[0], verdict=Verdict.REFUTED)]), [], PLAIN)

    assert text.startswith("✗ The solver refutes every option that arithmetic finds.\n")


def test_a_long_list_is_cut_and_says_so() -> None:
    many = [
        replace(GOLDEN[0], order=number, artifact=replace(GOLDEN[0].artifact, name=f"a{number}"))
        for number in range(43)
    ]

    assert "… and 3 more lines, all in --json and --format csv.\n" in options_text(lines_of(many), [], PLAIN)


def test_an_explanation_lists_the_stages_of_the_cut_under_a_title() -> None:
    stage = PlacedStage("n1", "n1/gpu0", 0, 80, 64_540_496_384, 72 * 10**9)
    lines = lines_of([replace(GOLDEN[0], method=Method.EXACT, stages=(stage,), proof="exact search")])

    assert (
        "#1  Q6_K  on  1 × h100-80g\n"
        "\n"
        "Solver: 64.540 of 72.000 GB, 7.460 GB of room, proved by exact search; 2 nodes offer such a place.\n"
        "  n1/gpu0: blocks 0–79, 64.540 of 72.000 GB\n"
        "Longest context there: 30,956 tokens.\n"
        "Quality 6.564 from 6.564 bits a weight.\n"
        "Rank: first of all.\n"
        "Nothing ranks before it.\n"
    ) == explanation_text(lines[0], explanation(lines, 1, 8192, DEFAULT_POLICY), PLAIN)
