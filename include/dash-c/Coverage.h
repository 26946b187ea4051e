/*===- dash-c/Coverage.h - which problems kernels cover, from C -----------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                                        *|
|*                                                                                                *|
|* A front end asks before its forward pass, and computes the problem in another way if the       *|
|* answer is no: after the forward pass it is too late. The answer follows from the rules that    *|
|* the compiler and the launcher enforce.                                                         *|
\*===------------------------------------------------------------------------------------------===*/
#ifndef DASH_C_COVERAGE_H
#define DASH_C_COVERAGE_H

#include "dash-c/Compile.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A number that is not known yet, such as a size in a program during tracing. It is not checked.
 */
#define DASH_UNKNOWN (-1)

/** The problem in question. Empty strings are not checked. */
typedef struct DashProblem {
  DashStringRef element;     /**< of q, k and v, such as "bf16" */
  DashStringRef level;       /**< the level of determinism, such as "run" */
  DashStringRef device;      /**< the name of the GPU, for messages */
  int64_t capability;        /**< its compute capability, 10 * major + minor; 0 without a GPU */
  int64_t headDim, headDimV; /**< columns of q and k, and of v */
  int64_t left, right;       /**< columns seen before and after a row's own; -1 is no bound */
  int64_t batch, heads, kvHeads, qRows,
      kvRows;        /**< for a list of sequences, the rows of all of them, with a batch of 1 */
  int64_t sequences; /**< sequences of a list whose offsets come with each run; 0 for a batch */
  int32_t hasSink;   /**< whether heads have a score without a value */
  float softcap;     /**< the cap of scores; 0 for none */
  int64_t cut; /**< of a forward: kv rows of the pieces into which keys are cut; 0 for no cut */
  int32_t hasUnion;              /**< whether rows also see the first columns of their sequence */
  int64_t unionColumns;          /**< how many first columns these are */
  int64_t unionLeft, unionRight; /**< what else they see, within left and right */
  int32_t hasBlocks;             /**< whether a bitmap says which blocks are seen */
  int64_t blockQ, blockKv;       /**< rows of q and of k of one of its blocks */
  int64_t qBlocks, kvBlocks;     /**< how many it has */
} DashProblem;

/** How a covered problem is computed, and limits of all problems. */
typedef struct DashCoverage {
  /**
   * The batch, and the kv heads (each with its heads of q), of one launch. They are fewer than the
   * problem's if the problem is too large for one launch. Then compute slices of this size, each as
   * a separate problem; the last slice takes the rest. An order follows from the sizes of its
   * slice, so slices are part of what determines the bits. For unknown sizes, these are the most
   * that a launch takes.
   */
  int64_t batch, kvHeads;
  int64_t rows,
      sequences; /**< the most that a kernel counts: rows of q and of k, and sequences of a list */
  int64_t capability; /**< of the GPUs that kernels are compiled for, 10 * major + minor */
  int64_t headDimMultiple, headDim; /**< head dims are multiples of the first, up to the second */
  /**
   * q, k, v, do and o begin at multiples of `alignment` bytes. Their innermost stride is 1, and the
   * others are positive multiples of `strideMultiple` elements. Copy tensors that do not: gradients
   * have the same bits.
   */
  int64_t alignment, strideMultiple;
  /**
   * Tiles of 4096 numbers in which a program of dk and dv keeps dS of the problem for one of dq
   * (`ds(...)` of `dash.attention_bwd`), which then need not compute it again; 0 if no programs do,
   * or a size is not known. All gradients have the same bits either way.
   */
  int64_t tasks;
} DashCoverage;

/**
 * Whether kernels compute a problem.
 *
 * coverage: set on success; may be NULL.
 *
 * DASH_INVALID_ARGUMENT if no kernel does: a diagnostic says what was expected, what was found, and
 * what to do instead. Takes microseconds; a host that asks in each call can cache the answer.
 */
DASH_CAPI_EXPORTED DashStatus dashCompilerCovers(const DashProblem *problem,
                                                 DashDiagnosticHandler handler, void *userData,
                                                 DashCoverage *coverage);

#ifdef __cplusplus
}
#endif

#endif /* DASH_C_COVERAGE_H */
