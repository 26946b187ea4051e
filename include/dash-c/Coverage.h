/*===- dash-c/Coverage.h - which problems kernels cover, from C ------------------------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                                                    *|
|*                                                                                                            *|
|* A front end asks before its forward pass, and computes the problem in another way where the answer is no:   *|
|* behind it, it is too late. The answer follows from what the compiler and the launcher enforce themselves.   *|
\*===----------------------------------------------------------------------------------------------------------===*/
#ifndef DASH_C_COVERAGE_H
#define DASH_C_COVERAGE_H

#include "dash-c/Compile.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A number that nobody knows yet, such as a size in a program that is being traced: it is not looked at. */
#define DASH_UNKNOWN (-1)

/** What is asked for. An empty string is not looked at. */
typedef struct DashProblem {
  DashStringRef element; /**< of q, k and v, such as "bf16" */
  DashStringRef level;   /**< of determinism, such as "run" */
  DashStringRef device;  /**< what the GPU is called; for messages */
  int64_t capability;    /**< its compute capability, 10 * major + minor; 0 where there is no GPU */
  int64_t headDim, headDimV; /**< columns of q and k, and of v */
  int64_t left,
      right; /**< how many columns before its own a row sees, and how many behind it; -1 is no bound */
  int64_t batch, heads, kvHeads, qRows,
      kvRows;        /**< of a list of sequences the rows of all, and a batch of 1 */
  int64_t sequences; /**< of a list whose offsets come with each run, how many; 0 of a batch */
  int32_t hasSink;   /**< whether heads have a score without a value */
  float softcap;     /**< at which scores are capped; 0 where they are not */
} DashProblem;

/** How a problem that is covered is computed, and what holds of all. */
typedef struct DashCoverage {
  /**
   * The batch and the kv heads, each with its heads of q, of one launch. Fewer than the problem has where it is more than one launch
   * takes: then compute slices of so many, each as a problem of its own, the last of what is left. An order follows from the sizes of its
   * slice, so slices are a part of what fixes the bits. Of what is unknown the most that a launch takes.
   */
  int64_t batch, kvHeads;
  int64_t rows, sequences; /**< the most that a kernel counts: of q and of k, and of a list */
  int64_t capability;      /**< that kernels are compiled for, 10 * major + minor */
  int64_t headDimMultiple, headDim; /**< head dims are multiples of the one up to the other */
  /**
   * q, k, v, do and o begin at multiples of `alignment` bytes, and their strides, but the innermost, which is 1, are positive multiples
   * of `strideMultiple` elements. Copy what lies otherwise: gradients have the same bits.
   */
  int64_t alignment, strideMultiple;
} DashCoverage;

/**
 * Whether kernels compute a problem.
 *
 * coverage: set on success; may be NULL.
 *
 * DASH_INVALID_ARGUMENT where none does: a diagnostic says what was expected, what was found, and what to do instead. Takes microseconds; a
 * host that asks for each call keeps the answer by what it asked.
 */
DASH_CAPI_EXPORTED DashStatus dashCompilerCovers(const DashProblem *problem,
                                                 DashDiagnosticHandler handler, void *userData,
                                                 DashCoverage *coverage);

#ifdef __cplusplus
}
#endif

#endif /* DASH_C_COVERAGE_H */
