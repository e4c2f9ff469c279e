"""Plans as text: whole reports of every outcome."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.plan_texts import PLAIN, text_of
from support.plans import REQUEST, interrupted_plan, model_plan, six_blocks, stopped_plan, unknown_plan
from support.problems import NO_RULES, problem_of

from solver.planning import plan
from solver.problem import Ends
from solver.report.plan_text import plan_text
from solver.report.terminal import Paint

if TYPE_CHECKING:
    from solver.planning import Plan


OF_A_MODEL = """\
✓ Six fits on 3 of 4 nodes, proved optimal by closed form and exact search.

nodes    3       = bound (proved by closed form)   nodes that hold a stage
balance  0.9250  = bound (proved by exact search)  largest load / budget

#  node      blocks      load of budget              full   load  budget  slack  weights  cache
1  desk-1    input, 0–1  ██████████████████▋    ▏  81.3 %  19.50   24.00   4.50    11.00   8.50  GiB
2  studio    2–3         █████████████████████▎ ▏  92.5 %  18.50   20.00   1.50    10.00   8.50  GiB
3  desk-2    4–5, head   ██████████████████▋    ▏  81.3 %  19.50   24.00   4.50    11.00   8.50  GiB
   together  6 in all                              84.6 %  57.50   68.00  10.50    32.00  25.50  GiB
unused  1 without a budget (pocket)

seam after #   a token     prefill  indices a query   latency   link rate
1             12,288 B  768.00 MiB                –  0.500 ms  2.5 Gbit/s
2             12,288 B  768.00 MiB          8,192 B  0.500 ms  2.5 Gbit/s

check      closed forms              this plan
nodes      minimum 3, recommended 3  3, proved fewest
imbalance  assumed 1.10              1.0939 weighted by budget (1.0174 plain)
As few nodes as arithmetic allows, and the assumed imbalance of 1.10 holds at 1.0939.

to place  6 blocks, 57.50 GiB (weights 32.00 GiB, cache 25.50 GiB) on 4 nodes, budget 68.00 GiB
workload  context 65,536 tokens, 1 sequence, cache type q8_0, indexer rule conservative, nextn
          blocks left out, engine generic
reserve   the larger of 20 % and 8.00 GiB on desk-1, desk-2, pocket; the larger of 25 % and 8.00 GiB
          on studio; a ceiling of 20.00 GiB on studio

note: 1 multi-token prediction block is not placed.
note: A sentence of two lines that goes on that goes on that goes on that goes on that goes on that
      goes on to its end.
"""

WITH_RULES = """\
✓ Six fits on 2 of 4 nodes, proved optimal by closed form and exact search.

nodes    2       = bound (proved by closed form)   nodes that hold a stage
balance  0.7500  = bound (proved by exact search)  largest load / budget

#  node      blocks      load of budget              full   load  budget  slack  weights  cache
1  desk-2    input, 0–2  ███████████████▎       ▏  66.7 %  16.00   24.00   8.00    16.00  <0.01  GiB
2  desk-1    3–6, head   █████████████████▎     ▏  75.0 %  18.00   24.00   6.00    18.00  <0.01  GiB
   together  7 in all                              70.8 %  34.00   48.00  14.00    34.00  <0.01  GiB
unused  1 excluded (studio); 1 without a budget (pocket)

seam after #   a token   prefill  indices a query   latency   link rate
1             12,288 B  12,288 B          8,192 B  0.500 ms  2.5 Gbit/s

check      closed forms                  this plan
nodes      minimum 2, recommended 2      2, proved fewest
imbalance  assumed 1.10, ceiling 1.1765  1.0588
As few nodes as arithmetic allows, and the assumed imbalance of 1.10 holds at 1.0588.

to place  7 blocks, 34.00 GiB (weights 34.00 GiB, cache <0.01 GiB) on 4 nodes, budget 68.00 GiB
workload  context 1 token each, 2 sequences, cache type f16 for keys and q8_0 for values, indexer
          rule conservative, nextn blocks placed, engine generic
reserve   the larger of 20 % and 8.00 GiB on desk-1, desk-2, pocket; the larger of 25 % and 8.00 GiB
          on studio; a ceiling of 20.00 GiB on studio
rules     block 2 on desk-2; first desk-2; without studio; at most 3 nodes; at least 2 blocks a node
"""

ABSTRACT = """\
✓ 4 blocks fit on 3 of 4 nodes, proved optimal by closed form and exact search.

nodes    3       = bound (proved by closed form)   nodes that hold a stage
balance  0.9000  = bound (proved by exact search)  largest load / budget

#  node      blocks            load of budget           full  load  budget  slack  weights  other
1  n2        input, 0          ███████████████▌    ▏  77.8 %     7       9      2        6      1  B
2  n0        1                 ██████████████████  ▏  90.0 %     9      10      1        9      0  B
3  n1        2–3, head (copy)  ███████████████     ▏  75.0 %     9      12      3        9      0  B
   together  4 in all                                 80.6 %    25      31      6       24      1  B
unused  1 without a budget (n3)

check      closed forms              this plan
nodes      minimum 3, recommended 3  3, proved fewest
imbalance  assumed 1.10              1.1160 weighted by budget (1.0800 plain)
As few nodes as arithmetic allows, but the assumed imbalance of 1.10 does not hold at 1.1160.

to place  4 blocks, 24 B (weights 23 B, other 1 B) on 4 nodes, budget 31 B
"""

STOPPED = """\
✓ 4 blocks fit on 3 of 3 nodes, not proved optimal: balance open (gap 3.57 %).
  The search was interrupted before every objective was proved; this is the best plan found.

nodes    3       = bound (proved by cp-sat)            nodes that hold a stage
balance  0.7778  not proved: bound 0.7500, gap 3.57 %  largest load / budget

#  node      blocks    load of budget               full  load  budget  slack  weights
1  n0        0         ████████████            ▏  50.0 %     5      10      5        5  B
2  n1        1         ██████████████████      ▏  75.0 %     9      12      3        9  B
3  n2        2–3       ██████████████████▋     ▏  77.8 %     7       9      2        7  B
   together  4 in all                             67.7 %    21      31     10       21  B

check      closed forms              this plan
nodes      minimum 2, recommended 3  3, proved fewest
imbalance  assumed 1.10              1.1481 weighted by budget (1.2857 plain)
3 nodes where arithmetic asks for 2, and the assumed imbalance of 1.10 does not hold at 1.1481.

to place  4 blocks, 21 B (weights 21 B) on 3 nodes, budget 31 B
"""

INFEASIBLE = """\
✗ Six does not fit on these 4 nodes: proved, no placement exists.
  1. The budgets together hold 68.00 GiB (73,014,444,032 bytes) and the model needs 80.83 GiB: short
     by 12.83 GiB.
  2. With a context of 80384 tokens a sequence it fits.

to place  6 blocks, 80.83 GiB (weights 32.00 GiB, cache 48.83 GiB) on 4 nodes, budget 68.00 GiB
workload  context 131,072 tokens, 1 sequence, cache 400,000 B a token as given, nextn blocks left
          out, engine generic
reserve   the larger of 20 % and 8.00 GiB on desk-1, desk-2, pocket; the larger of 25 % and 8.00 GiB
          on studio; a ceiling of 20.00 GiB on studio

note: 1 block is not placed.
"""

UNKNOWN = """\
? Whether 2 blocks fit on these 2 nodes is not known: the limits ran out first.

nodes  not known  at least 2  nodes that hold a stage

to place  2 blocks, 14 B (weights 14 B) on 2 nodes, budget 22 B
"""


def test_a_model_on_machines_with_every_default_that_was_used() -> None:
    found = model_plan(six_blocks(), replace(REQUEST, context_tokens=65536))
    notes = (
        "1 multi-token prediction block is not placed.",
        f"A sentence of two lines {'that goes on ' * 6}to its end.",
    )

    assert OF_A_MODEL == text_of(replace(found, notes=notes))


def test_other_rules_and_types_are_named_and_nothing_small_is_shown_as_nothing() -> None:
    request = replace(REQUEST, context_tokens=1, sequences=2, cache_type_k="f16", resident_nextn=True)
    rules = replace(NO_RULES, pins=((2, "desk-2"),), first="desk-2", exclude=("studio",), max_nodes=3, min_blocks=2)
    found = model_plan(six_blocks(), request, rules=rules)

    assert WITH_RULES == text_of(replace(found, notes=()))


def test_an_abstract_problem_is_shown_to_the_byte_with_its_tied_copy() -> None:
    ends = Ends(input_bytes=1, output_bytes=2, tied_bytes=1, host_bytes=1)

    assert ABSTRACT == text_of(plan(problem_of((5, 9, 3, 4), (10, 12, 9, 0), ends=ends)))


def test_a_plan_that_is_not_proved_says_so_with_its_gap() -> None:
    assert STOPPED == text_of(replace(stopped_plan(interrupted=True), notes=()))


def test_what_does_not_fit_has_reasons_and_what_was_asked_and_no_more() -> None:
    found = model_plan(six_blocks(), replace(REQUEST, context_tokens=131072, cache_bytes_per_token=400_000))
    reasons = (
        "The budgets together hold 68.00 GiB (73,014,444,032 bytes) and the model needs 80.83 GiB: short by 12.83 GiB.",
        "With a context of 80384 tokens a sequence it fits.",
    )

    assert INFEASIBLE == text_of(replace(found, reasons=reasons, notes=("1 block is not placed.",)))


def test_a_search_without_an_answer_says_that_nothing_is_known() -> None:
    assert UNKNOWN == text_of(unknown_plan(interrupted=False))


@pytest.mark.parametrize(
    ("found", "lines"),
    [
        (
            stopped_plan(interrupted=False),
            [
                "✓ 4 blocks fit on 3 of 3 nodes, not proved optimal: balance open (gap 3.57 %).",
                "  The limits ran out before every objective was proved; this is the best plan found.",
            ],
        ),
        (
            stopped_plan(interrupted=False, bound=None),
            [
                "✓ 4 blocks fit on 3 of 3 nodes, not proved optimal: balance open (no bound).",
                "  The limits ran out before every objective was proved; this is the best plan found.",
            ],
        ),
        (
            unknown_plan(interrupted=True),
            ["? Whether 2 blocks fit on these 2 nodes is not known: the search was interrupted first."],
        ),
        (
            plan(problem_of((9,), (5,))),
            [
                "✗ 1 block does not fit on this 1 node: proved, no placement exists.",
                "  1. Block 0 with what belongs to it takes 9 B, more than the largest budget, 5 B on n0.",
                "  2. With 4 B more memory for n0 it fits.",
            ],
        ),
        (
            plan(problem_of((3,), (5,))),
            ["✓ 1 block fits on 1 of 1 node, proved optimal by closed form."],
        ),
        (
            interrupted_plan(),
            [
                "✓ 1 block fits on 1 of 1 node, proved optimal by closed form.",
                "  The search was interrupted while it chose among equally good plans: the next run may show another.",
            ],
        ),
    ],
)
def test_every_outcome_is_said_first(found: Plan, lines: list[str]) -> None:
    assert lines == text_of(found).split("\n\n", maxsplit=1)[0].splitlines()


def test_optimal_is_said_only_where_every_objective_is_proved() -> None:
    """The word stands with the proofs, or in "not proved optimal"."""
    for found in (stopped_plan(interrupted=True), unknown_plan(interrupted=True), plan(problem_of((9,), (5,)))):
        assert "optimal" not in plan_text(found, PLAIN, timings=True).replace("not proved optimal", "")


@pytest.mark.parametrize(
    ("wall_ms", "line"), [(999, "feasible, solved in 999 ms"), (61_500, "feasible, solved in 61.50 s")]
)
def test_the_time_stands_at_the_end_where_it_is_wanted(wall_ms: int, line: str) -> None:
    found = stopped_plan(interrupted=False, wall_ms=wall_ms)

    assert f"{text_of(found)}\n{line}\n" == plan_text(found, PLAIN, timings=True)


def test_without_times_equal_plans_are_equal_text() -> None:
    one, other = stopped_plan(interrupted=False, wall_ms=1), stopped_plan(interrupted=False, wall_ms=2)

    assert text_of(one) == text_of(other)
    assert plan_text(one, PLAIN, timings=True) != plan_text(other, PLAIN, timings=True)


def test_colour_adds_control_sequences_and_changes_nothing_else() -> None:
    found = model_plan(six_blocks())
    painted = plan_text(found, Paint(enabled=True), timings=False)

    assert text_of(found) == re.sub("\x1b\\[[0-9]+m", "", painted)
    assert painted.startswith("\x1b[32m✓\x1b[0m \x1b[1mSix fits on 2 of 4 nodes")
