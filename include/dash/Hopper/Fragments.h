//===- Fragments.h - a warpgroup's part of tiles, in registers -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums have the layout of wgmma's accumulators (PTX ISA, 9.7.15.5.2): thread t of the warpgroup
// holds, for each group i of 8 columns, rows r = 16 * (t / 32) + (t % 32) / 4 and r + 8, columns 8
// * i + 2 * (t % 4) and the next: floats 4 * i, 4 * i + 1 (row r) and 4 * i + 2, 4 * i + 3 (row r +
// 8). Rounded to 16 bits, two groups make the four words of a left factor's step of 16 columns, so
// threads exchange nothing.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_HOPPER_FRAGMENTS_H
#define DASH_HOPPER_FRAGMENTS_H

#include "dash/Hopper/HopperOps.h"
#include "dash/IR/DashAttrs.h"

namespace mlir::dash {

/// A thread's position in its warpgroup.
struct ThreadPlace {
  /// Uses a shuffle: otherwise ptxas reads %tid again in loops, and repeats the computation there.
  explicit ThreadPlace(PtxBuilder &b);
  /// For a branch that is rarely taken: values needed only there take no register elsewhere.
  static ThreadPlace readAnew(PtxBuilder &b);

  /// 16 times its number in the warpgroup: the byte offset of its first four sums in a slot
  Value vector;
  Value lane;   ///< 0 … 31
  Value row;    ///< first row of its sums
  Value column; ///< first column of its sums: 2 * (lane % 4)
  Value matrix; ///< `matrixByte` of rows of 128 bytes

  /// The byte in a panel of the row that the thread gives to `storeRows` and `loadRows`: swizzled,
  /// columns 0 … 15.
  Value matrixByte(PtxBuilder &b, SwizzledAttr layout) const;

private:
  Value firstRow; ///< of its warp
  ThreadPlace(PtxBuilder &b, Value vector);
};

/// Sums as words of a left factor: elements 4 * k … 4 * k + 3 are those of columns 16 * k … 16 * k
/// + 15.
SmallVector<Value> packFactor(PtxBuilder &b, FloatType element, ValueRange sums);

/// Writes packed words to 64 rows of a tile whose panels are `panelBytes` apart. `rows` is the
/// address of the first of the 64 rows in the first panel; it is at a multiple of eight rows.
void storeRows(PtxBuilder &b, const ThreadPlace &place, ValueRange words, Value rows,
               SwizzledAttr layout, int64_t panelBytes);

/// Reads a thread's words back, as written by `storeRows`, or by the copy engine for the same tile.
SmallVector<Value> loadRows(PtxBuilder &b, const ThreadPlace &place, Value rows,
                            SwizzledAttr layout, int64_t panelBytes, int64_t count);

/// Writes sums so that each thread's four of a group of columns are contiguous, thread after
/// thread.
void storeFragment(PtxBuilder &b, const ThreadPlace &place, ValueRange sums, Value address);

/// Reads `count` registers that `storeFragment` wrote for the thread of the same number.
SmallVector<Value> loadFragment(PtxBuilder &b, const ThreadPlace &place, Value address,
                                int64_t count);

/// Numbers of the q rows that are this thread's columns, from their order in memory (LSE, delta).
/// Element 2 * i + e belongs to column 8 * i + 2 * (lane % 4) + e.
SmallVector<Value> loadColumns(PtxBuilder &b, const ThreadPlace &place, Value address,
                               int64_t columns);
/// Numbers of the q rows that are this thread's rows, from the same order: of its first row, and 8
/// behind it. The warpgroup's rows begin at `firstRow`.
SmallVector<Value> loadRowNumbers(PtxBuilder &b, const ThreadPlace &place, Value address,
                                  Value firstRow);

} // namespace mlir::dash

#endif // DASH_HOPPER_FRAGMENTS_H
