"""Command lines as people paste them: the program within, and what stands around it."""

from __future__ import annotations

import pytest

from solver.engines.llamacpp.command_line import command_line
from solver.engines.llamacpp.facts import Program
from solver.engines.llamacpp.interpret import request_of
from solver.errors import InputError

IMAGE = "ghcr.io/ggml-org/llama.cpp"


def refusal(*words: str) -> str:
    """Return the message that a command line is refused with."""
    with pytest.raises(InputError) as error:
        command_line(words)
    return str(error.value)


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("llama-server -c 1", Program.SERVER),
        ("~/llama.cpp/build/bin/llama-cli -c 1", Program.CLI),
        (r"C:\llama\llama-bench.exe -c 1", Program.BENCH),
        ("C:llamallama-server.exe -c 1", Program.SERVER),
        ("llama serve -c 1", Program.SERVER),
        ("llama.exe server -c 1", Program.SERVER),
        ("./llama cli -c 1", Program.CLI),
        ("llama complete -c 1", Program.COMPLETION),
        ("llama fit-params -c 1", Program.FIT_PARAMS),
        ("ExecStart=/usr/bin/llama-server -c 1", Program.SERVER),
        ("setsid nohup ./llama-server -c 1", Program.SERVER),
        (f"docker run --gpus all {IMAGE}:server-cuda -c 1", Program.SERVER),
        (f"docker run --name llama-cli {IMAGE}:server-vulkan-b9994 -c 1", Program.SERVER),
        (f"podman run {IMAGE}:light -c 1", Program.CLI),
        (f"docker run {IMAGE}:full-rocm --run-legacy -c 1", Program.COMPLETION),
        (f"docker run --entrypoint /app/llama-bench {IMAGE}:light-cuda -c 1", Program.BENCH),
        (f"docker run --entrypoint=llama-server {IMAGE}:light -c 1", Program.SERVER),
        ("docker exec box /app/llama-server -c 1", Program.SERVER),
    ],
)
def test_the_program_is_found_behind_what_starts_it(line: str, program: Program) -> None:
    found = command_line(line.split())

    assert (program, ("-c", "1")) == (found.program, found.words)


def test_what_stands_before_the_program_is_noted() -> None:
    words = "CUDA_VISIBLE_DEVICES=0 sudo env GGML_X=1 taskset -c 0-7 llama-server -c 1"

    assert (
        "CUDA_VISIBLE_DEVICES is set before the program; it is not read.",
        "GGML_X is set before the program; it is not read.",
        'What stands before the program is not read: "sudo env taskset -c 0-7".',
    ) == command_line(words.split()).notes


@pytest.mark.parametrize(
    "line",
    [
        'llama-server -m "my model.gguf" -ngl 99',
        'llama-server \\\n  -m "my model.gguf" \\\n  -ngl 99',
        'llama-server -m "my model.gguf" ^\r\n  -ngl 99',
        'llama-server.exe `\n  -m "my model.gguf" `\n  -ngl 99',
    ],
)
def test_a_line_that_is_one_word_is_split_like_a_shell_splits_it(line: str) -> None:
    assert ("-m", "my model.gguf", "-ngl", "99") == command_line([line]).words


def test_backslashes_of_drives_are_kept() -> None:
    line = r'C:\llama\llama-server.exe -m "D:\my models\a.gguf" -ngl 99'

    assert ("-m", r"D:\my models\a.gguf", "-ngl", "99") == command_line([line]).words


def test_a_shell_within_is_looked_into() -> None:
    assert ("-m", "a.gguf") == command_line(["bash", "-c", "exec llama-server -m a.gguf"]).words


@pytest.mark.parametrize("line_end", ["\\", "^", "`", " "])
def test_ends_of_lines_that_were_lost_are_passed_over(line_end: str) -> None:
    asked = request_of(["llama-server", line_end, "-m", "a.gguf", line_end, " -c", "512", line_end])

    assert ("a.gguf", 512) == (asked.model, asked.context_tokens)


def test_files_are_named_as_this_machine_has_them() -> None:
    """A folder that a container sees under another name is that folder."""
    words = f"docker run -v /data/models:/models:ro -v /a:/b {IMAGE}:server -m /models/a.gguf --mmproj /modelsb/x -c 4"

    assert ("-m", "/data/models/a.gguf", "--mmproj", "/modelsb/x", "-c", "4") == command_line(words.split()).words


@pytest.mark.parametrize(
    "words",
    [
        ["LLAMA_ARG_CTX_SIZE=1", "llama-server"],
        ["env", "LLAMA_ARG_CTX_SIZE=1", "llama-server"],
        ["docker", "run", "-e", "LLAMA_ARG_CTX_SIZE=1", f"{IMAGE}:server"],
        ["docker", "run", "--env=LLAMA_ARG_CTX_SIZE=1", f"{IMAGE}:server"],
        ["docker", "run", "-eLLAMA_ARG_CTX_SIZE=1", f"{IMAGE}:server"],
    ],
)
def test_variables_that_stand_for_flags_are_refused_wherever_they_are_set(words: list[str]) -> None:
    message = (
        "variable LLAMA_ARG_CTX_SIZE: it stands for a flag; expected flags alone. Write it as the flag it stands for."
    )

    assert message == refusal(*words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["numactl", "--interleave=all", "llama-speculative", "-m", "a b.gguf"],
            (
                'program "numactl": its defaults are not known here; expected llama-server, llama-completion, '
                "llama-cli, llama-bench or llama-fit-params."
            ),
        ),
        (
            ["docker", "run", f"{IMAGE}:full", "--quantize"],
            (
                'program "docker": its defaults are not known here; expected llama-server, llama-completion, '
                "llama-cli, llama-bench or llama-fit-params."
            ),
        ),
        (
            ["A=1"],
            (
                "command line: it is empty; expected llama-server, llama-completion, llama-cli, llama-bench or "
                "llama-fit-params with its flags. Paste the whole command."
            ),
        ),
    ],
)
def test_what_starts_no_known_program_is_refused(words: list[str], message: str) -> None:
    assert message == refusal(*words)
