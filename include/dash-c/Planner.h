/*===- dash-c/Planner.h - orders for other sizes, from C -------------------------------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                                                    *|
|*                                                                                                            *|
|* A kernel whose order is a table serves the sizes that were stated when it was compiled. For other sizes it *|
|* needs another table and nothing else: a planner makes that in milliseconds, proves it, and keeps it in     *|
|* memory and on disk. The PTX stays what it is.                                                               *|
|*                                                                                                            *|
|* What comes out is what `dash-opt --dash-to-ptx` would write for these sizes: a manifest and an order, for   *|
|* `dashKernelCreate`. So equal sizes give equal bits, whoever plans, whenever, and whether an order was kept. *|
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
 * "off". What is read there is proven anew.
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

/**
 * The number of parts into which `kind=auto` cuts the query heads of a kv head, for a manifest's mask, level, tiles and workers.
 *
 * manifest: of any kernel of a batch, whatever its kind and its own parts.
 * sizes:    a value for each size that the manifest has.
 * parts:    set on success. The kernel of that number is another program, compiled with `parts=N`.
 *
 * Takes as long as `kind=auto` takes to order the problem in each number that may be worth it, and keeps nothing: ask once for each set
 * of sizes.
 */
DASH_CAPI_EXPORTED DashStatus dashPlannerChooseParts(DashPlanner planner, DashStringRef manifest,
                                                     const DashSize *sizes, size_t numSizes,
                                                     DashDiagnosticHandler handler, void *userData,
                                                     int64_t *parts);

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
