"""What `options` is asked: artifacts with what is known of them, nodes as they are, and the cluster they make up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from solver.cli.inputs import cluster_of
from solver.cli.options_flags import InputFormat
from solver.cli.shared_flags import DEFAULT_CONTEXT_TOKENS, ClusterOptions
from solver.errors import InputError, UsageError
from solver.example import sample_cluster_text
from solver.options.exo import read_cards
from solver.options.gpustack import read_workers
from solver.options.machines import cluster_of_pool, pool_of_cluster
from solver.options.models import Offered, is_companion, offered, told_apart
from solver.options.policy import DEFAULT_POLICY
from solver.options.pool_file import PoolFile, read_pool
from solver.wording import quoted
from tensors.errors import ArchitectureError, TensorsError
from tensors.reader import Unread, unread

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
_MOST_NAMED = 32
_MOST_LISTED = 4


@dataclass(frozen=True, slots=True)
class OptionsQuestion:
    """Everything that options are made from; `unreadable` is what is said of models that are none of `offers`.

    Remarks are for standard error.
    """

    offers: tuple[Offered, ...]
    nodes: tuple[PoolNode, ...]
    cluster: Cluster
    policy: Policy
    context_tokens: int
    notes: tuple[str, ...]
    unreadable: tuple[str, ...]
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
    offers, lost, notes = _offers(found, file, context, request)
    return OptionsQuestion(
        offers,
        nodes,
        machines,
        policy,
        context,
        (*_sizeless(nodes), *notes),
        tuple(_unreadable(one) for one in lost),
        remarks,
    )


def _sizeless(nodes: Sequence[PoolNode]) -> tuple[str, ...]:
    """Return a note on nodes whose cards nobody knows the size of."""
    named = [quoted(node.name) for node in nodes if node.gpu_class and node.gpus and not node.gpu_memory_bytes]
    if not named:
        return ()
    shown = ", ".join(named[:_MOST_LISTED]) + (f" and {len(named) - _MOST_LISTED:,} more" * (len(named) > _MOST_LISTED))
    return (f"Passed over are the cards of {shown}: neither gpu_mem_gb nor the end of the class says their size.",)


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
        told_apart([Offered(card, None, None) for card in cards]),
        nodes,
        machines,
        policy,
        context,
        (_CARDS_NOTE,),
        (),
        (),
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
        alone = len(models) == 1
        found = tuple(inventory for model in models for inventory in _read(model, reading, alone=alone))
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


def _read(model: str, reading: ReadOptions, *, alone: bool) -> tuple[Inventory | Unread, ...]:
    """Return the models at a location; where others are named beside it, one that cannot be read does not end them."""
    try:
        return reading.read_every(model)
    except TensorsError as error:
        if alone:
            raise
        return (unread(model, error),)


def _context(request: RequestOptions, file: PoolFile | None, found: Sequence[Inventory | Unread]) -> int:
    if request.context is not None:
        return request.context
    if file is not None and file.context_tokens is not None:
        return file.context_tokens
    trained = [one.architecture.context_tokens for one in found if not isinstance(one, Unread)]
    return min([DEFAULT_CONTEXT_TOKENS, *(tokens for tokens in trained if tokens is not None)])


def _offers(
    found: Sequence[Inventory | Unread], file: PoolFile | None, context: int, request: RequestOptions
) -> tuple[tuple[Offered, ...], tuple[Unread, ...], tuple[str, ...]]:
    """Return what is offered in the order it was found, what cannot be read, and a note on each that is no model.

    What cannot be read takes nothing from its neighbours: sizes and names alone do not say which model a file is of.
    """
    if not found:
        artifacts = () if file is None else file.artifacts or ()
        return tuple(Offered(artifact, None, None) for artifact in artifacts), (), ()
    offers: list[Offered] = []
    lost: list[Unread] = []
    notes: list[str] = []
    for one in found:
        if isinstance(one, Unread):
            lost.append(one)
        elif is_companion(one) and len(found) > 1:
            notes.append(f"{one.files[0].name}: it accompanies a model and is none by itself. It is left out.")
        else:
            try:
                offers.append(_offer(one, context, request))
            except ArchitectureError as error:
                if len(found) == 1:
                    raise
                lost.append(unread(one.name, error))
    if lost and not offers:
        raise InputError("layerfit options", _none_read(lost))
    return told_apart(offers), tuple(lost), tuple(notes)


def _none_read(lost: Sequence[Unread]) -> str:
    each = " ".join(_unreadable(one) for one in lost[:_MOST_NAMED])
    more = f" And {len(lost) - _MOST_NAMED:,} more." if len(lost) > _MOST_NAMED else ""
    return f"no model can be read; expected one. {each}{more}"


def _offer(inventory: Inventory, context: int, request: RequestOptions) -> Offered:
    try:
        return offered(inventory, context, request.kv, request.cache_bytes_per_token)
    except ArchitectureError as error:
        advice = "Give --cache-bytes-per-token to go on without that rule."
        raise ArchitectureError(error.model, f"{error.problem} {advice}") from None


def _unreadable(one: Unread) -> str:
    """Return what is said of a model that cannot be read."""
    return f"{one.name}: unreadable: {one.problem}"
