//===- DashMasks.td - which columns a row attends to ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mask is a band around the diagonal and a list of rules, of which each hides more. What a band says of
// elements and tiles is in dash/IR/Band.h, for numbers and for emitted code alike. A new rule is an
// attribute with the interface below: nothing that asks which tiles are active, and which elements of them are
// seen, knows the rules by name.
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
    A part of a mask that hides more than its band. It answers for elements, for whole tiles, and for the edges
    that run through tiles. Of the rules of a mask at most one narrows edges; for the others `sees` has one value
    all over a tile that `verifyTiles` accepts. So a tile is active iff each rule leaves it an element.
  }];
  let cppNamespace = "::mlir::dash";
  let methods = [
    InterfaceMethod<"The word before `=` in a mask's text.",
      "::llvm::StringRef", "getWord", (ins)>,
    InterfaceMethod<"The rule in a few words, as reports name masks.",
      "std::string", "getTitle", (ins)>,
    InterfaceMethod<"Whether the rule lets a row see a column; both count from the start of a sequence "
                    "with `offset` more kv rows than q rows.",
      "bool", "sees", (ins "int64_t":$row, "int64_t":$column, "int64_t":$offset)>,
    InterfaceMethod<"Whether the mask's band and the rule leave an element of a tile.",
      "bool", "leaves", (ins "const ::mlir::dash::Band &":$band, "const ::mlir::dash::TileElements &":$tile)>,
    InterfaceMethod<"Takes from the edges of the mask's band what the rule hides within tiles.",
      "void", "narrow", (ins "::mlir::dash::Edges &":$edges), "", [{ (void)edges; }]>,
    InterfaceMethod<"The rule as it is written within a band; null where it hides nothing there.",
      "::mlir::dash::MaskRule", "within", (ins "const ::mlir::dash::Band &":$band), "",
      [{ (void)band; return $_attr; }]>,
    InterfaceMethod<"Fails where a tile of so many rows could be seen in part.",
      "::llvm::LogicalResult", "verifyTiles",
      (ins "int64_t":$qTile, "int64_t":$kvTile,
           "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError)>,
    InterfaceMethod<"Fails where the rule is not about sequences of at most so many rows; either "
                    "number may be dynamic.",
      "::llvm::LogicalResult", "verifyRows",
      (ins "int64_t":$qRows, "int64_t":$kvRows,
           "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError)>,
    InterfaceMethod<"Fails where the rule's data were left out of the text.",
      "::llvm::LogicalResult", "verifyData",
      (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError)>,
  ];
}

def MaskAttr : Dash_Attr<"Mask", "mask"> {
  let summary = "Which columns a row attends to";
  let description = [{
    In a sequence of Sq query rows and Skv key rows, row i sees column j iff
    `-left <= j - (i + Skv - Sq) <= right`, where a bound of -1 is no bound, and every rule of the
    list sees (i, j). The band is aligned bottom-right: the last row stands at the last column
    whatever the two lengths are.

    The text is a list of which each entry hides something; any order is read.

    | entry | band or rule |
    |---|---|
    | `full` | nothing is hidden: (left, right) = (-1, -1); stands alone |
    | `causal` | right = 0 |
    | `window = [left, right]` | a sliding window, either side of which may be -1 |
    | `blocks = #dash.blocks<...>` | a bitmap; in general `word = attribute`, a `MaskRule` of that word |
    | `union = #dash.union<...>` | of the columns that are left only the first ones, or those of a window |

    One mask has one text. The band is printed as `causal` where it is (-1, 0), as `window` where it
    is another, and not where there is none: `causal, window = [512, -1]` is printed as
    `window = [512, 0]`, and `window = [-1, -1]` as `full`. Rules follow, by their words, each without what the band
    says already, and not where it hides nothing.

    A row that sees no column has a LSE of -inf: its P, its dQ and its share of dK and dV are zero. A
    column that no row sees has a dK and dV of zero.

    **Preconditions**: left and right are from -1 to 2147483647; each entry occurs once.
    **Postconditions**: none.
    **Example**: `#dash.mask<causal>`; `#dash.mask<window = [512, 0]>`; `#dash.mask<causal, blocks =
    #dash.blocks<q = 128, kv = 128, bits = dense<[[1, 1], [0, 1]]> : tensor<2x2xi1>>>`.
    **Errors**: `expected a mask rule (full, causal, window = [left, right], blocks = #dash.blocks<...> or
    union = #dash.union<...>), got 'banded'`; `expected a mask rule called 'banded', got 3 : i64`; `'causal'
    is stated twice`; `'full' hides nothing, got another rule beside it`; `left and right of a window
    must be from -1 (no bound) to 2147483647, got [-2, 0]`. From C++ only: `rules must stand in the
    order of their words, each once, got 'blocks' after 'blocks'`; `rule 'union' says again what the band says`.
  }];
  let parameters = (ins
    AttrParameter<"int64_t", "columns before the diagonal that a row sees; -1 is all">:$left,
    AttrParameter<"int64_t", "columns after the diagonal that a row sees; -1 is all">:$right,
    ArrayRefParameter<"::mlir::dash::MaskRule", "what else hides tiles, by word">:$rules);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    using EmitError = ::llvm::function_ref<::mlir::InFlightDiagnostic()>;

    Band getBand() const { return {getLeft(), getRight()}; }
    /// Of the band and of what rules hide within tiles.
    Edges getEdges() const;
    bool isFull() const { return getLeft() < 0 && getRight() < 0 && getRules().empty(); }
    bool isCausal() const { return getLeft() < 0 && getRight() == 0 && getRules().empty(); }

    /// The bitmap, or null.
    BlocksAttr getBlocks() const;

    /// Whether row `row` sees column `column` of a sequence of so many rows.
    bool sees(int64_t row, int64_t column, int64_t qRows, int64_t kvRows) const;

    /// What the rules ask of tiles, of the longest sequences (which may be dynamic) and of their data.
    ::llvm::LogicalResult verifyTiles(int64_t qTile, int64_t kvTile, EmitError emitError) const;
    ::llvm::LogicalResult verifyRows(int64_t qRows, int64_t kvRows, EmitError emitError) const;
    ::llvm::LogicalResult verifyData(EmitError emitError) const;
  }];
}

def BlocksAttr : Dash_Attr<"Blocks", "blocks", [DeclareAttrInterfaceMethods<MaskRule>]> {
  let summary = "A bitmap over blocks of rows and columns";
  let description = [{
    Row i sees column j iff `bits[j floordiv kv][i floordiv q]` is set. Blocks count from each
    sequence's start, and the bitmap is that of the longest sequences; shorter ones have the blocks
    that they reach.

    `bits` are dense elements, so that `--mlir-elide-elementsattrs-if-larger` shortens them in
    print. What it prints is read again, but no op accepts it.

    **Preconditions**
    - `q` and `kv` are multiples of 16; `bits` is a tensor<KVxQxi1> with at least one bit.
    - Where there are tiles, they divide the blocks.
    - Where the lengths are known, KV = ceil(most key rows / kv) and Q = ceil(most query rows / q).

    **Postconditions**: none.
    **Example**: `#dash.blocks<q = 128, kv = 64, bits = dense<[[1, 0], [1, 1]]> : tensor<2x2xi1>>`.
    **Errors**: `block size 'q' must be a multiple of 16 from 16 to 2147483647, got 100`; `'bits' must
    be dense elements of type tensor<KVxQxi1>, got 'tensor<2x2xi8>'`; `block size 'q' must be a
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
    Row i sees column j iff `j < columns` or `-left <= j - (i + Skv - Sq) <= right`, where a bound of -1 is no bound;
    columns count from each sequence's start. As all rules of a mask, it hides some of what the band shows.

    | mask | text |
    |---|---|
    | prefix-LM: all rows see the first 256 columns, and each those up to its diagonal | `union = #dash.union<columns = 256, window = [-1, 0]>` |
    | sink tokens: of a causal mask the first 4 columns and the 512 before the diagonal | `causal, union = #dash.union<columns = 4, window = [512, -1]>` |

    Every union of first columns within a band and of a window is such a mask: a band that shows both, and a window in it.
    In a mask's text bounds that are not nearer than the band's are -1, and a union with two such bounds is left out.

    Edges may cut tiles anywhere: nothing is asked of tiles or sequences. A tile of which the first columns or the window
    show all is not masked.

    **Preconditions**: `columns` is from 1 to 2147483647, left and right from -1 to 2147483647.
    **Postconditions**: none.
    **Example**: `#dash.union<columns = 4, window = [512, -1]>`.
    **Errors**: `'columns' of a union must be from 1 to 2147483647, got 0`; `left and right of a union's window must be
    from -1 (no bound) to 2147483647, got [-2, 0]`.
  }];
  let parameters = (ins
    AttrParameter<"int64_t", "how many columns every row sees">:$columns,
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
