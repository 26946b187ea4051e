"""What `attention` would do with its arguments, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..problem import window_of
from .function import operator_of_forward
from .kernels import kernel_for
from .problem import refusal_of_device, refusal_of_forward, refusal_of_options, refusal_of_tensors
from .sharding import refusal_of_sharding


@dataclass(frozen=True)
class Explanation:
    """refusal: why it is refused; empty if it is not, and then the rest says by what it is computed."""

    refusal: str
    forward: str = ""
    backward: str = ""
    order: str = ""
    level: str = ""
    workers: int = 0
    certificate: str = ""

    def __bool__(self) -> bool:
        return not self.refusal

    def __str__(self) -> str:
        if self.refusal:
            return f"refused      {self.refusal}"
        return "\n".join((f"forward      {self.forward}", f"backward     {self.backward}",
                          f"order        {self.order}, level {self.level}, {self.workers} workers", f"certificate  {self.certificate}"))


def explain(q: Any, k: Any, v: Any, *, causal: bool = False, window: tuple[int, int] | None = None, scale: float | None = None,
            cu_seqlens_q: Any = None, cu_seqlens_k: Any = None, level: str = "run", layout: str = "bhsd") -> Explanation:
    """Takes what `attention` takes, computes nothing, and refuses nothing: print it. May compile the kernel."""
    reason = refusal_of_options(causal, window, scale, (cu_seqlens_q, cu_seqlens_k), level, layout) or \
        refusal_of_tensors(q, k, v, layout) or refusal_of_forward(q, k, window_of(causal, window), layout) or \
        refusal_of_sharding(q, k, layout) or refusal_of_device(q.device.index)
    if reason:
        return Explanation(reason)
    kernel = kernel_for(q.shape[3], q.dtype, window_of(causal, window))
    program = kernel.manifest["program"]
    return Explanation("", operator_of_forward(window_of(causal, window)),
                       f"dash, {program['mask']} mask, {program['element']}, head dim {program['head_dim']}, "
                       f"tiles {program['tiles']['q']} x {program['tiles']['kv']}",
                       program["kind"], program["level"], program["workers"], kernel.certificate)
