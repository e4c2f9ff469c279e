"""Flags of the named build: known by every name, and refused where what they do is not sized."""

from __future__ import annotations

import pytest

from solver.engines.llamacpp.facts import FlashAttention, Program
from solver.engines.llamacpp.flags import Effect, flags_of, parse_flags
from solver.engines.llamacpp.interpret import request_of
from solver.engines.llamacpp.request import Request, SplitMode
from solver.errors import InputError

GIB = 2**30


def request(line: str) -> Request:
    """Return what a command line asks for; a program and a model are put before it."""
    words = line.split()
    program = [] if words and words[0].startswith("llama-") else ["llama-server"]
    return request_of([*program, *words, "-m", "model.gguf"])


def refusal(line: str) -> str:
    """Return the message that a command line is refused with."""
    with pytest.raises(InputError) as error:
        request(line)
    return str(error.value)


@pytest.mark.parametrize("program", list(Program))
def test_every_flag_has_one_meaning(program: Program) -> None:
    """A name stands in one row alone, and every effect occurs."""
    flags = set(flags_of(program).values())
    names = [name for flag in flags for name in (*flag.names, *flag.off_names)]

    assert len(names) == len(set(names))
    assert set(Effect) == {flag.effect for flag in flags}
    assert all(bool(flag.reason) == (flag.effect is Effect.REFUSED) for flag in flags)


def test_how_many_flags_the_named_build_has() -> None:
    """Those of its common/arg.cpp for each program, and six spellings of older builds in three rows."""
    counts = {program: len(set(flags_of(program).values())) - 3 for program in Program if program is not Program.BENCH}

    assert {
        Program.SERVER: 256,
        Program.COMPLETION: 154,
        Program.CLI: 206,
        Program.FIT_PARAMS: 121,
    } == counts


@pytest.mark.parametrize(
    ("flags", "field", "value"),
    [
        ("-c 4096", "context_tokens", 4096),
        ("--ctx-size 0", "context_tokens", 0),
        ("--ctx_size 512", "context_tokens", 512),
        ("--kv-unified-per-slot 1024", "slot_tokens", 1024),
        ("-np 3", "sequences", 3),
        ("--parallel -1", "sequences", None),
        ("-kvu", "unified", True),
        ("-no-kvu", "unified", False),
        ("-kvu --no-kv-unified", "unified", False),
        ("-b 64", "batch_tokens", 64),
        ("--ubatch-size 32", "micro_batch_tokens", 32),
        ("-fa on", "flash_attention", FlashAttention.ON),
        ("--flash-attn 0", "flash_attention", FlashAttention.OFF),
        ("-fa -1", "flash_attention", FlashAttention.AUTO),
        ("--swa-full", "full_windows", True),
        ("-nkvo", "offloads_cache", False),
        ("-nkvo --kv-offload", "offloads_cache", True),
        ("--no-op-offload", "offloads_operations", False),
        ("-nr", "repacks", False),
        ("-lm none", "maps_files", False),
        ("-lm mmap+mlock", "maps_files", True),
        ("--no-mmap", "maps_files", False),
        ("--mlock", "maps_files", False),
        ("-ndio", "maps_files", True),
        ("-lzm on", "lazy_bytes", 0),
        ("--lazy-mode off", "lazy_bytes", None),
        ("-ngl 12", "layers", 12),
        ("-ngl all", "layers", None),
        ("--n-gpu-layers auto", "layers_said", False),
        ("-ngl -1", "layers_said", False),
        ("-ngl all", "layers_said", True),
        ("-ts 3,1", "shares", (3.0, 1.0)),
        ("-ts 3/1/", "shares", (3.0, 1.0)),
        ("-sm none", "split", SplitMode.NONE),
        ("-mg 1", "main_device", 1),
        ("-dev CUDA1,CUDA0", "devices", ("CUDA1", "CUDA0")),
        ("-dev none", "devices", ()),
        ("--rpc a:1,b:2 --rpc c:3", "rpc_servers", ("a:1", "b:2", "c:3")),
        ("--rpc a:1 -dev RPC0 --rpc b:2", "servers_before_devices", 1),
        ("-ot x=CPU,y=CUDA0", "overrides", (("x", "CPU"), ("y", "CUDA0"))),
        ("-cmoe", "overrides", ((r"\.ffn_(up|down|gate|gate_up)_(ch|)exps", "CPU"),)),
        ("-ncmoe 1", "overrides", ((r"blk\.0\.ffn_(up|down|gate|gate_up)_(ch|)exps", "CPU"),)),
        ("-ncffn 1 -ot x=CPU", "overrides", ((r"blk\.0\.ffn_(up|down|gate)\.", "CPU"), ("x", "CPU"))),
        ("-ncmoe 0", "overrides", ()),
        ("--spec-type draft-mtp", "drafts", True),
        ("--spec-type draft-mtp", "draft_tokens", 3),
        ("--spec-type none --spec-draft-n-max 5", "draft_tokens", 0),
        ("--spec-type draft-simple --spec-draft-n-max 5", "draft_tokens", 5),
        ("--spec-type draft-mtp --spec-draft-n-max 5", "rolled_back_tokens", 5),
        ("--spec-type draft-simple", "rolled_back_tokens", 0),
        ("--spec-type ngram-mod", "draft_tokens", 64),
        ("--spec-type ngram-mod --spec-ngram-mod-n-max 16 --spec-ngram-mod-n-match 24", "draft_tokens", 16),
        ("--spec-default", "draft_tokens", 64),
        ("--spec-type ngram-simple,ngram-cache", "draft_tokens", 48),
        ("--spec-type ngram-map-k --spec-ngram-map-k-size-m 7", "draft_tokens", 7),
        ("--spec-type ngram-map-k4v,draft-mtp", "draft_tokens", 48),
        ("--spec-type ngram-map-k4v,draft-mtp", "rolled_back_tokens", 3),
        ("llama-bench -mmp 0", "maps_files", False),
        ("llama-bench --mmap 1", "maps_files", True),
        ("--cache-ram 0", "cache_ram_bytes", 0),
        ("-cram -1", "cache_ram_bytes", None),
        ("-t 4", "cache_ram_bytes", 8 * GIB),
        ("llama-completion", "cache_ram_bytes", 0),
        ("-ctxcp 4", "checkpoints", 4),
        ("-t 4 --temp 0.7 --host 0.0.0.0 --no-warmup --jinja", "notes", ()),
    ],
)
def test_flags_change_the_request(flags: str, field: str, value: object) -> None:
    """In either spelling; of a flag given twice the last counts."""
    assert value == getattr(request(flags), field)


def test_types_of_caches() -> None:
    asked = request("-ctk q8_0 --cache-type-v q4_0 -ctkd bf16")

    assert ("q8_0", "q4_0", "bf16", "f16") == tuple(
        kind.name for kind in (asked.type_k, asked.type_v, asked.draft_type_k, asked.draft_type_v)
    )


def test_fitting_with_margins_for_each_device() -> None:
    """On by default; the estimator prints what was asked for instead."""
    fit = request("-fitt 512,256 -fitc 8192").fit

    assert (True, (512 * 2**20, 256 * 2**20), 8192) == (fit.enabled, fit.margin_bytes, fit.least_context_tokens)
    assert (False, False) == (request("-fit off").fit.enabled, request("llama-fit-params -fitp on").fit.enabled)


def test_files_beside_the_model() -> None:
    asked = request("-md draft.gguf -ngld 3 -devd CUDA1 -ncmoed 1 --mmproj eyes.gguf -mmdev none --lora a.gguf,b.gguf")
    assert asked.draft is not None
    assert asked.projector is not None

    assert ("draft.gguf", 3, ("CUDA1",), 1) == (
        asked.draft.path,
        asked.draft.layers,
        asked.draft.devices,
        len(asked.draft.overrides),
    )
    assert ("eyes.gguf", None) == (asked.projector.path, asked.projector.device)
    assert ("a.gguf", "b.gguf") == asked.adapters.paths
    assert ("c.gguf",) == request("--lora-scaled c.gguf:0.5").adapters.paths


def test_an_older_spelling_is_noted() -> None:
    assert ("--no-mmap is the spelling of older builds; newer ones take -lm none.",) == request("--no-mmap").notes


def test_bench_takes_one_run_and_its_longest_test() -> None:
    asked = request(
        "llama-bench -p 512,4096 -n 0 -pg 1000,200 -d 0,1024 -ts 3/1 -nkvo 1 -ot a=CPU;b=CPU -dev CUDA0/CUDA1"
    )

    assert (5120, (3.0, 1.0), False, ("CUDA0", "CUDA1"), 2) == (
        asked.context_tokens,
        asked.shares,
        asked.offloads_cache,
        asked.devices,
        len(asked.overrides),
    )
    assert 512 == request("llama-bench").context_tokens
    assert 2048 == request("llama-bench -p 128-4000*2").context_tokens


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--embedding", "llama-server, --embedding: outputs of embeddings are not sized here. Leave it out."),
        (
            "-hf a/b",
            (
                "llama-server, -hf: it fetches a model; expected a file. Write -m hf://OWNER/NAME/FILE, or -m and the "
                "file."
            ),
        ),
        ("--draft-max 4", "llama-server, --draft-max: the named build has removed it. Write --spec-draft-n-max."),
        (
            "--ctx-sise 4",
            'llama-server, "--ctx-sise": it is no flag of this program; expected one that is. Did you mean --ctx-size?',
        ),
        (
            "llama-completion -kvu",
            'llama-completion, "-kvu": it is no flag of this program; expected one that is. Leave it out.',
        ),
        (
            "--ctx-size=4096",
            (
                'llama-server, "--ctx-size=4096": its value is joined to it; expected it as the next word. '
                "Write --ctx-size and the value."
            ),
        ),
        ("-c lots", '-c: "lots" cannot be meant; expected a whole number from 0. Correct it.'),
        ("-c -4", '-c: "-4" cannot be meant; expected a whole number from 0. Correct it.'),
        (
            "-np 0",
            "-np: 0 sequences are asked for; expected 1 or more, or -1 for the engine's choice. Correct it.",
        ),
        ("-sm row", '-sm: "row" is not emulated; expected layer or none. Choose one of them.'),
        ("-fa maybe", '-fa: "maybe" cannot be meant; expected on, off or auto. Correct it.'),
        ("-fit maybe", '-fit: "maybe" cannot be meant; expected on or off. Correct it.'),
        ("-ts 1,a", '-ts: "a" is no share; expected numbers from 0 between commas. Correct it.'),
        ("-ts -1,1", '-ts: "-1" is no share; expected numbers from 0 between commas. Correct it.'),
        ("-ts 1e39", '-ts: "1e39" is too large for a share; expected a smaller number.'),
        (f"-ts {','.join('1' * 16)}", "-ts: it holds 16 shares; expected fewer than 16. Shorten it."),
        (
            "-ctk q6_K",
            (
                '-ctk: "q6_K" is no type of its caches; expected f32, f16, bf16, q8_0, q4_0, q4_1, iq4_nl, '
                "q5_0 or q5_1. "
                "Choose one of them."
            ),
        ),
        (
            "-ot exps",
            '-ot: "exps" names no buffer; expected NAME-PATTERN=BUFFER. Write it like ffn_.*_exps=CPU.',
        ),
        (
            "-ot (=CPU",
            (
                '-ot: "(" is no regular expression (missing ), unterminated subpattern at position 0); expected one. '
                "Correct it."
            ),
        ),
        (
            "--spec-type draft-eagle3",
            (
                '--spec-type: "draft-eagle3" is not emulated; expected none, draft-simple, draft-mtp, ngram-simple, '
                "ngram-map-k, ngram-map-k4v, ngram-mod or ngram-cache. Choose one of them."
            ),
        ),
        (
            "-dev CUDA0,CUDA0",
            "-dev: a device is named twice or not at all; expected each once between commas. Correct it.",
        ),
        (
            "llama-bench -ngl 1,2",
            "-ngl: it holds several runs; expected one value, since one run is emulated. Choose one.",
        ),
        (
            "llama-bench -ngl 1 -ngl 2",
            "-ngl: it holds several runs; expected one value, since one run is emulated. Choose one.",
        ),
        (
            "llama-bench -ts 50,50",
            (
                "-ts: it holds several runs; expected one value, since one run is emulated. Part the shares of one run "
                "by /."
            ),
        ),
        (
            "-fa -cb",
            (
                "llama-server, -fa: no value stands behind it, as in builds before September 2025; expected on, off or "
                "auto. Write -fa on."
            ),
        ),
        (
            "--flash-attn --no-such",
            (
                "llama-server, --flash-attn: no value stands behind it, as in builds before September 2025; expected "
                "on, off or auto. Write --flash-attn on."
            ),
        ),
        (
            "-ngl -c 8192",
            ("llama-server, -ngl: no value stands behind it, but the flag -c; expected one. Complete the command."),
        ),
        (
            "\N{EN DASH}ngl 99",
            ('llama-server, "\N{EN DASH}ngl": it begins with a dash that is no hyphen; expected -ngl. Write that.'),
        ),
        (
            "\N{EM DASH}ctx-size 99",
            (
                'llama-server, "\N{EM DASH}ctx-size": it begins with a dash that is no hyphen; expected --ctx-size. '
                "Write that."
            ),
        ),
        (
            "-mla 3",
            'llama-server, "-mla": it is a flag of ik_llama.cpp; expected one of llama.cpp. Leave it out.',
        ),
        (
            "llama-bench -p 9-1",
            '-p: "9-1" cannot be meant; expected a number or FIRST-LAST+STEP. Correct it.',
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(line: str, message: str) -> None:
    assert message == refusal(line)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["llama-server", "-c", "1"],
            "llama-server: no model is named; expected -m FILE. Name the file.",
        ),
        (["llama-server", "-m"], "llama-server, -m: no value stands behind it; expected one. Complete the command."),
        (
            ["LLAMA_ARG_CTX_SIZE=1", "llama-server"],
            (
                "variable LLAMA_ARG_CTX_SIZE: it stands for a flag; expected flags alone. Write it as the flag "
                "it stands for."
            ),
        ),
        (
            ["vllm"],
            (
                'program "vllm": its defaults are not known here; expected llama-server, llama-completion, llama-cli, '
                "llama-bench or llama-fit-params."
            ),
        ),
    ],
)
def test_what_is_no_command_is_refused(words: list[str], message: str) -> None:
    with pytest.raises(InputError) as error:
        request_of(words)

    assert message == str(error.value)


def test_flags_that_memory_does_not_depend_on_are_passed_over() -> None:
    given = parse_flags(Program.SERVER, ["-t", "8", "--temp", "0.7", "-c", "1024"])

    assert [Effect.NONE, Effect.NONE, Effect.MEMORY] == [flag.flag.effect for flag in given]
