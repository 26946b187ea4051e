# RUN: %torch_python %S/lib/run_on_cpu.py %s
# REQUIRES: torch, plain-libdash
import torch, dash_attn

options = dict(device="cuda", dtype=torch.bfloat16, requires_grad=True)
q, k, v = (torch.randn(1, heads, 512, 128, **options) for heads in (8, 2, 2))
o = dash_attn.attention(q, k, v, causal=True)  # or dash_attn.enable(), for existing code
o.backward(torch.ones_like(o))  # gradients have the same bits on every run
print(dash_attn.explain(q, k, v, causal=True))  # what computes this call, or why it is refused
