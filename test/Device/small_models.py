"""Small models of every type that transformers has: a few layers, head dim 64, weights that make
attention matter."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import torch
import transformers
from transformers import PreTrainedConfig
from transformers.models.auto import configuration_auto, modeling_auto

HEAD_DIM, HEADS, WIDTH, VOCABULARY, WINDOW, LAYERS, IMAGE = 64, 2, 128, 96, 8, 2, 32
# Kinds of models: the auto mapping, and what they are given.
KINDS = {
    "causal": "MODEL_FOR_CAUSAL_LM",
    "masked": "MODEL_FOR_MASKED_LM",
    "seq2seq": "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM",
    "image": "MODEL_FOR_IMAGE_CLASSIFICATION",
    "image and text": "MODEL_FOR_IMAGE_TEXT_TO_TEXT",
}
# What configurations call their sizes. Only those that a configuration has are set.
SIZES: dict[str, Any] = {
    **dict.fromkeys(
        (
            "hidden_size",
            "n_embd",
            "d_model",
            "dim",
            "embed_dim",
            "hidden_dim",
            "word_embed_proj_dim",
            "embedding_size",
            "d_embed",
            "adapter_hidden_size",
            "encoder_hidden_size",
            "decoder_hidden_size",
            "model_dim",
            "out_hidden_size",
            "projection_dim",
            "d_cross",
        ),
        WIDTH,
    ),
    **dict.fromkeys(
        (
            "intermediate_size",
            "n_inner",
            "d_ff",
            "ffn_dim",
            "encoder_ffn_dim",
            "decoder_ffn_dim",
            "ffn_hidden_size",
            "d_inner",
            "moe_intermediate_size",
            "shared_expert_intermediate_size",
            "expert_ffn_hidden_size",
            "dense_intermediate_size",
            "mlp_hidden_size",
            "moe_shared_expert_intermediate_size",
            "shared_intermediate_size",
            "intermediate_size_mlp",
        ),
        WIDTH,
    ),
    **dict.fromkeys(
        (
            "num_hidden_layers",
            "n_layer",
            "n_layers",
            "num_layers",
            "encoder_layers",
            "decoder_layers",
            "num_decoder_layers",
            "num_encoder_layers",
            "depth",
            "num_hidden_groups",
            "encoder_num_hidden_layers",
            "decoder_num_hidden_layers",
        ),
        LAYERS,
    ),
    **dict.fromkeys(
        (
            "num_attention_heads",
            "n_head",
            "n_heads",
            "num_heads",
            "encoder_attention_heads",
            "decoder_attention_heads",
            "attention_heads",
            "encoder_num_attention_heads",
            "decoder_num_attention_heads",
        ),
        HEADS,
    ),
    **dict.fromkeys(
        (
            "num_key_value_heads",
            "num_kv_heads",
            "n_head_kv",
            "num_query_groups",
            "multi_query_group_num",
        ),
        1,
    ),
    **dict.fromkeys(
        (
            "head_dim",
            "d_kv",
            "attention_head_dim",
            "d_head",
            "qk_head_dim",
            "v_head_dim",
            "global_head_dim",
            "swa_head_dim",
            "swa_v_head_dim",
        ),
        HEAD_DIM,
    ),
    **dict.fromkeys(
        (
            "vocab_size",
            "vocab_size_per_layer_input",
            "decoder_vocab_size",
            "audio_vocab_size",
            "bigram_vocab_size",
        ),
        VOCABULARY,
    ),
    **dict.fromkeys(
        (
            "num_experts",
            "num_local_experts",
            "n_routed_experts",
            "moe_num_experts",
            "num_experts_per_tok",
            "experts_per_token",
            "top_k_experts",
            "moe_topk",
            "moe_k",
            "num_experts_per_token",
            "n_experts",
            "top_k",
            "moe_top_k",
        ),
        2,
    ),
    **dict.fromkeys(
        (
            "n_group",
            "topk_group",
            "n_groups",
            "num_expert_group",
            "n_shared_experts",
            "num_shared_experts",
            "moe_num_shared_experts",
            "first_k_dense_replace",
            "num_dense_layers",
            "num_nextn_predict_layers",
            "decoder_start_token_id",
        ),
        1,
    ),
    **dict.fromkeys(("qk_rope_head_dim", "qk_nope_head_dim"), HEAD_DIM // 2),
    **dict.fromkeys(("q_lora_rank", "kv_lora_rank", "qk_lora_rank", "o_lora_rank"), HEAD_DIM),
    **dict.fromkeys(
        ("sliding_window", "window_size", "sliding_window_size", "local_attention"), WINDOW
    ),
    **dict.fromkeys(
        (
            "max_position_embeddings",
            "n_positions",
            "max_source_positions",
            "max_target_positions",
            "seq_length",
            "context_length",
        ),
        128,
    ),
    **dict.fromkeys(("image_size", "input_size"), IMAGE),
    "use_sliding_window": True,
    "max_window_layers": 1,
    "patch_size": 8,
    "num_channels": 3,
    "hidden_size_per_layer_input": 32,
    "type_vocab_size": 2,
    "num_labels": 3,
    "use_cache": True,
    "tie_word_embeddings": False,
    "router_jitter_noise": 0.0,
    "pooler_hidden_size": WIDTH,
    "attention_window": WINDOW,
    "vision_feature_layer": -1,
    "spatial_merge_size": 2,
    "num_kv_shared_layers": 0,
    "rotary_dim": HEAD_DIM // 2,
    "chunk_size_feed_forward": 0,
    "mamba_n_heads": 4,
    "mamba_d_head": 64,
    "mamba_expand": 2,
    "mamba_d_state": 16,
    "expand": 2,
    "state_size": 16,
    "mamba_d_ssm": 256,
    "mamba_num_heads": 4,
    "mamba_head_dim": 64,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 2,
    "linear_key_head_dim": 32,
    "linear_value_head_dim": 32,
    "attention_multiplier": HEAD_DIM**-0.5,
    "ssm_state_size": 16,
    "lru_width": WIDTH,
    "use_mambapy": False,
    "moe_layer_freq": 1,
}
TOKENS = (
    "pad_token_id",
    "bos_token_id",
    "eos_token_id",
    "cls_token_id",
    "sep_token_id",
    "mask_token_id",
    "image_token_id",
    "video_token_id",
    "vision_start_token_id",
    "vision_end_token_id",
    "audio_token_id",
    "image_token_index",
    "video_token_index",
    "boi_token_id",
    "eoi_token_id",
    "boi_token_index",
    "eoi_token_index",
    "unk_token_id",
    "vision_token_id",
    "audio_start_token_id",
    "audio_end_token_id",
    "image_start_token_id",
    "image_end_token_id",
)
MOST_TOKEN = VOCABULARY - 32  # tokens of texts are below it, those that mean something above


class NotBuilt(Exception):
    """No small model of this type is made here."""


def types_of(kind: str) -> list[str]:
    """The models of a kind, in the installed version."""
    return list(getattr(modeling_auto, f"{KINDS[kind]}_MAPPING_NAMES"))


def config_of(model_type: str) -> Any:
    return _small(configuration_auto.CONFIG_MAPPING[model_type])


def _small(kind: type, given: Any = None) -> Any:
    """given: a configuration of this kind, of which it is a small one; else that without
    arguments."""
    usual = kind() if given is None else given
    options = {}
    for name, value in vars(usual).items():
        if isinstance(value, PreTrainedConfig):
            options[name] = _small(type(value), value)
        # Positions are of time, height and width, each with a section.
        elif name == "rope_parameters" and value and _mentions(kind, "mrope_section"):
            pairs = int(HEAD_DIM * value.get("partial_rotary_factor", 1)) // 2
            options[name] = value | {
                "mrope_section": [pairs // 4, pairs * 3 // 8, pairs - pairs // 4 - pairs * 3 // 8]
            }
        elif "drop" in name and isinstance(value, float):
            options[name] = 0.0
        elif name in TOKENS and isinstance(value, int):
            options[name] = MOST_TOKEN + TOKENS.index(name)
        elif (
            name in SIZES
            and (value is None or not isinstance(value, (list, tuple, dict)))
            and (value is not None or name in ("head_dim", "sliding_window"))
        ):
            options[name] = SIZES[name]
        elif name == "layer_types" and value:
            kinds = list(dict.fromkeys(value))
            if len(kinds) == 1 and "use_sliding_window" in vars(usual):
                continue  # they follow from that
            if (
                "sliding_window" in vars(usual)
                and "sliding_attention" not in kinds
                and _mentions(kind, '"sliding_attention"')
            ):
                kinds.append("sliding_attention")
            options[name] = (kinds * LAYERS)[: max(LAYERS, len(kinds))]
    # Latent attention: heads have a part with positions and one without.
    if "qk_rope_head_dim" in options:
        options |= {
            name: value
            for name, value in (("head_dim", HEAD_DIM // 2), ("num_key_value_heads", HEADS))
            if name in options
        }
    if "layer_types" in options:
        depth = len(options["layer_types"])
        options |= {
            name: depth
            for name in ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
            if name in options
        }
    try:
        made = kind(**options)
    except Exception:
        options.pop("layer_types", None)
        options |= {
            name: LAYERS
            for name in ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
            if name in options
        }
        made = kind(**options)
    return made


def _mentions(kind: type, text: str) -> bool:
    """Whether the models of a configuration do."""
    return text in inspect.getsource(
        importlib.import_module(kind.__module__.replace(".configuration_", ".modeling_"))
    )


def class_of(kind: str, model_type: str) -> Any:
    name = getattr(modeling_auto, f"{KINDS[kind]}_MAPPING_NAMES")[model_type]
    return getattr(transformers, name if isinstance(name, str) else name[0])


def build(
    kind: str, model_type: str, device: str = "cpu", attention: str = "dash"
) -> tuple[Any, Any]:
    """The same model with attention "eager" and another one, of float32, in training."""
    found = []
    for attention in ("eager", attention):
        try:
            config = config_of(model_type)
            torch.manual_seed(3)
            model = class_of(kind, model_type)._from_config(
                config, attn_implementation=attention, dtype=torch.float32
            )
        except Exception as error:
            if attention != "eager":
                raise
            raise NotBuilt(f"{type(error).__name__}: {error}".split("\n")[0][:200]) from None
        if sum(parameter.numel() for parameter in model.parameters()) > 40_000_000:
            raise NotBuilt("its small configuration is large")
        found.append(model.to(device))
    eager, other = found
    spread(eager)
    other.load_state_dict(eager.state_dict())
    return eager.train(), other.train()


@torch.no_grad()
def spread(model: torch.nn.Module) -> None:
    """Weights as large as those of trained models: of the usual ones attention is nearly even, and
    a wrong mask nearly right."""
    draw = torch.Generator().manual_seed(7)
    for name, parameter in model.named_parameters():
        if parameter.dim() >= 2 and parameter.is_floating_point():
            inner = (
                parameter[0].numel()
                if parameter.dim() == 2 or parameter.dim() == 4
                else parameter.shape[-1]
            )
            deviation = 0.5 if "embed" in name else inner**-0.5
            parameter.copy_(torch.randn(parameter.shape, generator=draw) * deviation)


def names(model: Any, name: str) -> bool:
    """Whether its forward has an argument of this name."""
    return name in inspect.signature(type(model).forward).parameters


def accepts(model: Any, name: str) -> bool:
    """The same, or hands on what it does not know."""
    return names(model, name) or any(
        one.kind is one.VAR_KEYWORD
        for one in inspect.signature(type(model).forward).parameters.values()
    )
