//===- DashLayouts.td - layouts of tiles -------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encodings of tile types. A tile without an encoding is a value without a place yet.
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHLAYOUTS_TD
#define DASH_IR_DASHLAYOUTS_TD

include "dash/IR/DashEnums.td"
include "dash/IR/DashMasks.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/TensorEncoding.td"

def FragmentAttr : Dash_Attr<"Fragment", "fragment", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "A tile in the registers of warpgroups";
  let description = [{
    Warpgroups split a tile by `rows` (64 each, all columns) or by `columns` (all of 64 rows each),
    or each holds all of it (`replicated`). From 64 rows by N columns, a thread t of 128 holds

    - as an `accumulator` (PTX ISA, wgmma's D fragment), f32: registers 4 i + 2 r + e, for i < N / 8
      and r, e in 0..1, are row `16 (t / 32) + (t % 32) / 4 + 8 r`, column `8 i + 2 (t % 4) + e`;
    - as an `operand` (wgmma's A fragment), 16-bit: register i is elements 2 i and 2 i + 1 of the
      accumulator, packed. So rounding an accumulator moves nothing between threads;
    - as numbers `per_column` of an accumulator (a vector of N, f32): registers 2 i + e are element
      `8 i + 2 (t % 4) + e`;
    - as numbers `per_row` of an accumulator (f32): register r is row `16 (t / 32) + (t % 32) / 4 +
      8 r`. A vector has one number a row, which four threads hold. A tile of 4 columns has one for
      each of these threads: thread t has column `t % 4`.

    In memory, an accumulator has the layout of the threads, warpgroup by warpgroup: registers 4 i …
    4 i + 3 of thread t at word `512 i + 4 t`. The ops that add such a tile and that read the sums
    name the same attribute.

    **Preconditions**: an accumulator split by rows has 64 rows a warpgroup; split by columns it has
    64 rows, and columns that are a multiple of 8 a warpgroup. An operand is split by rows, and so
    are numbers per row. Numbers per column are replicated, and nothing else is; there is a multiple
    of 16 of them.
    **Postconditions**: every element is in one register of one thread; numbers per column, and
    vectors of numbers per row, are in several.
    **Example**: `tensor<128x64xf32, #dash.fragment<accumulator, rows by 2>>`.
    **Errors**
    - `warpgroups must be from 1 to 8, got 0`
    - `#dash.fragment<accumulator, rows by 2> needs 128 rows, 64 a warpgroup, got 64x128`
    - `#dash.fragment<accumulator, columns by 2> needs 64 rows and a multiple of 16 columns, got
      128x64`
    - `an operand is split by rows, got columns`
    - `an accumulator is split by rows or columns, got replicated`
    - `numbers per column are replicated in each warpgroup, got rows`
    - `#dash.fragment<per_column, replicated by 2> needs a multiple of 16 elements in one dimension,
      got 64x64`
    - `numbers per row are split by rows, got columns`
    - `#dash.fragment<per_row, rows by 2> needs 128 rows, 64 a warpgroup, and 1 or 4 columns, got
      128x64`
    - `an accumulator holds f32, got 'bf16'`, and so for numbers per column and per row; `an operand
      holds 16-bit floats, got 'f32'`
  }];
  let parameters = (ins
    EnumParameter<FragmentKind>:$kind, EnumParameter<FragmentSplit>:$split, "int64_t":$warpgroups);
  let assemblyFormat = "`<` $kind `,` $split `by` $warpgroups `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static constexpr int64_t rowsOfWarpgroup = 64, threadsOfWarpgroup = 128;
    /// Words of one thread that are contiguous in memory.
    static constexpr int64_t wordsOfChunk = 4;

    bool isSplitByRows() const { return getSplit() == FragmentSplit::Rows; }
    bool isSplitByColumns() const { return getSplit() == FragmentSplit::Columns; }
    /// Columns that one warpgroup holds of a tile of this shape; elements of numbers `per_column`.
    int64_t getColumns(ArrayRef<int64_t> shape) const;
    /// Registers of 32 bits that a thread holds of a tile of this shape.
    int64_t getNumRegisters(ArrayRef<int64_t> shape) const;
    /// The first row and the first column of the tile that a warpgroup holds.
    int64_t getFirstRow(int64_t warpgroup) const;
    int64_t getFirstColumn(ArrayRef<int64_t> shape, int64_t warpgroup) const;
    /// Row and column of an accumulator's register relative to its register 0, within the
    /// warpgroup's part.
    static int64_t getRowOffset(int64_t reg) { return reg / 2 % 2 * 8; }
    static int64_t getColumnOffset(int64_t reg) { return reg / 4 * 8 + reg % 2; }
    /// The register of numbers `per_column` that goes with an accumulator's.
    static int64_t getColumnRegister(int64_t reg) { return reg / 4 * 2 + reg % 2; }
    /// The same of numbers `per_row`.
    static constexpr int64_t registersPerRow = 2, threadsOfRow = 4;
    static int64_t getRowRegister(int64_t reg) { return reg / 2 % registersPerRow; }
    /// Byte in memory of a warpgroup's part, and of chunk `chunk` of thread 0 in it; threads
    /// follow, 16 bytes each.
    int64_t getMemoryOffset(ArrayRef<int64_t> shape, int64_t warpgroup) const;
    static int64_t getChunkOffset(int64_t chunk) {
      return chunk * threadsOfWarpgroup * wordsOfChunk * 4;
    }
  }];
}

def SwizzledAttr : Dash_Attr<"Swizzled", "swizzled", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "A tile in shared memory in the layout of the copy engine and wgmma";
  let description = [{
    Panels of columns, one behind the other. `bytes` are those of a panel's row: 128, where none are
    stated, 64 or 32, so 64, 32 or 16 columns of 16 bits. A chunk of 16 bytes lies at its number xor
    the row modulo 8, divided by 1, 2 or 4 (PTX ISA, 128-, 64- and 32-byte swizzle).

    **Preconditions**: two dimensions, 16-bit elements, rows a multiple of 8, columns a multiple of
    a panel's; the tile starts at a multiple of 1024 bytes.
    **Postconditions**: none.
    **Example**: `tensor<64x128xbf16, #dash.swizzled>`, `tensor<64x96xbf16, #dash.swizzled<64>>`.
    **Errors**
    - `#dash.swizzled needs rows that are a multiple of 8 and columns that are a multiple of 64, of
      16-bit floats, got 64x32 of 'bf16'`, and so for other bytes
    - `rows of panels must be 32, 64 or 128 bytes, got 96`
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "SwizzledAttr::mostBytes",
      "of a panel's row">:$bytes);
  let builders = [AttrBuilder<(ins), [{ return $_get($_ctxt, mostBytes); }]>];
  let assemblyFormat = "(`<` $bytes^ `>`)?";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static constexpr int64_t mostBytes = 128, bytesOfElement = 2;
    /// The swizzle repeats after these rows.
    static constexpr int64_t rowsOfGroup = 8;
    int64_t getColumnsOfPanel() const { return getBytes() / bytesOfElement; }
    int64_t getBytesOfGroup() const { return rowsOfGroup * getBytes(); }
    int64_t getPanelBytes(ArrayRef<int64_t> shape) const { return shape[0] * getBytes(); }
    /// Rows that swap chunks alike: those whose numbers differ in these low bits only.
    int64_t getRowsAlike() const { return mostBytes / getBytes(); }
    /// Byte offset of an element without the swizzle; row is a multiple of 8.
    int64_t getOffset(ArrayRef<int64_t> shape, int64_t row, int64_t column) const {
      return column / getColumnsOfPanel() * getPanelBytes(shape) + row * getBytes() +
             column % getColumnsOfPanel() * bytesOfElement;
    }
  }];
}

#endif // DASH_IR_DASHLAYOUTS_TD
