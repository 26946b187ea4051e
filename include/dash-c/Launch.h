/*===- dash-c/Launch.h - launch compiled kernels, from C -------------------------------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                                                    *|
|*                                                                                                            *|
|* A manifest and its PTX, as strings, become a kernel; a kernel and sizes become a plan; a plan runs on a    *|
|* stream, with tensors, a workspace and an order that the caller gives. Nothing of LLVM is asked, and no     *|
|* memory of the device is allocated, ever.                                                                   *|
|*                                                                                                            *|
|* Every argument is checked before anything is enqueued. A function that fails says why through `handler`,   *|
|* in the calling thread, and leaves what it would have set untouched. There is no global state: kernels and  *|
|* plans do not change once they are made, and any number of threads may use one at once. A thread may have    *|
|* any context current, or none: calls make their device's primary one current, and put back what was there.  *|
\*===----------------------------------------------------------------------------------------------------------===*/
#ifndef DASH_C_LAUNCH_H
#define DASH_C_LAUNCH_H

#include "dash-c/Compile.h"

#ifdef __cplusplus
extern "C" {
#endif

/*===- Drivers --------------------------------------------------------------------------------------===*/

/** The CUDA driver. */
typedef struct DashDriver {
  void *ptr;
} DashDriver;

/**
 * Opens the CUDA driver, which is looked for by `dlopen`.
 *
 * library:  its name; empty for libcuda.so.1. Tests name another one.
 * driver:   set on success, to be given back by `dashDriverDestroy`.
 *
 * DASH_DRIVER_ERROR where there is no driver, one that is too old, or no device.
 */
DASH_CAPI_EXPORTED DashStatus dashDriverOpen(DashStringRef library, DashDiagnosticHandler handler,
                                             void *userData, DashDriver *driver);

/** Gives a driver back. Kernels and plans that use it go on doing so. */
DASH_CAPI_EXPORTED void dashDriverDestroy(DashDriver driver);

/*===- Kernels --------------------------------------------------------------------------------------===*/

/** A compiled backward pass, on any number of devices. */
typedef struct DashKernel {
  void *ptr;
} DashKernel;

/**
 * Makes a kernel of what `dashCompile` gave or `dash-opt --dash-to-ptx` wrote. All strings are copied.
 *
 * driver:   launches it. One whose `ptr` is NULL makes a kernel for plans that say sizes only.
 * manifest: NAME.json. The files that it names are not read.
 * ptx:      NAME.ptx, which must have the manifest's sha256 and its entries.
 * order:    NAME.order, with the manifest's sha256, where the order is a table; else empty.
 * kernel:   set on success, to be given back by `dashKernelDestroy`.
 *
 * DASH_INVALID_MANIFEST where one of them is damaged, of another version, or not of the others.
 */
DASH_CAPI_EXPORTED DashStatus dashKernelCreate(DashDriver driver, DashStringRef manifest,
                                               DashStringRef ptx, DashStringRef order,
                                               DashDiagnosticHandler handler, void *userData,
                                               DashKernel *kernel);

/**
 * Makes a kernel of files: a manifest, and beside it what it names. Names in it are names, not paths.
 *
 * path:     NAME.json. All else is as for `dashKernelCreate`; messages begin with the path. A cubin that the manifest names is
 *           loaded instead of assembling the PTX, and must have the manifest's sha256.
 */
DASH_CAPI_EXPORTED DashStatus dashKernelOpen(DashDriver driver, DashStringRef path,
                                             DashDiagnosticHandler handler, void *userData,
                                             DashKernel *kernel);

/** Gives a kernel back. Plans of it stay valid; with the last of them it is unloaded from its devices: no launch may be under way. */
DASH_CAPI_EXPORTED void dashKernelDestroy(DashKernel kernel);

/** Empty strings and 0 for a kernel that is NULL, or an index out of range. They live as long as the kernel. */
DASH_CAPI_EXPORTED DashStringRef dashKernelGetName(DashKernel kernel);
/** The manifest's text. */
DASH_CAPI_EXPORTED DashStringRef dashKernelGetManifest(DashKernel kernel);
/** Equal certificates and equal inputs give equal gradients. */
DASH_CAPI_EXPORTED DashStringRef dashKernelGetCertificate(DashKernel kernel);
/** The sizes that a plan needs, in any order, such as "batch" and "q_rows". */
DASH_CAPI_EXPORTED size_t dashKernelGetNumSizes(DashKernel kernel);
DASH_CAPI_EXPORTED DashStringRef dashKernelGetSizeName(DashKernel kernel, size_t index);
/** The tensors that a run needs, in their order: q, k, v, do, o, lse, dq, dk, dv; with a sink sink and dsink behind them; of a list of
    sequences whose lengths come with each run cu_seqlens_q and cu_seqlens_kv. */
DASH_CAPI_EXPORTED size_t dashKernelGetNumTensors(DashKernel kernel);
DASH_CAPI_EXPORTED DashStringRef dashKernelGetTensorName(DashKernel kernel, size_t index);
/** 1 where a run writes it, 0 where it reads it, and of no tensor. */
DASH_CAPI_EXPORTED int32_t dashKernelIsTensorWritten(DashKernel kernel, size_t index);
/** head_dim^-0.5; 1 where the kernel takes no scale, and every run must pass 1. */
DASH_CAPI_EXPORTED float dashKernelGetDefaultScale(DashKernel kernel);

/*===- Tensors --------------------------------------------------------------------------------------===*/

typedef enum DashElement { DASH_BF16 = 1, DASH_F16 = 2, DASH_F32 = 3, DASH_I32 = 4 } DashElement;

#define DASH_MAX_RANK 4

/** Memory of the device, [batch, heads, rows, head dim], [batch, heads, rows], [batch, heads], [heads] or [bounds]; strides in elements, the innermost 1. */
typedef struct DashTensor {
  uint64_t address; /**< of the first element */
  DashElement element;
  uint32_t rank;
  int64_t shape[DASH_MAX_RANK];
  int64_t strides[DASH_MAX_RANK];
} DashTensor;

/**
 * The sizes of a problem, as its tensors' shapes give them, for `dashPlanCreate`. Checks elements and shapes; looks at neither
 * strides nor addresses.
 *
 * sizes:    set on success, in the order of `dashKernelGetSizeName`; there must be room for all, and no more.
 */
DASH_CAPI_EXPORTED DashStatus dashKernelFindSizes(DashKernel kernel, const DashTensor *tensors,
                                                  size_t numTensors, DashDiagnosticHandler handler,
                                                  void *userData, int64_t *sizes, size_t numSizes);

/*===- Plans ----------------------------------------------------------------------------------------===*/

/** Everything about the launches of one problem but addresses, strides and the scale. */
typedef struct DashPlan {
  void *ptr;
} DashPlan;

typedef struct DashSize {
  DashStringRef name;
  int64_t value;
} DashSize;

/**
 * Plans a problem, and loads the kernel where it is the first plan for that device: that may take seconds, and must not happen
 * while a stream is being captured. Without a cubin, what ptxas assembles is kept in a folder for later processes: that of the environment's
 * DASH_CACHE, else ~/.cache/dash; none if it says "off". It must belong to the effective user. Asked is the program that DASH_PTXAS names, or
 * else each ptxas on PATH and that of /usr/local/cuda, until one makes code that is not slow; at last the driver. Warnings say, once for
 * each driver, that nothing can be kept there, or which assembler is not good enough; all works without.
 *
 * device:   its ordinal. Launches use its primary context, as PyTorch and JAX do; any context may be current, or none.
 * sizes:    a value for each size of the kernel.
 * plan:     set on success, to be given back by `dashPlanDestroy`.
 *
 * DASH_INVALID_ARGUMENT for sizes that the kernel does not serve, DASH_NO_CAPACITY where the device cannot hold its workers at once,
 * DASH_INVALID_MANIFEST where it is of another architecture, DASH_DRIVER_ERROR with the assembler's log where the driver refuses.
 */
DASH_CAPI_EXPORTED DashStatus dashPlanCreate(DashKernel kernel, int32_t device,
                                             const DashSize *sizes, size_t numSizes,
                                             DashDiagnosticHandler handler, void *userData,
                                             DashPlan *plan);

/** Gives a plan back. */
DASH_CAPI_EXPORTED void dashPlanDestroy(DashPlan plan);

/**
 * What tensor `index` of a run has to be: element, rank and shape, with the strides of a contiguous one, and no address. Rank 0 where
 * the index is out of range.
 */
DASH_CAPI_EXPORTED DashTensor dashPlanGetTensor(DashPlan plan, size_t index);

/** Where blocks of memory begin: a multiple of so many bytes. An order may begin at any that suits its regions, which is one of 16. */
#define DASH_ALIGNMENT 256

/** Bytes of the workspace, which belongs to one run at a time; and those of the order. 0 for a problem without outputs. */
DASH_CAPI_EXPORTED size_t dashPlanGetWorkspaceBytes(DashPlan plan);
DASH_CAPI_EXPORTED size_t dashPlanGetOrderBytes(DashPlan plan);

/** A part of a plan's workspace, or of its order: for tests and debuggers, which look into them. */
typedef struct DashRegion {
  DashStringRef name; /**< lives as long as the plan */
  int32_t isOrder;    /**< 1: of the order; 0: of the workspace */
  size_t offset;      /**< from the start of its block */
  size_t bytes;
} DashRegion;

/** The regions, in the manifest's order. All zeros where the index is out of range. */
DASH_CAPI_EXPORTED size_t dashPlanGetNumRegions(DashPlan plan);
DASH_CAPI_EXPORTED DashRegion dashPlanGetRegion(DashPlan plan, size_t index);

/*===- Launches -------------------------------------------------------------------------------------===*/

/** A block of device memory, at a multiple of DASH_ALIGNMENT, or of 16 for an order. */
typedef struct DashMemory {
  uint64_t address;
  size_t bytes;
} DashMemory;

/**
 * Enqueues the zeroing of what has to be zero in a workspace: the tickets of a program that draws them, and nothing of others. Needed
 * once for new memory, and after a run that failed: a run leaves it zero. May be captured; but a capture only writes it down.
 */
DASH_CAPI_EXPORTED DashStatus dashPlanClear(DashPlan plan, void *stream, DashMemory workspace,
                                            DashDiagnosticHandler handler, void *userData);

/**
 * Enqueues what fills the order: an entry of the kernel, or the copy of a table. Needed once for each plan, or whenever its memory
 * was used for something else. Runs only read it, so that any number of streams may share it, each behind its making. The copy
 * of a table cannot be captured.
 */
DASH_CAPI_EXPORTED DashStatus dashPlanMakeOrder(DashPlan plan, void *stream, DashMemory order,
                                                DashDiagnosticHandler handler, void *userData);

typedef struct DashArguments {
  const DashTensor *tensors; /**< as `dashKernelGetTensorName` names them */
  size_t numTensors;
  float scale;
  DashMemory workspace;
  DashMemory order;
} DashArguments;

/**
 * Enqueues a backward pass on a stream, and returns. Allocates nothing and waits for nothing, so it may be captured into a graph; the
 * graph needs the same memory when it is replayed, and the same order in it.
 *
 * stream:   a CUstream of the primary context of the plan's device; NULL is the legacy default stream of that device, and
 *           CU_STREAM_PER_THREAD the one of this thread there, whatever context is current.
 *
 * DASH_INVALID_ARGUMENT, and nothing is enqueued, where an element, a shape, a stride, an alignment or a device is wrong, or an
 * output meets another tensor, itself or the workspace. DASH_DRIVER_ERROR where a launch fails: clear the workspace then.
 */
DASH_CAPI_EXPORTED DashStatus dashPlanRun(DashPlan plan, void *stream,
                                          const DashArguments *arguments,
                                          DashDiagnosticHandler handler, void *userData);

/**
 * `dashPlanClear`, `dashPlanMakeOrder` and `dashPlanRun` in one call, for memory that is taken for one run. An order that is a table is not
 * made: it must be there.
 */
DASH_CAPI_EXPORTED DashStatus dashPlanRunAnew(DashPlan plan, void *stream,
                                              const DashArguments *arguments,
                                              DashDiagnosticHandler handler, void *userData);

/**
 * The checks of `dashPlanRun` but those of its workspace and order, which may be 0: for those who allocate these for each run,
 * and would rather know before.
 */
DASH_CAPI_EXPORTED DashStatus dashPlanCheck(DashPlan plan, void *stream,
                                            const DashArguments *arguments,
                                            DashDiagnosticHandler handler, void *userData);

/**
 * Whether the stream is being captured into a graph: what is enqueued then may run again, long after its memory was given back.
 *
 * isCapturing: set on success, to 1 or 0.
 */
DASH_CAPI_EXPORTED DashStatus dashPlanIsCapturing(DashPlan plan, void *stream,
                                                  DashDiagnosticHandler handler, void *userData,
                                                  int32_t *isCapturing);

/**
 * A run entry by entry, for measurements: each step once, in their order, is what `dashPlanRun` does. Roles are words of the
 * manifest, such as "main"; empty where the index is out of range.
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
