/*===- dash-c/Xla.h - attention backwards as a custom call of XLA ----------------------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                                                    *|
|*                                                                                                            *|
|* A handler of XLA's foreign function interface: what JAX, or another host of XLA, registers for its GPUs     *|
|* and calls in a compiled program. The interface is one of C, and XLA keeps it stable, so the library knows   *|
|* neither JAX nor Python, and is built without them.                                                         *|
\*===----------------------------------------------------------------------------------------------------------===*/
#ifndef DASH_C_XLA_H
#define DASH_C_XLA_H

#include "dash-c/Launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/** XLA's, of its header xla/ffi/api/c_api.h. */
struct XLA_FFI_CallFrame;
struct XLA_FFI_Error;

/**
 * Computes gradients of attention, as a typed custom call (api_version 4). Register it for the stages instantiate, initialize and execute.
 *
 * operands:   q, k, v, do, o, lse; of a program with a sink that; of one whose order is a table that too, as bytes (u8), for the sizes of
 *             the call.
 * results:    dq, dk, dv; of a program with a sink dsink, [batch, heads], too; and memory: bytes (u8) for the plan's workspace and for an
 *             order that is no table, which the call makes anew each time, so that programs may be captured into command buffers; 256
 *             bytes more for each of these, which begin at multiples of DASH_ALIGNMENT.
 * attributes: program, options (strings): what `dashCompile` takes, which names no files; a process compiles each once, when the first
 *             call is instantiated.
 *             certificate (string): that of the kernel for which bytes were counted. Where another library compiles another one, or
 *             plans another table, the call is refused, since its bits would be others.
 *             layout (string): "bhsd" for [batch, heads, rows, head dim], "bshd" for [batch, rows, heads, head dim].
 *             scale (f32).
 *
 * All buffers are row-major. The driver is opened, and code loaded, when a call is initialized or, at the latest, executed. What a process has
 * compiled and planned it keeps: this is the one function of the library with a state.
 *
 * Returns NULL, or an error that XLA destroys; gradients are not written then, but where a launch fails.
 */
DASH_CAPI_EXPORTED struct XLA_FFI_Error *dashXlaAttentionBackward(struct XLA_FFI_CallFrame *frame);

#ifdef __cplusplus
}
#endif

#endif /* DASH_C_XLA_H */
