//===- DashTilings.td - how a problem is cut into tiles ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// These attributes decide the shape of a kernel, beside its order: rows of tiles, how warpgroups
// split each product, what stays in registers, how deep channels are.
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHTILINGS_TD
#define DASH_IR_DASHTILINGS_TD

include "dash/IR/DashAttrs.td"

def SplitAttr : Dash_Attr<"Split", "split"> {
  let summary = "How the warpgroups of a role split a product";
  let description = [{
    A product's result is cut into `rows` by `columns` parts of equal size, one for each warpgroup.
    A warpgroup reads those rows and columns of the factors that its part needs:

    | factor | as it is | transposed |
    |---|---|---|
    | left | its rows split by `rows` | its columns split by `rows` |
    | right | its columns split by `columns` | its rows split by `columns` |

    A role makes a factor in the split of the product that it comes from. If a warpgroup reads what
    another one made, the factor crosses, through a channel of the role with itself. A right factor
    always crosses, and so does a transposed left factor: the tensor core reads both from shared
    memory only.

    `--dash-choose-tiling` chooses splits, and `--dash-tile` writes them on products.
    `--dash-assign-roles` and `--dash-distribute-tiles` follow them.

    **Preconditions**: 1 to 8 warpgroups split rows or columns, not both.
    **Postconditions**: none.
    **Example**: `#dash.split<2 x 1>`, on a product `split(<2 x 1>)`: two warpgroups, each with half
    of the rows and all columns.
    **Errors**
    - `a product is split among 1 to 8 warpgroups, got 16 x 1`
    - `warpgroups split the rows of a product or its columns, not both, got 2 x 2`
  }];
  let parameters = (ins AttrParameter<"int64_t", "parts of the rows">:$rows,
                        AttrParameter<"int64_t", "parts of the columns">:$columns);
  let assemblyFormat = "`<` $rows `x` $columns `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getWarpgroups() const { return getRows() * getColumns(); }
    /// How threads hold the product's sums.
    FragmentAttr getSums() const;
    /// The split of a factor that gives each warpgroup what it reads; `<1 x 1>` if each reads all.
    SplitAttr getFactor(bool isLeft, bool isTransposed) const;
  }];
}

def TilingAttr : Dash_Attr<"Tiling", "tiling"> {
  let summary = "How a problem is cut into tiles, and which roles hold them";
  let description = [{
    All that decides the shape of a kernel, beside its order:

    - `tiles`, `columns`: rows of a q tile and of a kv tile, and columns of both; tensors may have
      fewer. `columns_v` are those of tiles of V, O and dV, where they are others.
    - `structure`: how consumers share the tensor core (`#dash<structure …>`).
    - `splits`: how warpgroups split each product, by its name (`#dash.split`).
    - `hold`: tensors of an item that stay in registers as left factors.
    - `slots`: how many slots each channel has, by its name.

    `--dash-choose-tiling` puts it on `dash.attention_bwd`. `--dash-tile` follows rows, columns and
    splits, and leaves it on `dash.items`. `--dash-assign-roles` follows the rest: workers get the
    structure, and channels get slots and what is held.

    **Preconditions**: columns are a positive multiple of 8. There is a split at least, and all
    splits have as many warpgroups. Every channel has a slot at least, and what is held has slots.
    Only `out` may have none: results then leave through the slot of a loaded tile.
    **Postconditions**: none.
    **Example**: `#dash.tiling<tiles = <q = 64, kv = 128>, columns = 128, structure = alternating,
    splits = {dk = 2 x 1, dp = 2 x 1, dq = 1 x 2, dv = 2 x 1, s = 2 x 1}, hold = [],
    slots = {do = 2, dq = 2, ds = 2, k = 1, q = 2, v = 1}>`.
    **Errors**
    - `'columns' must be a positive multiple of 8, got 12`, and so for `columns_v`
    - `'columns_v' are stated where they are not 'columns', got 128 of both`
    - `a tiling has a split at least`
    - `products must be split among as many warpgroups, got 2 of 'dk' and 3 of 's'`
    - `channel 'q' must have a slot at least, got 0`
    - `holds 'p', which has no slots`
    - `expected each name once, got 'q' twice`
  }];
  let parameters = (ins
    AttrParameter<"::mlir::dash::TilesAttr", "rows">:$tiles,
    AttrParameter<"int64_t", "columns of tiles of tensors">:$columns,
    OptionalParameter<"int64_t", "columns of tiles of V, O and dV; 0 for `columns`">:$columns_v,
    EnumParameter<WarpStructure>:$structure,
    AttrParameter<"::mlir::DictionaryAttr", "a SplitAttr for each product">:$splits,
    AttrParameter<"::mlir::ArrayAttr", "names of tensors">:$hold,
    AttrParameter<"::mlir::DictionaryAttr", "a number for each channel">:$slots);
  let assemblyFormat = [{
    `<` `tiles` `=` $tiles `,` `columns` `=` $columns `,` (`columns_v` `=` $columns_v^ `,`)?
        `structure` `=` $structure `,`
        `splits` `=` custom<Splits>($splits) `,` `hold` `=` custom<Held>($hold) `,`
        `slots` `=` custom<Slots>($slots) `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The channel of slots that no role fills, of results alone; it may have no slots.
    static constexpr ::llvm::StringLiteral channelOfResults = "out";
    /// Columns of tiles of V, O and dV.
    int64_t getWidthV() const { return getColumnsV() ? getColumnsV() : getColumns(); }
    /// How a product is split; null for one that the tiling does not know.
    SplitAttr getSplit(::llvm::StringRef product) const;
    /// Slots of a channel; nothing for one that the tiling does not know.
    ::std::optional<int64_t> getSlotsOf(::llvm::StringRef channel) const;
    /// Whether a tensor stays in registers.
    bool holds(::llvm::StringRef tensor) const;
    /// Of the role that multiplies.
    int64_t getWarpgroups() const;
  }];
}

#endif // DASH_IR_DASHTILINGS_TD
