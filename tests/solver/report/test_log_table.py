"""Predicted beside actual, as a person and as a program read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solver.engines.logs.amounts import Printed, Unit
from solver.engines.logs.compare import Comparison, Row
from solver.report.log_table import log_document, log_table, log_text
from solver.report.table import TableFormat, render_table
from solver.report.terminal import Paint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MIB = 2**20
PLAIN = Paint(enabled=False)

ROWS = (
    Row("RPC0", "RPC0[10.0.0.1:50052]", "model", Unit.BYTES, 22494 * MIB, 22494 * MIB, Printed(22494 * MIB, 5243)),
    Row("CUDA0", "CUDA0", "model", Unit.BYTES, 100 * MIB, 100 * MIB, Printed(102 * MIB, 5243)),
    Row("CUDA0", "CUDA0", "compute", Unit.BYTES, 200 * MIB, 300 * MIB, Printed(150 * MIB, 0)),
    Row("CUDA0", "", "output", Unit.BYTES, 500, 500, None),
    Row("Host", "AMX", "repacked", Unit.BYTES, None, None, Printed(77 * MIB, 5243)),
    Row("all ranks", "", "cache tokens", Unit.TOKENS, 49120, 49120, Printed(49000, 0)),
    Row("all ranks", "", "concurrency", Unit.HUNDREDTHS, 599, 600, Printed(1250, 1)),
    Row("all ranks", "", "pages", Unit.PAGES, 0, 0, Printed(7, 0)),
)


def test_a_person_sees_both_amounts_and_the_error() -> None:
    text = """\
device          what                        predicted      actual                error
RPC0            model                       21.97 GiB   21.97 GiB                       agrees
(RPC0[10.0.0.
1:50052])
CUDA0           model                      100.00 MiB  102.00 MiB    +2.00 MiB, +2.00%  more
CUDA0           compute       200.00 MiB – 300.00 MiB  150.00 MiB  −50.00 MiB, −25.00%  less
CUDA0           output                          500 B                                   not logged
Host (AMX)      repacked                                77.00 MiB                       not
                                                                                        predicted
all ranks       cache tokens                   49,120      49,000         −120, −0.24%  less
all ranks       concurrency             5.99x – 6.00x      12.50x     +6.50x, +108.33%  more
all ranks       pages                               0           7                   +7  more

The prediction does not hold: 2 of 6 amounts are worse.
Note: Something to know.
"""

    assert text == log_text(Comparison("llama.cpp", ROWS, ("Something to know.",)), PLAIN)


def test_what_holds_and_what_cannot_be_compared_is_said() -> None:
    assert log_text(Comparison("vllm", ROWS[:1], ()), PLAIN).endswith(
        "\n\nThe prediction holds: nothing of 1 amounts is worse.\n"
    )
    assert log_text(Comparison("vllm", ROWS[3:5], ()), PLAIN).endswith("\n\nNothing in the log is in the plan too.\n")


def test_names_of_a_log_are_escaped() -> None:
    hostile = Row("\x1b[2J", "a\nb", "model", Unit.BYTES, None, None, Printed(1, 0))
    comparison = Comparison("llama.cpp", (hostile,), ("\x1b[31m",))
    text = log_text(comparison, PLAIN)

    assert "\x1b" not in text
    assert 5 == len(text.splitlines())
    assert "\x1b" not in render_table(log_table(comparison), TableFormat.CSV)


def test_a_program_sees_exact_amounts(validate_document: Callable[[Mapping[str, Any]], None]) -> None:
    document = log_document(Comparison("llama.cpp", ROWS, ("Something to know.",)), "run.log", "plan.json")
    validate_document(document)

    assert ("run.log", "plan.json", "llama.cpp", False, ["Something to know."]) == tuple(
        document[key] for key in ("log", "plan", "engine", "holds", "notes")
    )
    assert {
        "subject": "CUDA0",
        "logged_as": "CUDA0",
        "what": "model",
        "unit": "bytes",
        "low": 100 * MIB,
        "high": 100 * MIB,
        "actual": 102 * MIB,
        "precision": 5243,
        "error": 2 * MIB,
        "verdict": "more",
    } == document["rows"][1]


def test_a_table_has_the_same_columns() -> None:
    table = render_table(log_table(Comparison("llama.cpp", ROWS[3:5], ())), TableFormat.CSV)

    assert (
        "subject,logged_as,what,unit,low,high,actual,precision,error,verdict\n"
        "CUDA0,,output,bytes,500,500,,,,not logged\n"
        "Host,AMX,repacked,bytes,,,80740352,5243,,not predicted\n"
    ) == table
