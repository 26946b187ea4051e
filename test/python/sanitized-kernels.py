# RUN: %python %s
# REQUIRES: python, plain-libdash, host-supports-nvptx
"""What compute-sanitizer looks at: one pass of a kernel, whichever tensors it has."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import SOURCE  # noqa: E402
from stub_driver import StubDriver  # noqa: E402

sys.path.insert(0, str(SOURCE / "test/Device"))

import sanitize  # noqa: E402

from dash_attn import Kernel  # noqa: E402
from dash_attn.kernel.problem import OF_KV, OF_Q, Wanted, program_of  # noqa: E402

WHOLE = Wanted(64, 64, "bf16", (-1, 0), kind="shift")
PART = Wanted(192, 128, "bf16", (-1, 0), level="machine")
FORWARD = Wanted(64, 64, "bf16", (-1, 0), level="row", is_forward=True)
KERNELS = (
    (WHOLE, False),
    (WHOLE._replace(is_list=True), False),
    (WHOLE._replace(has_sink=True, takes_delta=True), False),
    (PART._replace(gradients=OF_KV), False),
    (PART._replace(gradients=OF_Q), False),  # its items own q tiles, as those of a forward
    (FORWARD, True),
    (FORWARD._replace(is_list=True, has_sink=True), True),
)

driver = StubDriver()
for wanted, is_forward in KERNELS:
    text, options, name = program_of(wanted)
    kernel = Kernel.compile(text, f"{options} workers=8", name=name, driver=driver)
    assert kernel.is_forward == is_forward, wanted
    sanitize.launch(kernel, 200)
    launched = [one.name for one in driver.launches()]
    assert any(one.endswith("_main") for one in launched), (wanted, launched)
