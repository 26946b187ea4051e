"""attn_implementation="dash" in Hugging Face's transformers, from when this is imported.

    import dash_attn.transformers
    model = AutoModelForCausalLM.from_pretrained(NAME, dtype=torch.bfloat16,
    attn_implementation="dash")

What a model computes is what it computes with "eager", with dash's gradients; or it is refused
by ArgumentError, which says what to do. The mask that a model asks for is what counts: full,
causal, windows of either, packed documents. Refused are padding, masks of other patterns,
dropout, biases, and whatever a model hands to its attention that has no known meaning here.

    masks.py      what a model asked to be masked
    attention.py  the attention of a layer
    documents.py  positions that begin anew: packed documents
"""

from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface

from . import documents
from .attention import attend
from .masks import Mask, mask
from .refusal import NAME

__all__ = ["NAME", "Mask", "attend", "mask"]

AttentionInterface.register(NAME, attend)
AttentionMaskInterface.register(NAME, mask)
documents.watch_models()
