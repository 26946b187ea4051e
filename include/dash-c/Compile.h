/*===- dash-c/Compile.h - compile attention backwards, from C --------------------------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                                                    *|
|*                                                                                                            *|
|* MLIR text or bytecode goes in, PTX, a manifest and, for orders that are tables, an order buffer come out:  *|
|* what `dash-opt --dash-to-ptx` does, without files. Needs no GPU and no CUDA.                                *|
|*                                                                                                            *|
|* Functions may be called from several threads at once, on different programs; one program may be read by    *|
|* several threads. Nothing throws, and nothing is printed. Nothing of the process is changed: no signals, no *|
|* timers, no locale, no environment. A handle is given back once, as memory is by free.                      *|
\*===----------------------------------------------------------------------------------------------------------===*/
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

/** The version of this header. A library of another one may lay structures out differently. */
#define DASH_API_VERSION 1

/** The version of the library: compare it with DASH_API_VERSION before anything else is called. */
DASH_CAPI_EXPORTED uint32_t dashGetApiVersion(void);

/** Bytes that somebody else owns. Those that the library returns end in a zero that `length` leaves out. */
typedef struct DashStringRef {
  const char *data;
  size_t length;
} DashStringRef;

/** What the compiler is, such as "dash 0.1.0, LLVM 22.1.8". Lives as long as the library is loaded. */
DASH_CAPI_EXPORTED DashStringRef dashGetVersion(void);

/*===- Errors ---------------------------------------------------------------------------------------===*/

typedef enum DashStatus {
  DASH_SUCCESS = 0,
  DASH_INVALID_ARGUMENT =
      1, /**< a NULL pointer, or options that do not exist; a diagnostic says which */
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

/** A message and its place. `file` is empty and `line` 0 where there is no place; notes follow what they explain. */
typedef struct DashDiagnostic {
  DashSeverity severity;
  DashStringRef message;
  DashStringRef file;
  uint32_t line;
  uint32_t column;
} DashDiagnostic;

/**
 * Called in the thread that compiles; what the diagnostic points to lives until the call returns. A message has at most 16 KB, and says
 * so where more was to be said.
 */
typedef void (*DashDiagnosticHandler)(const DashDiagnostic *diagnostic, void *userData);

/**
 * A handler that keeps diagnostics for the calling thread, the first 256 of them, until it forgets them: for languages that C should not
 * call back, as an interpreter that may be ending meanwhile. It does not look at its data.
 */
DASH_CAPI_EXPORTED void dashDiagnosticKeep(const DashDiagnostic *diagnostic, void *userData);
/** How many the calling thread has; one of them, whose strings live until they are forgotten; forgets them all. */
DASH_CAPI_EXPORTED size_t dashDiagnosticGetNumKept(void);
DASH_CAPI_EXPORTED DashDiagnostic dashDiagnosticGetKept(size_t index);
DASH_CAPI_EXPORTED void dashDiagnosticForgetKept(void);

/*===- Programs -------------------------------------------------------------------------------------===*/

/** A compiled program: the kernels of each of its functions. */
typedef struct DashProgram {
  void *ptr;
} DashProgram;

/**
 * Compiles a program.
 *
 * source:   a module as MLIR text or bytecode, with functions that hold a `dash.attention_bwd`.
 * name:     what diagnostics call it, such as a file's name.
 * options:  those of `--dash-to-ptx`, as its text: "kind=symmetric-shift workers=132". Empty for the defaults.
 *           `output` is refused: nothing is written to files. So are `path`, `costs` and `ptxas`: program and options may be data, which
 *           names no files to read and no programs to run. The caller's code may, by `dashCompileWithFiles`.
 * handler:  takes diagnostics; may be NULL.
 * program:  set on success, to be given back by `dashProgramDestroy`; untouched on failure.
 */
DASH_CAPI_EXPORTED DashStatus dashCompile(DashStringRef source, DashStringRef name,
                                          DashStringRef options, DashDiagnosticHandler handler,
                                          void *userData, DashProgram *program);

/** What a compile may read and run, each empty for none. */
typedef struct DashCompileFiles {
  DashStringRef order; /**< a file: the order, of kind=file; `path` of --dash-to-ptx */
  DashStringRef
      costs; /**< a file: what orders are predicted with; those of an H200 are in the library */
  DashStringRef
      ptxas; /**< a program, which is run: the assembler to ask for registers, by its path or its name on PATH */
} DashCompileFiles;

/** The same with files that the caller names. files: NULL for none. */
DASH_CAPI_EXPORTED DashStatus dashCompileWithFiles(DashStringRef source, DashStringRef name,
                                                   DashStringRef options,
                                                   const DashCompileFiles *files,
                                                   DashDiagnosticHandler handler, void *userData,
                                                   DashProgram *program);

/** Gives back what `dashCompile` made, and all strings of it, once. A program whose `ptr` is NULL is left alone, here as with all handles. */
DASH_CAPI_EXPORTED void dashProgramDestroy(DashProgram program);

/** How many functions became kernels, in the order in which they stand in the module. */
DASH_CAPI_EXPORTED size_t dashProgramGetNumKernels(DashProgram program);

/**
 * Of kernel `index`; empty strings where it is not below the number of kernels. They live as long as the program.
 *
 * Name:     the name of the function.
 * Ptx:      the text for `cuModuleLoadDataEx`.
 * Manifest: JSON, as dialects/dash/Target/manifest.schema.json describes it. Its files are NAME.ptx and NAME.order,
 *           with `$` and two hexadecimal digits for what PTX cannot have in a name.
 * Order:    the order buffer, bytes; empty where an entry makes it from the sizes.
 */
DASH_CAPI_EXPORTED DashStringRef dashProgramGetName(DashProgram program, size_t index);
DASH_CAPI_EXPORTED DashStringRef dashProgramGetPtx(DashProgram program, size_t index);
DASH_CAPI_EXPORTED DashStringRef dashProgramGetManifest(DashProgram program, size_t index);
DASH_CAPI_EXPORTED DashStringRef dashProgramGetOrder(DashProgram program, size_t index);

#ifdef __cplusplus
}
#endif

#endif /* DASH_C_COMPILE_H */
