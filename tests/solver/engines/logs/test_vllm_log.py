"""Lines of vLLM on memory, in the words of several builds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.engines.logs import vllm_log
from solver.engines.logs.amounts import Printed, Unit, printed_bytes
from solver.engines.logs.vllm_log import VllmFigure, VllmWorker, parse_vllm_log
from solver.errors import InputError

NOBODY = VllmWorker("", None, None)


def only(line: str) -> VllmFigure:
    (figure,) = parse_vllm_log(line, "run.log").figures
    return figure


@pytest.mark.parametrize(
    ("line", "size"),
    [
        ("INFO 04-18 [gpu_model_runner.py:407] Model loading took 13.72 GiB memory and 62.336108 seconds", "13.72"),
        ("INFO 03-10 [gpu_model_runner.py:1187] Model loading took 7.2393 GiB and 3.248218 seconds", "7.2393"),
        ("INFO 07-29 model_runner.py:1097] Loading model weights took 8.4927 GB", "8.4927"),
    ],
)
def test_weights(line: str, size: str) -> None:
    assert VllmFigure(NOBODY, "weights", Unit.BYTES, printed_bytes(size, "GiB"), None) == only(line)


@pytest.mark.parametrize(
    ("line", "size"),
    [
        ("INFO 04-18 20:23:57 [gpu_worker.py:721] Available KV cache memory: 36.56 GiB", "36.56"),
        ("INFO 09-02 [gpu_worker.py:298] Available KV cache memory: -1.72 GiB", "-1.72"),
        (
            "PyTorch activation peak memory takes 1.20GiB; the rest of the memory reserved for KV Cache is 8.77GiB.",
            "8.77",
        ),
        (
            "INFO 11-20 [worker.py:232] Memory profiling results: total_gpu_memory=23.65GiB, kv_cache_size=4.81GiB",
            "4.81",
        ),
        ('{"log":"\\u001b[1;36m(Worker pid=7)\\u001b[0;0m INFO Available KV cache memory: 2.50 GiB\\n"}', "2.50"),
    ],
)
def test_what_is_left_for_the_cache(line: str, size: str) -> None:
    """Below nothing where weights alone do not fit."""
    (figure,) = parse_vllm_log(line, "run.log").figures

    assert ("cache memory", Unit.BYTES, printed_bytes(size, "GiB")) == (figure.what, figure.unit, figure.printed)


def test_weights_and_room_on_one_line_of_older_builds() -> None:
    line = (
        "INFO 01-21 [worker.py:266] model weights take 14.99GiB; non_torch_memory takes 0.09GiB; PyTorch activation "
        "peak memory takes 1.23GiB; the rest of the memory reserved for KV Cache is 3.93GiB."
    )

    assert [("weights", printed_bytes("14.99", "GiB")), ("cache memory", printed_bytes("3.93", "GiB"))] == [
        (figure.what, figure.printed) for figure in parse_vllm_log(line, "run.log").figures
    ]


def test_tokens_and_concurrency_on_two_lines_or_on_one() -> None:
    tokens = "INFO 10-01 [kv_cache_utils.py:1087] GPU KV cache size: 798,592 tokens"
    rest = "Maximum concurrency for 131,072 tokens per request: 12.13x"
    figures = (
        VllmFigure(NOBODY, "cache tokens", Unit.TOKENS, Printed(798_592, 1), None),
        VllmFigure(NOBODY, "concurrency", Unit.HUNDREDTHS, Printed(1213, 1), 131_072),
    )

    assert figures == parse_vllm_log(f"{tokens}\nINFO 10-01 [kv_cache_utils.py:1091] {rest}\n", "run.log").figures
    assert figures == parse_vllm_log(f"{tokens}, {rest}\n", "run.log").figures


@pytest.mark.parametrize("word", ["GPU", "CUDA", "cuda", "rocm"])
def test_pages_of_older_builds(word: str) -> None:
    line = f"INFO 07-29 [distributed_gpu_executor.py:57] # {word} blocks: 1476, # CPU blocks: 2048"

    assert VllmFigure(NOBODY, "pages", Unit.PAGES, Printed(1476, 0), None) == only(line)


@pytest.mark.parametrize(
    ("prefix", "worker"),
    [
        ("(Worker_PP1_TP0 pid=577)", VllmWorker("Worker_PP1_TP0", 1, None)),
        ("(Worker_PP7 pid=577)", VllmWorker("Worker_PP7", 7, None)),
        ("(Worker_TP3 pid=577)", VllmWorker("Worker_TP3", 0, None)),
        ("(Worker_DP0_PP2_TP1_EP1 pid=9)", VllmWorker("Worker_DP0_PP2_TP1_EP1", 2, None)),
        ("(Worker_DP0_TP1_EP1 pid=9)", VllmWorker("Worker_DP0_TP1_EP1", 0, None)),
        ("(VllmWorker rank=5 pid=9)", VllmWorker("VllmWorker", None, 5)),
        ("(RayWorkerWrapper pid=8, ip=10.0.0.2)", VllmWorker("RayWorkerWrapper", None, None)),
        ("(EngineCore_DP0 pid=87)", VllmWorker("EngineCore_DP0", None, None)),
        ("\x1b[1;36m(Worker_PP0 pid=2)\x1b[0;0m", VllmWorker("Worker_PP0", 0, None)),
        ("(EngineCore_DP0 pid=87) (Worker_PP1_TP0 pid=9)", VllmWorker("Worker_PP1_TP0", 1, None)),
        ("(EngineCore pid=4600) (RayWorkerProc pid=12, ip=10.0.0.2)", VllmWorker("RayWorkerProc", None, None)),
        ("vllm-1  | (VllmWorkerProcess pid=12)", VllmWorker("VllmWorkerProcess", None, None)),
        ("(APIServer pid=90)", NOBODY),
        ("", NOBODY),
    ],
)
def test_who_wrote_a_line(prefix: str, worker: VllmWorker) -> None:
    assert worker == only(f"{prefix} INFO 10-01 [gpu_worker.py:721] Available KV cache memory: 1.00 GiB").worker


def test_a_text_without_figures_has_none() -> None:
    assert () == parse_vllm_log("INFO 10-01 [utils.py:299] version 0.19.0\n", "run.log").figures


def test_figures_beyond_all_measure_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm_log, "_MOST_FIGURES", 3)
    with pytest.raises(InputError) as caught:
        parse_vllm_log("GPU KV cache size: 1 tokens\n" * 4, "run.log")

    assert "run.log: more than 3 figures; expected the log of one run. Cut it." == str(caught.value)


FRAGMENTS = (
    "(Worker_PP", "1", "_TP", " rank=", ")", "Model loading took ", "Available KV cache memory: ", " GiB", "1.5",
    "GPU KV cache size: ", ",", " tokens", "Maximum concurrency for ", " tokens per request: ", "x", "\n",
)  # fmt: skip


@given(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=60).map("".join))
def test_whatever_a_log_says_it_is_read_or_left_and_never_breaks(text: str) -> None:
    assert all(figure.printed.amount >= 0 for figure in parse_vllm_log(text, "run.log").figures)
