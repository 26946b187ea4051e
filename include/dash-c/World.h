/*===- dash-c/World.h - documents shared out over GPUs, from C --------------------------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                                                    *|
|*                                                                                                            *|
|* Who computes which leaves of which document, what travels in which phase, and in which order sums are      *|
|* added: dialects/dash/docs/world.md has the words. A plan is proven before anybody gets it. Nothing is       *|
|* executed here, and nothing needs a GPU.                                                                     *|
|*                                                                                                            *|
|* The same problem gives the same plan in every process and on every machine. Worlds and plans do not change *|
|* once they are made: any number of threads may read them, but for strings, which one at a time may ask for. *|
|* Nothing throws, and nothing is printed.                                                                     *|
\*===----------------------------------------------------------------------------------------------------------===*/
#ifndef DASH_C_WORLD_H
#define DASH_C_WORLD_H

#include "dash-c/Compile.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Documents, where their rows lie, and who is there to compute. */
typedef struct DashWorldProblem {
  const int64_t *documents; /**< rows of each, from 1 to 2097152 */
  size_t numDocuments;
  int64_t heads, kvHeads, headDim; /**< head dim: 64 or 128 */
  DashStringRef element;           /**< "bf16" or "f16" */
  int32_t causal;                  /**< 1: a world serves no other */
  int32_t keepsInputs; /**< 1: Q, K, V and O stay with the server from forward to backward */
  int64_t cut;         /**< version of the cut: 1; 0 is scaled down, for tests */
  int64_t ranks, ranksPerNode;
  const int64_t
      *homes; /**< 4 numbers each: rank, document, first row, rows; of a rank in its order */
  size_t numHomes;
  const int64_t *speeds; /**< of each rank in thousandths of the usual; none: all are as fast */
  size_t numSpeeds;
  int64_t memory;         /**< bytes that a rank's buffers may take; 0: any */
  double nvlink, network; /**< GB/s into a GPU within its node, and across nodes; 0: 450 and 50 */
} DashWorldProblem;

/** A problem that is well formed. */
typedef struct DashWorld {
  void *ptr;
} DashWorld;

/**
 * Checks a problem; what it points to is copied.
 *
 * world: set on success, to be given back by `dashWorldDestroy`.
 *
 * DASH_INVALID_ARGUMENT with what was expected and found.
 */
DASH_CAPI_EXPORTED DashStatus dashWorldCreate(const DashWorldProblem *problem,
                                              DashDiagnosticHandler handler, void *userData,
                                              DashWorld *world);

/** Gives a world back. Plans of it stay valid. */
DASH_CAPI_EXPORTED void dashWorldDestroy(DashWorld world);

/**
 * "sha256:…" of all that fixes the bits of O, LSE, dQ, dK and dV in this world, whatever its ranks, its documents and the plan.
 *
 * forward:     name and version of what computes O and LSE.
 * leafKernels: certificates of the kernels that compute leaves, in any order.
 *
 * Lives until the next call with the same world; empty for a NULL world or string.
 */
DASH_CAPI_EXPORTED DashStringRef dashWorldGetCertificate(DashWorld world, DashStringRef forward,
                                                         const DashStringRef *leafKernels,
                                                         size_t numLeafKernels);

#define DASH_WORLD_LEAF_WIDTH 5

/**
 * Leaves of a document, as lines of 5 numbers each: first row and end row of its queries, and, as kernels compute it, query rows, context, and
 * 1 where it is packed with others. `lines` takes as many as `capacity` says, and may be NULL where that is 0; the result is how many there are.
 * 0 for a world that is NULL, and for a document that does not exist.
 */
DASH_CAPI_EXPORTED size_t dashWorldGetLeaves(DashWorld world, int64_t document, int64_t *lines,
                                             size_t capacity);

/** A proven plan. */
typedef struct DashWorldPlan {
  void *ptr;
} DashWorldPlan;

/**
 * Makes a plan, and proves it.
 *
 * kind: "heads-first", "rows", "home", or "random" by a seed.
 * plan: set on success, to be given back by `dashWorldPlanDestroy`.
 *
 * DASH_INVALID_ARGUMENT where there is no such kind, it is one to compare with, or buffers take more than the stated memory.
 */
DASH_CAPI_EXPORTED DashStatus dashWorldPlan(DashWorld world, DashStringRef kind, uint64_t seed,
                                            DashDiagnosticHandler handler, void *userData,
                                            DashWorldPlan *plan);

/**
 * Reads a plan that `dash-plan --world --report=json` wrote, or somebody else, with its world, and proves it.
 *
 * path: of the file. world, plan: both set on success, to be given back.
 */
DASH_CAPI_EXPORTED DashStatus dashWorldReadPlan(DashStringRef path, DashDiagnosticHandler handler,
                                                void *userData, DashWorld *world,
                                                DashWorldPlan *plan);

DASH_CAPI_EXPORTED void dashWorldPlanDestroy(DashWorldPlan plan);

/** Predictions for one pass of a layer; times in seconds. */
typedef struct DashWorldFigures {
  double layer, compute, exchange, hidden, balance, even, uncut, bound;
} DashWorldFigures;

typedef struct DashWorldFacts {
  int64_t numRuns, numFolds, numForwardPhases, numBackwardPhases;
  int64_t memory; /**< bytes of buffers on the fullest rank */
  DashWorldFigures forward, backward;
} DashWorldFacts;

/** All zero for a plan that is NULL. */
DASH_CAPI_EXPORTED void dashWorldPlanGetFacts(DashWorldPlan plan, DashWorldFacts *facts);

#define DASH_WORLD_RUN_WIDTH 5
#define DASH_WORLD_MESSAGE_WIDTH 13
#define DASH_WORLD_FOLD_WIDTH 9
#define DASH_WORLD_BUFFER_WIDTH 2
#define DASH_WORLD_FORWARD 0
#define DASH_WORLD_BACKWARD 1

/**
 * Lines of so many numbers each. `lines` takes as many as `capacity` says, and may be NULL where that is 0; the result is how many there
 * are. rank: that of which lines are wanted, -1 for all. 0 for a plan that is NULL, and for a pass, phase or rank that does not exist.
 *
 * Runs:     rank, document, kv head, first leaf, end leaf.
 * Messages: from, to, tensors, document, kv head, kv heads, first row, end row, level and index of the node whose sums these are, offset in
 *           the sender's buffer, in the receiver's, bytes. In the order of the sender's buffer; with `rank` those that it sends or receives.
 *           Tensors are bits: Q 1, dO 2, LSE 4, delta 8, K 16, V 32, O 64, dQ 128, sums 256, dK 512, dV 1024.
 * Buffers:  of each rank in a phase: bytes that it sends, bytes that it receives.
 * Folds:    stage (0 in front of the phase `sums`, 1 of `gradients`, 2 behind it), rank, document, kv head, kv heads, level, index, first
 *           row, end row: in the order in which they have to be done.
 */
DASH_CAPI_EXPORTED size_t dashWorldPlanGetRuns(DashWorldPlan plan, int64_t rank, int64_t *lines,
                                               size_t capacity);
DASH_CAPI_EXPORTED size_t dashWorldPlanGetMessages(DashWorldPlan plan, int32_t pass, int64_t phase,
                                                   int64_t rank, int64_t *lines, size_t capacity);
DASH_CAPI_EXPORTED size_t dashWorldPlanGetBuffers(DashWorldPlan plan, int32_t pass, int64_t phase,
                                                  int64_t rank, int64_t *lines, size_t capacity);
DASH_CAPI_EXPORTED size_t dashWorldPlanGetFolds(DashWorldPlan plan, int64_t rank, int64_t *lines,
                                                size_t capacity);

/** Name of a phase, such as "inputs"; empty where there is none. Lives as long as the library. */
DASH_CAPI_EXPORTED DashStringRef dashWorldGetPhaseName(int32_t pass, int64_t phase);

/** "table", "json", "svg" or "trace"; empty for any other. Lives until the next call with the same plan. */
DASH_CAPI_EXPORTED DashStringRef dashWorldPlanGetReport(DashWorldPlan plan, DashStringRef format);

#ifdef __cplusplus
}
#endif

#endif /* DASH_C_WORLD_H */
