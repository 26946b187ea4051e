/*===- dash-c/Compile.h - compile attention backwards from C --------------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                                        *|
|*                                                                                                *|
|* The input is MLIR text or bytecode. The output is PTX, a manifest and, if an order is a table, *|
|* an order buffer: the results of `dash-opt --dash-to-ptx`, without files. Needs neither a GPU   *|
|* nor CUDA.                                                                                      *|
|*                                                                                                *|
|* Several threads may call functions at once on different programs, and several threads may read *|
|* one program. Nothing throws, and nothing is printed. The process keeps its signals, timers,    *|
|* locale and environment. Destroy each handle once, as memory is freed once.                     *|
\*===------------------------------------------------------------------------------------------===*/
#ifndef DASH_C_COMPILE_H
#define DASH_C_COMPILE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define DASH_CAPI_EXPORTED
#else
#define DASH_CAPI_EXPORTED __attribute__((visibility("default")))
#endif

/** The version of this header. A library of another version may lay out structures differently. */
#define DASH_API_VERSION 1

/** The version of the library. Compare it with DASH_API_VERSION before calling anything else. */
DASH_CAPI_EXPORTED uint32_t dashGetApiVersion(void);

/**
 * Bytes that another owner keeps. Strings from the library end in a zero that `length` excludes.
 */
typedef struct DashStringRef {
  const char *data;
  size_t length;
} DashStringRef;

/**
 * The compiler's version, such as "dash 0.1.0, LLVM 22.1.8". Lives as long as the library is
 * loaded.
 */
DASH_CAPI_EXPORTED DashStringRef dashGetVersion(void);

/*===- Errors --------------------------------------------------------------------------------===*/

typedef enum DashStatus {
  DASH_SUCCESS = 0,
  DASH_INVALID_ARGUMENT = 1, /**< a NULL pointer, or unknown options; a diagnostic says which */
  DASH_INVALID_PROGRAM =
      2, /**< the program does not parse or has no kernels; diagnostics say where and why */
  DASH_INVALID_MANIFEST = 3, /**< a manifest, PTX or order that cannot be launched */
  DASH_NO_CAPACITY = 4,  /**< the device cannot hold the workers that the kernel needs at once */
  DASH_DRIVER_ERROR = 5, /**< a call of the CUDA driver failed; the diagnostic has its name */
  DASH_UNUSABLE = 6      /**< this process was forked while another thread was in the library */
} DashStatus;

/** The status as a word, such as "DASH_INVALID_PROGRAM"; "unknown status" for any other number. */
DASH_CAPI_EXPORTED const char *dashGetStatusName(DashStatus status);

typedef enum DashSeverity {
  DASH_ERROR = 0,
  DASH_WARNING = 1,
  DASH_NOTE = 2,
  DASH_REMARK = 3
} DashSeverity;

/**
 * A message and its place. If there is no place, `file` is empty and `line` is 0. Notes follow what
 * they explain.
 */
typedef struct DashDiagnostic {
  DashSeverity severity;
  DashStringRef message;
  DashStringRef file;
  uint32_t line;
  uint32_t column;
} DashDiagnostic;

/**
 * Called in the thread that compiles. The diagnostic and its strings live until the call returns. A
 * message has at most 16 KB; a longer one is cut and says so.
 */
typedef void (*DashDiagnosticHandler)(const DashDiagnostic *diagnostic, void *userData);

/**
 * A handler that keeps the first 256 diagnostics of the calling thread until they are forgotten. It
 * serves languages that C should not call back, such as an interpreter that may be shutting down.
 * It ignores its data.
 */
DASH_CAPI_EXPORTED void dashDiagnosticKeep(const DashDiagnostic *diagnostic, void *userData);
/**
 * The number of diagnostics kept for the calling thread; one of them, whose strings live until they
 * are forgotten; and a function that forgets them all.
 */
DASH_CAPI_EXPORTED size_t dashDiagnosticGetNumKept(void);
DASH_CAPI_EXPORTED DashDiagnostic dashDiagnosticGetKept(size_t index);
DASH_CAPI_EXPORTED void dashDiagnosticForgetKept(void);

/*===- Programs ------------------------------------------------------------------------------===*/

/** A compiled program: the kernels of each of its functions. */
typedef struct DashProgram {
  void *ptr;
} DashProgram;

/**
 * Compiles a program.
 *
 * source:  a module as MLIR text or bytecode, with functions that contain a `dash.attention_bwd`.
 * name:    the program's name in diagnostics, such as a file's name.
 * options: the options of `--dash-to-ptx`, in their text form: "kind=symmetric-shift workers=132".
 *          Empty for the defaults. `output` is refused: nothing is written to files. `path`,
 *          `costs` and `ptxas` are refused too: program and options may be data, which must not
 *          name files to read or programs to run. The calling code may, with
 *          `dashCompileWithFiles`.
 * handler: receives diagnostics; may be NULL.
 * program: set on success; destroy it with `dashProgramDestroy`. Untouched on failure.
 */
DASH_CAPI_EXPORTED DashStatus dashCompile(DashStringRef source, DashStringRef name,
                                          DashStringRef options, DashDiagnosticHandler handler,
                                          void *userData, DashProgram *program);

/** Files that a compile may read and a program that it may run; each may be empty. */
typedef struct DashCompileFiles {
  DashStringRef order; /**< a file: the order for kind=file; `path` of --dash-to-ptx */
  DashStringRef costs; /**< a file: the costs; the library has those of an H200 */
  DashStringRef ptxas; /**< the assembler that reports registers; a path, or a name on PATH */
} DashCompileFiles;

/** The same with files that the caller names. files: NULL for none. */
DASH_CAPI_EXPORTED DashStatus dashCompileWithFiles(DashStringRef source, DashStringRef name,
                                                   DashStringRef options,
                                                   const DashCompileFiles *files,
                                                   DashDiagnosticHandler handler, void *userData,
                                                   DashProgram *program);

/**
 * Destroys a program with all its strings. Call it once. A program whose `ptr` is NULL is ignored,
 * as with all handles.
 */
DASH_CAPI_EXPORTED void dashProgramDestroy(DashProgram program);

/** The number of functions that became kernels, in the order of the module. */
DASH_CAPI_EXPORTED size_t dashProgramGetNumKernels(DashProgram program);

/**
 * Properties of kernel `index`. Empty strings if the index is out of range. They live as long as
 * the program.
 *
 * Name:     the name of the function.
 * Ptx:      the text for `cuModuleLoadDataEx`.
 * Manifest: JSON that follows dialects/dash/Target/manifest.schema.json. Its files are NAME.ptx and
 *           NAME.order, with `$` and two hexadecimal digits for each character that PTX does not
 *           allow in a name.
 * Order:    the bytes of the order buffer; empty if an entry makes it from the sizes.
 */
DASH_CAPI_EXPORTED DashStringRef dashProgramGetName(DashProgram program, size_t index);
DASH_CAPI_EXPORTED DashStringRef dashProgramGetPtx(DashProgram program, size_t index);
DASH_CAPI_EXPORTED DashStringRef dashProgramGetManifest(DashProgram program, size_t index);
DASH_CAPI_EXPORTED DashStringRef dashProgramGetOrder(DashProgram program, size_t index);

#ifdef __cplusplus
}
#endif

#endif /* DASH_C_COMPILE_H */
