"""Plan files that nobody wrote in earnest: one line each, whatever stands in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.plan_documents import changed, found_in, planned

from solver.claim import claim_from_bytes, read_claim
from solver.errors import InputError
from solver.recheck import Finding, findings

EXPECTED = "expected a layerfit/plan/1 document. Plan again."
HOSTILE: list[tuple[bytes, str]] = [
    (b"", f"plan.json: input data was truncated; {EXPECTED}"),
    (b"not JSON", f"plan.json: JSON is malformed: invalid character (byte 4); {EXPECTED}"),
    (b"\xff\xfe", f"plan.json: JSON is malformed: invalid character (byte 0); {EXPECTED}"),
    (
        b'{"schema": "layerfit/frontier/1", "inputs": 1}',
        'plan.json: "layerfit/frontier/1" is not read; expected "layerfit/plan/1". Name a plan.',
    ),
    (b'{"schema": "\xff"}', f"plan.json: invalid UTF-8 encoded string; {EXPECTED}"),
    (b"[]", f"plan.json: expected `object`, got `array`; {EXPECTED}"),
    (b"null", f"plan.json: expected `object`, got `null`; {EXPECTED}"),
    (b"[" * 1_000_000, f"plan.json: maximum recursion depth exceeded while deserializing an object; {EXPECTED}"),
    (b'{"a":' * 1_000_000, f"plan.json: maximum recursion depth exceeded while deserializing an object; {EXPECTED}"),
    (b"9" * 5000, f"plan.json: integer value out of range; {EXPECTED}"),
    (b"1e999", f"plan.json: number out of range; {EXPECTED}"),
]


@pytest.mark.parametrize(("content", "message"), HOSTILE, ids=[str(number) for number in range(len(HOSTILE))])
def test_text_that_is_no_plan_is_one_line(content: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        claim_from_bytes(content, "plan.json")

    assert message == str(caught.value)


OBJECTIVES_KNOWN = "balance, context, headroom, latency, load, nodes, offload, throughput, tokens"
NO_PROBLEM = "expected a layerfit/problem/1 document. Correct it."
SHAPES: list[tuple[tuple[str | int, ...], object, str]] = [
    (("schema",), "layerfit/plan/2", '"layerfit/plan/2" is not read; expected "layerfit/plan/1". Name a plan.'),
    (("schema",), 1, f"expected `str`, got `int` at schema; {EXPECTED}"),
    (("outcome",), "splendid", f"invalid enum value 'splendid' at outcome; {EXPECTED}"),
    (("outcome",), "x" * 9999, f"invalid enum value '{'x' * 180}… at outcome; {EXPECTED}"),
    (("stages",), {}, f"expected `array`, got `object` at stages; {EXPECTED}"),
    (("stages", 0), 5, f"expected `object`, got `int` at stages[0]; {EXPECTED}"),
    (("stages", 0, "start"), -1, f"expected `int` >= 0 at stages[0].start; {EXPECTED}"),
    (("stages", 0, "end"), 10**400, f"expected `int` <= 2147483648 at stages[0].end; {EXPECTED}"),
    (("stages", 0, "end"), True, f"expected `int`, got `bool` at stages[0].end; {EXPECTED}"),
    (
        ("objective", 0, "value"),
        "",
        f"expected `int | float | null`, got `str` at objective[0].value; {EXPECTED}",
    ),
    (("inputs", "problem"), [], f"expected `object`, got `array` at inputs.problem; {EXPECTED}"),
]
INNER_SHAPES: list[tuple[tuple[str | int, ...], object, str]] = [
    (
        ("inputs", "options", "objective"),
        "speed",
        f'options.objective: "speed" is not one; expected some of {OBJECTIVES_KNOWN}. Correct the list.',
    ),
    (("inputs", "problem", "blocks"), [], f"problem: expected `array` of length >= 1 at blocks; {NO_PROBLEM}"),
    (
        ("inputs", "problem", "blocks", 0, "weight_bytes"),
        10**400,
        f"problem: expected `int` <= 1152921504606846976 at blocks[0].weight_bytes; {NO_PROBLEM}",
    ),
    (
        ("inputs", "cluster"),
        {"nodes": []},
        "cluster: object missing required field `latency_ns`; expected a normalised cluster. Plan again.",
    ),
]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        *((path, value, f"plan.json: {message}") for path, value, message in SHAPES),
        *((path, value, f"plan.json, inputs.{message}") for path, value, message in INNER_SHAPES),
    ],
    ids=lambda part: ".".join(map(str, part)) if isinstance(part, tuple) else "",
)
def test_a_plan_of_the_wrong_shape_is_one_line_with_its_path(
    path: tuple[str | int, ...], value: object, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        found_in(changed(planned(), path, value))

    assert message == str(caught.value)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("objective", 0, "value"), 10**400),
        (("objective", 0, "bound"), -(10**400)),
        (("objective", 0, "gap"), 10**400),
        (("objective", 0, "bounds"), {"a": 1}),
        (("objective", 0, "bounds", 0), []),
        (("objective", 0, "bounds", 0, "name"), []),
        (("objective", 0, "bounds", 0, "value"), "1"),
        (("objective", 0, "proof"), "divination"),
        (("pools", 0), "x" * 10_000),
        (("pools",), None),
        (("seams", 0), [[[[[]]]]]),
        (("seams",), 7),
        (("check",), []),
        (("check", "imbalance"), 10**4000),
        (("transfer", 0, "seconds"), {"deep": {"deeper": []}}),
        (("proof",), {}),
    ],
    ids=lambda part: ".".join(map(str, part)) if isinstance(part, tuple) else "",
)
def test_a_hostile_value_is_a_short_finding(path: tuple[str | int, ...], value: object) -> None:
    """Whatever stands where a figure belongs: found, on one line that a terminal can show."""
    found = found_in(changed(planned(), path, value))

    assert () != found
    assert all(len(f"{finding.place}: {finding.problem}") < 300 for finding in found)


def test_a_deep_value_is_found_without_being_unrolled() -> None:
    text = json.dumps(changed(planned(), ("pools", 0), "DEEP")).replace('"DEEP"', "[" * 900 + "]" * 900)

    assert (Finding("pools[0]", "a list of 1 is said, an object of 7 follows from the inputs"),) == findings(
        claim_from_bytes(text.encode(), "plan.json")
    )


def test_what_is_no_file_is_named_by_its_path(tmp_path: Path) -> None:
    for path, problem in (
        (tmp_path / "plan.json", "there is no such file; expected a layerfit/plan/1 document. Check the path."),
        (tmp_path, "it is a folder; expected a layerfit/plan/1 document. Name the file."),
    ):
        with pytest.raises(InputError) as caught:
            read_claim(path)

        assert f"{path}: {problem}" == str(caught.value)


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="no such device")
def test_a_device_is_named_by_its_path() -> None:
    with pytest.raises(InputError) as caught:
        read_claim(Path("/dev/null"))

    assert "/dev/null: input data was truncated; expected a layerfit/plan/1 document. Plan again." == str(caught.value)
