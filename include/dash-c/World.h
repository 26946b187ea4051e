/*===- dash-c/World.h - documents distributed over GPUs, from C -----------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                                        *|
|*                                                                                                *|
|* A plan says which rank computes which leaves of which document, what travels in which phase,   *|
|* and in which order sums are added. dialects/dash/docs/world.md defines the terms. Every        *|
|* returned plan is proven. Nothing is executed here, and nothing needs a GPU.                    *|
|*                                                                                                *|
|* The same problem gives the same plan in every process and on every machine. Worlds and plans   *|
|* are immutable. Any number of threads may read them, except for functions that return strings:  *|
|* call these from one thread at a time. Nothing throws, and nothing is printed.                  *|
\*===------------------------------------------------------------------------------------------===*/
#ifndef DASH_C_WORLD_H
#define DASH_C_WORLD_H

#include "dash-c/Compile.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DASH_WORLD_KEEPS_ALL (-1)

/** Documents, the places of their rows, and the ranks that compute. */
typedef struct DashWorldProblem {
  const int64_t *documents; /**< rows of each, from 1 to 2097152 */
  size_t numDocuments;
  int64_t heads, kvHeads, headDim; /**< head dim: a multiple of 8 up to 128 */
  DashStringRef element;           /**< "bf16" or "f16" */
  int32_t causal;                  /**< must be 1: a world serves causal masks only */
  int64_t kept; /**< bytes of inputs that may stay with a rank from a forward to its backward: 0:
                     none; DASH_WORLD_KEEPS_ALL: all */
  int64_t cut;  /**< version of the cut: 1; 0 is scaled down, for tests */
  int64_t ranks, ranksPerNode;
  const int64_t
      *homes; /**< 4 numbers each: rank, document, first row, rows; in the order of a rank's rows */
  size_t numHomes;
  const int64_t
      *speeds; /**< of each rank, in thousandths of the usual; none: all are equally fast */
  size_t numSpeeds;
  int64_t memory;         /**< bytes available for a rank's buffers; 0: any */
  double nvlink, network; /**< GB/s into a GPU within its node, and across nodes; 0: 450 and 50 */
} DashWorldProblem;

/** A well-formed problem. */
typedef struct DashWorld {
  void *ptr;
} DashWorld;

/**
 * Checks a problem, and copies everything it points to.
 *
 * world: set on success; destroy it with `dashWorldDestroy`.
 *
 * DASH_INVALID_ARGUMENT with what was expected and found.
 */
DASH_CAPI_EXPORTED DashStatus dashWorldCreate(const DashWorldProblem *problem,
                                              DashDiagnosticHandler handler, void *userData,
                                              DashWorld *world);

/** Destroys a world. Its plans stay valid. */
DASH_CAPI_EXPORTED void dashWorldDestroy(DashWorld world);

/**
 * "sha256:…" of everything that determines the bits of O, LSE, dQ, dK and dV in this world,
 * whatever its ranks, its documents and the plan.
 *
 * forward:     name and version of the code that computes O and LSE.
 * leafKernels: certificates of the kernels that compute leaves, in any order.
 *
 * Lives until the next call with the same world. Empty for a NULL world or string.
 */
DASH_CAPI_EXPORTED DashStringRef dashWorldGetCertificate(DashWorld world, DashStringRef forward,
                                                         const DashStringRef *leafKernels,
                                                         size_t numLeafKernels);

#define DASH_WORLD_LEAF_WIDTH 5

/**
 * The leaves of a document, as lines of 5 numbers each: first and end row of its queries; then, as
 * kernels compute it, query rows, context, and 1 if it is packed with others. Writes at most
 * `capacity` lines to `lines`, which may be NULL if that is 0. Returns the number of leaves; 0 for
 * a NULL world, or for a document that does not exist.
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
 * kind: "heads-first", "rows", "home", or "random" with a seed.
 * plan: set on success; destroy it with `dashWorldPlanDestroy`.
 *
 * DASH_INVALID_ARGUMENT if there is no such kind, if it only serves comparison, or if buffers
 * exceed the stated memory.
 */
DASH_CAPI_EXPORTED DashStatus dashWorldPlan(DashWorld world, DashStringRef kind, uint64_t seed,
                                            DashDiagnosticHandler handler, void *userData,
                                            DashWorldPlan *plan);

/**
 * Reads a plan and its world, written by `dash-plan --world --report=json` or another program, and
 * proves the plan.
 *
 * path:        the file.
 * world, plan: both set on success; destroy both.
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
  int64_t kept;   /**< bytes that stay with a rank from forward to backward, on the fullest one */
  DashWorldFigures forward, backward;
} DashWorldFacts;

/** All zeros for a NULL plan. */
DASH_CAPI_EXPORTED void dashWorldPlanGetFacts(DashWorldPlan plan, DashWorldFacts *facts);

#define DASH_WORLD_RUN_WIDTH 5
#define DASH_WORLD_MESSAGE_WIDTH 13
#define DASH_WORLD_FOLD_WIDTH 9
#define DASH_WORLD_BUFFER_WIDTH 2
#define DASH_WORLD_KEPT_WIDTH 3
#define DASH_WORLD_FORWARD 0
#define DASH_WORLD_BACKWARD 1

/**
 * Lines with a fixed number of values each. Writes at most `capacity` lines to `lines`, which may
 * be NULL if that is 0. Returns the number of lines; 0 for a NULL plan, and for a pass, phase or
 * rank that does not exist. rank: selects its lines; -1 for all.
 *
 * Runs:     rank, document, kv head, first leaf, end leaf.
 * Kept:     document, kv head, kv heads: what the servers of their leaves receive in a forward
 *           stays with them, beside the LSE, and a backward brings their dO and delta alone.
 * Messages: from, to, tensors, document, kv head, kv heads, first row, end row, level and index of
 *           the node whose sums these are, offset in the sender's buffer, offset in the receiver's,
 *           bytes. In the order of the sender's buffer; with `rank`, those that it sends or
 *           receives. Tensors are bits: Q 1, dO 2, LSE 4, delta 8, K 16, V 32, O 64, dQ 128, sums
 *           256, dK 512, dV 1024.
 * Buffers:  for each rank in a phase: bytes that it sends, bytes that it receives.
 * Folds:    stage (0 before the phase `sums`, 1 before `gradients`, 2 after it), rank, document, kv
 *           head, kv heads, level, index, first row, end row: in the order in which they must be
 *           done.
 */
DASH_CAPI_EXPORTED size_t dashWorldPlanGetRuns(DashWorldPlan plan, int64_t rank, int64_t *lines,
                                               size_t capacity);
DASH_CAPI_EXPORTED size_t dashWorldPlanGetKept(DashWorldPlan plan, int64_t *lines, size_t capacity);
DASH_CAPI_EXPORTED size_t dashWorldPlanGetMessages(DashWorldPlan plan, int32_t pass, int64_t phase,
                                                   int64_t rank, int64_t *lines, size_t capacity);
DASH_CAPI_EXPORTED size_t dashWorldPlanGetBuffers(DashWorldPlan plan, int32_t pass, int64_t phase,
                                                  int64_t rank, int64_t *lines, size_t capacity);
DASH_CAPI_EXPORTED size_t dashWorldPlanGetFolds(DashWorldPlan plan, int64_t rank, int64_t *lines,
                                                size_t capacity);

/** The name of a phase, such as "inputs"; empty if there is none. Lives as long as the library. */
DASH_CAPI_EXPORTED DashStringRef dashWorldGetPhaseName(int32_t pass, int64_t phase);

/**
 * A report in the format "table", "json", "svg" or "trace"; empty for any other. Lives until the
 * next call with the same plan.
 */
DASH_CAPI_EXPORTED DashStringRef dashWorldPlanGetReport(DashWorldPlan plan, DashStringRef format);

#ifdef __cplusplus
}
#endif

#endif /* DASH_C_WORLD_H */
