/*===- dash-c/Planner.h - orders for other sizes, from C ------------------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                                        *|
|*                                                                                                *|
|* A kernel whose order is a table serves the sizes stated when it was compiled. For other sizes  *|
|* it needs another table and nothing else. A planner makes the table in milliseconds, proves it, *|
|* and stores it in memory and on disk. The PTX does not change.                                  *|
|*                                                                                                *|
|* The output is what `dash-opt --dash-to-ptx` would write for these sizes: a manifest and an     *|
|* order, for `dashKernelCreate`. So equal sizes give equal bits, in every process, whether or    *|
|* not an order was stored. The manifest serves the sizes of all problems with the same tiles.    *|
\*===------------------------------------------------------------------------------------------===*/
#ifndef DASH_C_PLANNER_H
#define DASH_C_PLANNER_H

#include "dash-c/Launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Makes orders, and keeps recent ones. Any number of threads may use one planner; it plans one
 * order at a time.
 */
typedef struct DashPlanner {
  void *ptr;
} DashPlanner;

/**
 * Makes a planner.
 *
 * planner: set on success; destroy it with `dashPlannerDestroy`.
 *
 * Orders are stored for other processes in the folder `orders` of the environment's DASH_CACHE,
 * else of ~/.cache/dash; nowhere if DASH_CACHE is "off". The folder, and the files read from it,
 * must belong to the effective user. Orders from there are proven again.
 */
DASH_CAPI_EXPORTED DashStatus dashPlannerCreate(DashDiagnosticHandler handler, void *userData,
                                                DashPlanner *planner);

/** Destroys a planner. Its orders stay valid. */
DASH_CAPI_EXPORTED void dashPlannerDestroy(DashPlanner planner);

/** A manifest, and the table that it names. */
typedef struct DashOrder {
  void *ptr;
} DashOrder;

/**
 * Makes the order of a kernel for other sizes: with the kind, level, costs and workers of its
 * manifest.
 *
 * manifest: of a kernel whose order is a table, from `dashCompile` or `dash-opt --dash-to-ptx`.
 * sizes:    a value for each size of the manifest.
 * order:    set on success; destroy it with `dashOrderDestroy`.
 *
 * DASH_INVALID_MANIFEST if the manifest is damaged, or from another version of the search.
 * DASH_INVALID_ARGUMENT if its order needs no table, if its kind cannot be planned (kind=file, or a
 * mask with blocks), or if no kernel serves the sizes. If the order cannot be stored on disk, a
 * warning says so, once for each planner.
 */
DASH_CAPI_EXPORTED DashStatus dashPlannerPlan(DashPlanner planner, DashStringRef manifest,
                                              const DashSize *sizes, size_t numSizes,
                                              DashDiagnosticHandler handler, void *userData,
                                              DashOrder *order);

/** The choice of `kind=auto apart=auto` for a problem. */
typedef struct DashChoice {
  DashStringRef kind; /**< an option of the compiler; lives as long as the library */
  int64_t parts;      /**< of a kv head's query heads, or of the q tiles of each */
  DashStringRef
      apart; /**< what waits for no turn: none, parts or all; lives as long as the library */
  int32_t
      isTable; /**< 1: a table for these sizes, from `dashPlannerPlan`; 0: formulas for any sizes */
  int64_t qRows,
      kvRows; /**< the largest with the same tiles, and so with the same choice and table */
  double makespan,
      bound; /**< the predicted time and a lower bound of every order's, in the units of costs */
} DashChoice;

/**
 * Chooses kind, parts and what is kept apart for a problem, like `kind=auto apart=auto`, with a
 * manifest's mask, level, tiles and workers.
 *
 * manifest: of any kernel for a batch, whatever its kind, its parts and what it keeps apart.
 * sizes:    a value for each size of the manifest.
 * parts:    0 leaves their number to the choice; any other number is fixed.
 * choice:   set on success. A kernel of another kind or other parts is another program. Compile it
 *           with `kind=K parts=N apart=A` and `sizes=heads:N,kv-heads:1`; with more parts than a kv
 *           head has query heads, `sizes=heads:1,kv-heads:1`.
 *
 * The choice depends only on these arguments and the version of the library. It takes as long as a
 * search, and the result is stored like orders, together with the table, which `dashPlannerPlan`
 * then only returns. Everything else is as in `dashPlannerPlan`.
 */
DASH_CAPI_EXPORTED DashStatus dashPlannerChoose(DashPlanner planner, DashStringRef manifest,
                                                const DashSize *sizes, size_t numSizes,
                                                int64_t parts, DashDiagnosticHandler handler,
                                                void *userData, DashChoice *choice);

/** Destroys an order with all its strings. */
DASH_CAPI_EXPORTED void dashOrderDestroy(DashOrder order);

/**
 * Properties of an order. Empty strings for a NULL order. They live as long as the order.
 *
 * Manifest:    JSON: the given one, with everything that depends on the sizes replaced. Names of
 *              files are unchanged.
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
