/*===- dash-c/Xla.h - attention as a custom call of XLA -------------------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                                        *|
|*                                                                                                *|
|* A handler for XLA's foreign function interface. JAX, or another host of XLA, registers it for  *|
|* GPUs and calls it in compiled programs. The interface is plain C, and XLA keeps it stable. So  *|
|* the library knows neither JAX nor Python, and is built without them.                           *|
\*===------------------------------------------------------------------------------------------===*/
#ifndef DASH_C_XLA_H
#define DASH_C_XLA_H

#include "dash-c/Launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/** From XLA's header xla/ffi/api/c_api.h. */
struct XLA_FFI_CallFrame;
struct XLA_FFI_Error;

/**
 * Computes gradients of attention, or attention if the program is a forward, as a typed custom call
 * (api_version 4). Register it for the stages instantiate, initialize and execute.
 *
 * operands:   q, k, v, do, o, lse; of a forward q, k, v. A program with a sink adds the sink. A
 *             program whose order is a table adds the table for the sizes of the call, as bytes
 *             (u8). A program of `sequences(<?>)` adds cu_seqlens_q and cu_seqlens_kv (i32).
 * results:    dq, dk, dv; of a forward o, lse, and o unrounded (f32) where the program writes it.
 *             Rows outside of all sequences are 0, and -inf in lse. A backward with a sink adds
 *             dsink, [batch, heads], of packed sequences [sequences, heads]. The last one is
 *             memory: bytes (u8) for the plan's workspace, and for the order if it is not a table.
 *             The call fills such an order each time, so programs may be captured into command
 *             buffers. Add 256 bytes for each of the two, which begin at multiples of
 *             DASH_ALIGNMENT.
 * attributes: program, options (strings): for `dashCompile`, so they name no files. A process
 *             compiles each program once, when its first call is instantiated.
 *             certificate (string): that of the kernel for which the bytes were counted. If this
 *             library compiles another one, or plans another table, the call is refused, since its
 *             bits would differ.
 *             layout (string): "bhsd" for [batch, heads, rows, head dim], "bshd" for [batch, rows,
 *             heads, head dim], "thd" for [rows, heads, head dim] of packed sequences, whose LSE is
 *             [heads, rows].
 *             scale (f32); of a forward above 0.
 *
 * All buffers are row-major. The driver is opened, and code loaded, when a call is initialized or,
 * at the latest, executed. A process keeps what it has compiled and planned: this is the only
 * function of the library with state.
 *
 * Returns NULL, or an error that XLA destroys. On an error, results are not written, unless a
 * launch fails.
 */
DASH_CAPI_EXPORTED struct XLA_FFI_Error *dashXlaAttentionBackward(struct XLA_FFI_CallFrame *frame);

#ifdef __cplusplus
}
#endif

#endif /* DASH_C_XLA_H */
