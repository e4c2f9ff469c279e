"""What plans and emulations predict, and files that are neither."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from solver.engines.logs import predictions
from solver.engines.logs.amounts import Prediction, Unit
from solver.engines.logs.predictions import ExpectedKind, expected_from_bytes, read_expected
from solver.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

STAGE = {
    "device": "desk/gpu0",
    "devices": ["desk/gpu0"],
    "weight_bytes": 10,
    "cache_bytes": 5,
    "other_bytes": 0,
    "node": "desk",
}
RANK = {"rank": 0, "device": "a", "weight_bytes": 10, "other_bytes": 3, "available_cache_bytes": 7}
RANKS = {
    "context_tokens": 8192,
    "unit": "pages",
    "units": 512,
    "tokens": 8200,
    "concurrency": 1.009,
    "width": 2,
    "ranks": [RANK, {**RANK, "rank": 1, "available_cache_bytes": -2}],
}


def plan(**changes: Any) -> bytes:
    document = {"schema": "layerfit/plan/1", "stages": [STAGE], "workload": {"engine": "llamacpp"}, **changes}
    return json.dumps(document).encode()


def emulation(**device: Any) -> bytes:
    known = {
        "name": "RPC0",
        "model_bytes": 10,
        "cache_bytes": 4,
        "state_bytes": 0,
        "compute_bytes": [2, 3],
        "output_bytes": 0,
        "mapped_bytes": None,
    }
    return json.dumps({"schema": "layerfit/emulation/1", "build": "b", "devices": [{**known, **device}]}).encode()


def test_an_emulation_predicts_every_buffer_of_the_engines_devices() -> None:
    expected = expected_from_bytes(emulation(), "e.json")

    assert (ExpectedKind.DEVICES, ("RPC0",)) == (expected.kind, expected.subjects)
    assert (
        Prediction("RPC0", "model", Unit.BYTES, 10, 10),
        Prediction("RPC0", "cache", Unit.BYTES, 4, 4),
        Prediction("RPC0", "compute", Unit.BYTES, 2, 3),
    ) == expected.predictions


def test_what_is_mapped_has_no_buffer_and_what_no_rule_sizes_is_not_predicted() -> None:
    expected = expected_from_bytes(emulation(name="Host", mapped_bytes=12, compute_bytes=None), "e.json")

    assert (Prediction("Host", "cache", Unit.BYTES, 4, 4), Prediction("Host", "mapped", Unit.BYTES, 12, 12)) == (
        expected.predictions
    )


def test_a_plan_predicts_weights_and_caches_of_stages_and_at_most_the_rest() -> None:
    expected = expected_from_bytes(plan(stages=[STAGE, {**STAGE, "device": "b", "other_bytes": 6}]), "p.json")

    assert (ExpectedKind.STAGES, ("desk/gpu0", "b")) == (expected.kind, expected.subjects)
    assert (
        Prediction("desk/gpu0", "model", Unit.BYTES, 10, 10),
        Prediction("desk/gpu0", "cache and state", Unit.BYTES, 5, 5),
        Prediction("b", "model", Unit.BYTES, 10, 10),
        Prediction("b", "cache and state", Unit.BYTES, 5, 5),
        Prediction("b", "compute", Unit.BYTES, 0, 6),
    ) == expected.predictions


def test_ranks_predict_weights_room_and_what_all_share() -> None:
    """What was set aside beside both may turn out to be room."""
    expected = expected_from_bytes(plan(ranks=RANKS), "p.json")

    assert (ExpectedKind.RANKS, ("rank 0", "rank 1"), 2, 8192) == (
        expected.kind,
        expected.subjects,
        expected.width,
        expected.context_tokens,
    )
    assert (
        Prediction("rank 0", "weights", Unit.BYTES, 10, 10),
        Prediction("rank 0", "cache memory", Unit.BYTES, 7, 10),
        Prediction("rank 1", "weights", Unit.BYTES, 10, 10),
        Prediction("rank 1", "cache memory", Unit.BYTES, 0, 3),
        Prediction("all ranks", "pages", Unit.PAGES, 512, 512),
        Prediction("all ranks", "cache tokens", Unit.TOKENS, 8200, 8200),
        Prediction("all ranks", "concurrency", Unit.HUNDREDTHS, 100, 101),
    ) == expected.predictions


def test_slots_are_counted_once() -> None:
    expected = expected_from_bytes(plan(ranks={**RANKS, "unit": "tokens"}), "p.json")

    assert "pages" not in {prediction.what for prediction in expected.predictions}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"",
            (
                "p.json: input data was truncated; expected a layerfit/plan/1 or layerfit/emulation/1 document. "
                "Write it again."
            ),
        ),
        (
            b"\xff",
            (
                "p.json: JSON is malformed: invalid character (byte 0); expected a layerfit/plan/1 or "
                "layerfit/emulation/1 document. Write it again."
            ),
        ),
        (
            b'{"schema": "layerfit/check/1"}',
            (
                'p.json: "layerfit/check/1" is not read; expected layerfit/plan/1 or layerfit/emulation/1. '
                "Name such a file."
            ),
        ),
        (plan(stages=[]), "p.json: it has no stages; expected a plan that places something. Plan again."),
        (
            plan(stages=[{**STAGE, "weight_bytes": -1}]),
            (
                "p.json: expected `int` >= 0 at stages[0].weight_bytes; expected a layerfit/plan/1 or "
                "layerfit/emulation/1 document. Write it again."
            ),
        ),
        (
            plan(ranks={**RANKS, "width": 0}),
            (
                "p.json: expected `int` >= 1 at ranks.width; expected a layerfit/plan/1 or layerfit/emulation/1 "
                "document. Write it again."
            ),
        ),
        (
            emulation(compute_bytes=[1]),
            (
                "p.json: expected `array` of length 2 at devices[0].compute_bytes; expected a layerfit/plan/1 or "
                "layerfit/emulation/1 document. Write it again."
            ),
        ),
    ],
)
def test_what_is_neither_a_plan_nor_an_emulation_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        expected_from_bytes(content, "p.json")

    assert message == str(caught.value)


def test_nesting_without_end_is_refused() -> None:
    with pytest.raises(InputError, match=r"^p\.json: .*; expected a layerfit/plan/1"):
        expected_from_bytes(b'{"schema": "layerfit/plan/1", "x": ' + b"[" * 100_000, "p.json")


def test_files_that_cannot_be_read_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError) as caught:
        read_expected(tmp_path / "none.json")
    absent = f"{tmp_path / 'none.json'}: there is no such file"
    assert f"{absent}; expected a layerfit/plan/1 document. Check the path." == str(caught.value)
    monkeypatch.setattr(predictions, "_MOST_MIB", 0)
    (tmp_path / "large.json").write_bytes(plan())
    with pytest.raises(InputError) as large:
        read_expected(tmp_path / "large.json")
    too_large = f"{tmp_path / 'large.json'}: it is larger than 0 MiB"
    assert f"{too_large}; expected a layerfit/plan/1 document. Check the path." == str(large.value)
