"""`layerfit verify-log`: from arguments and files to what a person and a program read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from solver.engines.logs import reading

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from support.commands import Layerfit

MIB = 2**20
LOG = """\
load_tensors:        CUDA0 model buffer size =    20.00 MiB
load_tensors:        CUDA1 model buffer size =    10.00 MiB
llama_kv_cache:      CUDA0 KV buffer size =     2.00 MiB
"""


def stage(device: str, weight_mib: int, cache_mib: int) -> dict[str, Any]:
    return {
        "device": device,
        "devices": [device],
        "weight_bytes": weight_mib * MIB,
        "cache_bytes": cache_mib * MIB,
        "other_bytes": 0,
    }


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return the path of a log of two cards."""
    path = tmp_path / "run.log"
    path.write_text(LOG, encoding="utf-8")
    return path


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """Return the path of a plan of what the log shows, but for a cache that is too small."""
    document = {
        "schema": "layerfit/plan/1",
        "stages": [stage("desk/gpu0", 20, 1), stage("desk/gpu1", 10, 0)],
        "workload": {"engine": "llamacpp"},
    }
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_a_run_that_takes_more_than_planned(log: Path, plan: Path, layerfit: Layerfit) -> None:
    """The answer is no, and says how much."""
    text = """\
device             what             predicted     actual                 error
desk/gpu0 (CUDA0)  model            20.00 MiB  20.00 MiB                        agrees
desk/gpu0 (CUDA0)  cache and state   1.00 MiB   2.00 MiB  +1.00 MiB, +100.00%  more
desk/gpu1 (CUDA1)  model            10.00 MiB  10.00 MiB                        agrees

The prediction does not hold: 1 of 3 amounts are worse.
"""
    code, out, err = layerfit("verify-log", log, "--plan", plan)

    assert (1, "") == (code, err)
    assert [line.split() for line in text.splitlines()] == [line.split() for line in out.splitlines()]


def test_a_run_as_planned(log: Path, plan: Path, layerfit: Layerfit) -> None:
    log.write_text(LOG.replace("2.00 MiB", "1.00 MiB"), encoding="utf-8")

    assert 0 == layerfit("verify-log", log, "--plan", plan).code


def test_devices_in_another_order_are_named(log: Path, plan: Path, layerfit: Layerfit) -> None:
    swapped = LOG.replace("CUDA0", "x").replace("CUDA1", "CUDA0").replace("x", "CUDA1").replace("2.00 MiB", "1.00 MiB")
    log.write_text(swapped, encoding="utf-8")
    arguments = ("--device", "CUDA1=desk/gpu0", "--device", "CUDA0=desk/gpu1")

    assert 0 == layerfit("verify-log", log, "--plan", plan, *arguments).code


def test_the_document(
    log: Path, plan: Path, layerfit: Layerfit, validate_document: Callable[[Mapping[str, Any]], None]
) -> None:
    code, out, err = layerfit("verify-log", log, "--plan", plan, "--json")
    document = json.loads(out)
    validate_document(document)

    assert (1, "") == (code, err)
    assert ("run.log", "plan.json", False) == (document["log"], document["plan"], document["holds"])


def test_the_table_alone(log: Path, plan: Path, layerfit: Layerfit) -> None:
    out = layerfit("verify-log", log, "--plan", plan, "--format", "csv").out

    assert 4 == len(out.splitlines())
    assert out.startswith("subject,logged_as,what,unit,low,high,actual,precision,error,verdict\ndesk/gpu0,CUDA0,model,")


def test_a_log_that_is_longer_than_what_is_read_is_noted(
    log: Path, plan: Path, layerfit: Layerfit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LOG_BYTES", len(LOG))
    log.write_text(LOG + "more\n", encoding="utf-8")

    assert "run.log: only its first 64 MiB were read.\n" == layerfit("verify-log", log, "--plan", plan).err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--device", "CUDA0"),
            (
                'layerfit verify-log, --device: "CUDA0" is no pair; expected LOGGED=DEVICE. '
                "Write it like RPC0=desk/gpu0.\n"
            ),
        ),
        (
            ("--json", "--format", "csv"),
            "--json and --format: both are given; expected one form of output. Leave one out.\n",
        ),
    ],
)
def test_arguments_that_cannot_be_meant(
    arguments: tuple[str, ...], message: str, log: Path, plan: Path, layerfit: Layerfit
) -> None:
    assert (2, "", message) == layerfit("verify-log", log, "--plan", plan, *arguments)


def test_names_of_a_hostile_log_reach_no_terminal_as_they_are(log: Path, plan: Path, layerfit: Layerfit) -> None:
    log.write_text("x: \x1b]0;owned\x07\u202e model buffer size = 1.00 MiB\n", encoding="utf-8")
    out = layerfit("verify-log", log, "--plan", plan).out

    assert "owned" in out
    assert not {"\x1b", "\x07", "\u202e"} & set(out)


def test_a_plan_that_says_what_its_devices_hold_as_typed_predicts_every_buffer(
    tmp_path: Path, plan: Path, layerfit: Layerfit
) -> None:
    """Devices are known by the engine's names, whatever their order; what is computed in is an interval."""

    def held(
        device: str | None, name: str, model: int, compute: list[int], mapped: int | None = None
    ) -> dict[str, Any]:
        return {
            "device": device,
            "name": name,
            "model_bytes": model * MIB,
            "cache_bytes": MIB if device else 0,
            "state_bytes": 0,
            "compute_bytes": [size * MIB for size in compute],
            "output_bytes": 0,
            "mapped_bytes": None if mapped is None else mapped * MIB,
        }

    document = json.loads(plan.read_text(encoding="utf-8"))
    document["emulated"] = [
        held("attic/gpu0", "RPC0", 20, [3, 6]),
        held("desk/gpu0", "CUDA0", 10, [3, 4]),
        held(None, "Host", 5, [1, 2], 7),
    ]
    plan.write_text(json.dumps(document), encoding="utf-8")
    log = tmp_path / "run.log"
    log.write_text(
        """\
load_tensors:        CUDA0 model buffer size =    10.00 MiB
load_tensors:   CPU_Mapped model buffer size =     7.00 MiB
load_tensors: RPC0[10.0.0.4:50052] model buffer size =    20.00 MiB
llama_kv_cache:      CUDA0 KV buffer size =     1.00 MiB
llama_kv_cache: RPC0[10.0.0.4:50052] KV buffer size =     1.00 MiB
sched_reserve:      CUDA0 compute buffer size =     5.00 MiB
sched_reserve: RPC0[10.0.0.4:50052] compute buffer size =     5.00 MiB
sched_reserve:        CPU compute buffer size =     2.00 MiB
""",
        encoding="utf-8",
    )
    text = """\
device             what                       predicted     actual               error
attic/gpu0 (RPC0)  model                      20.00 MiB  20.00 MiB                      agrees
attic/gpu0 (RPC0)  cache and state             1.00 MiB   1.00 MiB                      agrees
attic/gpu0 (RPC0)  compute          3.00 MiB – 6.00 MiB   5.00 MiB                      agrees
desk/gpu0 (CUDA0)  model                      10.00 MiB  10.00 MiB                      agrees
desk/gpu0 (CUDA0)  cache and state             1.00 MiB   1.00 MiB                      agrees
desk/gpu0 (CUDA0)  compute          3.00 MiB – 4.00 MiB   5.00 MiB  +1.00 MiB, +25.00%  more
Host               compute          1.00 MiB – 2.00 MiB   2.00 MiB                      agrees
Host               mapped                      7.00 MiB   7.00 MiB                      agrees

The prediction does not hold: 1 of 8 amounts are worse.
"""
    code, out, err = layerfit("verify-log", log, "--plan", plan)

    assert (1, "") == (code, err)
    assert [line.split() for line in text.splitlines()] == [line.split() for line in out.splitlines()]
