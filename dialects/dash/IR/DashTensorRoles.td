//===- DashTensorRoles.td - the roles of tensors in a program -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An op on whole tensors states once which tensor is which. Later passes query the attribute
// instead of comparing names.
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHTENSORROLES_TD
#define DASH_IR_DASHTENSORROLES_TD

include "dash/IR/DashEnums.td"
include "dash/IR/DashMasks.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Dash_Words<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::dash";
  let genSpecializedAttr = 0;
}

def TensorAccess : Dash_Words<"TensorAccess", "how kernels access a tensor", [
  I32EnumAttrCase<"Read", 0, "read">, I32EnumAttrCase<"Write", 1, "write">,
  // the program's own f32 memory in which a written tensor is summed
  I32EnumAttrCase<"Sum", 2, "sum">]>;

def TensorKind : Dash_Words<"TensorKind", "what a tensor has one number for", [
  I32EnumAttrCase<"Tile", 0, "tile">,                     // [batch, heads, rows, columns]
  I32EnumAttrCase<"Row", 1, "row">,                       // [batch, heads, rows]
  I32EnumAttrCase<"LogRow", 2, "log_row">,                // the same: logarithms
  I32EnumAttrCase<"SequenceHead", 3, "sequence_head">,    // [batch or sequences, heads]
  I32EnumAttrCase<"Head", 4, "head">,                     // [heads]
  I32EnumAttrCase<"Number", 5, "number">,                 // a factor, no tensor
  I32EnumAttrCase<"Bounds", 6, "bounds">,                 // [sequences + 1], the first row of each
  I32EnumAttrCase<"Contributions", 7, "contributions">, // [slots, rows of a tile, columns]
  I32EnumAttrCase<"Tasks", 8, "tasks">]>;               // [tiles of tasks, numbers of a tile]

def TensorRoleAttr : Dash_Attr<"TensorRole", "tensor_role"> {
  let summary = "The role of a tensor in a program";
  let description = [{
    Stands on an argument of a function as `dash.tensor`; an array of them on an argument that is
    several tensors. `dash-tile` puts it there, from the op's statement about its operands
    (`AttentionOpInterface`). Memory that the function allocates has the role of what it becomes:
    sums have the role of the tensor that `dash.convert` rounds them to, with the access `sum`; the
    output of `dash.delta` has a role for that.

    The name is for messages and manifests: parameters and files use it. Passes query the side whose
    heads and rows the tensor has (`side`), how it is accessed (`access`), what it has numbers for
    (`kind`), their type (`element`), and for a tile its number of `columns`, which may differ from
    that of other tensors. If its tiles are wider than the tensor (`--dash-tile=widths=…`), `width`
    is their width: the other columns are loaded as zeros, and are not stored.

    | kind | sizes |
    |---|---|
    | `tile` | batch, heads, rows, columns |
    | `row`, `log_row` | batch, heads, rows; logarithms have base 2 in kernels |
    | `sequence_head`, `head` | batch (of a list, sequences) and heads; heads |
    | `number` | none: a factor |
    | `bounds` | sequences + 1: where rows of sequences begin |
    | `contributions` | slots, rows of a tile, columns: what sums are made of |
    | `tasks` | tiles, 4096: a tile of zeros, then one of each 64 rows of k by 64 rows of q |

    **Preconditions**: the name is a word of lower-case letters, digits, `_` and `-`; columns are at
    least 1, and exactly 1 unless rows or tiles have several; a width is larger than the columns of
    a tile.
    **Postconditions**: none.
    **Example**: `#dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16,
    columns = 128>`.
    **Errors**: `a tensor's name must be of small letters, digits, '_' and '-', got "../q"`;
    `columns of 'q' must be at least 1, got 0`; `'lse' has one number a log_row, expected no
    columns, got 64`; `tiles of 'q' must be wider than its 88 columns where they state a width, got
    64`; `'q' must have elements of bf16, f16 or f32, got 'f64'`, and so for sums and numbers, which
    are f32, and bounds, which are i32.
  }];
  let parameters = (ins
    StringRefParameter<"for messages and manifests">:$name,
    EnumParameter<TensorSide>:$side,
    EnumParameter<TensorAccess>:$access,
    EnumParameter<TensorKind>:$kind,
    TypeParameter<"::mlir::Type", "type of its elements">:$element,
    DefaultValuedParameter<"int64_t", "1", "of a tile">:$columns,
    DefaultValuedParameter<"int64_t", "0", "columns of its tiles, if more">:$width);
  let builders = [AttrBuilder<(ins "StringRef":$name, "TensorSide":$side, "TensorAccess":$access,
      "TensorKind":$kind, "Type":$element,
                                   "int64_t":$columns), [{
    return $_get($_ctxt, name, side, access, kind, element, columns, /*width=*/0);
  }]>];
  let assemblyFormat =
      "`<` $name `,` struct($side, $access, $kind, $element, $columns, $width) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isKeyValue() const { return getSide() == TensorSide::KV; }
    bool isWritten() const { return getAccess() == TensorAccess::Write; }
    bool isTile() const { return getKind() == TensorKind::Tile; }
    /// Whether it has one number for each row.
    bool isPerRow() const { return getKind() == TensorKind::Row || getKind() == TensorKind::LogRow;
        }
    unsigned getRank() const;
    /// Columns of its tiles, and of its sums.
    int64_t getTileColumns() const { return getWidth() ? getWidth() : getColumns(); }
    /// The same tensor in tiles with this many columns, at least its own.
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
    A TMA map of a tensor of tiles, with five dimensions, {64, rows, columns / 64, heads, batch}. A
    box is rows of as many panels of 64 columns, or of 32 or 16, according to the `bytes` of a
    panel's row (`#dash.swizzled`). If the tensor's columns do not fill panels, the dimensions are
    {columns, rows, 1, heads, batch}, and a box is one panel: the copy engine loads zeros for
    columns that the tensor does not have, and does not store them.

    With a `fold` of F heads the dimensions are {columns, F, rows, heads / F, batch}, and a box is
    one panel of so many rows of F heads, with the heads of a row side by side.

    **Preconditions**: the tensor's kind is `tile`; numbers are at least 1; a box has one panel if
    the tensor's columns do not fill panels, or heads are folded.
    **Postconditions**: none.
    **Example**: `#dash.tensor_map<<"q", side = q, access = read, kind = tile, element = bf16,
    columns = 128>, rows = 64, panels = 2>`.
    **Errors**: `descriptors are of tiles, got 'lse', a log_row`; `a box must have at least 1 row
    and 1 panel, got 0 and 1`; `a box of 'q', whose 88 columns do not fill panels of 64, must be one
    panel, got 2`; `a box of folded heads of 'q' must be one panel, got 2`; `'fold' must be a power
    of two from 1 to 64, got 3`; `rows of panels must be 32, 64 or 128 bytes, got 96`.
  }];
  let parameters = (ins AttrParameter<"::mlir::dash::TensorRoleAttr", "the tensor">:$tensor,
                        AttrParameter<"int64_t", "of a box">:$rows,
                        AttrParameter<"int64_t", "of a box">:$panels,
                        DefaultValuedParameter<"int64_t", "SwizzledAttr::mostBytes",
                        "of a panel's row">:$bytes,
                        DefaultValuedParameter<"int64_t", "1", "heads of a box">:$fold);
  let assemblyFormat = "`<` $tensor `,` struct($rows, $panels, $bytes, $fold) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The map for tiles with this layout in slots: loads use as few boxes as possible, stores go
    /// panel by panel.
    TensorMapAttr withLayout(SwizzledAttr layout) const;
    SwizzledAttr getLayout() const;
    /// Whether panels are a dimension of the map: the tensor's columns are whole panels, and heads
    /// are not folded.
    bool fillsPanels() const;
  }];
}

#endif // DASH_IR_DASHTENSORROLES_TD
