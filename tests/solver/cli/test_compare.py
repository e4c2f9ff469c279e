"""`layerfit compare` from arguments to text, tables, documents and exit codes."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from support.problems import problem_of
from support.timed import GB, barred, growing, joined, near, timed

from solver.baselines import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from support.commands import Layerfit

    from solver.problem import Problem

TIMED = joined(timed(problem_of((3, 3, 3, 3), (12, 10, 5)), (GB, 2 * GB, GB)), near(2_000, GB), activation_bytes=3)
TEXT = """\
✓ 4 blocks fit on 1 of 3 nodes, proved optimal by closed form.

nodes    1       = bound (proved by closed form)  nodes that hold a stage
balance  1.0000  = bound (proved by closed form)  largest load / budget

strategy             nodes  fullest  imbalance  weighted   latency        tokens/s  fits
layerfit                 1   1.0000     1.0000    1.0000     12 ns   83,333,333.33  yes
  its bound              1   1.0000
vllm                     3   0.6000     1.5000    1.3500  0.004 ms  250,000,000.00  yes
sglang                   3   1.2000     1.5000    2.7000  0.004 ms  166,666,666.67  no, 1 B over on
                                                                                    n2
llamacpp                 2   0.7500     1.5000    1.3750  0.002 ms  111,111,111.11  yes
exo-ring                 3   0.6000     1.5000    1.3500  0.004 ms  250,000,000.00  yes
exo                      1   1.0000     1.0000    1.0000     12 ns   83,333,333.33  yes
accelerate               1   1.0000     1.0000    1.0000     12 ns   83,333,333.33  yes
accelerate-balanced      3   0.6000     1.5000    1.3500  0.004 ms  250,000,000.00  yes
parallax                 1   1.0000     1.0000    1.0000     12 ns   83,333,333.33  yes
deepspeed                3   0.6000     1.5000    1.3500  0.004 ms  166,666,666.67  yes
prima                    2   0.9000     1.5000    1.6500  0.002 ms  166,666,666.67  yes
prima-memory             1   1.0000     1.0000    1.0000     12 ns   83,333,333.33  yes
distilp                  3   0.6000     1.5000    1.3500  0.004 ms  250,000,000.00  yes
cake                     3   0.6000     1.5000    1.3500  0.004 ms  250,000,000.00  yes
petals                   1   1.0000     1.0000    1.0000     12 ns   83,333,333.33  yes
swarm                    —        —          —         —         —               —  no placement

swarm: Its smallest node asks for 4 equal stages; there are 3 nodes.

The plan is made for nodes, then balance; other columns are what that costs. fullest: largest
load/budget; imbalance: largest load over the mean; weighted: by budget. Where a rule does not fit,
its figures are of what it would place.
"""
BESIDE = "it means nothing beside --problem; expected limits, objectives and rules alone. Leave it out."


@pytest.fixture
def document_of(layerfit: Layerfit, validate_document: Callable[[Mapping[str, Any]], None]) -> Callable[..., Any]:
    """Return a function that runs `compare --json`, checks its document against the schema and returns it."""

    def ran(*arguments: str | Path) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(layerfit("compare", *arguments, "--json").out)
        validate_document(document)
        return document

    return ran


def strategy(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(entry for entry in document["strategies"] if entry["name"] == name)
    return found


def test_the_text_has_a_row_a_strategy_and_the_plan_with_its_bound(
    write: Callable[[Problem], Path], layerfit: Layerfit
) -> None:
    assert (0, TEXT, "") == layerfit("compare", "--problem", write(TIMED))


def test_the_document_has_every_figure_exactly(
    write: Callable[[Problem], Path], document_of: Callable[..., Any]
) -> None:
    document = document_of("--problem", write(TIMED), "--objective", "latency,headroom", "--first", "n1")
    cake = strategy(document, "cake")

    assert ["layerfit", *STRATEGIES] == [entry["name"] for entry in document["strategies"]]
    assert ("optimal", ["latency", "headroom"]) == (
        document["outcome"],
        [level["name"] for level in document["objective"]],
    )
    assert (True, 3, 1.5, 0.6, 3 + 4 + 3 + 2 * 2003) == tuple(
        cake[key] for key in ("fits", "nodes", "imbalance", "fill", "latency_ns")
    )
    assert [{"name": "latency", "value": 4016}, {"name": "headroom", "value": 2}] == cake["objective"]
    assert [{"start": 0, "end": 2, "node": "n1"}, {"start": 2, "end": 3, "node": "n2"}] == cake["stages"][:2]
    assert [{"node": "n2", "over_bytes": 1}] == strategy(document, "sglang")["overfull"]
    assert [{"rule": "first", "witness": 'the first stage is on "n0", not on "n1"'}] == strategy(document, "vllm")[
        "broken"
    ]
    assert (None, None, []) == tuple(strategy(document, "swarm")[key] for key in ("fits", "nodes", "stages"))


def test_a_broken_rule_is_named_and_an_objective_of_its_own_has_a_column(
    write: Callable[[Problem], Path], layerfit: Layerfit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    problem = growing(TIMED, (1, 1, 1, 1))
    lines = layerfit("compare", "--problem", write(problem), "--objective", "tokens,throughput", "--first", "n1").out
    rows = {line.split("  ")[0] or line: line for line in lines.splitlines() if line}
    bound = next(line for line in lines.splitlines() if line.startswith("  its bound"))

    assert ["tokens", "fits"] == rows["strategy"].split()[-2:]
    assert rows["vllm"].endswith("     2  no, breaks the rule on first")
    assert ["its", "bound", "250,000,000.00", "2"] == bound.split()


def test_the_table_says_by_how_many_bytes_and_why(write: Callable[[Problem], Path], layerfit: Layerfit) -> None:
    out = layerfit("compare", "--problem", write(TIMED), "--format", "csv", "--objective", "load", "--last", "n2").out
    rows = {row["strategy"]: row for row in csv.DictReader(io.StringIO(out))}

    assert ("yes", "", "", "") == tuple(rows["vllm"][key] for key in ("fits", "over_bytes", "over_node", "reason"))
    assert ("no", "1", "n2") == tuple(rows["sglang"][key] for key in ("fits", "over_bytes", "over_node"))
    assert ("no", 'the last stage is on "n0", not on "n2"') == (rows["exo"]["fits"], rows["exo"]["reason"])
    assert ("6", "4016") == (rows["vllm"]["load (bytes)"], rows["vllm"]["latency_ns"])
    assert ("", "", "Its smallest node asks for 4 equal stages; there are 3 nodes.") == tuple(
        rows["swarm"][key] for key in ("fits", "nodes", "reason")
    )


def test_a_problem_without_speeds_leaves_times_and_rules_by_speed_open(
    write: Callable[[Problem], Path], document_of: Callable[..., Any]
) -> None:
    document = document_of("--problem", write(problem_of((3, 3, 3, 3), (12, 10, 5))))

    assert (None, None) == tuple(strategy(document, "vllm")[key] for key in ("latency_ns", "tokens_per_second"))
    assert "It shares blocks out by speed, and none is known of n0." == strategy(document, "cake")["reason"]


def test_where_nothing_fits_the_answer_is_no_and_the_rules_are_still_shown(
    write: Callable[[Problem], Path], layerfit: Layerfit, document_of: Callable[..., Any]
) -> None:
    path = write(problem_of((9, 9), (9, 8)))
    code, out, err = layerfit("compare", "--problem", path)
    document = document_of("--problem", path)

    assert (1, "") == (code, err)
    assert "layerfit: There is no plan: infeasible." in out
    assert "no, 1 B over on n1" in out
    assert ("infeasible", []) == (document["outcome"], document["objective"])
    assert document["reasons"]


def test_no_answer_within_the_limits_is_exit_3(write: Callable[[Problem], Path], layerfit: Layerfit) -> None:
    path = write(problem_of((1, 1, 2, 5), (5, 4)))
    code, _, err = layerfit("compare", "--problem", path, "--time-limit", "0.000000001")

    assert (3, "") == (code, err)


def test_the_example_is_compared_where_nothing_is_named(document_of: Callable[..., Any]) -> None:
    document = document_of()

    assert "optimal" == document["outcome"]
    assert all(entry["latency_ns"] for entry in document["strategies"] if entry["fits"])


def test_a_model_on_a_cluster_is_compared(tiny_model: Path, tmp_path: Path, document_of: Callable[..., Any]) -> None:
    cluster = tmp_path / "cluster.toml"
    cluster.write_text('[[node]]\nname = "a"\nmemory = "64 GiB"\n', encoding="utf-8")

    assert strategy(document_of(tiny_model, "--cluster", cluster), "layerfit")["fits"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--json", "--format", "csv"],
            "--json and --format: both are given; expected one form of output. Leave one out.",
        ),
        (
            ["{model}", "--problem", "{problem}"],
            "layerfit compare, --problem: MODEL is named too; expected one of them. Leave one out.",
        ),
        (
            ["--problem", "{problem}", "--context", "4096"],
            f"layerfit compare, --context: {BESIDE}",
        ),
        (
            ["{model}"],
            "layerfit compare: no cluster is named; expected --cluster FILE. Write a file like this and name it.",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_line_that_names_the_command(
    arguments: list[str], message: str, tiny_model: Path, write: Callable[[Problem], Path], layerfit: Layerfit
) -> None:
    filled = [argument.format(model=tiny_model, problem=write(TIMED)) for argument in arguments]
    code, out, err = layerfit("compare", *filled)

    assert (2, "", message) == (code, out, err.splitlines()[0])


def test_a_forbidden_link_is_named_in_place_of_times(write: Callable[[Problem], Path], layerfit: Layerfit) -> None:
    apart = joined(
        timed(problem_of((3, 3, 3, 3), (9, 9)), (GB, GB)), near(0), ("n0", "n1", barred()), activation_bytes=1
    )
    lines = layerfit("compare", "--problem", write(apart), "--objective", "latency").out.splitlines()
    row = next(line for line in lines if line.startswith("vllm "))

    assert ["—", "—", "no, a forbidden"] == re.split(r"\s{2,}", row)[-3:]
    assert 'vllm: It does not run: the link from "n0" to "n1" is forbidden.' in lines
