"""What `options` is asked: artifacts with what is known of them, nodes as they are, and the cluster they make up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from solver.cli.inputs import cluster_of
from solver.cli.options_flags import InputFormat
from solver.cli.shared_flags import DEFAULT_CONTEXT_TOKENS, ClusterOptions
from solver.errors import UsageError
from solver.example import sample_cluster_text
from solver.options.exo import read_cards
from solver.options.gpustack import read_workers
from solver.options.machines import cluster_of_pool, pool_of_cluster
from solver.options.models import Offered, named, offered
from solver.options.policy import DEFAULT_POLICY
from solver.options.pool_file import PoolFile, read_pool
from tensors.errors import ArchitectureError
from tensors.reader import Unread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.cli.options_flags import OptionsOutput, PoolOptions, RequestOptions
    from solver.cli.reading import ReadOptions
    from solver.cluster import Cluster
    from solver.options.policy import Policy
    from solver.options.pool import PoolNode
    from tensors.inventory import Inventory

__all__ = ["OptionsQuestion", "options_question"]


_CARDS_NOTE = "Model cards are of MLX checkpoints: vLLM loads those in bf16 or fp16, and may load no others."


@dataclass(frozen=True, slots=True)
class OptionsQuestion:
    """Everything that options are made from; remarks are for standard error."""

    offers: tuple[Offered, ...]
    nodes: tuple[PoolNode, ...]
    cluster: Cluster
    policy: Policy
    context_tokens: int
    notes: tuple[str, ...]
    remarks: tuple[str, ...]


def options_question(
    models: Sequence[str],
    reading: ReadOptions,
    cluster: ClusterOptions,
    pool: PoolOptions,
    request: RequestOptions,
    output: OptionsOutput,
) -> OptionsQuestion:
    """Return the question that arguments and flags ask.

    Raises:
        UsageError: flags contradict each other, or nothing says which nodes there are.
        InputError, TensorsError: a file or value cannot be meant.
    """
    if pool.pool is None:
        machines = _machines(models, cluster)
        nodes, policy, file = pool_of_cluster(machines), DEFAULT_POLICY, None
    else:
        if cluster != ClusterOptions():
            raise UsageError(
                "layerfit options: --pool stands beside flags of a cluster; expected one of them. Leave one out."
            )
        if output.reads(InputFormat.GPUSTACK):
            machines = read_workers(pool.pool, DEFAULT_POLICY)
            nodes, policy, file = pool_of_cluster(machines), DEFAULT_POLICY, None
        else:
            file = read_pool(pool.pool)
            nodes, policy = file.nodes, file.policy
            machines = cluster_of_pool(nodes, policy)
    if output.reads(InputFormat.EXO):
        return _of_cards(models, nodes, machines, policy, request)
    found, remarks = _inventories(models, reading, file)
    context = _context(request, file, found)
    offers, notes = _offers(found, file, context, request)
    return OptionsQuestion(offers, nodes, machines, policy, context, notes, remarks)


def _of_cards(
    models: Sequence[str], nodes: tuple[PoolNode, ...], machines: Cluster, policy: Policy, request: RequestOptions
) -> OptionsQuestion:
    """Return the question about model cards, which say neither blocks nor how wide a head is."""
    context = DEFAULT_CONTEXT_TOKENS if request.context is None else request.context
    per_token = request.cache_bytes_per_token
    if not models:
        raise UsageError(
            "layerfit options, --format exo: no MODEL is named; expected model cards. Name a card or a folder."
        )
    if per_token is None and context:
        raise UsageError(
            "layerfit options, --format exo: model cards do not say how wide a head is; expected "
            "--cache-bytes-per-token, or --context 0 for no cache. Give one."
        )
    cards = [card for model in models for card in read_cards(Path(model), per_token or 0)]
    return OptionsQuestion(
        tuple(Offered(card, None, None) for card in cards), nodes, machines, policy, context, (_CARDS_NOTE,), ()
    )


def _machines(models: Sequence[str], cluster: ClusterOptions) -> Cluster:
    if cluster.cluster is None and models:
        raise UsageError(
            "layerfit options: nothing says which nodes there are; expected --cluster FILE or --pool FILE. "
            "Write a file like this and name it.",
            example=sample_cluster_text(),
        )
    return cluster_of(cluster, "options", has_model=bool(models))


def _inventories(
    models: Sequence[str], reading: ReadOptions, file: PoolFile | None
) -> tuple[tuple[Inventory | Unread, ...], tuple[str, ...]]:
    if models:
        found = tuple(inventory for model in models for inventory in reading.read_every(model))
        remark = "The artifacts of the pool are passed over: models are named."
        return found, (remark,) if file is not None and file.artifacts is not None else ()
    if file is not None:
        if file.artifacts is None:
            raise UsageError(
                "layerfit options: the pool lists no artifacts, and no model is named; expected one of them. "
                "Name a model."
            )
        return (), ()
    from tensors.synthetic import example_inventory  # noqa: PLC0415 - made only when nothing is named

    remark = "No model is named: this is the built-in example, made from architecture arithmetic."
    return (example_inventory(),), (remark,)


def _unread_note(unread: Unread, taken: Offered | None) -> str:
    problem = unread.problem.rstrip(".")
    outcome = (
        "It is left out: no other file is of the same model by name, or it is too small to hold that model."
        if taken is None
        else "Its quantisation is that of its name, its shape that of the same model beside it."
    )
    return f"{unread.name}: its headers cannot be read ({problem}). {outcome}"


def _context(request: RequestOptions, file: PoolFile | None, found: Sequence[Inventory | Unread]) -> int:
    if request.context is not None:
        return request.context
    if file is not None and file.context_tokens is not None:
        return file.context_tokens
    trained = [one.architecture.context_tokens for one in found if not isinstance(one, Unread)]
    return min([DEFAULT_CONTEXT_TOKENS, *(tokens for tokens in trained if tokens is not None)])


def _offers(
    found: Sequence[Inventory | Unread], file: PoolFile | None, context: int, request: RequestOptions
) -> tuple[tuple[Offered, ...], tuple[str, ...]]:
    """Return what is offered in the order of its names, and a note on each that could not be read."""
    if not found:
        artifacts = () if file is None else file.artifacts or ()
        return tuple(Offered(artifact, None, None) for artifact in artifacts), ()
    read = {number: _offer(one, context, request) for number, one in enumerate(found) if not isinstance(one, Unread)}
    offers: list[Offered] = []
    notes: list[str] = []
    for number, one in enumerate(found):
        taken = named(one, (other.artifact for other in read.values())) if isinstance(one, Unread) else read[number]
        if taken is not None:
            offers.append(taken)
        if isinstance(one, Unread):
            notes.append(_unread_note(one, taken))
    return tuple(offers), tuple(notes)


def _offer(inventory: Inventory, context: int, request: RequestOptions) -> Offered:
    try:
        return offered(inventory, context, request.kv, request.cache_bytes_per_token)
    except ArchitectureError as error:
        advice = "Give --cache-bytes-per-token to go on without that rule."
        raise ArchitectureError(error.model, f"{error.problem} {advice}") from None
