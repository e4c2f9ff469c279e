"""What sizes the recurrent state of a block by the keys of a config.json: heads and F32 values of one sequence.

Engines may keep the convolution's part in a narrower type; counted here is what the models' own code keeps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensors.architecture.lookup import MissingKey

if TYPE_CHECKING:
    from tensors.architecture.config_header import TextConfig

__all__ = [
    "delta_state",
    "kda_state",
    "lightning_state",
    "mamba2_state",
    "mamba_state",
    "nemotron_state",
    "short_convolution_state",
]


def mamba_state(config: TextConfig) -> tuple[int, int]:
    """Size a Mamba block: modeling_jamba.py, modeling_mamba.py."""
    inner = config.whole("mamba_d_inner") or config.whole("d_inner")
    if inner is None and config.whole("mamba_expand") is None:
        # A falcon-mamba config's `expand` is not its inner width; `intermediate_size` is.
        inner = config.whole("intermediate_size")
    if inner is None:
        inner = config.need("mamba_expand", "expand") * config.hidden_size
    width = config.need("mamba_d_state", "state_size")
    return 1, _mamba_values(config.need("mamba_d_conv", "conv_kernel"), inner, 0, width)


def mamba2_state(config: TextConfig) -> tuple[int, int]:
    """Size a Mamba-2 block: modeling_{bamba,granitemoehybrid,falcon_h1,mamba2}.py.

    Raises:
        MissingKey: a width that it follows from is absent.
    """
    inner = config.whole("mamba_d_ssm") or config.need("mamba_expand", "expand") * config.hidden_size
    groups = config.whole("mamba_n_groups", "n_groups")
    heads = config.need("mamba_n_heads", "num_heads")
    if groups is None:
        raise MissingKey("mamba_n_groups")
    width = config.need("mamba_d_state", "state_size")
    return heads, _mamba_values(config.need("mamba_d_conv", "conv_kernel"), inner, groups, width)


def nemotron_state(config: TextConfig) -> tuple[int, int]:
    """Size a Mamba-2 block of Nemotron-H: configuration_nemotron_h.py."""
    heads = config.need("mamba_num_heads")
    inner = heads * config.need("mamba_head_dim")
    return heads, _mamba_values(
        config.need("conv_kernel"), inner, config.need("n_groups"), config.need("ssm_state_size")
    )


def delta_state(config: TextConfig) -> tuple[int, int]:
    """Size a gated delta net: modeling_qwen3_next.py."""
    heads, value_width = config.need("linear_num_value_heads"), config.need("linear_value_head_dim")
    key_heads, key_width = config.need("linear_num_key_heads"), config.need("linear_key_head_dim")
    convolved = 2 * key_heads * key_width + heads * value_width
    return heads, (config.need("linear_conv_kernel_dim") - 1) * convolved + heads * key_width * value_width


def kda_state(config: TextConfig) -> tuple[int, int]:
    """Size a Kimi delta attention: modeling_kimi.py.

    Raises:
        MissingKey: a width that it follows from is absent.
    """
    linear = config.nested("linear_attn_config")
    if linear is None:
        raise MissingKey("linear_attn_config")
    heads, width = linear.need("num_heads"), linear.need("head_dim")
    return heads, 3 * (linear.need("short_conv_kernel_size") - 1) * heads * width + heads * width * width


def lightning_state(config: TextConfig) -> tuple[int, int]:
    """Size a lightning attention: modeling_minimax.py."""
    width = config.head_width(None)
    return config.heads, config.heads * width * width


def short_convolution_state(config: TextConfig) -> tuple[int, int]:
    """Size a gated short convolution: modeling_lfm2.py."""
    return 1, config.hidden_size * (config.need("conv_L_cache") - 1)


def _mamba_values(kernel: int, inner: int, groups: int, width: int) -> int:
    return (kernel - 1) * (inner + 2 * groups * width) + width * inner
