/*===- dash-c/Planner.h - orders for other sizes, from C -------------------------------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                                                    *|
|*                                                                                                            *|
|* A kernel whose order is a table serves the sizes that were stated when it was compiled. For other sizes it *|
|* needs another table and nothing else: a planner makes that in milliseconds, proves it, and keeps it in     *|
|* memory and on disk. The PTX stays what it is.                                                               *|
|*                                                                                                            *|
|* What comes out is what `dash-opt --dash-to-ptx` would write for these sizes: a manifest and an order, for   *|
|* `dashKernelCreate`. So equal sizes give equal bits, whoever plans, whenever, and whether an order was kept. *|
|* Its sizes are those of all problems that have the same tiles.                                               *|
\*===----------------------------------------------------------------------------------------------------------===*/
#ifndef DASH_C_PLANNER_H
#define DASH_C_PLANNER_H

#include "dash-c/Launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Makes orders, and keeps those that were asked for last. Any number of threads may use one; it plans for one at a time. */
typedef struct DashPlanner {
  void *ptr;
} DashPlanner;

/**
 * Makes a planner.
 *
 * planner:  set on success, to be given back by `dashPlannerDestroy`.
 *
 * Orders are kept for other processes in the folder `orders` of the environment's DASH_CACHE, else of ~/.cache/dash; none if it says
 * "off". The folder and what is read there must belong to the effective user; orders are proven anew.
 */
DASH_CAPI_EXPORTED DashStatus dashPlannerCreate(DashDiagnosticHandler handler, void *userData,
                                                DashPlanner *planner);

/** Gives a planner back. Orders of it stay valid. */
DASH_CAPI_EXPORTED void dashPlannerDestroy(DashPlanner planner);

/** A manifest, and the table that it names. */
typedef struct DashOrder {
  void *ptr;
} DashOrder;

/**
 * Makes the order of a kernel for other sizes: of its own kind, at its own level, by the costs and for the workers of its manifest.
 *
 * manifest: of a kernel whose order is a table, as `dashCompile` gave it or `dash-opt --dash-to-ptx` wrote it.
 * sizes:    a value for each size that the manifest has.
 * order:    set on success, to be given back by `dashOrderDestroy`.
 *
 * DASH_INVALID_MANIFEST where the manifest is damaged, or was made by another version of the search; DASH_INVALID_ARGUMENT where its
 * order needs no table, where its kind cannot be planned (a file's, or one for a mask with blocks), and for sizes that no kernel serves.
 * Where the order cannot be kept on disk, a warning says so, once for each planner.
 */
DASH_CAPI_EXPORTED DashStatus dashPlannerPlan(DashPlanner planner, DashStringRef manifest,
                                              const DashSize *sizes, size_t numSizes,
                                              DashDiagnosticHandler handler, void *userData,
                                              DashOrder *order);

/** What `kind=auto apart=auto` takes for a problem. */
typedef struct DashChoice {
  DashStringRef kind; /**< of the options of the compiler; lives as long as the library */
  int64_t parts;      /**< into which a kv head's query heads, or q tiles of each, are cut */
  DashStringRef
      apart; /**< contributions that wait for no turn: none, parts or all; lives as long as the library */
  int32_t
      isTable; /**< 1: a table for these sizes, which `dashPlannerPlan` makes; 0: formulas of any sizes */
  int64_t qRows,
      kvRows; /**< the most that have the same tiles, and so the same choice and the same table */
  double makespan,
      bound; /**< the time that is predicted, and one that none is below, in the units of costs */
} DashChoice;

/**
 * Chooses kind, parts and what is kept apart of a problem as `kind=auto apart=auto` does, for a manifest's mask, level, tiles and workers.
 *
 * manifest: of any kernel of a batch, whatever its kind, its own parts and what it keeps apart.
 * sizes:    a value for each size that the manifest has.
 * parts:    0 leaves their number to the kind; else it holds.
 * choice:   set on success. The kernel of another kind or other parts is another program, compiled with `kind=K parts=N apart=A` and
 *           `sizes=heads:N,kv-heads:1`; of more parts than a kv head has query heads with `sizes=heads:1,kv-heads:1`.
 *
 * Follows from these arguments and the version of the library alone. Takes as long as a search, and keeps what came out where orders
 * are kept: with it the table, which `dashPlannerPlan` then only hands out. All else is as there.
 */
DASH_CAPI_EXPORTED DashStatus dashPlannerChoose(DashPlanner planner, DashStringRef manifest,
                                                const DashSize *sizes, size_t numSizes,
                                                int64_t parts, DashDiagnosticHandler handler,
                                                void *userData, DashChoice *choice);

/** Gives an order back, and all strings of it. */
DASH_CAPI_EXPORTED void dashOrderDestroy(DashOrder order);

/**
 * Empty strings for an order that is NULL. They live as long as the order.
 *
 * Manifest:    JSON: the one that was given, with all that depends on the sizes. Names of files are as they were.
 * Bytes:       the order buffer.
 * Certificate: equal certificates and equal inputs give equal gradients.
 */
DASH_CAPI_EXPORTED DashStringRef dashOrderGetManifest(DashOrder order);
DASH_CAPI_EXPORTED DashStringRef dashOrderGetBytes(DashOrder order);
DASH_CAPI_EXPORTED DashStringRef dashOrderGetCertificate(DashOrder order);

#ifdef __cplusplus
}
#endif

#endif /* DASH_C_PLANNER_H */
