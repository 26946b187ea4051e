//===- DashTensorRoles.td - what a tensor is to a program -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An op on whole tensors says once which tensor is which; passes behind it ask the attribute, and compare no names.
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHTENSORROLES_TD
#define DASH_IR_DASHTENSORROLES_TD

include "dash/IR/DashDialect.td"
include "dash/IR/DashMasks.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Dash_Words<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::dash";
  let genSpecializedAttr = 0;
}

def TensorSide : Dash_Words<"TensorSide", "whose heads and rows a tensor has", [
  I32EnumAttrCase<"Q", 0, "q">, I32EnumAttrCase<"KV", 1, "kv">]>;

def TensorAccess : Dash_Words<"TensorAccess", "what kernels do with a tensor", [
  I32EnumAttrCase<"Read", 0, "read">, I32EnumAttrCase<"Write", 1, "write">,
  I32EnumAttrCase<"Sum", 2, "sum">]>; // f32 memory of a program's own, in which a written tensor is summed

def TensorKind : Dash_Words<"TensorKind", "what a tensor has numbers of", [
  I32EnumAttrCase<"Tile", 0, "tile">,                     // [batch, heads, rows, columns]
  I32EnumAttrCase<"Row", 1, "row">,                       // [batch, heads, rows]
  I32EnumAttrCase<"LogRow", 2, "log_row">,                // the same: logarithms, which kernels take to base 2
  I32EnumAttrCase<"SequenceHead", 3, "sequence_head">,    // [batch or sequences, heads]
  I32EnumAttrCase<"Head", 4, "head">,                     // [heads]
  I32EnumAttrCase<"Number", 5, "number">,                 // a factor, no tensor
  I32EnumAttrCase<"Bounds", 6, "bounds">,                 // [sequences + 1], where their rows begin
  I32EnumAttrCase<"Contributions", 7, "contributions">]>; // [slots, rows of a tile, columns]

def TensorRoleAttr : Dash_Attr<"TensorRole", "tensor_role"> {
  let summary = "What a tensor is to a program";
  let description = [{
    Stands on an argument of a function as `dash.tensor`; an array of them on one that is several tensors. `dash-tile` puts it there,
    from what the op says of its operands (`AttentionOpInterface`). Memory that the function allocates has the role of what it becomes:
    sums, that of the tensor that `dash.convert` rounds them to, with the access `sum`; what `dash.delta` writes, one of its own.

    The name is for people and manifests: parameters and files are called so. What passes ask is whose heads and rows
    the tensor has (`side`), what is done with it (`access`), what it has numbers of (`kind`), of which type (`element`), and
    of a tile how many `columns`, which no other tensor needs to have. Where its tiles are wider than the tensor (`--dash-tile=widths=…`), `width`
    says how wide: what is loaded of the other columns is zero, and none of them is stored.

    | kind | sizes |
    |---|---|
    | `tile` | batch, heads, rows, columns |
    | `row`, `log_row` | batch, heads, rows; the latter are logarithms, which kernels take to base 2 |
    | `sequence_head`, `head` | batch (of a list, sequences) and heads; heads |
    | `number` | none: a factor |
    | `bounds` | sequences + 1: where rows of sequences begin |
    | `contributions` | slots, rows of a tile, columns: what sums are made of |

    **Preconditions**: the name is a word of small letters, digits, `_` and `-`; columns are at least 1, and 1 unless rows have several; a
    width is more than the columns of a tile.
    **Postconditions**: none.
    **Example**: `#dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>`.
    **Errors**: `a tensor's name must be of small letters, digits, '_' and '-', got "../q"`; `columns of 'q' must be at least 1, got 0`;
    `'lse' has one number a log_row, expected no columns, got 64`;
    `tiles of 'q' must be wider than its 88 columns where they state a width, got 64`; `'q' must have elements of bf16 or f16, got 'f32'`, and so for sums
    and numbers, which are f32, and bounds, which are i32.
  }];
  let parameters = (ins
    StringRefParameter<"for people and manifests">:$name,
    EnumParameter<TensorSide>:$side,
    EnumParameter<TensorAccess>:$access,
    EnumParameter<TensorKind>:$kind,
    TypeParameter<"::mlir::Type", "type of its elements">:$element,
    DefaultValuedParameter<"int64_t", "1", "of a tile">:$columns,
    DefaultValuedParameter<"int64_t", "0", "columns of its tiles, where these are more">:$width);
  let builders = [AttrBuilder<(ins "StringRef":$name, "TensorSide":$side, "TensorAccess":$access, "TensorKind":$kind, "Type":$element,
                                   "int64_t":$columns), [{
    return $_get($_ctxt, name, side, access, kind, element, columns, /*width=*/0);
  }]>];
  let assemblyFormat = "`<` $name `,` struct($side, $access, $kind, $element, $columns, $width) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isKeyValue() const { return getSide() == TensorSide::KV; }
    bool isWritten() const { return getAccess() == TensorAccess::Write; }
    bool isTile() const { return getKind() == TensorKind::Tile; }
    /// Whether it has one number a row.
    bool isPerRow() const { return getKind() == TensorKind::Row || getKind() == TensorKind::LogRow; }
    unsigned getRank() const;
    /// Columns of its tiles, and of its sums.
    int64_t getTileColumns() const { return getWidth() ? getWidth() : getColumns(); }
    /// The same tensor in tiles of so many columns, at least its own.
    TensorRoleAttr withTileColumns(int64_t columns) const;
    /// The f32 memory in which the tensor is summed.
    TensorRoleAttr getSums() const;
    /// Whether memory of this type, or a number, can be the tensor.
    bool fits(::mlir::Type type) const;
  }];
}

def TensorMapAttr : Dash_Attr<"TensorMap", "tensor_map"> {
  let summary = "A tensor that the main kernel copies by a descriptor";
  let description = [{
    A TMA map of a tensor of tiles, as five dimensions, {64, rows, columns / 64, heads, batch}; a box is rows of as many panels of 64
    columns, or of 32 or 16, as `bytes` of a panel's row say (`#dash.swizzled`). Where the tensor's columns do not fill panels they are {columns, rows, 1, heads, batch}, and a box is one panel: the copy engine
    loads zeros for the columns that the tensor does not have, and stores none of them.

    **Preconditions**: the tensor's kind is `tile`; numbers are at least 1; a box has one panel where the tensor's columns do not fill panels.
    **Postconditions**: none.
    **Example**: `#dash.tensor_map<<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>, rows = 64, panels = 2>`.
    **Errors**: `descriptors are of tiles, got 'lse', a log_row`; `a box must have at least 1 row and 1 panel, got 0 and 1`;
    `a box of 'q', whose 88 columns do not fill panels of 64, must be one panel, got 2`; `rows of panels must be 32, 64 or 128 bytes, got 96`.
  }];
  let parameters = (ins AttrParameter<"::mlir::dash::TensorRoleAttr", "the tensor">:$tensor,
                        AttrParameter<"int64_t", "of a box">:$rows,
                        AttrParameter<"int64_t", "of a box">:$panels,
                        DefaultValuedParameter<"int64_t", "SwizzledAttr::mostBytes", "of a panel's row">:$bytes);
  let assemblyFormat = "`<` $tensor `,` struct($rows, $panels, $bytes) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The map of tiles that lie so in slots: what is loaded comes in as few boxes as may be, what is stored leaves panel by panel.
    TensorMapAttr withLayout(SwizzledAttr layout) const;
    SwizzledAttr getLayout() const;
    /// Whether the tensor's columns are whole panels, which then are a dimension of the map.
    bool fillsPanels() const;
  }];
}

#endif // DASH_IR_DASHTENSORROLES_TD
