"""Command lines of words drawn at random: an answer, or a refusal in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from support.llamacpp import run, small_llama

from solver.engines.llamacpp.facts import Program
from solver.engines.llamacpp.flags import Effect, Flag, flags_of
from solver.engines.llamacpp.profile import BUILDS
from solver.errors import SolverError
from tensors.errors import TensorsError

if TYPE_CHECKING:
    from tensors.inventory import Inventory

MODELS = (
    small_llama(),
    small_llama("gemma3", attention__sliding_window=64),
    small_llama("glm4moe", nextn_predict_layers=1),
    small_llama("deepseek2", attention__key_length_mla=48, attention__value_length_mla=32),
)
VALUES = (
    *("0", "1", "3", "99", "-1", "-2", "+5", "2147483647", "9" * 30, "", "é", "\x00", "(", "="),
    *("auto", "all", "none", "on", "off", "q8_0", "q4_0", "mmap", "draft-mtp", "draft-simple", "model.gguf"),
    *("RPC0", "RPC1,RPC0", "CUDA0", "1,1", "3/1", "0,0", "1e38,1e38", "1e-40", "ffn=CPU", "..=RPC0[a:1]", "a:1,b:2"),
)


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    """Draw a program with some of its flags, of which memory depends on most."""
    program = draw(st.sampled_from(Program))
    flags = {name: flag for name, flag in flags_of(program).items() if flag.effect is Effect.MEMORY}
    words = [str(program), "-m", "model.gguf", *draw(st.sampled_from([[], ["--rpc", "a:1,b:2"]]))]
    for name in draw(st.lists(st.sampled_from(sorted(flags)), max_size=4)):
        flag: Flag = flags[name]
        words += [name, *(draw(st.sampled_from(VALUES)) for _ in range(flag.values))]
    return words


@settings(max_examples=400, deadline=None)
@given(
    command_lines(),
    st.sampled_from([None, (5,), (10**9, 2 * 10**9), (0, 0)]),
    st.sampled_from(MODELS),
    st.sampled_from(BUILDS),
)
def test_every_command_line_is_answered_or_refused(
    words: list[str], free: tuple[int, ...] | None, model: Inventory, build: str
) -> None:
    try:
        emulation = run(words, free=free, files={"model.gguf": model}, build=build)
    except (SolverError, TensorsError) as error:
        refusal = str(error)
    else:
        refusal = ""
        assert len(emulation.assignment.slots) == len(emulation.inventory.blocks()) + 1
        assert all(row.model_bytes >= 0 and row.cache_bytes >= 0 for row in emulation.rows)

    assert "\n" not in refusal
