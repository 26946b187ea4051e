//===- DashMasks.td - which columns a row attends to ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mask is a band around the diagonal and a list of rules, each of which hides more.
// dash/IR/Band.h has the functions of a band over elements and tiles, for numbers and for emitted
// code alike. A new rule is an attribute with the interface below: code that asks which tiles are
// active, and which of their elements are visible, knows no rule by name.
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHMASKS_TD
#define DASH_IR_DASHMASKS_TD

include "dash/IR/DashDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"

class Dash_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<DashDialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def MaskRule : AttrInterface<"MaskRule"> {
  let description = [{
    A part of a mask that hides more than its band. It answers for elements, for whole tiles, and
    for the edges that cross tiles. At most one rule of a mask narrows edges; for the others, `sees`
    has one value all over a tile that `verifyTiles` accepts. So a tile is active iff each rule
    leaves it an element.
  }];
  let cppNamespace = "::mlir::dash";
  let methods = [
    InterfaceMethod<"The word before `=` in a mask's text.",
      "::llvm::StringRef", "getWord", (ins)>,
    InterfaceMethod<"The rule in a few words, for names of masks in reports.",
      "std::string", "getTitle", (ins)>,
    InterfaceMethod<"Whether the rule lets a row see a column; both count from the start of a "
                    "sequence with `offset` more kv rows than q rows.",
      "bool", "sees", (ins "int64_t":$row, "int64_t":$column, "int64_t":$offset)>,
    InterfaceMethod<"Whether the mask's band and the rule leave an element of a tile.",
      "bool", "leaves", (ins "const ::mlir::dash::Band &":$band,
          "const ::mlir::dash::TileElements &":$tile)>,
    InterfaceMethod<"Narrows the edges of the mask's band by what the rule hides within tiles.",
      "void", "narrow", (ins "::mlir::dash::Edges &":$edges), "", [{ (void)edges; }]>,
    InterfaceMethod<"The rule as written within a band; null if it hides nothing there.",
      "::mlir::dash::MaskRule", "within", (ins "const ::mlir::dash::Band &":$band), "",
      [{ (void)band; return $_attr; }]>,
    InterfaceMethod<"Fails if a tile with these rows could be partly visible.",
      "::llvm::LogicalResult", "verifyTiles",
      (ins "int64_t":$qTile, "int64_t":$kvTile,
           "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError)>,
    InterfaceMethod<"Fails if the rule does not fit sequences with at most these rows; either "
                    "number may be dynamic.",
      "::llvm::LogicalResult", "verifyRows",
      (ins "int64_t":$qRows, "int64_t":$kvRows,
           "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError)>,
    InterfaceMethod<"Fails if the text omits the rule's data.",
      "::llvm::LogicalResult", "verifyData",
      (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError)>,
  ];
}

def MaskAttr : Dash_Attr<"Mask", "mask"> {
  let summary = "Which columns a row attends to";
  let description = [{
    In a sequence of Sq query rows and Skv key rows, row i sees column j iff `-left <= j - (i + Skv
    - Sq) <= right`, where a bound of -1 means no bound, and every rule of the list shows (i, j).
    The band is aligned bottom-right: the last row is aligned with the last column, whatever the two
    lengths are.

    The text is a list in which each entry hides something; any order is read.

    | entry | band or rule |
    |---|---|
    | `full` | nothing is hidden: (left, right) = (-1, -1); stands alone |
    | `causal` | right = 0 |
    | `window = [left, right]` | a sliding window, either side of which may be -1 |
    | `blocks = #dash.blocks<...>` | a bitmap; in general a `MaskRule` after its word |
    | `union = #dash.union<...>` | only the first columns, or those of a window |

    Each mask has one text. The band is printed as `causal` if it is (-1, 0), as `window` if it is
    another one, and not at all if there is none: `causal, window = [512, -1]` is printed as `window
    = [512, 0]`, and `window = [-1, -1]` as `full`. Rules follow in the order of their words. A rule
    omits what the band already implies, and is left out if it hides nothing.

    A row that sees no column has an LSE of -inf: its P, its dQ and its share of dK and dV are zero.
    The dK and dV of a column that no row sees are zero.

    **Preconditions**: left and right are from -1 to 2147483647; each entry occurs once.
    **Postconditions**: none.
    **Example**: `#dash.mask<causal>`; `#dash.mask<window = [512, 0]>`; `#dash.mask<causal, blocks =
    #dash.blocks<q = 128, kv = 128, bits = dense<[[1, 1], [0, 1]]> : tensor<2x2xi1>>>`.
    **Errors**: `expected a mask rule (full, causal, window = [left, right], blocks =
    #dash.blocks<...> or union = #dash.union<...>), got 'banded'`; `expected a mask rule called
    'banded', got 3 : i64`; `'causal' is stated twice`; `'full' hides nothing, got another rule
    beside it`; `left and right of a window must be from -1 (no bound) to 2147483647, got [-2, 0]`.
    From C++ only: `rules must stand in the order of their words, each once, got 'blocks' after
    'blocks'`; `rule 'union' says again what the band says`.
  }];
  let parameters = (ins
    AttrParameter<"int64_t", "columns before the diagonal that a row sees; -1 is all">:$left,
    AttrParameter<"int64_t", "columns after the diagonal that a row sees; -1 is all">:$right,
    ArrayRefParameter<"::mlir::dash::MaskRule", "rules, sorted by word">:$rules);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    using EmitError = ::llvm::function_ref<::mlir::InFlightDiagnostic()>;

    Band getBand() const { return {getLeft(), getRight()}; }
    /// The edges of the band, and of what rules hide within tiles.
    Edges getEdges() const;
    bool isFull() const { return getLeft() < 0 && getRight() < 0 && getRules().empty(); }
    bool isCausal() const { return getLeft() < 0 && getRight() == 0 && getRules().empty(); }

    /// The bitmap, or null.
    BlocksAttr getBlocks() const;

    /// Whether row `row` sees column `column` of a sequence with these numbers of rows.
    bool sees(int64_t row, int64_t column, int64_t qRows, int64_t kvRows) const;

    /// The rules' checks of tiles, of the longest sequences (which may be dynamic) and of their
    /// data.
    ::llvm::LogicalResult verifyTiles(int64_t qTile, int64_t kvTile, EmitError emitError) const;
    ::llvm::LogicalResult verifyRows(int64_t qRows, int64_t kvRows, EmitError emitError) const;
    ::llvm::LogicalResult verifyData(EmitError emitError) const;
  }];
}

def BlocksAttr : Dash_Attr<"Blocks", "blocks", [DeclareAttrInterfaceMethods<MaskRule>]> {
  let summary = "A bitmap over blocks of rows and columns";
  let description = [{
    Row i sees column j iff `bits[j floordiv kv][i floordiv q]` is set. Blocks count from each
    sequence's start. The bitmap covers the longest sequences; shorter ones use the blocks that they
    reach.

    `bits` are dense elements, so `--mlir-elide-elementsattrs-if-larger` shortens them in print. Its
    output can be read again, but no op accepts it.

    **Preconditions**
    - `q` and `kv` are multiples of 16; `bits` is a tensor<KVxQxi1> with at least one bit.
    - If there are tiles, they divide the blocks.
    - If the lengths are known, KV = ceil(most key rows / kv) and Q = ceil(most query rows / q).

    **Postconditions**: none.
    **Example**: `#dash.blocks<q = 128, kv = 64, bits = dense<[[1, 0], [1, 1]]> : tensor<2x2xi1>>`.
    **Errors**: `block size 'q' must be a multiple of 16 from 16 to 2147483647, got 100`; `'bits'
    must be dense elements of type tensor<KVxQxi1>, got 'tensor<2x2xi8>'`; `block size 'q' must be a
    multiple of the q tile, 64, got 96`; `'bits' must have 8 rows (kv blocks), for the longest
    sequence's 1000 key rows, got 4`, and so for columns; `'bits' are not in the text
    (dense_resource '__elided__'): print the module again without
    --mlir-elide-elementsattrs-if-larger`.
  }];
  let parameters = (ins
    AttrParameter<"int64_t", "rows of a block">:$q,
    AttrParameter<"int64_t", "columns of a block">:$kv,
    AttrParameter<"::mlir::ElementsAttr", "kv blocks x q blocks, 1 where visible">:$bits);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getNumKvBlocks() const { return getBits().getShapedType().getDimSize(0); }
    int64_t getNumQBlocks() const { return getBits().getShapedType().getDimSize(1); }
    bool isVisible(int64_t kvBlock, int64_t qBlock) const;
  }];
}

def UnionAttr : Dash_Attr<"Union", "union", [
    DeclareAttrInterfaceMethods<MaskRule, ["narrow", "within"]>]> {
  let summary = "The first columns, or a window";
  let description = [{
    Row i sees column j iff `j < columns` or `-left <= j - (i + Skv - Sq) <= right`, where a bound
    of -1 means no bound; columns count from each sequence's start. Like every rule of a mask, it
    hides some of what the band shows.

    | mask | text |
    |---|---|
    | prefix-LM, 256 columns | `union = #dash.union<columns = 256, window = [-1, 0]>` |
    | 4 sink tokens | `causal, union = #dash.union<columns = 4, window = [512, -1]>` |

    With the first, all rows see the first 256 columns, and each row sees those up to its diagonal.
    With the second, rows of a causal mask see the first 4 columns and the 512 before the diagonal.

    Every union of a window and the first columns of a band is such a mask: a band that shows both,
    and a window within it. In a mask's text, bounds that are not tighter than the band's are -1,
    and a union with two such bounds is left out.

    Edges may cut tiles anywhere, so tiles and sequences are not restricted. A tile that the first
    columns or the window show completely is not masked.

    **Preconditions**: `columns` is from 1 to 2147483647, left and right from -1 to 2147483647.
    **Postconditions**: none.
    **Example**: `#dash.union<columns = 4, window = [512, -1]>`.
    **Errors**: `'columns' of a union must be from 1 to 2147483647, got 0`; `left and right of a
    union's window must be from -1 (no bound) to 2147483647, got [-2, 0]`.
  }];
  let parameters = (ins
    AttrParameter<"int64_t", "columns that every row sees">:$columns,
    AttrParameter<"int64_t", "columns before the diagonal that a row sees; -1 is all">:$left,
    AttrParameter<"int64_t", "columns after the diagonal that a row sees; -1 is all">:$right);
  let assemblyFormat = [{
    `<` `columns` `=` $columns `,` `window` `=` `[` $left `,` $right `]` `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    Band getWindow() const { return {getLeft(), getRight()}; }
    /// The title of such a rule.
    static std::string titleOf(int64_t columns, const Band &window);
  }];
}

#endif // DASH_IR_DASHMASKS_TD
