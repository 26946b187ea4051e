# RUN: %python %s
# REQUIRES: python
"""The emulator itself, on entries of a few lines: what lanes, warps, blocks and engines do, in any
interleaving, and what it finds wrong."""

from __future__ import annotations

import emulate  # noqa: F401 - says where modules are
import numpy as np
from machine import Machine
from memory import Global
from ptx_text import Wrong

HEAD = (
    ".extern .shared .align 1024 .b8 dynamic_shared_memory[];\n.visible .entry test(\n.param .u64"
    " in,\n.param .u64 out\n)\n{\n"
)
# In all entries %rd0 is in, %rd1 is out, %rd2 is out[threads of all blocks], %rd3 is shared memory,
# %r0 to %r4 say which thread it is.
PLACES = """ld.param.b64 %rd0, [in];
ld.param.b64 %rd1, [out];
mov.u32 %r0, %tid.x;
mov.u32 %r1, %laneid;
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mad.lo.s32 %r4, %r2, %r3, %r0;
mul.wide.u32 %rd2, %r4, 4;
add.s64 %rd2, %rd1, %rd2;
mov.b64 %rd3, dynamic_shared_memory;
shl.b32 %r5, %r0, 2;
cvt.u64.u32 %rd4, %r5;
add.s64 %rd4, %rd3, %rd4;
setp.ne.b32 %p0, %r1, 0;
setp.ne.b32 %p9, %r0, 0;
"""
STORE = "st.global.b32 [%rd2], %r9;\nret;\n"
WAIT = (
    "{\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%rd3], 0;\n@!done bra again;\n}\n"
)
BARRIER = "@%p9 bra $L_ready;\nmbarrier.init.shared.b64 [%rd3], 1;\n$L_ready:\nbar.sync 0;\n"
# 64 words: shared memory behind its first kilobyte, filled by threads, leaves for out.
FILL, LEAVE = (
    "add.s64 %rd4, %rd4, 1024;\nst.shared.b32 [%rd4], %r0;\n",
    """bar.sync 0;
@%p9 bra $L_out;
add.s64 %rd5, %rd3, 1024;
cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%rd5], 256;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
$L_out:
ret;
""",
)
FENCE = "fence.proxy.async.shared::cta;\n"
LOAD = """@%p9 bra $L_wait;
mbarrier.arrive.expect_tx.shared.b64 %rd9, [%rd3], 256;
add.s64 %rd5, %rd3, 1024;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%rd5], [%rd0], 256, [%rd3];
$L_wait:
"""
TAKE = "ld.shared.b32 %r9, [%rd4+1024];\n" + STORE


def run(body: str, seed: int, blocks: int = 1, threads: int = 64) -> np.ndarray:
    machine = Machine(HEAD + PLACES + body + "}\n", seed)
    machine.memory = Global()
    given = machine.memory.allocate("in", 256, writable=False)
    machine.memory.view("in", np.uint32)[:] = np.arange(64) + 7
    out = machine.memory.allocate("out", 4 * blocks * threads)
    machine.launch("test", blocks, threads, 2048, [("ptr", given), ("ptr", out)], True)
    return machine.memory.view("out", np.uint32).astype(np.int64)


def gives(what: str, body: str, expected: np.ndarray, **grid: int) -> None:
    for seed in range(8):
        found = run(body, seed, **grid)
        assert (found == expected).all(), (
            f"{what}, seed {seed}: expected {expected.tolist()}, found {found.tolist()}"
        )


def fails(message: str, body: str, **grid: int) -> None:
    for seed in range(4):
        try:
            run(body, seed, **grid)
        except Wrong as wrong:
            assert message in str(wrong), f"expected '{message}', found '{wrong}'"
            continue
        raise AssertionError(f"expected '{message}', found nothing wrong")


def shows(what: str, right: str, spoilt: str, expected: np.ndarray) -> None:
    """The spoilt text gives something else with some seed."""
    gives(what, right, expected)
    assert any((run(spoilt, seed) != expected).any() for seed in range(8)), (
        f"expected to see that {what} is spoilt"
    )


lane, thread = np.arange(64) % 32, np.arange(64)
gives(
    "lanes part and meet",
    """and.b32 %r6, %r1, 1;
setp.eq.b32 %p1, %r6, 0;
@%p1 bra $L_even;
mul.lo.s32 %r9, %r1, 10;
bra.uni $L_both;
$L_even:
mov.b32 %r9, 1;
$L_both:
shfl.sync.bfly.b32 %r7, %r9, 1, 31, -1;
add.s32 %r9, %r9, %r7;
"""
    + STORE,
    1 + 10 * (lane | 1),
)
gives(
    "a loop of other lengths",
    """mov.b32 %r9, 0;
mov.b32 %r6, 0;
$L_again:
add.s32 %r6, %r6, 1;
add.s32 %r9, %r9, %r6;
setp.lt.u32 %p1, %r6, %r1;
@%p1 bra $L_again;
redux.sync.add.s32 %r7, %r6, -1;
sub.s32 %r9, %r9, %r7;
"""
    + STORE,
    np.maximum(lane, 1) * (np.maximum(lane, 1) + 1) // 2 - (31 * 16 + 1) & 0xFFFFFFFF,
)
gives(
    "a vote and a table of branches",
    """setp.lt.u32 %p1, %r1, 3;
vote.sync.ballot.b32 %r9, %p1, -1;
and.b32 %r6, %r1, 1;
$L_brx_0: .branchtargets
\t$L_zero,
\t$L_one;
brx.idx %r6, $L_brx_0;
$L_one:
add.s32 %r9, %r9, 10;
$L_zero:
"""
    + STORE,
    7 + 10 * (lane & 1),
)
gives(
    "a block waits for the others",
    """setp.eq.b32 %p1, %r2, 0;
mov.b32 %r9, 5;
@!%p1 bra $L_store;
{
again:
ld.acquire.gpu.global.b32 seen, [%rd1+384];
setp.ne.s32 waits, seen, 5;
@!waits bra done;
nanosleep.u32 20;
bra again;
done:
}
ld.global.b32 %r9, [%rd1+384];
add.s32 %r9, %r9, 1;
$L_store:
"""
    + STORE,
    np.where(np.arange(128) < 32, 6, 5),
    blocks=4,
    threads=32,
)
gives(
    "16-bit pairs",
    """cvt.rn.bf16x2.f32 %r6, 0f3F808000, 0fBF818000;
add.s32 %r9, %r6, %r0;
"""
    + STORE,
    0x3F80BF82 + thread,
)
gives(
    "the upper half of a product",
    "not.b32 %r6, %r0;\nmul.hi.u32 %r9, %r6, -1431655765;\n" + STORE,
    np.array([(2**32 - 1 - number) * 0xAAAAAAAB >> 32 for number in range(64)]),
)
gives("small numbers", "ex2.approx.ftz.f32 %r9, 0fC2FE0000;\n" + STORE, 0 * thread)
shows("a wait for a copy", BARRIER + LOAD + WAIT + TAKE, BARRIER + LOAD + TAKE, thread + 7)
shows("a proxy fence", FILL + FENCE + LEAVE, FILL + LEAVE, thread)
fails("no warp can go on", BARRIER + WAIT + STORE)
fails("uses a barrier at 0x400 that is not initialised", LOAD + WAIT + STORE)
fails(
    "arrives at a barrier whose phase expects no more arrivals",
    BARRIER + "mbarrier.arrive.expect_tx.shared.b64 %rd9, [%rd3], 256;\nmov.b32 %r9, 0;\n" + STORE,
)
fails(
    "leaves with copies or products under way",
    FILL + FENCE + LEAVE.replace("cp.async.bulk.wait_group 0;\n", ""),
)
fails("byte 256 of out", "mov.b32 %r9, 1;\nst.global.b32 [%rd2+4], %r9;\nret;\n")
fails("no allocation", "ld.global.b32 %r9, [%rd0+-4];\n" + STORE)
fails("writes 4 bytes at", "st.global.b32 [%rd0], %r0;\n" + STORE)
fails("is not aligned to 16 bytes", "ld.global.v4.b32 {%r6, %r7, %r8, %r9}, [%rd0+4];\n" + STORE)
fails("uses %r9 before it has a value", STORE)
fails(
    "expected an instruction that this machine knows, got 'sin.approx.f32'",
    "sin.approx.f32 %r9, %r0;\n" + STORE,
)
for name in (
    "add.cc.s32",
    "mul.hi.s32",
    "setp.ltu.f32",
    "fma.rn.ftz.f32",
    "ld.global.b64",
    "shfl.sync.up.b32",
    "min.xorsign.abs.f32",
):
    fails(f"got '{name}'", f"{name} %r9, %r0, %r1, 31, -1;\n" + STORE)
fails(
    "comes to barrier 1 for 96 threads, others for 64",
    "bar.arrive 1, 64;\nbar.arrive 1, 96;\n" + STORE,
    threads=32,
)
