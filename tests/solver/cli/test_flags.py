"""Every flag changes the request, and what cannot be meant is one line that names the flag."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from cyclopts import App, CycloptsError

from solver.cli.application import application
from solver.cli.output import OutputOptions
from solver.cli.reading import ReadOptions
from solver.cli.search_flags import FrontierOptions, LimitOptions, ObjectiveOptions, RuleOptions
from solver.cli.shared_flags import (
    ClusterOptions,
    EngineName,
    EngineOptions,
    PlanOutputOptions,
    ProblemOptions,
    WorkloadOptions,
)
from solver.cli.usage import usage_sentence
from solver.errors import UsageError
from solver.problem import Rules
from solver.report.table import TableFormat
from solver.workload import IndexerRule, Workload


def parsed(group: type[Any], *tokens: str) -> Any:
    """Return a group of flags as a command would get it."""
    default = group()

    def command(*, options: Any = default) -> Any:
        return options

    command.__annotations__ = {"options": group, "return": object}
    app: App = application()
    app.default(command)
    return app(list(tokens))


FLAGS = [
    (WorkloadOptions, "--context 100", {"context": 100}),
    (WorkloadOptions, "--sequences 3", {"sequences": 3}),
    (WorkloadOptions, "--parallel 3", {"sequences": 3}),
    (WorkloadOptions, "--kv F16", {"kv": ("f16", "f16")}),
    (WorkloadOptions, "--kv f16,Q8_0", {"kv": ("f16", "q8_0")}),
    (WorkloadOptions, "--cache-bytes-per-token 0", {"cache_bytes_per_token": 0}),
    (WorkloadOptions, "--indexer NONE", {"indexer": IndexerRule.NONE}),
    (WorkloadOptions, "--resident-nextn", {"resident_nextn": True}),
    (EngineOptions, "--engine sglang", {"engine": EngineName.SGLANG}),
    (ClusterOptions, "--cluster a.toml", {"cluster": Path("a.toml")}),
    (ClusterOptions, "--reserve-fraction 0.20", {"reserve_fraction": Fraction(1, 5)}),
    (ClusterOptions, "--reserve-fraction 0", {"reserve_fraction": Fraction(0)}),
    (ClusterOptions, "--reserve-floor 2GB", {"reserve_floor": 2 * 10**9}),
    (ProblemOptions, "--problem p.json", {"problem": Path("p.json")}),
    (ProblemOptions, "--write-problem p.json", {"write_problem": Path("p.json")}),
    (ObjectiveOptions, "--objective load", {"objective": ("load",)}),
    (ObjectiveOptions, "--objective nodes,load", {"objective": ("nodes", "load")}),
    (LimitOptions, "--time-limit 0.5", {"time_limit": 0.5}),
    (LimitOptions, "--deterministic-limit 2", {"deterministic_limit": 2.0}),
    (LimitOptions, "--workers 1", {"workers": 1}),
    (LimitOptions, "--seed 7", {"seed": 7}),
    (RuleOptions, "--pin 3=a --pin 4=b.lan", {"pin": ((3, "a"), (4, "b.lan"))}),
    (RuleOptions, "--first a", {"first": "a"}),
    (RuleOptions, "--last a", {"last": "a"}),
    (RuleOptions, "--order a,b", {"order": ("a", "b")}),
    (RuleOptions, "--exclude a --exclude b", {"exclude": ("a", "b")}),
    (RuleOptions, "--max-nodes 2", {"max_nodes": 2}),
    (RuleOptions, "--min-blocks 2", {"min_blocks": 2}),
    (FrontierOptions, "--nodes 2..16", {"nodes": range(2, 17)}),
    (FrontierOptions, "--nodes 3", {"nodes": range(3, 4)}),
    (FrontierOptions, "--nodes 1..99999", {"nodes": range(1, 100_000)}),
    (FrontierOptions, "--frontier nodes,latency", {"frontier": ("nodes", "latency")}),
    (FrontierOptions, "--format csv", {"format": TableFormat.CSV}),
    (PlanOutputOptions, "--json", {"json": True}),
    (PlanOutputOptions, "-o p.json", {"output": Path("p.json")}),
    (PlanOutputOptions, "--output p.json", {"output": Path("p.json")}),
    (PlanOutputOptions, "--report r.html", {"report": Path("r.html")}),
    (PlanOutputOptions, "--no-timings", {"no_timings": True}),
    (PlanOutputOptions, "--no-paths", {"no_paths": True}),
    (ReadOptions, "--no-cache", {"no_cache": True}),
    (ReadOptions, "--read-timeout 2.5", {"read_timeout": 2.5}),
    (OutputOptions, "--json", {"json": True}),
    (OutputOptions, "--format Markdown", {"format": TableFormat.MARKDOWN}),
]


@pytest.mark.parametrize(("group", "flags", "change"), FLAGS, ids=[flags for _, flags, _ in FLAGS])
def test_a_flag_changes_its_field_and_nothing_else(group: type[Any], flags: str, change: dict[str, object]) -> None:
    assert group(**change) == parsed(group, *flags.split())
    assert group() != group(**change)


REFUSALS = [
    (WorkloadOptions, "--context 0", "0 is too small; expected a whole number from 1. Raise it."),
    (WorkloadOptions, "--context -5", "-5 is too small; expected a whole number from 1. Raise it."),
    (WorkloadOptions, "--context 1k", '"1k" is not a whole number; expected one from 1. Write digits alone.'),
    (WorkloadOptions, "--context 1_0", '"1_0" is not a whole number; expected one from 1. Write digits alone.'),
    (WorkloadOptions, "--context ٣", '"٣" is not a whole number; expected one from 1. Write digits alone.'),
    (
        WorkloadOptions,
        "--context 99999999999999",
        "99999999999999 is too large; expected a whole number up to 1099511627776. Lower it.",
    ),
    (WorkloadOptions, "--kv a,b,c", '"a,b,c" is no cache type; expected TYPE or K,V. Write it like q8_0 or f16,q8_0.'),
    (WorkloadOptions, "--kv ,f16", '",f16" is no cache type; expected TYPE or K,V. Write it like q8_0 or f16,q8_0.'),
    (
        WorkloadOptions,
        "--indexer conservativ",
        '"conservativ" is unknown; expected conservative, optimized or none. Did you mean conservative?',
    ),
    (WorkloadOptions, "--resident-nextn=3", 'it is given "3"; expected no value. Write --resident-nextn alone.'),
    (WorkloadOptions, "--context", 'no value stands after it; expected one. See "layerfit --help".'),
    (WorkloadOptions, "--context 1 --context 2", "it is given twice; expected once. Leave one out."),
    (EngineOptions, "--engine x", '"x" is unknown; expected generic, llamacpp, vllm or sglang.'),
    (
        ClusterOptions,
        "--reserve-fraction 20",
        '"20" is no share; expected a decimal from 0 and below 1. Write 20 % as 0.20.',
    ),
    (
        ClusterOptions,
        "--reserve-fraction 1e-9",
        '"1e-9" is no share; expected a decimal from 0 and below 1. Write 20 % as 0.20.',
    ),
    (ClusterOptions, "--reserve-floor 8", '"8" has no unit; expected a size. Write "8 GiB" or "8 GB".'),
    (
        ObjectiveOptions,
        "--objective a,,b",
        '"a,,b" has an empty name; expected names between commas. Write them like a,b,c.',
    ),
    (ObjectiveOptions, "--objective a,a", '"a" is there twice; expected every name once. Remove one.'),
    (LimitOptions, "--time-limit 0", '"0" is no time limit; expected seconds above 0. Write it like 60 or 0.5.'),
    (LimitOptions, "--time-limit inf", '"inf" is no time limit; expected seconds above 0. Write it like 60 or 0.5.'),
    (LimitOptions, "--workers 513", "513 is too large; expected a whole number up to 512. Lower it."),
    (LimitOptions, "--seed -1", "-1 is too small; expected a whole number from 0. Raise it."),
    (RuleOptions, "--pin a=3", '"a=3" is no pin; expected BLOCK=NODE. Write it like 3=desk; blocks count from 0.'),
    (RuleOptions, "--pin 3=", '"3=" is no pin; expected BLOCK=NODE. Write it like 3=desk; blocks count from 0.'),
    *(
        (
            FrontierOptions,
            f"--nodes {text}",
            f'"{text}" is not a range of counts; expected A..B. Write it like 2..16.',
        )
        for text in ("x", "2-16", "..3", "1...3", "1..2..3", "1..٣", "1_0", "1..100000", "2.5")
    ),
    *(
        (
            FrontierOptions,
            f"--nodes {text}",
            f'"{text}" holds no count; expected A..B with 1 or more first. Write it like 2..16.',
        )
        for text in ("0", "0..3", "3..2", "00")
    ),
    (
        FrontierOptions,
        "--frontier nodes,,b",
        '"nodes,,b" has an empty name; expected names between commas. Write them like a,b,c.',
    ),
    (OutputOptions, "--format xml", '"xml" is unknown; expected csv or markdown.'),
]


@pytest.mark.parametrize(("group", "flags", "problem"), REFUSALS, ids=[flags for _, flags, _ in REFUSALS])
def test_a_value_that_cannot_be_meant_is_refused_with_its_flag(group: type[Any], flags: str, problem: str) -> None:
    with pytest.raises(CycloptsError) as caught:
        parsed(group, *flags.split())
    flag = flags.split(maxsplit=1)[0].partition("=")[0]

    assert f"layerfit, {flag}: {problem}" == usage_sentence(caught.value)


def test_two_forms_of_output_at_once_are_refused() -> None:
    with pytest.raises(UsageError) as caught:
        OutputOptions(json=True, format=TableFormat.CSV).check()

    assert "--json and --format: both are given; expected one form of output. Leave one out." == str(caught.value)


@pytest.mark.parametrize(
    ("engine", "trained", "expected"),
    [
        (EngineName.GENERIC, None, (16384, "q8_0")),
        (EngineName.GENERIC, 4096, (4096, "q8_0")),
        (EngineName.LLAMACPP, 131072, (16384, "q8_0")),
        (EngineName.VLLM, 131072, (16384, "bf16")),
        (EngineName.SGLANG, None, (16384, "bf16")),
    ],
)
def test_defaults_depend_on_the_trained_length_and_the_cache_type_on_the_engine(
    engine: EngineName, trained: int | None, expected: tuple[int, str]
) -> None:
    context, cache_type = expected

    assert Workload(
        context_tokens=context,
        sequences=1,
        cache_type_k=cache_type,
        cache_type_v=cache_type,
        indexer=IndexerRule.CONSERVATIVE,
        resident_nextn=False,
        cache_bytes_per_token=None,
    ) == WorkloadOptions().workload(engine, trained)


def test_what_is_given_is_used_as_it_is() -> None:
    """A context beyond the trained length is the person's own choice."""
    options = WorkloadOptions(
        context=8192,
        sequences=4,
        kv=("f16", "q4_0"),
        cache_bytes_per_token=7,
        indexer=IndexerRule.OPTIMIZED,
        resident_nextn=True,
    )

    assert Workload(
        context_tokens=8192,
        sequences=4,
        cache_type_k="f16",
        cache_type_v="q4_0",
        indexer=IndexerRule.OPTIMIZED,
        resident_nextn=True,
        cache_bytes_per_token=7,
    ) == options.workload(EngineName.VLLM, 4096)


def test_rules_are_handed_on_as_the_problem_has_them() -> None:
    options = RuleOptions(pin=((3, "a"),), first="a", last="b", order=("a", "b"), exclude=("c",), max_nodes=2)

    assert (
        Rules(pins=((3, "a"),), first="a", last="b", order=("a", "b"), exclude=("c",), max_nodes=2, min_blocks=1)
        == options.rules()
    )
