"""Buffer lines of llama.cpp: devices, contexts, loads, and the real ones that were measured."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.engines.logs import llamacpp_log
from solver.engines.logs.amounts import Printed
from solver.engines.logs.llamacpp_log import BufferKind, LlamaBuffer, observations, parse_llama_log
from solver.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

MIB = 2**20

LOG = """\
llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 4090) (0000:01:00.0) - 23000 MiB free
llama_model_loader: loaded meta data with 32 key-value pairs and 723 tensors from x.gguf (version GGUF V3 (latest))
load_tensors: offloaded 33/33 layers to GPU
load_tensors:   CPU_Mapped model buffer size =   102.54 MiB
load_tensors:        CUDA0 model buffer size =  3577.56 MiB
llama_context: constructing llama_context
llama_context:  CUDA_Host  output buffer size =     0.49 MiB
llama_kv_cache:      CUDA0 KV buffer size =   512.00 MiB
llama_kv_cache: size =  512.00 MiB (  4096 cells,  32 layers,  1/1 seqs), K (f16):  256.00 MiB, V (f16):  256.00 MiB
llama_memory_recurrent:      CUDA0 RS buffer size =    62.00 MiB
sched_reserve:      CUDA0 compute buffer size =   100.00 MiB
sched_reserve:      CUDA0 compute buffer size =   266.50 MiB
sched_reserve:  CUDA_Host compute buffer size =    16.01 MiB
"""


def seen(text: str) -> dict[tuple[str, str], Printed]:
    load = parse_llama_log(text, "run.log").main
    return {(one.subject, one.what): one.printed for one in observations(load)}


def sizes(text: str) -> dict[tuple[str, str], int]:
    return {key: printed.amount for key, printed in seen(text).items()}


def mib(number: float) -> int:
    return round(number * MIB)


def test_every_buffer_is_on_its_device_or_on_the_host() -> None:
    """A context that reserves again replaces its compute buffers."""
    assert {
        ("Host", "mapped"): mib(102.54),
        ("CUDA0", "model"): mib(3577.56),
        ("Host", "output"): mib(0.49),
        ("CUDA0", "cache"): mib(512),
        ("CUDA0", "state"): mib(62),
        ("CUDA0", "compute"): mib(266.5),
        ("Host", "compute"): mib(16.01),
    } == sizes(LOG)


def test_lines_of_a_server_have_a_time_before_and_colours_around() -> None:
    text = "".join(f"\x1b[32m0.01.234.567 I \x1b[0m{line}\n" for line in LOG.splitlines())

    assert sizes(LOG) == sizes(text)


def test_caches_of_one_context_add_up() -> None:
    """Windows and indexers have caches of their own."""
    assert (
        mib(512) + mib(30.5)
        == sizes(LOG + "llama_kv_cache:      CUDA0 KV buffer size =    30.50 MiB\n")["CUDA0", "cache"]
    )


def test_a_second_context_has_buffers_beside_the_first() -> None:
    draft = (
        "llama_context: constructing llama_context\n"
        "llama_kv_cache:      CUDA0 KV buffer size =    8.00 MiB\n"
        "sched_reserve:      CUDA0 compute buffer size =    50.00 MiB\n"
        "sched_reserve:      CUDA0 compute buffer size =    60.00 MiB\n"
    )

    assert mib(266.5) + mib(60) == sizes(LOG + draft)["CUDA0", "compute"]
    assert mib(520) == sizes(LOG + draft)["CUDA0", "cache"]


def test_of_several_loads_the_largest_model_counts_and_of_equals_the_last() -> None:
    draft = LOG.replace("3577.56", "100.00").replace("102.54", "1.00")
    again = LOG.replace("266.50", "300.00")

    assert 3 == len(parse_llama_log(LOG + again + draft, "run.log").loads)
    assert mib(300) == sizes(LOG + again + draft)["CUDA0", "compute"]
    assert sizes(LOG) == sizes(draft + LOG)


def test_a_load_keeps_the_devices_that_were_listed_before_its_file_was_opened() -> None:
    (load,) = parse_llama_log(LOG, "run.log").loads

    assert (("CUDA0", "NVIDIA GeForce RTX 4090"),) == load.devices


def test_remote_buffers_are_numbered_by_server_and_devices_over_all() -> None:
    """Two servers, the first with two devices: RPC0 and RPC1 there, RPC2 here."""
    text = (
        "x: using device RPC0 (10.0.0.1:50052) (unknown id) - 1 MiB free\n"
        "x: using device RPC1 (10.0.0.1:50052) (unknown id) - 1 MiB free\n"
        "x: using device RPC2 (10.0.0.2:50052) (unknown id) - 1 MiB free\n"
        "load_tensors: RPC0[10.0.0.1:50052] model buffer size =     1.00 MiB\n"
        "load_tensors: RPC1[10.0.0.1:50052] model buffer size =     2.00 MiB\n"
        "load_tensors: RPC0[10.0.0.2:50052] model buffer size =     3.00 MiB\n"
        "llama_kv_cache: RPC0[10.0.0.2:50052] KV buffer size =     4.00 MiB\n"
    )

    assert {
        ("RPC0", "model"): MIB,
        ("RPC1", "model"): 2 * MIB,
        ("RPC2", "model"): 3 * MIB,
        ("RPC2", "cache"): 4 * MIB,
    } == sizes(text)


def test_servers_that_are_not_listed_are_numbered_as_they_come() -> None:
    text = (
        "load_tensors: RPC[10.0.0.2:50052] model buffer size =     1.00 MiB\n"
        "load_tensors: RPC[10.0.0.1:50052] model buffer size =     2.00 MiB\n"
    )

    assert {("RPC0", "model"): MIB, ("RPC1", "model"): 2 * MIB} == sizes(text)


@pytest.mark.parametrize(
    ("buffer", "subject", "what"),
    [
        ("CPU", "Host", "model"),
        ("CUDA_Host", "Host", "model"),
        ("CPU_Mapped", "Host", "mapped"),
        ("CPU_REPACK", "Host", "repacked"),
        ("AMX", "Host", "repacked"),
        ("CUDA0_Split", "CUDA0", "model"),
        ("MTL0_Mapped", "MTL0", "model"),
        ("Vulkan1", "Vulkan1", "model"),
    ],
)
def test_what_a_buffer_of_a_model_is_called_says_where_it_is(buffer: str, subject: str, what: str) -> None:
    assert {(subject, what): MIB} == sizes(f"load_tensors: {buffer} model buffer size =     1.00 MiB\n")


@pytest.mark.parametrize("function", ["alloc_compute_meta", "reserve_compute_meta"])
def test_the_buffers_of_an_image_tower_are_not_the_models(function: str) -> None:
    text = LOG + f"{function}:      CUDA0 compute buffer size =   198.93 MiB\n"

    assert sizes(LOG) == sizes(text)


def test_a_text_without_buffers_has_no_loads() -> None:
    assert () == parse_llama_log("hello\n" * 10, "run.log").loads


def test_buffers_before_any_context_belong_to_the_first() -> None:
    (load,) = parse_llama_log("a: CPU compute buffer size = 1.00 MiB\n", "run.log").loads

    assert (LlamaBuffer("CPU", BufferKind.COMPUTE, Printed(MIB, 5243), 0),) == load.buffers


def test_buffers_beyond_all_measure_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llamacpp_log, "_MOST_BUFFERS", 3)
    with pytest.raises(InputError) as caught:
        parse_llama_log("a: CPU compute buffer size = 1.00 MiB\n" * 4, "run.log")

    assert "run.log: more than 3 buffers; expected the log of one run. Cut it." == str(caught.value)


FRAGMENTS = ("load_tensors: ", "RPC0[", "]", ": ", " model", " KV", " buffer size = ", "1.00", " MiB", "\n", "(", ") (")


@given(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=60).map("".join))
def test_whatever_a_log_says_it_is_read_or_left_and_never_breaks(text: str) -> None:
    for load in parse_llama_log(text, "run.log").loads:
        assert all(one.printed.amount >= 0 for one in observations(load))


def test_long_lines_are_read_in_no_time_and_only_their_beginning() -> None:
    text = ": " * 10**6 + "CUDA0 model buffer size = 1.00 MiB\n" + LOG

    assert sizes(LOG) == sizes(text)


MEASURED = (("model", "model"), ("kv", "KV"), ("rs", "RS"), ("compute", "compute"), ("output", "output"))


def test_measured_buffers_are_within_the_printed_digits(data_folder: Path) -> None:
    """Every run whose log was kept: lines made of what was printed give the exact bytes, to half a hundredth."""
    runs = 0
    with gzip.open(data_folder / "llamacpp_truth" / "truth.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            run = json.loads(line)
            if not run.get("model_mib") or "kv_mib" not in run or "--spec-type" in run["options"]:
                continue
            runs += 1
            found = seen(_lines(run))
            for key, expected in _exact(run).items():
                assert abs(found[key].amount - expected) <= found[key].precision, (run["id"], key)
    assert runs > 1000


def _lines(run: dict[str, Any]) -> str:
    return "".join(
        f"x: {entry['buf']:>10} {word} buffer size = {entry['mib']:>8} MiB\n"
        for field, word in MEASURED
        for entry in run[f"{field}_mib"]
    )


def _exact(run: dict[str, Any]) -> dict[tuple[str, str], int]:
    """Return the exact bytes by device and kind; of compute and output buffers, the last of a name."""
    exact: dict[tuple[str, str], int] = {}
    for field, word in MEASURED:
        entries = run[f"{field}_bytes"]
        if word in ("compute", "output"):
            entries = list({name: [name, size] for name, size in entries}.values())
        for name, size in entries:
            host = name in ("CPU", "CPU_Mapped", "AMX", "CPU_REPACK")
            what = {"KV": "cache", "RS": "state"}.get(word, word)
            if host and word == "model" and name != "CPU":
                what = "mapped" if name == "CPU_Mapped" else "repacked"
            key = ("Host" if host else name, what)
            exact[key] = exact.get(key, 0) + size
    return exact


@pytest.mark.parametrize(
    ("line", "subject", "what", "size"),
    [
        ("llm_load_tensors:      CUDA0 buffer size =  3990.00 MiB", "CUDA0", "model", 3990),
        ("llm_load_tensors:        CPU buffer size =    70.31 MiB", "Host", "model", 70.31),
        ("0.00.026.878 I llm_load_tensors:   CPU_Mapped model buffer size =    63.84 MiB", "Host", "mapped", 63.84),
        ("[qwen_llm-1] load_tensors:   CPU_Mapped model buffer size =  1220.27 MiB", "Host", "mapped", 1220.27),
        ("0.00.926 I load_tensors:        CUDA0 model buffer size =  4861.36 MiB", "CUDA0", "model", 4861.36),
        ("load_tensors:   CPU_KLEIDIAI model buffer size =   512.50 MiB", "Host", "repacked", 512.5),
        ("load_tensors:  MTL0_Mapped model buffer size =  4685.30 MiB", "MTL0", "model", 4685.3),
        ("llama_kv_cache_init:      ROCm0 KV buffer size =   448.00 MiB", "ROCm0", "cache", 448),
        ("llama_kv_cache_unified:    Vulkan0 KV buffer size =   512.00 MiB", "Vulkan0", "cache", 512),
        ("llama_new_context_with_model:      CUDA0 compute buffer size =   560.00 MiB", "CUDA0", "compute", 560),
        ("llama_dsv4_comp_state:      CUDA0 DSV4 csa state buffer size =    10.75 MiB", "CUDA0", "state", 10.75),
        ("llama_adapter_lora_init_impl:      CUDA0 LoRA buffer size =    40.00 MiB", "CUDA0", "adapter", 40),
        ("vllm-1  | load_tensors:        CUDA1 model buffer size =  6011.49 MiB", "CUDA1", "model", 6011.49),
        (
            "Dec 01 02:10:11 desk llama-server[512]: load_tensors:      CUDA0 model buffer size =  1242.03 MiB",
            "CUDA0",
            "model",
            1242.03,
        ),
        (
            '{"log":"load_tensors:        CUDA0 model buffer size =  1242.03 MiB\\n","stream":"stderr"}',
            "CUDA0",
            "model",
            1242.03,
        ),
        (
            '{"log":"\\u001b[34m0.03.028.817 I load_tensors:   \\u001b[0m Vulkan0 model buffer size = 15009.20 MiB"}',
            "Vulkan0",
            "model",
            15009.2,
        ),
        ("#033[0;32mload_tensors: #033[0m  CUDA0 model buffer size =  7.00 MiB#033[K", "CUDA0", "model", 7),
    ],
)
def test_lines_of_many_builds_behind_what_others_put_before_them(
    line: str, subject: str, what: str, size: float
) -> None:
    """Names of functions changed over the years; services and containers write times, names and escapes around."""
    assert {(subject, what): mib(size)} == sizes(line)


def test_a_context_that_does_not_say_that_it_is_constructed_has_buffers_of_its_own() -> None:
    """At some levels a log leaves that line out; a drafting context then stands beside the first all the same."""
    text = """\
0.03.028.817 I load_tensors:      Vulkan0 model buffer size = 15009.20 MiB
0.06.588.131 I llama_context: n_seq_max     = 4
0.06.588.132 I llama_context: n_ctx         = 8192
0.06.599.084 I llama_kv_cache:    Vulkan0 KV buffer size =   512.00 MiB
0.06.683.016 I llama_memory_recurrent:    Vulkan0 RS buffer size =  1795.50 MiB
0.06.767.179 I sched_reserve:    Vulkan0 compute buffer size =   568.53 MiB
0.06.852.524 I llama_context: n_ctx         = 8192
0.06.853.000 I llama_kv_cache:    Vulkan0 KV buffer size =    32.00 MiB
0.06.854.000 I sched_reserve:    Vulkan0 compute buffer size =   123.00 MiB
"""

    assert {
        ("Vulkan0", "model"): mib(15009.2),
        ("Vulkan0", "cache"): mib(544),
        ("Vulkan0", "state"): mib(1795.5),
        ("Vulkan0", "compute"): mib(691.53),
    } == sizes(text)
