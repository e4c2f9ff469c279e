"""Lines of the text of a plan: harmless, and no wider than they may be."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from support.plan_texts import text_of
from support.plans import model_plan, six_blocks
from support.problems import NO_RULES, problem_of, random_problem, with_times

from solver.planning import plan
from solver.problem import Ends
from solver.report.plan_text import plan_text
from solver.report.terminal import Paint, text_width

ENDS = ("input_bytes", "output_bytes", "tied_bytes", "host_bytes")


def test_names_cannot_reach_the_terminal_as_commands() -> None:
    model = text_of(replace(model_plan(six_blocks("six\x1b]0;owned\x07")), notes=("a note\r\x1b[1A",)))
    problem = problem_of((3, 3), (3, 3, 3), rules=replace(NO_RULES, last="\x1b[2J\u202edesk\n"))
    nodes = tuple(replace(node, name="\x1b[2J\u202edesk\n" + "+" * number) for number, node in enumerate(problem.nodes))
    abstract = text_of(plan(replace(problem, nodes=nodes)))

    assert "✓ six\\x1b]0;owned\\x07 fits on 2 of 4 nodes, proved optimal by closed form." in model.splitlines()
    assert "note: a note\\r\\x1b[1A" in model.splitlines()
    assert "2  \\x1b[2J\\u202edesk\\n   1         █" in abstract
    assert "unused  1 node with a budget of 3 B (\\x1b[2J\\u202edesk\\n++)" in abstract.splitlines()
    assert "rules     last \\x1b[2J\\u202edesk\\n" in abstract.splitlines()


@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(st.text(min_size=1, max_size=60), min_size=7, max_size=7, unique=True), seed=st.integers(0, 2**32)
)
def test_whatever_the_names_every_line_is_printable(names: list[str], seed: int) -> None:
    problem = random_problem(Random(seed), 6, 7)
    nodes = tuple(replace(node, name=name) for node, name in zip(problem.nodes, names, strict=False))
    text = text_of(plan(replace(problem, nodes=nodes)))

    assert all(line.isprintable() for line in text.split("\n"))


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    name=st.integers(1, 60),
    scale=st.sampled_from((1, 100, 10**4)),
    width=st.sampled_from((80, 100)),
)
def test_no_line_is_wider_than_it_may_be(seed: int, name: int, scale: int, width: int) -> None:
    """Whatever the names of up to sixty columns, and sizes up to those of petabytes."""
    random = Random(seed)
    drawn = random_problem(random, 8, 7)
    problem = replace(
        drawn,
        blocks=tuple(replace(block, weight_bytes=block.weight_bytes * scale) for block in drawn.blocks),
        ends=Ends(*(getattr(drawn.ends, part) * scale for part in ENDS)),
        nodes=tuple(
            replace(node, name=f"{number}{'x' * name}"[:name], budget_bytes=node.budget_bytes * scale)
            for number, node in enumerate(drawn.nodes)
        ),
    )
    found = plan(with_times(problem, random), random.choice(("nodes,balance", "throughput,latency,headroom")))
    text = plan_text(found, Paint(enabled=False, width=width), timings=True)

    assert max(text_width(line) for line in text.split("\n")) <= width
