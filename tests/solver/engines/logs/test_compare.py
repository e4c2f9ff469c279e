"""Predicted beside actual: which amount meets which, and how they stand to each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.engines.logs.amounts import Prediction, Printed, Unit
from solver.engines.logs.compare import Comparison, Row, Verdict, compare
from solver.engines.logs.predictions import Expected, ExpectedKind
from solver.errors import InputError

MIB = 2**20
LLAMA = """\
x: using device RPC0 (10.0.0.1:50052) (unknown id) - 1 MiB free
x: using device CUDA0 (a card) (0000:01:00.0) - 1 MiB free
load_tensors:   CPU_Mapped model buffer size =     3.00 MiB
load_tensors:        CUDA0 model buffer size =    20.00 MiB
load_tensors: RPC0[10.0.0.1:50052] model buffer size =    10.00 MiB
llama_kv_cache:      CUDA0 KV buffer size =     2.00 MiB
llama_memory_recurrent:      CUDA0 RS buffer size =     1.00 MiB
sched_reserve:      CUDA0 compute buffer size =     6.00 MiB
"""
VLLM = """\
(Worker_PP1 pid=2) INFO [r.py:1] Model loading took 2.00 GiB memory and 6.1 seconds
(Worker_PP0 pid=1) INFO [r.py:1] Model loading took 1.00 GiB memory and 6.2 seconds
(Worker_PP0 pid=1) INFO [w.py:1] Available KV cache memory: 5.00 GiB
(EngineCore_DP0 pid=3) INFO [k.py:1] GPU KV cache size: 8,192 tokens
(EngineCore_DP0 pid=3) INFO [k.py:2] Maximum concurrency for 4,096 tokens per request: 2.00x
"""


def bytes_of(subject: str, what: str, low: int, high: int | None = None) -> Prediction:
    return Prediction(subject, what, Unit.BYTES, low, low if high is None else high)


def devices(*predictions: Prediction) -> Expected:
    return Expected(ExpectedKind.DEVICES, ("RPC0", "CUDA0", "Host"), predictions, 1, None)


def stages(*predictions: Prediction, subjects: tuple[str, ...] = ("far", "desk/gpu0")) -> Expected:
    return Expected(ExpectedKind.STAGES, subjects, predictions, 1, None)


def ranks(*predictions: Prediction, count: int = 2, width: int = 1) -> Expected:
    subjects = tuple(f"rank {number}" for number in range(count))
    return Expected(ExpectedKind.RANKS, subjects, predictions, width, 4096)


def told(expected: Expected, text: str = LLAMA, **names: str) -> Comparison:
    return compare(text, expected, names, "run.log")


def verdicts(comparison: Comparison) -> dict[tuple[str, str], str]:
    return {(row.subject, row.what): row.verdict.value for row in comparison.rows}


@pytest.mark.parametrize(
    ("low", "high", "printed", "error", "verdict"),
    [
        (10, 10, Printed(10, 0), 0, Verdict.AGREES),
        (10, 10, Printed(12, 2), 0, Verdict.AGREES),
        (10, 10, Printed(13, 2), 3, Verdict.MORE),
        (10, 10, Printed(7, 2), -3, Verdict.LESS),
        (10, 20, Printed(15, 0), 0, Verdict.AGREES),
        (10, 20, Printed(21, 0), 1, Verdict.MORE),
        (10, 20, Printed(8, 1), -2, Verdict.LESS),
        (10, 20, None, None, Verdict.NOT_LOGGED),
        (None, None, Printed(8, 1), None, Verdict.NOT_PREDICTED),
    ],
)
def test_an_amount_agrees_as_far_as_it_is_printed(
    low: int | None, high: int | None, printed: Printed | None, error: int | None, verdict: Verdict
) -> None:
    row = Row("a", "", "model", Unit.BYTES, low, high, printed)

    assert (error, verdict) == (row.error, row.verdict)


@pytest.mark.parametrize(
    ("what", "printed", "worse"),
    [("model", 11, True), ("model", 9, False), ("cache memory", 9, True), ("pages", 11, False), ("pages", 9, True)],
)
def test_more_memory_is_worse_and_more_room_is_better(what: str, printed: int, worse: bool) -> None:
    assert worse is Row("a", "", what, Unit.BYTES, 10, 10, Printed(printed, 0)).is_worse


def test_buffers_meet_predictions_by_device_and_kind() -> None:
    comparison = told(
        devices(
            bytes_of("RPC0", "model", 10 * MIB),
            bytes_of("CUDA0", "model", 19 * MIB),
            bytes_of("CUDA0", "cache", 2 * MIB),
            bytes_of("CUDA0", "compute", 4 * MIB, 8 * MIB),
            bytes_of("CUDA0", "output", 5),
            bytes_of("Host", "mapped", 3 * MIB),
        )
    )

    assert {
        ("RPC0", "model"): "agrees",
        ("CUDA0", "model"): "more",
        ("CUDA0", "cache"): "agrees",
        ("CUDA0", "compute"): "agrees",
        ("CUDA0", "output"): "not logged",
        ("CUDA0", "state"): "not predicted",
        ("Host", "mapped"): "agrees",
    } == verdicts(comparison)
    assert ("llama.cpp", False) == (comparison.engine, comparison.holds)


def test_rows_stand_in_the_order_of_devices_and_kinds() -> None:
    rows = told(devices(bytes_of("CUDA0", "model", MIB), bytes_of("CUDA0", "cache", MIB))).rows

    assert [
        ("RPC0", "model"),
        ("CUDA0", "model"),
        ("CUDA0", "cache"),
        ("CUDA0", "state"),
        ("CUDA0", "compute"),
        ("Host", "mapped"),
    ] == [(row.subject, row.what) for row in rows]


def test_stages_meet_devices_in_the_engines_order_and_caches_their_states() -> None:
    comparison = told(
        stages(
            bytes_of("far", "model", 10 * MIB),
            bytes_of("desk/gpu0", "model", 20 * MIB),
            bytes_of("desk/gpu0", "cache and state", 3 * MIB),
        )
    )
    names = {row.subject: row.logged_as for row in comparison.rows}

    assert comparison.holds
    assert "agrees" == verdicts(comparison)["desk/gpu0", "cache and state"]
    assert ("RPC0", "CUDA0") == (names["far"], names["desk/gpu0"])


def test_a_person_can_say_which_device_is_which() -> None:
    predictions = (bytes_of("a", "model", 20 * MIB), bytes_of("b", "model", 10 * MIB))
    given_both = told(stages(*predictions, subjects=("a", "b")), CUDA0="a", RPC0="b")
    given_one = told(stages(*predictions, subjects=("a", "b")), CUDA0="a")

    assert given_both.holds
    assert given_one.holds
    assert not told(stages(*predictions, subjects=("a", "b"))).holds
    assert "agrees" == verdicts(told(devices(bytes_of("mine", "model", 20 * MIB)), CUDA0="mine"))["mine", "model"]


def test_a_device_that_the_log_does_not_have_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        told(stages(), CUDA7="a")

    assert 'run.log: no buffer is on "CUDA7"; expected a device of the log. Correct the name.' == str(caught.value)


def test_several_loads_are_noted() -> None:
    draft = "llama_model_loader: loaded meta data with\nload_tensors: CUDA0 model buffer size = 1.00 MiB\n"

    assert ("The log has 2 loads of models; this is the largest, the last of equals.",) == told(
        devices(), LLAMA + draft
    ).notes
    assert () == told(devices()).notes


def test_lines_of_workers_meet_their_ranks_and_others_all_of_them() -> None:
    gib = 2**30
    comparison = told(
        ranks(
            bytes_of("rank 0", "weights", gib),
            bytes_of("rank 0", "cache memory", 4 * gib, 6 * gib),
            bytes_of("rank 1", "weights", gib),
            bytes_of("rank 1", "cache memory", gib),
            Prediction("all ranks", "cache tokens", Unit.TOKENS, 8000, 8000),
            Prediction("all ranks", "concurrency", Unit.HUNDREDTHS, 200, 201),
        ),
        VLLM,
    )

    assert {
        ("rank 0", "weights"): "agrees",
        ("rank 0", "cache memory"): "agrees",
        ("rank 1", "weights"): "more",
        ("rank 1", "cache memory"): "not logged",
        ("all ranks", "cache tokens"): "more",
        ("all ranks", "concurrency"): "agrees",
    } == verdicts(comparison)
    assert ["rank 0", "rank 0", "rank 1", "rank 1", "all ranks", "all ranks"] == [
        row.subject for row in comparison.rows
    ]
    assert ("vllm", (), False) == (comparison.engine, comparison.notes, comparison.holds)


def test_workers_that_say_their_number_among_all_are_in_the_rank_of_their_width() -> None:
    text = "(VllmWorker rank=5 pid=9) INFO Model loading took 1.00 GiB and 3.2 seconds\n"

    assert ["rank 2"] == [row.subject for row in told(ranks(count=3, width=2), text).rows]


def test_a_worker_of_the_only_rank_need_not_say_so() -> None:
    text = "INFO Model loading took 1.00 GiB memory and 3.2 seconds\n"
    several = told(ranks(), text)

    assert ["rank 0"] == [row.subject for row in told(ranks(count=1), text).rows]
    assert ["a worker"] == [row.subject for row in several.rows]
    assert ("Some lines do not say which rank they are of; they are shown without a prediction.",) == several.notes


def test_concurrency_for_another_length_is_not_compared() -> None:
    text = VLLM.replace("4,096", "8,192")
    comparison = told(ranks(Prediction("all ranks", "concurrency", Unit.HUNDREDTHS, 200, 201)), text)

    assert "not logged" == verdicts(comparison)["all ranks", "concurrency"]
    assert (
        "The log's concurrency is for 8,192 tokens, the plan's for 4,096: they cannot be compared.",
    ) == comparison.notes


def test_lines_that_every_worker_repeats_are_one_row() -> None:
    text = VLLM + "(EngineCore_DP0 pid=3) INFO [k.py:1] GPU KV cache size: 8,192 tokens\n"

    assert 1 == sum(row.what == "cache tokens" for row in told(ranks(), text).rows)


@pytest.mark.parametrize(
    ("text", "expected", "message"),
    [
        (
            LLAMA,
            ranks(),
            ("run.log: it is a log of llama.cpp; expected one of the plan's engine. Name another log or plan."),
        ),
        (VLLM, stages(), "run.log: it is a log of vLLM; expected one of the plan's engine. Name another log or plan."),
        (
            "hello\n",
            stages(),
            (
                "run.log: no line of it says how large a buffer, a model or a cache is; expected a log of llama.cpp or "
                "vLLM from its start. Run the engine without quiet flags; newer builds of llama.cpp say it with -lv 4."
            ),
        ),
    ],
)
def test_a_log_of_another_engine_or_of_none_is_refused(text: str, expected: Expected, message: str) -> None:
    with pytest.raises(InputError) as caught:
        told(expected, text)

    assert message == str(caught.value)


@given(lines=st.lists(st.sampled_from(LLAMA.splitlines()), min_size=1, max_size=12), by_stage=st.booleans())
def test_any_part_of_a_log_is_compared_or_refused(lines: list[str], by_stage: bool) -> None:
    """Every buffer is in one row, and every prediction in one."""
    predictions = (bytes_of("far" if by_stage else "RPC0", "model", 10 * MIB),)
    try:
        comparison = told(stages(*predictions) if by_stage else devices(*predictions), "\n".join(lines))
    except InputError:
        assert not any("buffer" in line for line in lines)
        return

    keys = [(row.subject, row.what) for row in comparison.rows]
    assert len(keys) == len(set(keys))
    assert all(row.low is not None or row.printed is not None for row in comparison.rows)
