# RUN: %python %s %dash_src
# REQUIRES: python
"""What is counted of a kernel: each instruction of the innermost loops of products by hand, once a
turn, and nothing that a turn may leave out."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv[1]) / "tools/scripts"))

from count_limits import count  # noqa: E402

SCORES = 128  # one exponential for each thread of a warpgroup
KERNEL = """.visible .entry kernel(
	.param .u64 a
)
{
	mov.b32 	%r9, 512;
	mov.b32 	%r8, 4096;
	@%p1 bra 	$LOAD;
$ITEM:
	ld.shared.v4.b32 	{%r1, %r2, %r3, %r4}, [%rd1];
	ex2.approx.ftz.f32 	%r1, %r2;
$STEP:
	wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%r1, %r2}, da, db, 1, 1, 1, 0, 0;
	wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {%r1, %r2}, {%r3, %r4, %r5, %r6}, db, 1, 1, 1, 1;
	ex2.approx.ftz.f32 	%r1, %r2;
	@%p2 bra 	$SEEN;
	ex2.approx.ftz.f32 	%r1, %r2;
	ld.shared.b32 	%r1, [%rd1];
$SEEN:
{
again:
	mbarrier.try_wait.parity.shared::cta.b64 done, [%r1], %r2;
	@!done bra again;
}
	ld.shared.v4.b32 	{%r1, %r2, %r3, %r4}, [%rd1];
	stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r1], {%r1, %r2, %r3, %r4};
	st.shared.v4.f32 [%r1 + 0], {%r1, %r2, %r3, %r4};
	fence.proxy.async.shared::cta;
	@%p3 mbarrier.arrive.shared::cta.b64 _, [%r1];
	@%p4 bra 	$STEP;
	@%p5 bra 	$ITEM;
	ret;
$LOAD:
	mbarrier.arrive.expect_tx.shared.b64 %rd1, [%rd2], %r8;
$LOADSTEP:
	mbarrier.arrive.expect_tx.shared.b64 %rd1, [%rd2], %r9;
	@%p4 bra 	$LOADSTEP;
	@%p5 bra 	$LOAD;
	ret;
}
"""

need = count(KERNEL, "kernel", SCORES)
assert need.tensor == 128 / 2 + 32 / 2, need
assert need.shared == {
    "products": (128 * 32 + 2048 + 32 * 32) / 128,
    "loads": 512 / 128,
    "dS": 4 * 4 * 128 / 128,
    "dQ": 2 * 128 * 16 / 128,
    "rows and barriers": 3 * 4,
}, need
assert need.exponentials == 128 / 16 and need.fences == 1, need

# Twice the work in a turn is two tasks.
exp = "\tex2.approx.ftz.f32 \t%r1, %r2;\n\t@%p2 bra"
two = count(KERNEL.replace(exp, exp.split("\t@")[0] + exp), "kernel", SCORES)
assert (
    two.tensor == need.tensor / 2 and two.exponentials == need.exponentials and two.fences == 0.5
), two
# Other loops than of whole tasks are refused.
try:
    count(KERNEL, "kernel", 3 * SCORES)
except SystemExit as error:
    assert (
        str(error)
        == "error: expected loops of products with an exponential for each of 384 scores, found"
        " 0.3333333333333333 of that"
    ), error
else:
    raise AssertionError("expected an error")
