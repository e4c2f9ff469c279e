"""Names of tensors: which block they belong to and what they do there."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import gguf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensors.inventory import Part, Role
from tensors.metadata import MAXIMUM_BLOCKS
from tensors.naming import Stack, read_name

if TYPE_CHECKING:
    from pathlib import Path

# One line a role: what follows the number of a block.
BLOCK_NAMES = {
    Role.ATTENTION: """
        self_attn.q_proj.weight self_attn.sinks self_attn.q_norm.weight self_attn.kv_a_proj_with_mqa.weight
        self_attn.kv_a_layernorm.weight self_attn.k_proj.k_scale self_attn.q_proj.qweight self_attn.q_proj.g_idx
        self_attn.q_a_proj.weight_scale_inv self_attn.0.q_b_proj.weight attn.c_attn.weight attn.wq_a.weight
        attn.compressor.wkv.weight attn.attn_sink attention.wq.weight attention.self.query.weight
        attention.output.LayerNorm.weight self_attention.query_key_value.weight layer.0.SelfAttention.q.weight
        encoder_attn.k_proj.weight mixer.q_proj.weight temporal_block.q_proj.weight norm_attn_norm.attn.Wqkv.weight
        hc_attn_fn cross_attn.q_proj.weight
    """,
    Role.INDEXER: "self_attn.indexer.wq_b.weight attn.indexer.wq_b.weight self_attn.indexer.k_norm.bias",
    Role.RECURRENT: """
        linear_attn.A_log linear_attn.in_proj_qkv.weight mamba.conv1d.weight mamba.D mixer.A_log mixer.in_proj.weight
        mixer.norm.weight mixer.conv1d.bias conv.in_proj.weight temporal_block.linear_x.weight
        temporal_block.rg_lru.recurrent_param
    """,
    Role.FEED_FORWARD: """
        mlp.gate_proj.weight mlp.down_proj.weight.absmax mlp.down_proj.weight.quant_state.bitsandbytes__nf4
        mlp.c_fc.weight mlp.dense_h_to_4h.weight mlps.0.gate_proj.weight feed_forward.w1.weight ffn.up_proj.weight
        fc1.weight intermediate.dense.weight output.dense.weight mixer.up_proj.weight layer.1.DenseReluDense.wi_0.weight
        mixer.fc1_latent_proj.weight mlp_block.gate_proj.weight hc_ffn_base
    """,
    Role.ROUTER: """
        mlp.gate.weight mlp.gate.e_score_correction_bias mlp.router.weight mlp.gate.wg.weight
        mlp.router.classifier.weight
        mlp.moe_statics.e_score_correction_bias mlp.experts.e_score_correction_bias block_sparse_moe.gate.weight
        block_sparse_moe.router.layer.weight feed_forward.router.weight ffn.gate.tid2eid ffn.router.layer.weight
        mixer.gate.weight moe.gate.weight router.proj.weight router.scale
    """,
    Role.ROUTED_EXPERT: """
        mlp.experts.7.up_proj.weight mlp.experts.7.up_proj.weight_packed mlp.experts.gate_up_proj
        mlp.experts.gate_up_proj_blocks mlp.experts.gate_up_proj_scales mlp.switch_mlp.gate_proj.biases
        block_sparse_moe.experts.0.w1.weight block_sparse_moe.input_linear.weight feed_forward.experts.down_proj
        ffn.experts.0.w1.scale ffn.experts.mlp.w1 mixer.experts.7.up_proj.weight moe.up_proj.weight experts.down_proj
    """,
    Role.SHARED_EXPERT: """
        mlp.shared_experts.up_proj.weight mlp.shared_expert.down_proj.weight mlp.shared_expert_gate.weight
        mlp.shared_mlp.up_proj.weight shared_mlp.input_linear.weight share_expert.up_proj.weight
        feed_forward.shared_expert.up_proj.weight ffn.shared_experts.w1.weight mixer.shared_experts.up_proj.weight
    """,
    Role.NORM: """
        input_layernorm.weight post_attention_layernorm.weight pre_feedforward_layernorm_2.weight attn_norm.weight
        attention_norm.weight ffn_norm.weight ln_1.weight norm.weight self_attn_layer_norm.weight operator_norm.weight
        channel_pre_norm.weight input_layernorm.0.weight norm_attn_norm.norm_1.weight layer.0.layer_norm.weight
    """,
    Role.NEXTN: """
        eh_proj.weight enorm.weight hnorm.weight shared_head.head.weight shared_head.norm.weight embed_tokens.weight
    """,
    Role.OTHER: "layer_scalar per_layer_input_gate.weight laurel.linear_left.weight altup.modality_router.weight",
}
PREFIXES = (
    "model.layers.",
    "model.language_model.layers.",
    "language_model.model.layers.",
    "thinker.model.layers.",
    "backbone.layers.",
    "transformer.h.",
    "h.",
    "gpt_neox.layers.",
    "model.decoder.layers.",
    "decoder.block.",
    "transformer.blocks.",
    "rwkv.blocks.",
    "layers.",
)


@pytest.mark.parametrize("role", BLOCK_NAMES, ids=str)
def test_modules_of_a_block_have_the_role_of_their_words_under_every_prefix(role: Role) -> None:
    expected = [
        (Stack.TRUNK, 31, role, True, f"{prefix}31.{suffix}")
        for prefix in PREFIXES
        for suffix in BLOCK_NAMES[role].split()
    ]
    names = [name for *_, name in expected]

    assert expected == [(r.stack, r.number, r.role, r.known, name) for name in names for r in (read_name(name),)]


@pytest.mark.parametrize(
    ("part", "role", "names"),
    [
        (
            Part.INPUT,
            Role.EMBEDDING,
            """
                model.embed_tokens.weight transformer.wte.weight transformer.wpe.weight embed.weight
                backbone.embeddings.weight tok_embeddings.weight gpt_neox.embed_in.weight
                transformer.word_embeddings_layernorm.weight shared.weight model.decoder.embed_positions.weight
                bert.embeddings.LayerNorm.weight model.embed_tokens_per_layer.weight
                language_model.model.embed_tokens.weight token_embd.weight token_embd_norm.bias position_embd.weight
            """,
        ),
        (
            Part.HEAD,
            Role.OUTPUT,
            """
                lm_head.weight lm_head.qweight lm_head.weight_scale language_model.lm_head.weight embed_out.weight
                head.weight transformer.output_layer.weight score.weight output.weight cls.output.weight
            """,
        ),
        (
            Part.HEAD,
            Role.NORM,
            """
                model.norm.weight norm.weight transformer.ln_f.weight backbone.norm_f.weight
                model.final_layernorm.weight gpt_neox.final_layer_norm.weight rwkv.ln_out.weight output_norm.weight
                output_norm.bias hc_head_fn
            """,
        ),
        (
            Part.OTHER,
            Role.VISION,
            """
                model.visual.blocks.3.attn.qkv.weight visual.patch_embed.proj.weight
                multi_modal_projector.linear_1.weight
                vision_tower.vision_model.encoder.layers.3.self_attn.q_proj.weight model.visual.merger.mlp.0.weight
                vision_model.global_transformer.layers.0.gate_attn v.blk.3.attn_q.weight v.patch_embd.weight
                mm.0.weight
            """,
        ),
        (
            Part.OTHER,
            Role.AUDIO,
            """
                model.audio_tower.conformer.3.attention.attn.q_proj.weight thinker.audio_tower.layers.3.fc1.weight
                talker.model.layers.3.self_attn.q_proj.weight a.blk.0.attn_q.weight mm.a.fc.weight
            """,
        ),
        (Part.OTHER, Role.OTHER, "rope_freqs.weight transformer.rotary_pos_emb.inv_freq"),
    ],
)
def test_tensors_of_no_block_belong_to_the_input_the_head_or_to_neither(part: Part, role: Role, names: str) -> None:
    expected = [(Stack.NONE, part, role, True, name) for name in names.split()]

    assert expected == [(r.stack, r.part, r.role, r.known, name) for name in names.split() for r in (read_name(name),)]


@pytest.mark.parametrize(
    ("name", "number", "role"),
    [
        ("mtp.layers.1.self_attn.q_proj.weight", 1, Role.ATTENTION),
        ("model.mtp.layers.0.mlp.experts.3.up_proj.weight", 0, Role.ROUTED_EXPERT),
        ("model.mtp_layers.2.input_layernorm.weight", 2, Role.NORM),
        ("model.mtp_block.0.self_attn.q_proj.weight", 0, Role.ATTENTION),
        ("mtp.1.ffn.experts.3.w1.weight", 1, Role.ROUTED_EXPERT),
        ("mtp.0.e_proj.weight", 0, Role.NEXTN),
        ("mtp.fc.weight", 0, Role.NEXTN),
        ("mtp.norm.weight", 0, Role.NEXTN),
        ("model.mtp_emb_norm.1.weight", 1, Role.NEXTN),
    ],
)
def test_multi_token_prediction_has_blocks_of_its_own_in_many_layouts(name: str, number: int, role: Role) -> None:
    read = read_name(name)

    assert (Stack.NEXTN, number, role, True) == (read.stack, read.number, read.role, read.known)


def test_encoders_are_a_stack_of_their_own() -> None:
    names = ["bert.encoder.layer.3.intermediate.dense.weight", "encoder.block.3.layer.0.SelfAttention.q.weight"]

    assert {Stack.ENCODER} == {read_name(name).stack for name in [*names, "enc.blk.3.attn_q.weight"]}


def test_every_name_that_gguf_gives_to_a_language_model_is_known() -> None:
    """All tensors of all architectures that the package knows, with a role of the part they are in."""
    unknown = {
        name
        for kinds in gguf.MODEL_TENSORS.values()
        for kind in kinds
        for name in [gguf.TENSOR_NAMES[kind].format(bid=3, xid=1) + ".weight"]
        if not read_name(name).known
    }

    assert set() == unknown


def test_every_name_of_published_models_is_known(data_folder: Path) -> None:
    names: set[str] = set()
    for path in (data_folder / "inventories" / "meta").glob("*.json.gz"):
        names.update(name for name, *_ in json.loads(gzip.decompress(path.read_bytes()))["tensors"])
    for path in (data_folder / "inventories" / "thireus").glob("*.json.gz"):
        names.update(json.loads(gzip.decompress(path.read_bytes()))["names"])
    for path in (data_folder / "index").glob("*/*.index.json"):
        names.update(json.loads(path.read_text())["weight_map"])

    assert len(names) > 100_000
    assert set() == {name for name in names if not read_name(name).known}


@given(st.text() | st.from_regex(r"(blk|model\.layers|mtp)\.[0-9]{1,12}\.[a-z_.]{0,9}", fullmatch=True))
def test_every_name_gets_an_answer(name: str) -> None:
    """No name is dropped, and no number is taken for a block that no model has."""
    read = read_name(name)

    assert 0 <= read.number < MAXIMUM_BLOCKS
    assert read.known or read.role is Role.OTHER


def test_a_number_beyond_all_models_is_no_block() -> None:
    assert (Stack.NONE, Part.OTHER, False) == tuple(
        getattr(read_name("blk.4096.attn_q.weight"), field) for field in ("stack", "part", "known")
    )
    assert 4095 == read_name("blk.4095.attn_q.weight").number
