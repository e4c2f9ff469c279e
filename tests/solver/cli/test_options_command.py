"""`layerfit options`: from flags to a list, a document or an explanation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest
from support.pools import pool_document

from tensors.synthetic import write

if TYPE_CHECKING:
    from pathlib import Path

    from support.commands import Layerfit

Validate = Callable[[Mapping[str, Any]], None]

CLUSTER = """
[[node]]
name = "box"
memory = "128 GB"
free = "100 GB"
gpu = [{ class = "l4-24g", memory = "24 GB", count = 4, free_count = 2 }]
[[node]]
name = "host"
memory = "64 GB"
"""


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    """Return the golden pool in a file."""
    path = tmp_path / "pool.json"
    path.write_text(json.dumps(pool_document()), encoding="utf-8")
    return path


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """Return a cluster file."""
    path = tmp_path / "cluster.toml"
    path.write_text(CLUSTER, encoding="utf-8")
    return path


GOLDEN_TEXT = """\
✓ Best: Q6_K on 1 × h100-80g by llamacpp, free now.

 #  artifact     where                         GB needs/has     bits  free now  longest context
 1  Q6_K         1 × h100-80g                   64.54/72.00     6.56  yes                30,956
 2  Q4_K_M       1 × h100-80g                   48.40/72.00     4.82  yes                80,200
 3  Q8_0         2 × h100-80g                   41.78/72.00     8.50  yes               192,653
 4  Q4_K_M       3 × rtx-4090-24g               16.85/21.60     4.82  yes                51,674
 5  Q8_0         4 × rtx-4090-24g               21.43/21.60     8.50  yes                10,318
 6  Q6_K         4 × rtx-4090-24g               16.94/21.60     6.56  yes                65,071
 7  safetensors  2 nodes × 2 h100-80g on ib0    39.86/72.00    16.00  no                400,536
 8  Q6_K         CPU                           64.54/435.20     6.56  yes             1,139,355
 9  Q8_0         CPU                           82.48/435.20     8.50  yes             1,084,602
10  Q4_K_M       CPU                           48.40/435.20     4.82  yes             1,188,599
11  BF16         CPU                          151.93/435.20    16.00  yes               872,660

GB are 10^9 bytes, of the fullest card or of the host. What is in use now still fits.
Note: The solver was not asked: without headers nobody knows how large blocks are.
"""


def test_the_golden_pool_is_answered_in_one_table(pool: Path, layerfit: Layerfit) -> None:
    assert (0, GOLDEN_TEXT, "") == layerfit("options", "--pool", pool)


def test_the_document_has_every_field_of_the_contract(
    pool: Path, layerfit: Layerfit, validate_document: Validate
) -> None:
    ran = layerfit("options", "--pool", pool, "--json")
    document = json.loads(ran.out)
    validate_document(document)
    seventh = document["options"][6]

    assert 0 == ran.code
    assert 11 == len(document["options"])
    assert {
        "artifact": "safetensors",
        "format": "safetensors",
        "engine": "vllm",
        "cpu": False,
        "gpu_class": "h100-80g",
        "fabric": "ib0",
        "gpus_per_node": 2,
        "nodes": 2,
        "need_gb": 39.859159788,
        "have_gb": 72.0,
        "hosts": 2,
        "free_now": False,
        "need_bytes": 39_859_159_788,
        "have_bytes": 72_000_000_000,
        "label": "2 nodes × 2 h100-80g on ib0",
        "method": "simple",
        "refuted": False,
        "stages": None,
        "longest_context": None,
    }.items() <= seventh.items()
    assert 15.999953 == round(seventh["bits_per_weight"], 6)


def test_best_is_the_first_alone(pool: Path, layerfit: Layerfit) -> None:
    document = json.loads(layerfit("options", "--pool", pool, "--best", "--json").out)

    assert [("Q6_K", 1)] == [(option["artifact"], option["rank"]) for option in document["options"]]


def test_a_table_for_other_programs_has_exact_figures(pool: Path, layerfit: Layerfit) -> None:
    ran = layerfit("options", "--pool", pool, "--best", "--format", "csv")

    assert (
        "rank,artifact,engine,where,method,need_bytes,have_bytes,hosts,free_now,bits_per_weight,longest_context,verdict\n"
        "1,Q6_K,llamacpp,1 × h100-80g,simple,64540496384,72000000000,2,yes,6.563851,30956,not asked\n"
    ) == ran.out


def test_one_option_is_explained(pool: Path, layerfit: Layerfit, validate_document: Validate) -> None:
    assert (
        "#7  safetensors  on  2 nodes × 2 h100-80g on ib0\n"
        "\n"
        "Arithmetic: 39.859 of 72.000 GB, 32.141 GB of room; 2 nodes offer such a place.\n"
        "Quality 6.750 from 16.000 bits a weight.\n"
        "Rank: behind #6, which has fewer nodes (1 against 2).\n"
        "No single change here raises it: another artifact or another place is better by the order.\n"
    ) == layerfit("options", "--pool", pool, "--explain", "7").out
    document = json.loads(layerfit("options", "--pool", pool, "--explain", "7", "--json").out)
    validate_document(document)
    assert 4 == len(document["explanation"])


def test_a_context_on_the_command_line_replaces_the_pools(pool: Path, layerfit: Layerfit) -> None:
    document = json.loads(layerfit("options", "--pool", pool, "--context", "0", "--json").out)

    assert 0 == document["context_tokens"]
    assert 61_856_141_824 == document["options"][0]["need_bytes"]


def test_models_are_asked_of_both_side_by_side(tmp_path: Path, cluster: Path, layerfit: Layerfit) -> None:
    """A folder stands for all models in it, in this order: GGUF files and checkpoints by name."""
    write("llama-3.1-70b", tmp_path / "models")
    write("llama-3.2-1b", tmp_path / "models" / "small")
    ran = layerfit("options", tmp_path / "models", "--cluster", cluster, "--json")
    document = json.loads(ran.out)

    assert (0, "") == (ran.code, ran.err)
    assert {"Llama-3.1-70B-Q4_K_M", "Llama-3.2-1B-Q4_K_M"} == {one["artifact"] for one in document["options"]}
    large = [one for one in document["options"] if one["artifact"].startswith("Llama-3.1")]
    assert [
        ("3 × l4-24g", "simple", "fits", False),
        ("3 × l4-24g", "exact", None, False),
        ("CPU", "simple", "fits", True),
        ("CPU", "exact", None, True),
    ] == [(one["label"], one["method"], one["verdict"], one["free_now"]) for one in large]
    assert "Q4_K" == large[0]["quant"]
    assert 80 == large[1]["stages"][-1]["end"]


@pytest.mark.parametrize(
    ("name", "start", "size_bytes", "problem"),
    [
        ("Llama-3.2-1B-Q8_0.gguf", b"", 0, 'byte 0: the file is empty; expected "GGUF". Fetch the file again.'),
        (
            "Llama-3.2-1B-Q6_K.gguf",
            b"hello world",
            11,
            'byte 0: begins with "hell"; expected "GGUF". Is this a GGUF file?',
        ),
        (
            "Llama-3.2-1B-UD-Q8_0.gguf",
            b"GGUF",
            1_300_000_000,
            "byte 4: GGUF version 0; expected 2 or 3. Convert the model anew.",
        ),
        (
            "Llama-3.2-1B-Q4_0-00001-of-00002.gguf",
            b"GGUF",
            4,
            (
                "Llama-3.2-1B-Q4_0-00002-of-00002.gguf is missing; expected all 2 parts of Llama-3.2-1B-Q4_0 in one "
                "folder. Fetch the rest."
            ),
        ),
    ],
)
def test_a_file_that_cannot_be_read_borrows_no_shape_and_is_named_beside_the_others(
    name: str, start: bytes, size_bytes: int, problem: str, tmp_path: Path, cluster: Path, layerfit: Layerfit
) -> None:
    """However large it is and however alike its name: the others stand as they would without it."""
    write("llama-3.2-1b", tmp_path / "m")
    before = json.loads(layerfit("options", tmp_path / "m", "--cluster", cluster, "--json").out)
    with (tmp_path / "m" / name).open("wb") as broken:
        broken.write(start)
        broken.truncate(size_bytes)
    document = json.loads(layerfit("options", tmp_path / "m", "--cluster", cluster, "--json").out)

    assert {**before, "notes": [f"{name}: unreadable: {problem}", *before["notes"]]} == document
    shown = layerfit("options", tmp_path / "m", "--cluster", cluster)
    assert f"✗ {name}: unreadable: {problem}" in " ".join(shown.out.split())
    table = layerfit("options", tmp_path / "m", "--cluster", cluster, "--format", "csv")
    assert [f"{name}: unreadable: {problem}", *before["notes"]] == table.err.splitlines()


@pytest.mark.parametrize(("card", "host", "is_beyond"), [("24 GB", "128 GB", True), ("3 GB", "1 GB", False)])
def test_contexts_beyond_what_a_model_was_trained_for_are_noted(
    card: str, host: str, is_beyond: bool, tmp_path: Path, layerfit: Layerfit
) -> None:
    """Where memory has room for one."""
    (model,) = write("llama-3.2-1b", tmp_path / "m")
    cluster = tmp_path / "one.toml"
    cluster.write_text(
        f'[[node]]\nname = "box"\nmemory = "{host}"\ngpu = [{{ class = "l4", memory = "{card}", count = 1 }}]\n',
        encoding="utf-8",
    )
    document = json.loads(layerfit("options", model, "--cluster", cluster, "--json").out)
    note = "A context beyond the 131,072 tokens that a model was trained for is what memory has room for."

    assert is_beyond == any((one["longest_context"] or 0) > 131_072 for one in document["options"])
    assert is_beyond == (note in document["notes"])


def test_where_nothing_can_be_read_the_error_names_each(tmp_path: Path, cluster: Path, layerfit: Layerfit) -> None:
    (tmp_path / "a.gguf").write_bytes(b"")
    (tmp_path / "b.gguf").write_bytes(b"hello")
    ran = layerfit("options", tmp_path, "--cluster", cluster)

    assert (2, "") == (ran.code, ran.out)
    assert (
        "layerfit options: no model can be read; expected one. "
        'a.gguf: unreadable: byte 0: the file is empty; expected "GGUF". Fetch the file again. '
        'b.gguf: unreadable: byte 0: begins with "hell"; expected "GGUF". Is this a GGUF file?\n'
    ) == ran.err


def test_of_several_models_named_one_that_is_not_there_leaves_the_others(
    tmp_path: Path, cluster: Path, layerfit: Layerfit
) -> None:
    (model,) = write("llama-3.2-1b", tmp_path / "m")
    absent = tmp_path / "absent.gguf"
    document = json.loads(layerfit("options", model, absent, "--cluster", cluster, "--json").out)

    assert {"Llama-3.2-1B-Q4_K_M"} == {one["artifact"] for one in document["options"]}
    assert (
        f"{absent}: unreadable: there is no such file or folder; expected a model. Check the path."
        == (document["notes"][0])
    )


def test_a_checkpoint_without_its_config_leaves_the_others(tmp_path: Path, cluster: Path, layerfit: Layerfit) -> None:
    """The cache cannot be sized; given by hand, it is an artifact like others."""
    write("llama-3.2-1b", tmp_path / "m")
    write("mixtral-8x7b", tmp_path / "m" / "checkpoint")
    (tmp_path / "m" / "checkpoint" / "config.json").unlink()
    document = json.loads(layerfit("options", tmp_path / "m", "--cluster", cluster, "--json").out)

    assert {"Llama-3.2-1B-Q4_K_M"} == {one["artifact"] for one in document["options"]}
    assert document["notes"][0].startswith("checkpoint: unreadable: ")
    assert document["notes"][0].endswith("Give --cache-bytes-per-token to go on without that rule.")


def test_files_of_one_name_in_two_folders_are_told_apart(tmp_path: Path, cluster: Path, layerfit: Layerfit) -> None:
    write("llama-3.2-1b", tmp_path / "m")
    write("llama-3.2-1b", tmp_path / "m" / "again")
    document = json.loads(layerfit("options", tmp_path / "m", "--cluster", cluster, "--json").out)

    assert {"Llama-3.2-1B-Q4_K_M", "Llama-3.2-1B-Q4_K_M (2)"} == {one["artifact"] for one in document["options"]}


def test_links_that_lead_round_are_passed_over(tmp_path: Path, cluster: Path, layerfit: Layerfit) -> None:
    write("llama-3.2-1b", tmp_path / "m")
    for name in ("round", "round.gguf"):
        (tmp_path / "m" / name).symlink_to(name)
    ran = layerfit("options", tmp_path / "m", "--cluster", cluster)

    assert (0, "") == (ran.code, ran.err)
    assert "unreadable" not in ran.out


def test_cards_of_unknown_size_are_passed_over_and_named(tmp_path: Path, layerfit: Layerfit) -> None:
    document = pool_document()
    for node in document["nodes"]:
        node["class"] = "a100-sxm"
        del node["gpu_mem_gb"]
    path = tmp_path / "pool.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    answer = json.loads(layerfit("options", "--pool", path, "--json").out)

    assert [True] == list({one["cpu"] for one in answer["options"]})
    assert answer["notes"][0].startswith('Passed over are the cards of "n1", "n2"')


def test_arithmetic_alone_asks_no_solver(tmp_path: Path, cluster: Path, layerfit: Layerfit) -> None:
    file = write("llama-3.2-1b", tmp_path / "m")[0]
    document = json.loads(layerfit("options", file, "--cluster", cluster, "--method", "simple", "--json").out)

    assert {"simple"} == {one["method"] for one in document["options"]}


def test_models_go_on_a_snapshot_of_nodes_whose_own_artifacts_are_passed_over(
    tmp_path: Path, pool: Path, layerfit: Layerfit
) -> None:
    file = write("llama-3.2-1b", tmp_path / "m")[0]
    ran = layerfit("options", file, "--pool", pool, "--best", "--json")

    assert "The artifacts of the pool are passed over: models are named.\n" == ran.err
    assert [("simple", 1), ("exact", 1)] == [(one["method"], one["rank"]) for one in json.loads(ran.out)["options"]]


def test_nothing_that_fits_is_an_honest_no(tmp_path: Path, layerfit: Layerfit) -> None:
    document = {**pool_document(), "nodes": []}
    path = tmp_path / "empty.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    ran = layerfit("options", "--pool", path)

    assert 1 == ran.code
    assert ran.out.startswith("✗ Nothing here can be served on these nodes.\n")


def test_the_built_in_example_is_what_nothing_named_means(layerfit: Layerfit) -> None:
    ran = layerfit("options", "--json")

    assert 0 == ran.code
    assert "No model is named: this is the built-in example, made from architecture arithmetic.\n" == ran.err
    assert {"GLM-5.2-UD-IQ2_XXS"} == {one["artifact"] for one in json.loads(ran.out)["options"]}


def test_model_cards_need_a_cache_or_none(tmp_path: Path, cluster: Path, layerfit: Layerfit) -> None:
    card = tmp_path / "card.toml"
    card.write_text('model_id = "m"\nstorage_size = { in_bytes = 4000000000 }\n', encoding="utf-8")

    assert (
        "layerfit options, --format exo: model cards do not say how wide a head is; expected --cache-bytes-per-token, "
        "or --context 0 for no cache. Give one.\n"
    ) == layerfit("options", card, "--cluster", cluster, "--format", "exo").err
    ran = layerfit("options", card, "--cluster", cluster, "--format", "exo,csv", "--context", "0")
    assert ["rank", "1"] == [line.partition(",")[0] for line in ran.out.splitlines()]


def test_names_from_files_reach_no_terminal_unescaped(tmp_path: Path, layerfit: Layerfit) -> None:
    document: dict[str, Any] = pool_document()
    document["artifacts"][0]["name"] = "\x1b[31mQ4_K_M"
    document["nodes"][0]["class"] = "h\x07-80g"
    path = tmp_path / "pool.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    for arguments in ([], ["--format", "csv"], ["--explain", "1"], ["--json"]):
        ran = layerfit("options", "--pool", path, *arguments)

        assert not {"\x1b", "\x07"} & set(ran.out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--pool", "POOL", "--cluster", "POOL"],
            "layerfit options: --pool stands beside flags of a cluster; expected one of them. Leave one out.",
        ),
        (
            ["--pool", "POOL", "--explain", "99"],
            "layerfit options, --explain: there is no rank 99; expected one up to 11. Look at the list first.",
        ),
        (
            ["--pool", "POOL", "--json", "--format", "csv"],
            "--json and --format: all are given; expected one form of output. Leave one out.",
        ),
        (
            ["--pool", "POOL", "--format", "csv,markdown"],
            "--format: csv and markdown are given; expected one form of output. Leave one out.",
        ),
        (
            ["--pool", "POOL", "--format", "xml"],
            'layerfit options, --format: "xml" is unknown; expected csv, markdown, gpustack or exo.',
        ),
        (
            ["--cluster", "POOL", "--format", "exo"],
            "layerfit options, --format exo: no MODEL is named; expected model cards. Name a card or a folder.",
        ),
    ],
)
def test_flags_that_cannot_be_meant_are_refused(
    arguments: list[str], message: str, pool: Path, cluster: Path, layerfit: Layerfit
) -> None:
    if message.startswith("layerfit options, --format exo"):
        pool = cluster
    ran = layerfit("options", *(str(pool) if word == "POOL" else word for word in arguments))

    assert (2, "", f"{message}\n") == ran


def test_a_model_without_nodes_shows_a_cluster_file(layerfit: Layerfit) -> None:
    ran = layerfit("options", "model.gguf")

    assert 2 == ran.code
    assert ran.err.startswith(
        "layerfit options: nothing says which nodes there are; expected --cluster FILE or --pool FILE. "
        "Write a file like this and name it.\n"
    )
    assert "[[node]]" in ran.err


def test_a_pool_without_artifacts_needs_a_model(tmp_path: Path, layerfit: Layerfit) -> None:
    path = tmp_path / "pool.json"
    path.write_text(json.dumps({"schema": "layerfit/pool/1", "nodes": []}), encoding="utf-8")

    assert (
        "layerfit options: the pool lists no artifacts, and no model is named; expected one of them. Name a model.\n"
        == layerfit("options", "--pool", path).err
    )
