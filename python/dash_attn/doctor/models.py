"""The calls of a model, from its configuration on disk. Where transformers is installed it fills
in what a file leaves out. Nothing is downloaded, and no code of a model is run."""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..kernel.problem import CAUSAL, FULL
from ..support.records import read
from .calls import Call

# How configurations call the same thing; transformers' classes know it as `attribute_map`, which
# files do not have.
ALSO = {
    "num_attention_heads": ("n_head", "n_heads", "num_heads"),
    "hidden_size": ("n_embd", "d_model"),
    "num_hidden_layers": ("n_layer", "n_layers", "num_layers"),
}
SEES_ALL = (
    "MaskedLM",
    "SequenceClassification",
    "TokenClassification",
    "QuestionAnswering",
    "ImageClassification",
)
WHOLE, SLIDING = ("full_attention",), ("sliding_attention",)


def find(name: str) -> Path:
    """config.json of a file, a folder, or a model that transformers has downloaded. Raises
    ValueError."""
    path = Path(name).expanduser()
    if path.is_dir():
        path = path / "config.json"
    if path.exists():
        return path
    hub = Path(
        os.environ.get("HF_HUB_CACHE")
        or Path(os.environ.get("HF_HOME") or Path.home() / ".cache/huggingface") / "hub"
    )
    kept = sorted(
        (hub / f"models--{name.replace('/', '--')}" / "snapshots").glob("*/config.json"),
        key=lambda one: one.stat().st_mtime,
    )
    if not kept:
        raise ValueError(
            f"{name}: expected a config.json, a folder that has one, or the name of a model that"
            " transformers has downloaded, found none; nothing is downloaded here"
        )
    return kept[-1]


def calls_of(name: str, base: Call) -> tuple[list[Call], list[str]]:
    """A call for each kind of layer, and what had to be assumed. base: what no configuration
    says: batch, rows, dtype, level. Raises ValueError with the file and the field."""
    path = find(name)
    notes: list[str] = []
    try:
        given = read(path)
        if not isinstance(given, Mapping):
            raise ValueError("expected an object of transformers' config.json")
        given = _filled(given, notes)
        text = given.get("text_config")
        if isinstance(text, Mapping):
            given = {"architectures": given.get("architectures"), **text}
        return _calls(given, _has_sinks(path), base, notes), notes
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _filled(given: Mapping[str, Any], notes: list[str]) -> Mapping[str, Any]:
    """With the defaults of its type, which files may leave out."""
    if importlib.util.find_spec("transformers") is None:
        notes.append("transformers is not installed: what the file leaves out is not known")
        return given
    from transformers import AutoConfig
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    if given.get("model_type") not in CONFIG_MAPPING:
        notes.append(
            f"transformers knows no type {given.get('model_type')!r}: what the file leaves out is"
            " not known"
        )
        return given
    try:
        return {
            **AutoConfig.for_model(**given).to_dict(),
            "architectures": given.get("architectures"),
        }
    except Exception as error:  # whatever a class of transformers makes of a wrong value
        notes.append(
            f"transformers cannot read it ({type(error).__name__}): what the file leaves out is not"
            " known"
        )
        return given


def _number(given: Mapping[str, Any], name: str, default: int = 0) -> int:
    for one in (name, *ALSO.get(name, ())):
        value = given.get(one)
        if value is not None:
            if type(value) is not int or not 0 < value < 2**31:
                raise ValueError(f"{one}: expected a whole number above 0, found {value!r}")
            return value
    if not default:
        raise ValueError(f"{name}: expected a whole number above 0, found none")
    return default


def _calls(given: Mapping[str, Any], has_sinks: bool, base: Call, notes: list[str]) -> list[Call]:
    heads = _number(given, "num_attention_heads")
    head_dim, head_dim_v = _head_dims(given, heads)
    softcap = given.get("attn_logit_softcapping") or 0.0
    if not isinstance(softcap, (int, float)):
        raise ValueError(f"attn_logit_softcapping: expected a number, found {softcap!r}")
    layers = _number(given, "num_hidden_layers", 1)
    call = replace(
        base,
        heads=heads,
        kv_heads=heads if _is_latent(given) else _number(given, "num_key_value_heads", heads),
        head_dim=head_dim,
        head_dim_v=head_dim_v,
        softcap=float(softcap),
        has_sink=has_sinks,
        window=FULL if _sees_all(given, notes) else CAUSAL,
    )
    window = given.get("sliding_window")
    is_sliding = window is not None and given.get("use_sliding_window") is not False
    kinds = given.get("layer_types") or (SLIDING if is_sliding else WHOLE) * layers
    if not isinstance(kinds, (list, tuple)) or not all(isinstance(kind, str) for kind in kinds):
        raise ValueError(f"layer_types: expected a list of words, found {kinds!r}")
    found = []
    for kind, count in Counter(kinds).items():
        if kind in WHOLE:
            found.append(replace(call, layers=count))
        elif kind in SLIDING:
            columns = _number(given, "sliding_window")
            left = -1 if columns - 1 >= call.columns - 1 else columns - 1
            found.append(
                replace(
                    call,
                    window=(left, call.window[1] if call.window == CAUSAL or left < 0 else left),
                    layers=count,
                )
            )
        else:
            notes.append(f"{count} layers are {kind}, of which nothing is known here")
    merged: dict[Call, int] = {}
    for one in found:
        merged[replace(one, layers=0)] = merged.get(replace(one, layers=0), 0) + one.layers
    return [replace(one, layers=count) for one, count in merged.items()]


def _is_latent(given: Mapping[str, Any]) -> bool:
    """Whether k and v come from one latent vector, and heads have a part without positions
    (DeepSeek-V3)."""
    return given.get("kv_lora_rank") is not None and given.get("qk_nope_head_dim") is not None


def _head_dims(given: Mapping[str, Any], heads: int) -> tuple[int, int]:
    """The head dim of q and k, and that of v, 0 for the same. What latent attention calls head_dim
    is the part with positions alone."""
    if _is_latent(given):
        of_qk = _number(given, "qk_nope_head_dim") + _number(given, "qk_rope_head_dim")
        of_v = _number(given, "v_head_dim")
        return of_qk, 0 if of_v == of_qk else of_v
    if given.get("head_dim"):
        return _number(given, "head_dim"), 0
    return _number(given, "hidden_size") // heads, 0


def _sees_all(given: Mapping[str, Any], notes: list[str]) -> bool:
    names = [name for name in given.get("architectures") or () if isinstance(name, str)]
    if not names:
        notes.append(
            "the file names no architecture: masks are taken to be causal; --mask says otherwise"
        )
    return any(name.endswith(SEES_ALL) for name in names)


def _has_sinks(path: Path) -> bool:
    """Whether the weights beside it have sinks; a configuration does not say so."""
    index = path.with_name("model.safetensors.index.json")
    if not index.exists():
        return False
    names = read(index)
    names = names.get("weight_map") if isinstance(names, Mapping) else None
    return isinstance(names, Mapping) and any(str(name).endswith(".sinks") for name in names)
