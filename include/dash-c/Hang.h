/*===- dash-c/Hang.h - which worker holds a launch up, from C -------------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                                        *|
|*                                                                                                *|
|* Workers add in turns. A launch that does not end has one whose turn is never given, and others *|
|* that wait for it, one behind the other. The counters of the workspace and the order together   *|
|* say which.                                                                                     *|
|*                                                                                                *|
|* All of it may be called while the launch runs, from any thread: it waits for no kernel.        *|
\*===------------------------------------------------------------------------------------------===*/
#ifndef DASH_C_HANG_H
#define DASH_C_HANG_H

#include "dash-c/Launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Which turns of a launch are given, and which worker waits for whom. */
typedef struct DashTurns {
  void *ptr;
} DashTurns;

/**
 * Looks at a launch that is under way, or at what one has left. Counters and order are copied on a
 * stream of its own.
 *
 * workspace, order: those of the launch. They have to stay until the call returns.
 * turns:            set on success, to be given back by `dashTurnsDestroy`.
 *
 * DASH_INVALID_ARGUMENT where the kernel takes no turns, or the counters are not those of a launch
 * of these sizes: its entry `prepare` has not begun, or the memory is in other use by now.
 * DASH_DRIVER_ERROR where the device does not answer.
 */
DASH_CAPI_EXPORTED DashStatus dashPlanReadTurns(DashPlan plan, DashMemory workspace,
                                                DashMemory order, DashDiagnosticHandler handler,
                                                void *userData, DashTurns *turns);

/** 1 where `dashPlanReadTurns` reads region `index`, 0 where it does not, or there is none. */
DASH_CAPI_EXPORTED int32_t dashPlanReadsRegion(DashPlan plan, size_t index);

/**
 * The same of a dump. The plan may be one of a kernel without a driver.
 *
 * regions:  the bytes of each region, as `dashPlanGetRegion` counts them; those that are not read
 *           may be empty.
 */
DASH_CAPI_EXPORTED DashStatus dashPlanExplainTurns(DashPlan plan, const DashStringRef *regions,
                                                   size_t numRegions, DashDiagnosticHandler handler,
                                                   void *userData, DashTurns *turns);

DASH_CAPI_EXPORTED void dashTurnsDestroy(DashTurns turns);

/** Turns that are given, and turns in all; 0 of turns that are NULL. */
DASH_CAPI_EXPORTED int64_t dashTurnsGetNumGiven(DashTurns turns);
DASH_CAPI_EXPORTED int64_t dashTurnsGetNumTurns(DashTurns turns);

/**
 * Says in lines which workers have a turn and have not given it, and which wait behind them. It
 * lives as long as `turns`, and until it is asked for again.
 *
 * before:   what was read of the same launch some time earlier, or NULL. With it, a launch that is
 *           slow is told from one that stands still.
 */
DASH_CAPI_EXPORTED DashStringRef dashTurnsDescribe(DashTurns turns, DashTurns before);

/** The same as JSON, all workers of it. It lives as long as `turns`. */
DASH_CAPI_EXPORTED DashStringRef dashTurnsGetJson(DashTurns turns);

/** Bytes of region `index` that `dashPlanReadTurns` has read, for a dump; empty for others. */
DASH_CAPI_EXPORTED DashStringRef dashTurnsGetRegion(DashTurns turns, size_t index);

#ifdef __cplusplus
}
#endif

#endif /* DASH_C_HANG_H */
