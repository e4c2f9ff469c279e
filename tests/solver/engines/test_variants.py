"""A model's problem again with one setting changed, which suggestions try out."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from support.plans import FOUR_MACHINES, REQUEST, six_blocks
from support.problems import NO_RULES

from solver.cluster_file import parse_cluster
from solver.effort import Effort
from solver.engines.generic import generic
from solver.engines.variants import ModelVariants
from solver.objectives import OBJECTIVES
from solver.planning import plan
from solver.solution import Outcome
from solver.solve import solve
from solver.workload import USUAL_CHOICES
from tensors.architecture import MissingFact
from tensors.units import GIB

if TYPE_CHECKING:
    from solver.problem import Problem
    from solver.workload import Workload

EFFORT = Effort(time_limit_seconds=60, deterministic_limit=None, workers=1, seed=0)
RULES = replace(NO_RULES, first="studio")
CLUSTER = parse_cluster(FOUR_MACHINES, "machines.toml")
# Six blocks of 5 GiB and two ends of 1 GiB, with 65,536 latent values a token and block.
TIGHT = """
[reserve]
fraction = 0.25
floor = "1 GiB"

[[node]]
name = "desk"
count = 2
memory = "24 GiB"
"""


def variants_of(workload: Workload = REQUEST, cluster_text: str = FOUR_MACHINES) -> ModelVariants:
    cluster = parse_cluster(cluster_text, "machines.toml")
    return ModelVariants(six_blocks(), cluster, workload, NO_RULES, USUAL_CHOICES, generic)


def built(workload: Workload, cluster_text: str = FOUR_MACHINES) -> Problem:
    return generic(six_blocks(), parse_cluster(cluster_text, "machines.toml"), workload, NO_RULES).problem


def fits(problem: Problem) -> bool:
    return solve(problem, (OBJECTIVES["nodes"],), EFFORT).placement is not None


def test_another_context_is_the_problem_of_that_request() -> None:
    assert built(replace(REQUEST, context_tokens=512)) == variants_of().with_context(512)


def test_rules_and_links_stay_as_they_were() -> None:
    variants = ModelVariants(six_blocks(), CLUSTER, REQUEST, RULES, USUAL_CHOICES, generic)
    smaller = variants.with_cache_type("q4_0")

    assert smaller is not None
    assert {RULES} == {variants.with_context(1).rules, variants.with_reserve(Fraction(0)).rules, smaller.rules}
    assert variants.with_context(1).links == variants.with_reserve(Fraction(0)).links == smaller.links


def test_another_type_of_the_cache_is_that_of_keys_and_values() -> None:
    expected = built(replace(REQUEST, cache_type_k="q4_0", cache_type_v="q4_0"))

    assert expected == variants_of().with_cache_type("q4_0")


@pytest.mark.parametrize(
    ("types", "smaller"),
    [
        (("q8_0", "q8_0"), ["q5_1", "q4_0"]),
        (("f32", "q4_0"), ["f16", "q8_0", "q5_1", "q4_0"]),
        (("q4_0", "bf16"), ["q8_0", "q5_1", "q4_0"]),
        (("q4_0", "iq4_nl"), []),
    ],
)
def test_a_type_that_saves_nothing_is_no_variant(types: tuple[str, str], smaller: list[str]) -> None:
    """What keys or values take now is what it is compared with, the larger of the two."""
    variants = variants_of(replace(REQUEST, cache_type_k=types[0], cache_type_v=types[1]))
    tried = ("f32", "f16", "q8_0", "q5_1", "q4_0")

    assert smaller == [name for name in tried if variants.with_cache_type(name) is not None]


def test_a_cache_that_was_given_in_bytes_has_no_type() -> None:
    assert None is variants_of(replace(REQUEST, cache_bytes_per_token=7)).with_cache_type("q4_0")


def test_a_cache_that_no_key_describes_has_no_type() -> None:
    model = six_blocks()
    unknown = replace(model, architecture=replace(model.architecture, cache=MissingFact("no key says how.")))
    workload = replace(REQUEST, cache_bytes_per_token=None)

    assert None is ModelVariants(unknown, CLUSTER, workload, NO_RULES, USUAL_CHOICES, generic).with_cache_type("q4_0")


def test_the_largest_share_in_reserve_counts_floors() -> None:
    """A quarter of desk, of studio, and all 8 GiB of pocket."""
    without_pocket = FOUR_MACHINES.replace('name = "pocket"\nmemory = "8 GiB"', 'name = "pocket"\nmemory = "64 GiB"')

    assert Fraction(1) == variants_of().reserve_fraction
    assert Fraction(1, 4) == variants_of(cluster_text=without_pocket).reserve_fraction


@pytest.mark.parametrize(
    ("fraction", "budgets"),
    [
        # A fifth of desk and a quarter of studio; 8 GiB are a quarter of desk, and all of pocket.
        (Fraction(1), (24 * GIB, 24 * GIB, 20 * GIB, 0)),
        (Fraction(1, 4), (24 * GIB, 24 * GIB, 20 * GIB, 6 * GIB)),
        (Fraction(1, 8), (28 * GIB, 28 * GIB, 20 * GIB, 7 * GIB)),
        (Fraction(0), (32 * GIB, 32 * GIB, 20 * GIB, 8 * GIB)),
    ],
)
def test_a_smaller_reserve_limits_shares_and_floors_and_lifts_no_ceiling(
    fraction: Fraction, budgets: tuple[int, ...]
) -> None:
    assert budgets == tuple(node.budget_bytes for node in variants_of().with_reserve(fraction).nodes)


def test_a_reserve_that_was_smaller_stays_as_it_was() -> None:
    text = TIGHT + 'reserve = { fraction = 0.10, floor = "1 GiB" }\n'
    problem = variants_of(cluster_text=text).with_reserve(Fraction(1, 5))

    assert built(REQUEST, text).nodes == problem.nodes


def test_a_model_that_does_not_fit_is_told_every_change_that_would_fit() -> None:
    """Weights leave 2 of 18 GiB a node, and caches of three blocks take 3.1875; every figure follows by hand."""
    found = plan(built(REQUEST, TIGHT), "nodes", EFFORT, variants=variants_of(cluster_text=TIGHT))

    assert Outcome.INFEASIBLE is found.outcome
    assert (
        "With a context of 10240 tokens a sequence in place of 16384 it fits.",
        "With a cache of type q4_0 it fits.",
        "With a reserve of 20.0 % of each memory it fits.",
        "With 7.25 GiB (7,784,628,224 bytes) more memory for desk-1 it fits.",
        "With one more node like desk-1, with a budget of 18.00 GiB (19,327,352,832 bytes), it fits.",
    ) == found.reasons[1:]


def test_the_next_step_of_each_change_would_not_fit() -> None:
    variants = variants_of(cluster_text=TIGHT)
    types = [variants.with_cache_type(name) for name in ("q4_0", "q5_1")]

    assert [True, False] == [fits(variants.with_context(tokens)) for tokens in (10240, 10496)]
    assert [True, False] == [fits(problem) for problem in types if problem is not None]
    assert [True, False] == [fits(variants.with_reserve(Fraction(share, 1000))) for share in (200, 201)]


CARDS = """
[reserve]
fraction = 0
floor = "0 GiB"
gpu = { fraction = 0 }
[[node]]
name = "desk"
memory = "13 GiB"
gpu = [{ class = "a", memory = "14 GiB" }]
[[node]]
name = "box"
memory = "8 GiB"
gpu = [{ class = "b", memory = "8 GiB" }]
[[node]]
name = "host"
memory = "1 GiB"
"""


def test_processors_beside_cards_are_idle_until_they_are_said_to_take_blocks() -> None:
    variants = variants_of(cluster_text=CARDS)
    problem = variants.with_processors(("box",))

    assert ("desk", "box") == variants.idle_processors
    assert ("desk",) == replace(variants, rules=replace(NO_RULES, exclude=("box",))).idle_processors
    assert problem == variants_of(
        cluster_text=CARDS.replace('memory = "8 GiB"\n', 'memory = "8 GiB"\ncpu = true\n')
    ).with_context(REQUEST.context_tokens)


def test_a_rule_that_names_the_only_device_of_a_machine_bars_its_processor() -> None:
    variants = replace(variants_of(cluster_text=CARDS), rules=replace(NO_RULES, first="box"))

    assert variants.with_processors(("box",)) is None
    assert variants.with_processors(("desk",)) is not None


def test_a_plan_that_fits_with_a_processor_says_so() -> None:
    """Of six blocks of 6.1 GiB, two go on desk's card, two into its memory, and one into each of box's."""
    variants = variants_of(cluster_text=CARDS)
    found = plan(variants.with_context(REQUEST.context_tokens), "nodes", EFFORT, variants=variants)

    assert Outcome.INFEASIBLE is found.outcome
    assert "With cpu = true for desk, box it fits: their processors then take blocks too." in found.reasons
