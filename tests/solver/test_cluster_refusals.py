"""Cluster files that cannot be meant: one line for each, with the path of the field."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.cluster_file import CLUSTER_FILE, parse_cluster
from solver.errors import InputError

TWO_NODES = """
[[node]]
name = "desk"
count = 2
memory = "64 GiB"

[[node]]
name = "strix"
memory = "128 GiB"
"""

BASE = '[[node]]\nname = "a"\nmemory = "64 GiB"\n'
CARD = '[[node]]\nname = "a"\nmemory = "64 GiB"\ngpu = [{ class = "x-24g", memory = "24 GiB"'

REFUSALS = {
    "an unknown key": (
        BASE + 'memroy = "1 GiB"',
        (
            'cluster.toml, node[0]: there is no key "memroy"; expected one of name, memory, count, unified, ceiling, '
            "bandwidth, fabric, address, rpc_port, head, model_path, cpu, free, gpu, inside, reserve. "
            "Did you mean memory?"
        ),
    ),
    "an unknown table": (
        '[[nodes]]\nname = "a"',
        'cluster.toml: there is no key "nodes"; expected one of reserve, node, links. Did you mean node?',
    ),
    "an unknown key of a card": (
        CARD + ", speed = 3 }]",
        (
            'cluster.toml, node[0].gpu[0]: there is no key "speed"; expected one of class, memory, count, free_count, '
            "bandwidth, device. Remove it."
        ),
    ),
    "an unknown key of a reserve": (
        "[reserve]\nshare = 0.2",
        'cluster.toml, reserve: there is no key "share"; expected one of fraction, floor, gpu. Remove it.',
    ),
    "a bare whole number": (
        '[[node]]\nname = "a"\nmemory = 64',
        'cluster.toml, node[0].memory: 64 has no unit; expected a size. Write "64 GiB" or "64 GB".',
    ),
    "a bare decimal": (
        BASE + "free = 1.50",
        'cluster.toml, node[0].free: 1.50 has no unit; expected a size. Write "1.50 GiB" or "1.50 GB".',
    ),
    "a bare number in quotes": (
        '[[node]]\nname = "a"\nmemory = "64"',
        'cluster.toml, node[0].memory: "64" has no unit; expected a size. Write "64 GiB" or "64 GB".',
    ),
    "a bare rate": (
        BASE + "bandwidth = 80",
        'cluster.toml, node[0].bandwidth: 80 has no unit; expected a rate. Write "80 GB/s" or "80 Gbit/s".',
    ),
    "a bare latency": (
        BASE + "[links]\nlatency = 0.5",
        'cluster.toml, links.latency: 0.5 has no unit; expected a time. Write "0.5 ms" or "0.5 us".',
    ),
    "a unit nobody knows": (
        '[[node]]\nname = "a"\nmemory = "24 gigs"',
        'cluster.toml, node[0].memory: "24 gigs" is not a size; write it like "24 GiB" or "24 GB".',
    ),
    "a truth value for a size": (
        '[[node]]\nname = "a"\nmemory = true',
        (
            "cluster.toml, node[0].memory: true is not a size; expected text with a unit. "
            'Write it like "24 GiB" or "24 GB".'
        ),
    ),
    "a date for a size": (
        '[[node]]\nname = "a"\nmemory = 2024-02-03',
        (
            "cluster.toml, node[0].memory: 2024-02-03 is not a size; expected text with a unit. "
            'Write it like "24 GiB" or "24 GB".'
        ),
    ),
    "no memory at all": (
        '[[node]]\nname = "a"\nmemory = "0 GiB"',
        'cluster.toml, node[0].memory: "0 GiB" is nothing; expected a size above 0. Write it like "24 GiB" or "24 GB".',
    ),
    "a negative size": (
        '[[node]]\nname = "a"\nmemory = "-4 GiB"',
        'cluster.toml, node[0].memory: "-4 GiB" is not a size; write it like "24 GiB" or "24 GB".',
    ),
    "more memory than a machine has": (
        '[[node]]\nname = "a"\nmemory = "1025 TiB"',
        (
            'cluster.toml, node[0].memory: "1025 TiB" is above 1024 TiB; expected the memory of one machine. '
            "Check the unit."
        ),
    ),
    "no name": (
        '[[node]]\nmemory = "64 GiB"',
        'cluster.toml, node[0]: name is missing; expected it. Add name = "desk".',
    ),
    "no memory": (
        '[[node]]\nname = "a"',
        'cluster.toml, node[0]: memory is missing; expected it. Add memory = "64 GiB".',
    ),
    "a blank name": (
        '[[node]]\nname = "  "\nmemory = "64 GiB"',
        'cluster.toml, node[0].name: "  " is blank; expected text. Write some or remove the key.',
    ),
    "a number for a name": (
        '[[node]]\nname = 3\nmemory = "64 GiB"',
        "cluster.toml, node[0].name: 3 is not text; expected text in quotes. Put quotes around it.",
    ),
    "a name that flags could not name": (
        '[[node]]\nname = "a,b"\nmemory = "64 GiB"',
        (
            'cluster.toml, node[0].name: "a,b" cannot be a name; '
            'expected printable text without / , = or outer blanks. Write it like "desk".'
        ),
    ),
    "the same name twice": (
        BASE + BASE,
        'cluster.toml, node[1].name: "a" is also the name of node[0]; expected every node once. Rename one.',
    ),
    "the name of a member": (
        TWO_NODES + '[[node]]\nname = "desk-2"\nmemory = "8 GiB"',
        'cluster.toml, node[2].name: "desk-2" is also the name of node[0]; expected every node once. Rename one.',
    ),
    "no node": (
        "",
        'cluster.toml: it lists no node; expected at least one. Add [[node]] with name = "desk" and memory = "64 GiB".',
    ),
    "one table where a list belongs": (
        '[node]\nname = "a"',
        "cluster.toml, node: it is one table; expected a list of tables. Write [[node]] with two brackets.",
    ),
    "text where a list belongs": (
        BASE + 'gpu = "rtx"',
        'cluster.toml, node[0].gpu: "rtx" does not do; expected a list. Correct it.',
    ),
    "a number where a table belongs": (
        "node = [3]",
        "cluster.toml, node[0]: 3 does not do; expected a table. Correct it.",
    ),
    "a number for a truth value": (
        BASE + "unified = 1",
        "cluster.toml, node[0].unified: 1 does not do; expected true or false. Correct it.",
    ),
    "a count of nothing": (
        BASE + "count = 0",
        "cluster.toml, node[0].count: 0 does not do; expected a whole number from 1 to 1000. Correct it.",
    ),
    "a count that would fill this machine's memory": (
        BASE + "count = 1000000000",
        "cluster.toml, node[0].count: 1000000000 does not do; expected a whole number from 1 to 1000. Correct it.",
    ),
    "counts that together are too many": (
        '[[node]]\nname = "a"\nmemory = "8 GiB"\ncount = 600\n[[node]]\nname = "b"\nmemory = "8 GiB"\ncount = 600',
        "cluster.toml, node[1]: these are more than 1000 nodes; expected fewer. Lower the counts.",
    ),
    "a ceiling above the memory": (
        BASE + 'ceiling = "65 GiB"',
        "cluster.toml, node[0].ceiling: 65.00 GiB is above the memory of 64.00 GiB; expected a part of it. Lower it.",
    ),
    "more free than there is": (
        BASE + 'free = "65 GiB"',
        "cluster.toml, node[0].free: 65.00 GiB is above the memory of 64.00 GiB; expected a part of it. Lower it.",
    ),
    "a unified memory counted twice": (
        CARD + " }]\nunified = true",
        (
            "cluster.toml, node[0].gpu[0].memory: 24.00 GiB of its own would count the node's unified memory twice; "
            "expected none. Remove it, or remove unified = true."
        ),
    ),
    "a card without a memory": (
        BASE + 'gpu = [{ class = "x-24g" }]',
        (
            "cluster.toml, node[0].gpu[0].memory: it is missing or 0; expected the memory of one card. "
            'Add memory = "24 GiB".'
        ),
    ),
    "more free cards than cards": (
        CARD + ", count = 2, free_count = 3 }]",
        "cluster.toml, node[0].gpu[0].free_count: 3 of 2 cards are free; expected no more than all. Lower it.",
    ),
    "a port that cannot be": (
        BASE + "rpc_port = 70000",
        "cluster.toml, node[0].rpc_port: 70000 does not do; expected a whole number from 1 to 65535. Correct it.",
    ),
    "one address for two": (
        BASE + 'count = 2\naddress = "a.lan"',
        'cluster.toml, node[0].address: "a.lan" would be the address of 2 nodes; expected one each. List each.',
    ),
    "two heads": (
        BASE + 'head = true\n[[node]]\nname = "b"\nmemory = "8 GiB"\nhead = true',
        "cluster.toml, node[1].head: node[0] is the head already; expected one. Remove one.",
    ),
    "a head with many members": (
        BASE + "count = 2\nhead = true",
        "cluster.toml, node[0].head: 2 nodes would be the head; expected one. List it alone.",
    ),
    "a share of everything": (
        "[reserve]\nfraction = 1",
        "cluster.toml, reserve.fraction: 1 is no share; expected a decimal from 0 and below 1. Write 20 % as 0.20.",
    ),
    "a share in words": (
        '[reserve]\nfraction = "20 %"',
        (
            'cluster.toml, reserve.fraction: "20 %" is no share; expected a decimal from 0 and below 1. '
            "Write 20 % as 0.20."
        ),
    ),
    "a share that is no number": (
        "[reserve.gpu]\nfraction = nan",
        (
            "cluster.toml, reserve.gpu.fraction: NaN is no share; expected a decimal from 0 and below 1. "
            "Write 20 % as 0.20."
        ),
    ),
    "a share whose exact value has a billion digits": (
        BASE + "reserve = { fraction = 1e-999999999 }",
        (
            "cluster.toml, node[0].reserve.fraction: 1E-999999999 is no share; expected a decimal from 0 and below 1. "
            "Write 20 % as 0.20."
        ),
    ),
    "a link to nowhere": (
        TWO_NODES + '[links]\npair = [{ from = "desk", to = "stryx" }]',
        'cluster.toml, links.pair[0].to: no node is called "stryx"; expected one of desk, strix. Correct the name.',
    ),
    "a link from nowhere": (
        TWO_NODES + '[links]\npair = [{ from = "desk-3", to = "strix" }]',
        'cluster.toml, links.pair[0].from: no node is called "desk-3"; expected one of desk, strix. Correct the name.',
    ),
    "a link to itself": (
        TWO_NODES + '[links]\npair = [{ from = "strix", to = "strix" }]',
        'cluster.toml, links.pair[0].to: "strix" is where it starts; expected another node. Correct it.',
    ),
    "a link given twice": (
        TWO_NODES + '[links]\npair = [{ from = "desk", to = "strix", both = true }, { from = "strix", to = "desk-2" }]',
        (
            'cluster.toml, links.pair[1]: links.pair[0] says already how "strix" reaches "desk-2"; '
            "expected every direction once. Remove one."
        ),
    ),
    "a forbidden link with a rate": (
        TWO_NODES + '[links]\npair = [{ from = "desk", to = "strix", latency = "forbidden", rate = "1 Gbit/s" }]',
        "cluster.toml, links.pair[0].rate: a forbidden link carries nothing; expected no rate. Remove it.",
    ),
    "every link forbidden": (
        TWO_NODES + '[links]\nlatency = "forbidden"',
        (
            'cluster.toml, links.latency: "forbidden" bars one link; expected a time. '
            "Bar links one by one under links.pair."
        ),
    ),
    "a pair without an end": (
        TWO_NODES + '[links]\npair = [{ from = "desk" }]',
        'cluster.toml, links.pair[0]: to is missing; expected it. Add to = "strix".',
    ),
    "a rate of nothing": (
        TWO_NODES + '[links]\nrate = "0 Gbit/s"',
        (
            'cluster.toml, links.rate: "0 Gbit/s" is a rate below 1 byte a second; expected a positive rate. '
            "Leave it out if unknown."
        ),
    ),
    "links without number": (
        '[[node]]\nname = "a"\nmemory = "8 GiB"\ncount = 400\n[links]\npair = [{ from = "a", to = "a" }]',
        (
            "cluster.toml, links.pair[0]: these are more than 100000 links; expected fewer. "
            "Use latency and rate of [links]."
        ),
    ),
    "text that is not TOML": (
        "[[node]]\nname desk",
        "cluster.toml, line 2, column 6: expected '=' after a key in a key/value pair; expected TOML. Correct it.",
    ),
    "text that ends too early": (
        '[[node]]\nname = "desk',
        "cluster.toml, end of document: unterminated string; expected TOML. Correct it.",
    ),
    "a number of thousands of digits": (
        f"[reserve]\nfraction = {'9' * 5000}",
        "cluster.toml: a number or a nesting is out of bounds; expected a cluster file in TOML. Correct it.",
    ),
    "an exponent that no decimal can have": (
        "[reserve]\nfraction = 1e9999999999999999999",
        "cluster.toml: a number or a nesting is out of bounds; expected a cluster file in TOML. Correct it.",
    ),
}


@pytest.mark.parametrize(("text", "message"), REFUSALS.values(), ids=REFUSALS.keys())
def test_what_cannot_be_meant_is_refused_with_its_place(text: str, message: str) -> None:
    """The message names the field, what is there, what was expected and what to do."""
    with pytest.raises(InputError) as caught:
        parse_cluster(text, "cluster.toml")

    assert message == str(caught.value)


def is_read_or_refused(text: str, where: str) -> bool:
    """Return whether the text is a cluster with nodes, or is refused at a place inside `where`."""
    try:
        return bool(parse_cluster(text, "cluster.toml").nodes)
    except InputError as error:
        return error.where.startswith(where)


@given(text=st.text(max_size=200))
def test_any_text_is_a_cluster_or_refused(text: str) -> None:
    """No other exception comes out of text that nobody meant as a cluster."""
    assert is_read_or_refused(text, "cluster.toml")


VALUES = st.sampled_from(
    [
        *("1", "-1", "0", "0.5", "1e400", "inf", "nan", "true", "1979-05-27"),
        *('"a"', '"8 GiB"', '"1 GB/s"', '"1 ms"', "[]", "{}", "[{}]"),
    ]
)
KEYS = st.sampled_from([*CLUSTER_FILE.known_keys("node[0]"), *CLUSTER_FILE.known_keys("node[0].gpu[0]"), "x"])


@given(keys=st.dictionaries(KEYS, VALUES, max_size=6), gpu=st.dictionaries(KEYS, VALUES, max_size=3))
def test_any_value_under_any_key_is_read_or_refused(keys: dict[str, str], gpu: dict[str, str]) -> None:
    """Every kind of TOML value is tried under every key."""
    text = "[[node]]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items() if key != "gpu")
    text += "[[node.gpu]]\n" + "".join(f"{key} = {value}\n" for key, value in gpu.items())
    assert is_read_or_refused(text, "cluster.toml, node[0]")
