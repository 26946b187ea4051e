//===- Fragments.cpp - a warpgroup's part of tiles, in registers ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Hopper/Fragments.h"
#include "dash/Hopper/ElementType.h"
#include "dash/Hopper/PtxAssembly.h"

using namespace mlir;
using namespace mlir::dash;

ThreadPlace::ThreadPlace(PtxBuilder &b)
    : ThreadPlace(b, b.shuffleXor(b.shiftLeft(b.bitAnd(b.special("tid.x"), 127), 4), 0)) {}

ThreadPlace ThreadPlace::readAnew(PtxBuilder &b) {
  return ThreadPlace(b, b.shiftLeft(b.bitAnd(ptx::movU32TidX(b), 127), 4));
}

ThreadPlace::ThreadPlace(PtxBuilder &b, Value vector) : vector(vector) {
  Value thread = b.shiftRight(vector, 4);
  lane = b.bitAnd(thread, 31);
  firstRow = b.shiftLeft(b.shiftRight(thread, 5), 4);
  row = b.add(firstRow, b.shiftRight(lane, 2));
  column = b.shiftLeft(b.bitAnd(lane, 3), 1);
  matrix = matrixByte(b, SwizzledAttr::get(b.getContext()));
}

Value ThreadPlace::matrixByte(PtxBuilder &b, SwizzledAttr layout) const {
  if (matrix && layout.getBytes() == SwizzledAttr::mostBytes)
    return matrix;
  // stmatrix: lanes 0-7 give the rows of the matrix of rows 0-7 and columns 0-7, lanes 8-15 those
  // of rows 8-15; the other lanes give columns 8-15. A 16-byte chunk lies at its number xor the row
  // modulo 8, without the bits in which rows are alike.
  Value matrixRow = b.add(firstRow, b.bitAnd(lane, 15));
  Value rowBits = b.bitAnd(lane, SwizzledAttr::rowsOfGroup - 1);
  if (int64_t alike = layout.getRowsAlike(); alike > 1)
    rowBits = b.shiftRight(rowBits, llvm::Log2_64(alike));
  Value chunk = b.bitXor(b.shiftRight(lane, 4), rowBits);
  return b.add(b.shiftLeft(matrixRow, llvm::Log2_64(layout.getBytes())), b.shiftLeft(chunk, 4));
}

SmallVector<Value> dash::packFactor(PtxBuilder &b, FloatType element, ValueRange sums) {
  SmallVector<Value> words;
  for (size_t i = 0; i < sums.size(); i += 2)
    words.push_back(packPair(b, element, sums[i], sums[i + 1]));
  return words;
}

/// The address of the words of step `k` (16 columns); `first` is the address of step 0.
static Value placeOfStep(PtxBuilder &b, Value first, int64_t k, SwizzledAttr layout,
                         int64_t panelBytes) {
  // Chunks 2 * k and 2 * k + 1 of the row. `matrix` has the low bit. The others are added to the
  // number before it is swizzled, so they flip bits.
  constexpr int64_t bytesOfStep = 32;
  int64_t steps = layout.getBytes() / bytesOfStep; // steps of a panel
  int64_t chunkBits = k % steps * bytesOfStep;
  Value at = chunkBits ? b.bitXor(first, b.i32(chunkBits)) : first;
  return b.add(at, k / steps * panelBytes);
}

void dash::storeRows(PtxBuilder &b, const ThreadPlace &place, ValueRange words, Value rows,
                     SwizzledAttr layout, int64_t panelBytes) {
  Value first = b.add(rows, place.matrixByte(b, layout));
  for (size_t i = 0; i < words.size(); i += 4)
    hopper::storeMatrices(b, words.slice(i, 4), placeOfStep(b, first, i / 4, layout, panelBytes));
}

SmallVector<Value> dash::loadRows(PtxBuilder &b, const ThreadPlace &place, Value rows,
                                  SwizzledAttr layout, int64_t panelBytes, int64_t count) {
  Value first = b.add(rows, place.matrixByte(b, layout));
  SmallVector<Value> words;
  for (int64_t k = 0; k < count / 4; ++k)
    words.append(hopper::loadMatrices(b, placeOfStep(b, first, k, layout, panelBytes)));
  return words;
}

/// 16 bytes of each thread of a warpgroup.
static constexpr int64_t bytesOfGroup = 128 * 16;

void dash::storeFragment(PtxBuilder &b, const ThreadPlace &place, ValueRange sums, Value address) {
  Value first = b.add(address, place.vector);
  for (size_t i = 0; i < sums.size(); i += 4)
    hopper::storeFloats4(b, sums.slice(i, 4), first, i / 4 * bytesOfGroup);
}

SmallVector<Value> dash::loadFragment(PtxBuilder &b, const ThreadPlace &place, Value address,
                                      int64_t count) {
  Value first = b.add(address, place.vector);
  SmallVector<Value> sums;
  for (int64_t i = 0; i < count; i += 4)
    sums.append(hopper::loadFloats4(b, first, i / 4 * bytesOfGroup));
  return sums;
}

SmallVector<Value> dash::loadColumns(PtxBuilder &b, const ThreadPlace &place, Value address,
                                     int64_t columns) {
  // 16 bytes hold columns 16 * k + {0, 1, 8, 9} + 2 * (lane % 4).
  Value first = b.add(address, b.bitAnd(place.vector, 3 * 16));
  SmallVector<Value> values;
  for (int64_t k = 0; k < columns / 16; ++k)
    values.append(hopper::loadFloats4(b, first, 64 * k));
  return values;
}

SmallVector<Value> dash::loadRowNumbers(PtxBuilder &b, const ThreadPlace &place, Value address,
                                        Value firstRow) {
  // 16 bytes hold rows {0, 1, 8, 9} + 2 * k, so row r of 8 lies at 4 * (r / 2) + r % 2.
  Value row = b.add(place.row, firstRow);
  Value pair = b.shiftLeft(b.bitAnd(row, 6), 1);
  Value position = b.bitOr(b.bitAnd(row, ~int64_t(6)), pair);
  Value at = b.add(address, b.mul(position, 4));
  SmallVector<Value> numbers;
  for (int64_t offset : {0, 2}) // rows 8 apart
    numbers.push_back(b.toF32(hopper::loadWord(b, b.add(at, 4 * offset))));
  return numbers;
}
