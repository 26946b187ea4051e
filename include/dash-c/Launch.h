/*===- dash-c/Launch.h - launch compiled kernels from C -------------------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                                        *|
|*                                                                                                *|
|* A manifest and its PTX, as strings, become a kernel. A kernel and sizes become a plan. A plan  *|
|* runs on a stream, with tensors, a workspace and an order from the caller. This needs nothing   *|
|* of LLVM, and never allocates device memory.                                                    *|
|*                                                                                                *|
|* Every argument is checked before anything is enqueued. A function that fails reports the       *|
|* reason to `handler`, in the calling thread, and leaves its outputs untouched. There is no      *|
|* global state: kernels and plans are immutable, and any number of threads may use one at once.  *|
|* A thread may have any context current, or none: calls make their device's primary context      *|
|* current, and restore the previous one.                                                         *|
\*===------------------------------------------------------------------------------------------===*/
#ifndef DASH_C_LAUNCH_H
#define DASH_C_LAUNCH_H

#include "dash-c/Compile.h"

#ifdef __cplusplus
extern "C" {
#endif

/*===- Drivers -------------------------------------------------------------------------------===*/

/** The CUDA driver. */
typedef struct DashDriver {
  void *ptr;
} DashDriver;

/**
 * Opens the CUDA driver with `dlopen`.
 *
 * library: its name; empty for libcuda.so.1. Tests use another one.
 * driver:  set on success; destroy it with `dashDriverDestroy`.
 *
 * DASH_DRIVER_ERROR if there is no driver, if it is too old, or if there is no device.
 */
DASH_CAPI_EXPORTED DashStatus dashDriverOpen(DashStringRef library, DashDiagnosticHandler handler,
                                             void *userData, DashDriver *driver);

/** Destroys a driver handle. Kernels and plans that use the driver remain valid. */
DASH_CAPI_EXPORTED void dashDriverDestroy(DashDriver driver);

/*===- Kernels -------------------------------------------------------------------------------===*/

/** A compiled backward pass, on any number of devices. */
typedef struct DashKernel {
  void *ptr;
} DashKernel;

/**
 * Makes a kernel from the output of `dashCompile` or `dash-opt --dash-to-ptx`. All strings are
 * copied.
 *
 * driver:   launches it. A driver whose `ptr` is NULL makes a kernel for plans that only state
 *           sizes; `ptx` and `order` may both be empty then.
 * manifest: NAME.json. The files that it names are not read.
 * ptx:      NAME.ptx, which must have the manifest's sha256 and its entries.
 * order:    NAME.order, with the manifest's sha256, if the order is a table; otherwise empty.
 * kernel:   set on success; destroy it with `dashKernelDestroy`.
 *
 * DASH_INVALID_MANIFEST if one of them is damaged, has another version, or does not match the
 * others.
 */
DASH_CAPI_EXPORTED DashStatus dashKernelCreate(DashDriver driver, DashStringRef manifest,
                                               DashStringRef ptx, DashStringRef order,
                                               DashDiagnosticHandler handler, void *userData,
                                               DashKernel *kernel);

/**
 * Makes a kernel from files: a manifest, and the files that it names beside it. These are names,
 * not paths.
 *
 * path: NAME.json. Everything else is as for `dashKernelCreate`; messages begin with the path. If
 *       the manifest names a cubin, it is loaded instead of assembling the PTX, and must have the
 *       manifest's sha256.
 */
DASH_CAPI_EXPORTED DashStatus dashKernelOpen(DashDriver driver, DashStringRef path,
                                             DashDiagnosticHandler handler, void *userData,
                                             DashKernel *kernel);

/**
 * Destroys a kernel handle. Its plans stay valid. The kernel is unloaded from its devices with the
 * last of them: no launch may be in flight then.
 */
DASH_CAPI_EXPORTED void dashKernelDestroy(DashKernel kernel);

/**
 * Properties of a kernel. Empty strings and 0 for a NULL kernel or an index out of range. They live
 * as long as the kernel.
 */
DASH_CAPI_EXPORTED DashStringRef dashKernelGetName(DashKernel kernel);
/** The manifest's text. */
DASH_CAPI_EXPORTED DashStringRef dashKernelGetManifest(DashKernel kernel);
/** Equal certificates and equal inputs give equal gradients. */
DASH_CAPI_EXPORTED DashStringRef dashKernelGetCertificate(DashKernel kernel);
/** The sizes that a plan needs, in any order, such as "batch" and "q_rows". */
DASH_CAPI_EXPORTED size_t dashKernelGetNumSizes(DashKernel kernel);
DASH_CAPI_EXPORTED DashStringRef dashKernelGetSizeName(DashKernel kernel, size_t index);
/**
 * The tensors of a run, in order: q, k, v, do, o, lse, dq, dk, dv; then, with a sink, sink and
 * dsink; then, for a list of sequences whose lengths come with each run, cu_seqlens_q and
 * cu_seqlens_kv.
 */
DASH_CAPI_EXPORTED size_t dashKernelGetNumTensors(DashKernel kernel);
DASH_CAPI_EXPORTED DashStringRef dashKernelGetTensorName(DashKernel kernel, size_t index);
/** 1 if a run writes the tensor; 0 if it reads it, or if there is no such tensor. */
DASH_CAPI_EXPORTED int32_t dashKernelIsTensorWritten(DashKernel kernel, size_t index);
/** head_dim^-0.5; 1 if the kernel takes no scale: then every run must pass 1. */
DASH_CAPI_EXPORTED float dashKernelGetDefaultScale(DashKernel kernel);

/*===- Tensors -------------------------------------------------------------------------------===*/

typedef enum DashElement { DASH_BF16 = 1, DASH_F16 = 2, DASH_F32 = 3, DASH_I32 = 4 } DashElement;

#define DASH_MAX_RANK 4

/**
 * Device memory: [batch, heads, rows, head dim], [batch, heads, rows], [batch, heads], [heads] or
 * [bounds]. Strides are in elements; the innermost is 1.
 */
typedef struct DashTensor {
  uint64_t address; /**< of the first element */
  DashElement element;
  uint32_t rank;
  int64_t shape[DASH_MAX_RANK];
  int64_t strides[DASH_MAX_RANK];
} DashTensor;

/**
 * The sizes of a problem from its tensors' shapes, for `dashPlanCreate`. Checks elements and
 * shapes, but neither strides nor addresses.
 *
 * sizes: set on success, in the order of `dashKernelGetSizeName`. `numSizes` must be their exact
 *        number.
 */
DASH_CAPI_EXPORTED DashStatus dashKernelFindSizes(DashKernel kernel, const DashTensor *tensors,
                                                  size_t numTensors, DashDiagnosticHandler handler,
                                                  void *userData, int64_t *sizes, size_t numSizes);

/*===- Plans ---------------------------------------------------------------------------------===*/

/** Everything about the launches of one problem, except addresses, strides and the scale. */
typedef struct DashPlan {
  void *ptr;
} DashPlan;

typedef struct DashSize {
  DashStringRef name;
  int64_t value;
} DashSize;

/**
 * Plans a problem. The first plan for a device loads the kernel: that may take seconds, and must
 * not happen while a stream is being captured.
 *
 * Without a cubin, the PTX is assembled, and ptxas's code is stored for later processes: in the
 * folder of the environment's DASH_CACHE, else in ~/.cache/dash; nowhere if DASH_CACHE is "off".
 * The folder must belong to the effective user. The assemblers are the program that DASH_PTXAS
 * names, or else each ptxas on PATH and that of /usr/local/cuda, until one makes code that is not
 * slow; last comes the driver. Warnings, once for each driver, report that code cannot be stored,
 * or which assembler is not good enough; the plan works without.
 *
 * device: its ordinal. Launches use its primary context, like PyTorch and JAX; any context may be
 *         current, or none.
 * sizes:  a value for each size of the kernel.
 * plan:   set on success; destroy it with `dashPlanDestroy`.
 *
 * DASH_INVALID_ARGUMENT for sizes that the kernel does not serve; DASH_NO_CAPACITY if the device
 * cannot hold its workers at once; DASH_INVALID_MANIFEST if the device has another architecture;
 * DASH_DRIVER_ERROR, with the assembler's log, if the driver refuses the code.
 */
DASH_CAPI_EXPORTED DashStatus dashPlanCreate(DashKernel kernel, int32_t device,
                                             const DashSize *sizes, size_t numSizes,
                                             DashDiagnosticHandler handler, void *userData,
                                             DashPlan *plan);

/** Destroys a plan. */
DASH_CAPI_EXPORTED void dashPlanDestroy(DashPlan plan);

/**
 * The required tensor `index` of a run: element, rank and shape, with contiguous strides and no
 * address. Its rank is 0 if the index is out of range.
 */
DASH_CAPI_EXPORTED DashTensor dashPlanGetTensor(DashPlan plan, size_t index);

/**
 * Blocks of memory begin at multiples of this many bytes. An order may begin at any multiple of 16,
 * which suits its regions.
 */
#define DASH_ALIGNMENT 256

/**
 * Bytes of the workspace, which serves one run at a time, and bytes of the order. 0 for a problem
 * without outputs.
 */
DASH_CAPI_EXPORTED size_t dashPlanGetWorkspaceBytes(DashPlan plan);
DASH_CAPI_EXPORTED size_t dashPlanGetOrderBytes(DashPlan plan);

/** A part of a plan's workspace or order, for tests and debuggers. */
typedef struct DashRegion {
  DashStringRef name; /**< lives as long as the plan */
  int32_t isOrder;    /**< 1: of the order; 0: of the workspace */
  size_t offset;      /**< from the start of its block */
  size_t bytes;
} DashRegion;

/** The regions, in the manifest's order. All zeros if the index is out of range. */
DASH_CAPI_EXPORTED size_t dashPlanGetNumRegions(DashPlan plan);
DASH_CAPI_EXPORTED DashRegion dashPlanGetRegion(DashPlan plan, size_t index);

/*===- Launches ------------------------------------------------------------------------------===*/

/** A block of device memory, at a multiple of DASH_ALIGNMENT, or of 16 for an order. */
typedef struct DashMemory {
  uint64_t address;
  size_t bytes;
} DashMemory;

/**
 * Enqueues zeros for those parts of a workspace that must be zero: the tickets of a program that
 * draws them; in other programs nothing. Needed once for new memory, and after a failed run; a
 * successful run leaves them zero. May be captured, but a capture only records it.
 */
DASH_CAPI_EXPORTED DashStatus dashPlanClear(DashPlan plan, void *stream, DashMemory workspace,
                                            DashDiagnosticHandler handler, void *userData);

/**
 * Enqueues the work that fills the order: an entry of the kernel, or the copy of a table. Needed
 * once for each plan, and again if its memory was used for something else. Runs only read the
 * order, so any number of streams may share it, once it is complete. The copy of a table cannot be
 * captured.
 */
DASH_CAPI_EXPORTED DashStatus dashPlanMakeOrder(DashPlan plan, void *stream, DashMemory order,
                                                DashDiagnosticHandler handler, void *userData);

typedef struct DashArguments {
  const DashTensor *tensors; /**< in the order of `dashKernelGetTensorName` */
  size_t numTensors;
  float scale;
  DashMemory workspace;
  DashMemory order;
  /**
   * 1: rows of outputs that no sequence of a list has become 0, those of an LSE -inf. 0: they stay
   * as they are, as where several runs fill one tensor. Batches have no such rows.
   */
  int32_t clearsRows;
} DashArguments;

/**
 * Enqueues a backward pass on a stream, and returns. It allocates nothing and waits for nothing, so
 * it may be captured into a graph. The graph needs the same memory when it is replayed, with the
 * same order in it.
 *
 * stream: a CUstream of the primary context of the plan's device. NULL is the legacy default stream
 *         of that device, and CU_STREAM_PER_THREAD this thread's stream there, whatever context is
 *         current.
 *
 * DASH_INVALID_ARGUMENT, with nothing enqueued, if an element, a shape, a stride, an alignment or a
 * device is wrong, or if an output overlaps another tensor, itself or the workspace.
 * DASH_DRIVER_ERROR if a launch fails: clear the workspace then.
 */
DASH_CAPI_EXPORTED DashStatus dashPlanRun(DashPlan plan, void *stream,
                                          const DashArguments *arguments,
                                          DashDiagnosticHandler handler, void *userData);

/**
 * `dashPlanClear`, `dashPlanMakeOrder` and `dashPlanRun` in one call, for memory that is used for
 * one run. An order that is a table is not made: it must be there.
 */
DASH_CAPI_EXPORTED DashStatus dashPlanRunAnew(DashPlan plan, void *stream,
                                              const DashArguments *arguments,
                                              DashDiagnosticHandler handler, void *userData);

/**
 * The checks of `dashPlanRun`, except those of its workspace and order, which may be 0. For callers
 * that allocate these for each run and want to know first.
 */
DASH_CAPI_EXPORTED DashStatus dashPlanCheck(DashPlan plan, void *stream,
                                            const DashArguments *arguments,
                                            DashDiagnosticHandler handler, void *userData);

/**
 * Whether the stream is being captured into a graph. Work enqueued then may run again, long after
 * its memory was freed.
 *
 * isCapturing: set on success, to 1 or 0.
 */
DASH_CAPI_EXPORTED DashStatus dashPlanIsCapturing(DashPlan plan, void *stream,
                                                  DashDiagnosticHandler handler, void *userData,
                                                  int32_t *isCapturing);

/**
 * A run entry by entry, for measurements. All steps once, in order, equal a `dashPlanRun` that
 * clears rows. Roles are words of the manifest, such as "main"; empty if the index is out of range.
 */
DASH_CAPI_EXPORTED size_t dashPlanGetNumSteps(DashPlan plan);
DASH_CAPI_EXPORTED DashStringRef dashPlanGetStepRole(DashPlan plan, size_t index);
DASH_CAPI_EXPORTED DashStatus dashPlanRunStep(DashPlan plan, size_t index, void *stream,
                                              const DashArguments *arguments,
                                              DashDiagnosticHandler handler, void *userData);

#ifdef __cplusplus
}
#endif

#endif /* DASH_C_LAUNCH_H */
