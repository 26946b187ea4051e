"""How near gradients are to float64."""

from __future__ import annotations

import numpy as np
from arithmetic import decode
from gradients import float64_gradients
from programs import Case, Ran

# Norm of the error over the norm of the gradient. P and dS are rounded once, the gradients once
# more: each rounding is wrong by at most half a unit in the last place, 2^-9 in bf16 and 2^-12 in
# f16, and independent of the others.
TOLERANCE = {"bf16": 2.0**-7, "f16": 2.0**-10}
# What f32 sums leave where terms cancel, beside the magnitude of the terms.
F32_NOISE = 2.0**-20


def float64_differences(case: Case, ran: Ran) -> list[str]:
    """Test 3: near the gradients by definition."""
    differences = []
    for name, expected in float64_gradients(case.problem, ran.arrays, case.is_list).items():
        error = np.linalg.norm(decode(ran.files[name]) - expected.value)
        allowed = TOLERANCE[case.half] * np.linalg.norm(
            expected.value
        ) + F32_NOISE * np.linalg.norm(expected.magnitude)
        if not error <= allowed:
            differences.append(f"{name}: error {error:.3g}, expected at most {allowed:.3g}")
    return differences
