//===- XlaFrame.cpp - reads what XLA passes to a handler -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "XlaFrame.h"
#include <algorithm>
#include <functional>

namespace mlir::dash::xla {

namespace {

const void *findAttribute(const XLA_FFI_Attrs &attrs, std::string_view name,
                          XLA_FFI_AttrType type) {
  for (int64_t i = 0; i < attrs.size; ++i)
    if (std::string_view(attrs.names[i]->ptr, attrs.names[i]->len) == name)
      return attrs.types[i] == type ? attrs.attrs[i] : nullptr;
  return nullptr;
}

const XLA_FFI_Buffer &bufferOf(const void *given) {
  return *static_cast<const XLA_FFI_Buffer *>(given);
}

/// A row-major buffer, as [batch, heads, rows, head dim].
Outcome readTensor(const XLA_FFI_Buffer &buffer, const Argument &argument, std::string_view layout,
                   DashTensor &result) {
  result = {};
  if (buffer.rank < 0 || buffer.rank > DASH_MAX_RANK)
    return refuse("expected buffers of at most " + std::to_string(DASH_MAX_RANK) +
                  " dimensions, found " + std::to_string(buffer.rank));
  switch (buffer.dtype) {
  case XLA_FFI_DataType_BF16:
    result.element = DASH_BF16;
    break;
  case XLA_FFI_DataType_F16:
    result.element = DASH_F16;
    break;
  case XLA_FFI_DataType_F32:
    result.element = DASH_F32;
    break;
  case XLA_FFI_DataType_S32:
    result.element = DASH_I32;
    break;
  default:
    return refuse("expected buffers of bf16, f16, f32 and i32, found one of XLA's type " +
                  std::to_string(static_cast<int>(buffer.dtype)));
  }
  result.address = reinterpret_cast<uint64_t>(buffer.data);
  result.rank = static_cast<uint32_t>(buffer.rank);
  int64_t stride = 1;
  for (uint32_t i = result.rank; i-- > 0; stride *= std::max<int64_t>(buffer.dims[i], 1)) {
    result.shape[i] = buffer.dims[i];
    result.strides[i] = stride;
  }
  if (layout == "thd" && argument.hasRows() && result.rank < DASH_MAX_RANK) {
    std::copy_backward(result.shape, result.shape + result.rank, result.shape + result.rank + 1);
    std::copy_backward(result.strides, result.strides + result.rank,
                       result.strides + result.rank + 1);
    result.shape[0] = 1; // as kernels see a list
    result.strides[0] = stride;
    ++result.rank;
  }
  if (result.rank == 4 && layout != "bhsd") {
    std::swap(result.shape[1], result.shape[2]);
    std::swap(result.strides[1], result.strides[2]);
  }
  return std::nullopt;
}

/// A buffer of bytes.
Outcome readMemory(const void *given, const char *what, DashMemory &result) {
  const XLA_FFI_Buffer &bytes = bufferOf(given);
  if (bytes.dtype != XLA_FFI_DataType_U8 || bytes.rank != 1)
    return refuse(std::string("the last ") + what +
                  ": expected bytes, as u8 of one dimension, found XLA's type " +
                  std::to_string(static_cast<int>(bytes.dtype)) + " of " +
                  std::to_string(bytes.rank));
  result = {reinterpret_cast<uint64_t>(bytes.data), static_cast<size_t>(bytes.dims[0])};
  return std::nullopt;
}

} // namespace

Outcome readAttributes(const XLA_FFI_Attrs &attrs, Attributes &result) {
  std::pair<const char *, std::string_view *> strings[] = {{"program", &result.program},
                                                           {"options", &result.options},
                                                           {"certificate", &result.certificate},
                                                           {"layout", &result.layout}};
  for (auto [name, string] : strings) {
    auto *span =
        static_cast<const XLA_FFI_ByteSpan *>(findAttribute(attrs, name, XLA_FFI_AttrType_STRING));
    if (!span)
      return refuse("attributes: expected a string '" + std::string(name) + "', found none");
    *string = {span->ptr, span->len};
  }
  auto *scale =
      static_cast<const XLA_FFI_Scalar *>(findAttribute(attrs, "scale", XLA_FFI_AttrType_SCALAR));
  if (!scale || scale->dtype != XLA_FFI_DataType_F32)
    return refuse("attributes: expected a number of f32 'scale', found none");
  result.scale = *static_cast<const float *>(scale->value);
  if (result.layout != "bhsd" && result.layout != "bshd" && result.layout != "thd")
    return refuse("layout: expected 'bhsd', 'bshd' or 'thd', found '" + std::string(result.layout) +
                  "'");
  return std::nullopt;
}

Outcome readBuffers(const XLA_FFI_CallFrame &frame, std::string_view layout,
                    const std::vector<Argument> &given, bool hasTable,
                    std::vector<DashTensor> &tensors, DashMemory &memory, DashMemory &order) {
  int64_t written = std::count_if(given.begin(), given.end(), std::mem_fn(&Argument::isResult));
  int64_t read = static_cast<int64_t>(given.size()) - written;
  int64_t operands = read + hasTable, results = written + 1;
  if (frame.args.size != operands || frame.rets.size != results)
    return refuse("expected " + std::to_string(operands) + " operands and " +
                  std::to_string(results) + " results, found " + std::to_string(frame.args.size) +
                  " and " + std::to_string(frame.rets.size));
  if (Outcome wrong = readMemory(frame.rets.rets[written], "result", memory))
    return wrong;
  if (hasTable)
    if (Outcome wrong = readMemory(frame.args.args[operands - 1], "operand", order))
      return wrong;
  void **nextOperand = frame.args.args, **nextResult = frame.rets.rets;
  for (const Argument &one : given)
    if (Outcome wrong = readTensor(bufferOf(one.isResult ? *nextResult++ : *nextOperand++), one,
                                   layout, tensors.emplace_back()))
      return wrong;
  return std::nullopt;
}

} // namespace mlir::dash::xla
