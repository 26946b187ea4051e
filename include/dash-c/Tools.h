/*===- dash-c/Tools.h - the command-line tools as functions ---------------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                                        *|
\*===------------------------------------------------------------------------------------------===*/
#ifndef DASH_C_TOOLS_H
#define DASH_C_TOOLS_H

#include "dash-c/Compile.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The main functions of dash-opt and dash-run, for a process that does nothing else: options of
 * LLVM's command line are global, so only one of them may be called, and only once. Modules may use
 * the dialects of programs beside dash (arith, func, gpu, linalg, memref, scf); tools built from
 * source accept all upstream dialects. Returns the exit status.
 */
DASH_CAPI_EXPORTED int dashOptMain(int argc, char **argv);
DASH_CAPI_EXPORTED int dashRunMain(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif /* DASH_C_TOOLS_H */
