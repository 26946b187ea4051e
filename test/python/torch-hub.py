# RUN: rm -rf %t && mkdir %t
# RUN: not %python %dash_src/tools/make-hub-kernel %t/kernel --library %t/none 2>&1 | grep "error: expected libdash.so at .*/none, found none; build it, or name it by --library"
# RUN: not %python %dash_src/tools/make-hub-kernel %dash_src/tools --library %dash_build/lib/libdash.so 2>&1 | grep "error: .*/tools is there and is no kernel of the hub; name another folder"
# RUN: %python %dash_src/tools/make-hub-kernel %t/kernel --library %dash_build/lib/libdash.so
# RUN: %torch_python %s %t/kernel
# REQUIRES: torch, plain-libdash
"""A folder of Hugging Face's hub, loaded by its own package: everything is in it, and a dash_attn
that is installed stands beside it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}

import torch  # noqa: E402
from fixtures import refused  # noqa: E402
from kernels import get_loaded_kernels, get_local_kernel  # noqa: E402
from on_cpu import LAUNCHED, serve  # noqa: E402

import dash_attn  # noqa: E402
from dash_attn.kernel.library import library  # noqa: E402

FOLDER = Path(sys.argv[1])
library()  # that of the build, which the environment names
del os.environ["DASH_LIBRARY"]
hub = get_local_kernel(FOLDER)
(loaded,) = get_loaded_kernels()
about = loaded.metadata
assert (str(about.name), about.version, about.license, about.backend.archs) == (
    "dash-attn",
    1,
    "apache-2.0",
    ["9.0"],
)
assert (
    hub.__name__ == about.id
    and Path(hub.__file__).parent == FOLDER / "build/torch-cuda"
    and hub.enable is not dash_attn.enable
)
# Transformers would call it with masks that mix documents.
assert not hasattr(hub, "flash_attn_varlen_func")

q, k, v, do = (torch.randn(1, heads, 12, 64, dtype=torch.bfloat16) for heads in (4, 2, 2, 4))
serve(hub.__name__)
theirs, ours = (package.explain(q, k, v, causal=True) for package in (hub, dash_attn))
assert theirs.certificate == ours.certificate and str(theirs) == str(ours)
assert (
    Path(sys.modules[f"{hub.__name__}.kernel.library"].library()._name)
    == FOLDER / "build/torch-cuda/libdash.so"
)

leaves = [x.requires_grad_() for x in (q, k, v)]
LAUNCHED.clear()
both = [
    torch.autograd.grad(package.attention(*leaves, causal=True), leaves, do)
    for package in (hub, dash_attn)
]
assert all(map(torch.equal, *both)) and len(LAUNCHED) == 2
compiled = torch.autograd.grad(
    torch.compile(hub.attention, fullgraph=True, backend="aot_eager")(*leaves, causal=True),
    leaves,
    do,
)
assert all(map(torch.equal, compiled, both[0]))
assert (
    refused(lambda: hub.attention(q, k, v, level="best"), hub.ArgumentError)
    == "level: expected one of run, batch, machine, found 'best'"
)
