"""Models on web servers: what is read is what is there, by few requests for little more than the headers."""

from __future__ import annotations

import subprocess
import threading
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from support.web import WebServer

import tensors
from benchmarks.forge import Pair, Stated, gguf
from tensors.gguf import read_header
from tensors.reader import read_every
from tensors.sources import visit
from tensors.sources.web import WORKERS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from support.web import Handler

    from tensors import Inventory
    from tensors.sources import Folder

_FIRST_REQUEST_BYTES = 2**17
_MOST_REQUESTS = 4


def check_budget(inventory: Inventory, web: WebServer, folder: str = "/") -> None:
    """Check that no part took more requests or bytes than the budget allows, by the server's own count."""
    for file in inventory.files:
        path = folder + file.name

        assert len(web.data_requests(path)) <= _MOST_REQUESTS
        assert web.sent_bytes(path) <= web.header_bytes_allowed(file.header_bytes)


def test_a_file_is_read_by_one_request_for_its_first_bytes(web: WebServer, tiny: Path) -> None:
    web.add_folder(tiny.parent)
    inventory = tensors.read(web.url(f"/{tiny.name}"))

    assert tensors.read(tiny) == inventory
    assert [("GET", "bytes=0-131071", 206, _FIRST_REQUEST_BYTES)] == [
        (request.method, request.range, request.status, request.sent_bytes) for request in web.requests
    ]
    check_budget(inventory, web)


@pytest.mark.parametrize("part", [0, 2, 5])
def test_any_part_of_a_split_set_brings_the_whole_set(part: int, web: WebServer, split: tuple[Path, ...]) -> None:
    web.add_folder(split[0].parent, "/glm/")
    inventory = tensors.read(web.url(f"/glm/{split[part].name}"))

    assert tensors.read(split[0]) == inventory
    assert len(split) == len(web.requests)
    check_budget(inventory, web, "/glm/")


@pytest.mark.parametrize("name", ["model.safetensors.index.json", "model-00003-of-00019.safetensors"])
def test_a_sharded_set_is_read_by_its_index_or_any_shard(name: str, web: WebServer, sharded: Path) -> None:
    web.add_folder(sharded, f"/{sharded.name}/")
    inventory = tensors.read(web.url(f"/{sharded.name}/{name}"))

    assert tensors.read(sharded) == inventory
    assert len(inventory.files) + 2 == len(web.requests)
    check_budget(inventory, web, f"/{sharded.name}/")


def test_parts_are_asked_for_at_the_same_time(web: WebServer, split: tuple[Path, ...]) -> None:
    """The first answer is held back until all the other parts have been asked for."""
    web.add_folder(split[0].parent)
    others = threading.Barrier(len(split), timeout=10)

    def together(handler: Handler) -> None:
        others.wait()
        handler.serve(handler.request_record.path)

    for path in split:
        web.script(f"/{path.name}", together)

    assert tensors.read(split[0]) == tensors.read(web.url(f"/{split[0].name}"))


def test_connections_are_used_again(web: WebServer, sharded: Path) -> None:
    """A set of 19 shards takes no more of them than files are read at a time."""
    web.add_folder(sharded)
    tensors.read(web.url("/model.safetensors.index.json"))

    assert web.connections <= WORKERS


def vocabulary(lengths: Sequence[int], *keys: str) -> bytes:
    """Return a GGUF file whose header holds long arrays of strings of these lengths."""
    pairs = [Pair(f"tokenizer.ggml.{key}", "str", ["x" * length for length in lengths]) for key in keys]
    stated = [Stated(b"blk.%d.attn_q.weight" % index, (32,), 0, 128 * index) for index in range(64)]
    return gguf(pairs, stated, data_bytes=64 * 128 + 2**22)


def header_bytes_of(folder: Folder, name: str | None) -> int:
    """Return the length of the header of a GGUF file."""
    assert name is not None
    with folder.open(name) as source:
        return len(read_header(source, allow_unknown_types=False).raw)


@pytest.mark.parametrize(
    ("lengths", "keys"),
    [
        ([6] * 60_000, ("tokens",)),
        ([6] * 60_000, ("tokens", "merges")),
        ([2 + number % 40 for number in range(60_000)], ("tokens", "merges")),
        ([1 + number // 3_000 for number in range(60_000)], ("tokens", "merges")),
        ([1 + number // 1_000 for number in range(60_000)], ("tokens", "scores", "token_type", "merges")),
        ([60 - number // 1_000 for number in range(60_000)], ("tokens", "merges")),
        ([0] * 10_000 + [200] * 10_000, ("merges",)),
    ],
    ids=["tokens", "merges", "mixed", "growing", "four arrays", "shrinking", "a jump"],
)
def test_long_vocabularies_stay_within_the_budget(lengths: list[int], keys: tuple[str, ...], web: WebServer) -> None:
    """However long their words are: the header is followed without a look at where it ends."""
    web.files["/v.gguf"] = vocabulary(lengths, *keys)
    header_bytes = visit(web.url("/v.gguf"), header_bytes_of, cache=False, time_limit_seconds=60)

    assert len(web.data_requests("/v.gguf")) <= _MOST_REQUESTS
    assert web.sent_bytes("/v.gguf") <= web.header_bytes_allowed(header_bytes)


def test_ranges_follow_each_other_without_gap_or_overlap(web: WebServer) -> None:
    web.files["/v.gguf"] = vocabulary([9] * 60_000, "tokens", "merges")
    visit(web.url("/v.gguf"), header_bytes_of, cache=False, time_limit_seconds=60)
    spans = [tuple(map(int, (request.range or "")[len("bytes=") :].split("-"))) for request in web.requests]

    assert 3 <= len(spans)
    assert 0 == spans[0][0]
    assert all(stop + 1 == start for (_, stop), (start, _) in pairwise(spans))


def test_real_vocabularies_stay_within_the_budget(web: WebServer, data_folder: Path, tmp_path: Path) -> None:
    """Of published files: 152,064 tokens and 151,387 merges, 5.95 MB of header."""
    archive = data_folder / "headers" / "deepseek-r1-distill-qwen-7b-q4_k_m.tar.xz"
    subprocess.run(["tar", "-xJSf", str(archive), "-C", str(tmp_path)], check=True)
    (path,) = tmp_path.rglob("*.gguf")
    web.files["/m.gguf"] = path
    inventory = tensors.read(web.url("/m.gguf"))

    assert 5_953_248 == inventory.files[0].header_bytes
    check_budget(inventory, web)


def test_a_file_that_is_smaller_than_a_first_request_is_read_whole(web: WebServer) -> None:
    web.files["/small.gguf"] = gguf([], [Stated(b"x", (32,), 0, 0)], data_bytes=128)
    inventory = tensors.read(web.url("/small.gguf"))

    assert ("small", 192) == (inventory.name, inventory.files[0].size_bytes)


def test_names_are_decoded_where_that_is_safe(web: WebServer, tiny: Path) -> None:
    web.files |= {"/my%20models/tiny%20(1).gguf": tiny, "/a%1B%5B31m.gguf": tiny, "/a%2F..%2Fb.gguf": tiny}
    named = [
        tensors.read(web.url(path)).files[0].name
        for path in ("/my models/tiny (1).gguf", "/a%1B%5B31m.gguf", "/a%2F..%2Fb.gguf")
    ]

    assert ["tiny (1).gguf", "a%1B%5B31m.gguf", "a%2F..%2Fb.gguf"] == named


def test_a_query_goes_with_every_file_of_a_set(web: WebServer, split: tuple[Path, ...]) -> None:
    web.add_folder(split[0].parent)
    tensors.read(web.url(f"/{split[0].name}?key=1"))

    assert {"key=1"} == {request.query for request in web.requests}


def test_a_name_and_password_are_sent_and_shown_nowhere(web: WebServer, tiny: Path) -> None:
    web.add_folder(tiny.parent)
    inventory = tensors.read(f"http://me:pa%3Ass@{web.address}/{tiny.name}")

    assert ["Basic bWU6cGE6c3M="] == [request.headers["authorization"] for request in web.requests]
    assert "pa:ss" not in repr(inventory)
    assert "pa%3A" not in repr(inventory)


def test_redirects_are_followed_and_authorization_stays_behind(web: WebServer, tiny: Path) -> None:
    """On the same host it goes along."""
    with WebServer(files={"/there.gguf": tiny}) as other:
        web.script("/a.gguf", lambda handler: handler.simple(307, Location="/b.gguf"))
        web.script("/b.gguf", lambda handler: handler.simple(302, Location=other.url("/there.gguf")))
        inventory = tensors.read(f"http://me:secret@{web.address}/a.gguf")

        assert tensors.read(tiny).tensors == inventory.tensors
        assert ["a.gguf"] == [file.name for file in inventory.files]
        assert ["authorization" in request.headers for request in web.requests] == [True, True]
        assert ["authorization" in request.headers for request in other.requests] == [False]


def test_a_file_of_a_server_is_all_of_its_models(web: WebServer, tiny: Path) -> None:
    """Servers list none, so that the model that is named is the only one."""
    web.files["/models/tiny.gguf"] = tiny

    (only,) = read_every(f"http://{web.address}/models/tiny.gguf")
    assert isinstance(only, tensors.Inventory)
    assert tensors.read(tiny).tensors == only.tensors
