/*===- XlaFfi.h - what XLA passes to a handler; part of OpenXLA's c_api.h -------------*- C -*-===*\
|* Copyright 2023 The OpenXLA Authors.                                                            *|
|*                                                                                                *|
|* Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file      *|
|* except in compliance with the License. You may obtain a copy of the License at                 *|
|*                                                                                                *|
|*     http://www.apache.org/licenses/LICENSE-2.0                                                 *|
|*                                                                                                *|
|* Unless required by applicable law or agreed to in writing, software distributed under the      *|
|* License is distributed on an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND,      *|
|* either express or implied. See the License for the specific language governing permissions and *|
|* limitations under the License.                                                                 *|
|*                                                                                                *|
|* Changed: taken from xla/ffi/api/c_api.h, only the structures that dash reads, with their names *|
|* and fields in their order. Functions that dash does not call are `void *` in the table. XLA    *|
|* adds fields at the end, and accepts handlers of older versions. test/python/jax-ffi-header.py  *|
|* compares this file with the header that jaxlib ships.                                          *|
\*===------------------------------------------------------------------------------------------===*/
#ifndef DASH_LIB_CAPI_XLAFFI_H
#define DASH_LIB_CAPI_XLAFFI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XLA_FFI_API_MAJOR 0
#define XLA_FFI_API_MINOR 5

typedef enum { XLA_FFI_Extension_Metadata = 1 } XLA_FFI_InternalExtension_Type;

typedef struct XLA_FFI_InternalExtension {
  size_t struct_size;
  XLA_FFI_InternalExtension_Type type;
  struct XLA_FFI_InternalExtension *next;
} XLA_FFI_InternalExtension;

typedef struct XLA_FFI_Api_Version {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  int major_version;
  int minor_version;
} XLA_FFI_Api_Version;

typedef struct XLA_FFI_Error XLA_FFI_Error;
typedef struct XLA_FFI_InvokeContext XLA_FFI_InvokeContext;

typedef enum {
  XLA_FFI_Error_Code_INVALID_ARGUMENT = 3,
  XLA_FFI_Error_Code_RESOURCE_EXHAUSTED = 8,
  XLA_FFI_Error_Code_FAILED_PRECONDITION = 9,
  XLA_FFI_Error_Code_INTERNAL = 13
} XLA_FFI_Error_Code;

typedef struct XLA_FFI_Error_Create_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  const char *message;
  XLA_FFI_Error_Code errc;
} XLA_FFI_Error_Create_Args;

typedef XLA_FFI_Error *XLA_FFI_Error_Create(XLA_FFI_Error_Create_Args *args);

typedef enum {
  XLA_FFI_DataType_S32 = 4,
  XLA_FFI_DataType_U8 = 6,
  XLA_FFI_DataType_F16 = 10,
  XLA_FFI_DataType_F32 = 11,
  XLA_FFI_DataType_BF16 = 16
} XLA_FFI_DataType;

typedef struct XLA_FFI_Buffer {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_DataType dtype;
  void *data;
  int64_t rank;
  int64_t *dims;
} XLA_FFI_Buffer;

typedef enum { XLA_FFI_ArgType_BUFFER = 1 } XLA_FFI_ArgType;
typedef enum { XLA_FFI_RetType_BUFFER = 1 } XLA_FFI_RetType;
typedef enum { XLA_FFI_AttrType_SCALAR = 3, XLA_FFI_AttrType_STRING = 4 } XLA_FFI_AttrType;

typedef struct XLA_FFI_ByteSpan {
  const char *ptr;
  size_t len;
} XLA_FFI_ByteSpan;

typedef struct XLA_FFI_Scalar {
  XLA_FFI_DataType dtype;
  void *value;
} XLA_FFI_Scalar;

typedef enum {
  XLA_FFI_ExecutionStage_INSTANTIATE = 0,
  XLA_FFI_ExecutionStage_PREPARE = 1,
  XLA_FFI_ExecutionStage_INITIALIZE = 2,
  XLA_FFI_ExecutionStage_EXECUTE = 3
} XLA_FFI_ExecutionStage;

typedef struct XLA_FFI_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  int64_t size;
  XLA_FFI_ArgType *types;
  void **args;
} XLA_FFI_Args;

typedef struct XLA_FFI_Rets {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  int64_t size;
  XLA_FFI_RetType *types;
  void **rets;
} XLA_FFI_Rets;

typedef struct XLA_FFI_Attrs {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  int64_t size;
  XLA_FFI_AttrType *types;
  XLA_FFI_ByteSpan **names;
  void **attrs;
} XLA_FFI_Attrs;

typedef struct XLA_FFI_Api XLA_FFI_Api;

typedef struct XLA_FFI_CallFrame {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  const XLA_FFI_Api *api;
  XLA_FFI_InvokeContext *ctx;
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_Args args;
  XLA_FFI_Rets rets;
  XLA_FFI_Attrs attrs;
} XLA_FFI_CallFrame;

enum { XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE = 1u << 0 };

typedef struct XLA_FFI_Stream_Get_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  void *stream;
} XLA_FFI_Stream_Get_Args;

typedef XLA_FFI_Error *XLA_FFI_Stream_Get(XLA_FFI_Stream_Get_Args *args);

typedef struct XLA_FFI_DeviceOrdinal_Get_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  int32_t device_ordinal;
} XLA_FFI_DeviceOrdinal_Get_Args;

typedef XLA_FFI_Error *XLA_FFI_DeviceOrdinal_Get(XLA_FFI_DeviceOrdinal_Get_Args *args);

typedef struct XLA_FFI_Metadata {
  size_t struct_size;
  XLA_FFI_Api_Version api_version;
  uint32_t traits;
} XLA_FFI_Metadata;

typedef struct XLA_FFI_Metadata_Extension {
  XLA_FFI_InternalExtension extension_base;
  XLA_FFI_Metadata *metadata;
} XLA_FFI_Metadata_Extension;

struct XLA_FFI_Api {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_Api_Version api_version;
  const void *internal_api;
  XLA_FFI_Error_Create *XLA_FFI_Error_Create;
  void *XLA_FFI_Error_GetDetails;
  void *XLA_FFI_Error_Destroy;
  void *XLA_FFI_Handler_Register;
  XLA_FFI_Stream_Get *XLA_FFI_Stream_Get;
  void *XLA_FFI_Type_Register;
  void *XLA_FFI_InvokeContext_Get;
  void *XLA_FFI_State_Set;
  void *XLA_FFI_State_Get;
  void *XLA_FFI_DeviceMemory_Allocate;
  void *XLA_FFI_DeviceMemory_Free;
  void *XLA_FFI_ThreadPool_Schedule;
  void *XLA_FFI_ThreadPool_NumThreads;
  void *XLA_FFI_Future_Create;
  void *XLA_FFI_Future_SetAvailable;
  void *XLA_FFI_Future_SetError;
  void *XLA_FFI_RunId_Get;
  XLA_FFI_DeviceOrdinal_Get *XLA_FFI_DeviceOrdinal_Get;
};

#ifdef __cplusplus
}
#endif

#endif /* DASH_LIB_CAPI_XLAFFI_H */
