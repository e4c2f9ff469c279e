"""Architecture files: the six facts, or a config.json."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from solver.closed_form import GLM_5_2, ArchitectureFacts
from solver.errors import InputError
from solver.facts_file import BUILT_IN_FACTS, NamedFacts, read_facts

if TYPE_CHECKING:
    from pathlib import Path

FACTS = {
    "trunk_blocks": 78,
    "latent_values": 576,
    "full_indexer_blocks": 21,
    "index_head_width": 128,
    "hidden_size": 6144,
    "index_topk": 2048,
}
KEYS = "trunk_blocks, latent_values, full_indexer_blocks, index_head_width, hidden_size, index_topk"
OTHER_KIND = (
    ': a model of type "llama" is not known to keep one latent of the same width in every block; '
    "expected latent attention. Name the model's files in place of its architecture."
)


def test_six_facts_are_read_from_json(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    path.write_text(json.dumps(FACTS), encoding="utf-8")

    assert NamedFacts("facts.json", GLM_5_2, None) == read_facts(path)


def test_six_facts_are_read_from_toml(tmp_path: Path) -> None:
    path = tmp_path / "facts.toml"
    path.write_text("\n".join(f"{key} = {value}" for key, value in FACTS.items()), encoding="utf-8")

    assert NamedFacts("facts.toml", GLM_5_2, None) == read_facts(path)


def test_a_config_of_latent_attention_has_the_facts(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    config = {
        "model_type": "deepseek_v3",
        "num_hidden_layers": 61,
        "num_nextn_predict_layers": 1,
        "kv_lora_rank": 512,
        "qk_rope_head_dim": 64,
        "hidden_size": 7168,
        "num_attention_heads": 128,
        "max_position_embeddings": 163_840,
    }
    path.write_text(json.dumps(config), encoding="utf-8")

    assert NamedFacts("deepseek_v3", ArchitectureFacts(61, 576, 0, 0, 7168, 0), 163_840) == read_facts(path)


def test_the_built_in_facts_are_those_of_glm_5_2() -> None:
    assert {"glm-5.2": NamedFacts("glm-5.2", GLM_5_2, 1_048_576)} == BUILT_IN_FACTS


def test_published_configs_give_the_facts(data_folder: Path) -> None:
    read = read_facts(data_folder / "configs" / "zai-org--GLM-5.1_config.json")

    assert ArchitectureFacts(78, 576, 78, 128, 6144, 2048) == read.facts
    assert 202_752 == read.context_tokens


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        (
            "f.json",
            json.dumps(FACTS | {"trunk_block": 1}),
            f': there is no key "trunk_block"; expected {KEYS}. Did you mean trunk_blocks?',
        ),
        (
            "f.json",
            json.dumps(FACTS | {"zzz": 1}),
            f': there is no key "zzz"; expected {KEYS}. Remove it.',
        ),
        ("f.json", '{"trunk_blocks": 78}', f": latent_values is missing; expected {KEYS}. Add it."),
        (
            "f.json",
            json.dumps(FACTS | {"index_topk": True}),
            ": index_topk is of type bool; expected a whole number. Correct it.",
        ),
        (
            "f.json",
            json.dumps(FACTS | {"hidden_size": 6144.0}),
            ": hidden_size is of type float; expected a whole number. Correct it.",
        ),
        (
            "f.json",
            json.dumps(FACTS | {"hidden_size": 2**41}),
            ": hidden_size is too large; expected a whole number up to 1099511627776. Correct it.",
        ),
        ("f.json", "[1]", ": it holds no table of keys; expected an architecture file. Correct it."),
        ("f.json", '{"a": 1', ": input data was truncated; expected an architecture file in JSON. Correct it."),
        (
            "f.toml",
            "a = ",
            ": invalid value (at end of document); expected an architecture file in TOML. Correct it.",
        ),
        ("f.json", b"\xff", ", byte 0: not UTF-8; expected text. Save it as UTF-8."),
        (
            "f.json",
            " " * (4 * 2**20 + 1),
            ": it is larger than 4 MiB; expected an architecture file, or one of glm-5.2. Check the path.",
        ),
        (
            "f.json",
            '{"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 8}',
            OTHER_KIND,
        ),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(tmp_path: Path, name: str, content: str | bytes, problem: str) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError) as caught:
        read_facts(path)

    assert f"{path}{problem}" == str(caught.value)


def test_brackets_without_end_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text("[" * 200_000, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_facts(path)

    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).endswith("; expected an architecture file in JSON. Correct it.")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_facts(tmp_path / "none.json")

    assert (
        f"{tmp_path / 'none.json'}: there is no such file; "
        "expected an architecture file, or one of glm-5.2. Check the path."
    ) == str(caught.value)
