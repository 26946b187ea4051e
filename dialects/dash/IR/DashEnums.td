//===- DashEnums.td - enumerations of dash -----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An enumeration is an attribute (`#dash.level<run>`); ops print its bare word (`level(run)`).
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHENUMS_TD
#define DASH_IR_DASHENUMS_TD

include "dash/IR/DashDialect.td"
include "mlir/IR/EnumAttr.td"

/// The bits do not depend on when and beside what the problem runs, on the same kind of machine.
def LevelRun : I32EnumAttrCase<"Run", 0, "run">;
/// Also not on the other sequences of the batch, or on a sequence's position among them.
def LevelBatch : I32EnumAttrCase<"Batch", 1, "batch">;
/// Also not on the number of multiprocessors or of resident workers.
def LevelMachine : I32EnumAttrCase<"Machine", 2, "machine">;
/// Also not on the number of devices that share the work.
def LevelWorld : I32EnumAttrCase<"World", 3, "world">;

/// Those of a forward's row, on nothing but its own query and the keys and values that it sees.
def LevelRow : I32EnumAttrCase<"Row", 4, "row">;

def DeterminismLevel : I32EnumAttr<"DeterminismLevel",
    "what the bits of a sequence's results do not depend on",
    [LevelRun, LevelBatch, LevelMachine, LevelWorld, LevelRow]> {
  let cppNamespace = "::mlir::dash";
  let genSpecializedAttr = 0;
}

def DeterminismLevelAttr : EnumAttr<DashDialect, DeterminismLevel, "level"> {
  let summary = "What the bits of a sequence's results do not depend on";
  let description = [{
    Each level includes those above it.

    | level | the bits of a sequence's results do not depend on |
    |---|---|
    | `run` | when and beside what it runs, on the same kind of machine |
    | `batch` | the other sequences in the batch, and its place there |
    | `machine` | the number of multiprocessors or of resident workers |
    | `world` | the number of devices that share the work |
    | `row` | other rows of q |

    At level `row`, a row's bits follow from its own query, the keys and values that it sees, and
    their places in the sequence. Only a forward has it: a backward adds up dK and dV over rows.

    From `batch` on, chains, visit orders and parts are made for each sequence separately; from
    `machine` on, for a stated number of workers (the `width` of a `dash.schedule`).

    **Example**: `#dash.level<run>`; on an op `level(run)`.

    **Errors**: `expected a determinism level (run, batch, machine, world or row), got 'always'`.
  }];
  let assemblyFormat = "`<` $value `>`";
}

/// Query heads and query rows.
def SideQ : I32EnumAttrCase<"Q", 0, "q">;
/// Kv heads, and key and value rows.
def SideKV : I32EnumAttrCase<"KV", 1, "kv">;

def TensorSide : I32EnumAttr<"TensorSide", "whose heads and rows a tensor has, or an item owns",
    [SideQ, SideKV]> {
  let cppNamespace = "::mlir::dash";
  let genSpecializedAttr = 0;
}

def TensorSideAttr : EnumAttr<DashDialect, TensorSide, "own"> {
  let summary = "Which side an item owns, and which its walks go along";
  let description = [{
    | | an item has | its walks go along | it finishes by itself | what is summed across items |
    |---|---|---|---|---|
    | `kv` | a kv tile of a kv head | q tiles of the head's group | dK, dV | dQ |
    | `q` | a q tile of a query head | kv tiles of its kv head | dQ | nothing |

    **Example**: `#dash<own q>`; on an op `own(q) walk(kv)`, and nothing for `kv`.

    **Errors**: `expected the side that items own (q or kv), got 'o'`; `items that own q walk kv,
    got 'q'`.
  }];
  let assemblyFormat = "$value";
}

/// Loads tiles into channels.
def RoleProducer : I32EnumAttrCase<"Producer", 0, "producer">;
/// Multiplies tiles that it receives, and computes with the results.
def RoleConsumer : I32EnumAttrCase<"Consumer", 1, "consumer">;
/// Adds tiles to memory.
def RoleReducer : I32EnumAttrCase<"Reducer", 2, "reducer">;

def RoleKind : I32EnumAttr<"RoleKind", "the kind of work of a role's warps",
    [RoleProducer, RoleConsumer, RoleReducer]> {
  let cppNamespace = "::mlir::dash";
  let genSpecializedAttr = 0;
}

def RoleKindAttr : EnumAttr<DashDialect, RoleKind, "role_kind"> {
  let summary = "The kind of work of a role's warps";
  let description = [{
    | kind | does |
    |---|---|
    | `producer` | loads tiles from memory into channels, with headers |
    | `consumer` | multiplies tiles; never reads the order |
    | `reducer` | adds tiles to memory, in the order's turns |

    **Example**: `#dash<role_kind producer>`; on an op its bare word.

    **Errors**: the parser's, which lists the words.
  }];
}

/// Products in turn; element-wise work after them.
def StructureAlternating : I32EnumAttrCase<"Alternating", 0, "alternating">;
/// Element-wise work also beside a warpgroup's own products.
def StructureOverlapping : I32EnumAttrCase<"Overlapping", 1, "overlapping">;

def WarpStructure : I32EnumAttr<"WarpStructure", "how consumers share the tensor core",
    [StructureAlternating, StructureOverlapping]> {
  let cppNamespace = "::mlir::dash";
  let genSpecializedAttr = 0;
}

def WarpStructureAttr : EnumAttr<DashDialect, WarpStructure, "structure"> {
  let summary = "How consumers share the tensor core";
  let description = [{
    In both structures, warpgroups take the tensor core in turn, and products of the next step are
    issued one step ahead.

    - `alternating`: a turn issues dQ of the previous step, dK and dV, then S and dP of the next
      step. Element-wise work follows the turn. A thread holds the sums, and S and dP, or P and dS.
      Each tile of a step has a slot, 2 deep.
    - `overlapping`: a turn issues S and dP of the next step, then dK and dV. Element-wise work runs
      during dK and dV, and dQ during element-wise work. A thread holds the sums, S and dP, P and
      dS, and rows. All loaded tiles of a step share a slot, 4 deep.

    A forward has one product of the next step, S, and one that is carried on, O. In `overlapping`
    the softmax runs during O, and K and V have slots of their own: S reads a K one step ahead.

    `overlapping` takes more registers and slots; `--dash-assign-roles` chooses it if they fit.

    **Example**: `#dash<structure overlapping>`; on an op its bare word.

    **Errors**: the parser's, which lists the words.
  }];
}

/// None: each contribution is added to the sum at its turn.
def ApartNone : I32EnumAttrCase<"None", 0, "none">;
/// Those of parts, to dK and dV.
def ApartParts : I32EnumAttrCase<"Parts", 1, "parts">;
/// Those to dQ too.
def ApartAll : I32EnumAttrCase<"All", 2, "all">;

def Apart : I32EnumAttr<"Apart", "which contributions are kept apart until all exist",
    [ApartNone, ApartParts, ApartAll]> {
  let cppNamespace = "::mlir::dash";
  let genSpecializedAttr = 0;
}

def ApartAttr : EnumAttr<DashDialect, Apart, "apart"> {
  let summary = "Contributions that are kept apart until all exist";
  let description = [{
    | | contributions | memory, of f32 tiles |
    |---|---|---|
    | `none` | each is added to the sum at its turn | none |
    | `parts` | those of parts, to dK and dV, wait for nothing | a tile for each kv tile and part |
    | `all` | those to dQ do not wait either | also a tile for each q tile and kv tile |

    Contributions that are kept apart are added up after the order, in the order of turns: the same
    sum to the last bit.

    **Example**: `#dash<apart parts>`; on an op its bare word.

    **Errors**: the parser's, which lists the words.
  }];
}

/// The slot is full: a consumer may read it.
def SideFull : I32EnumAttrCase<"Full", 0, "full">;
/// The slot is empty: a producer may write it.
def SideEmpty : I32EnumAttrCase<"Empty", 1, "empty">;

def BarrierSide : I32EnumAttr<"BarrierSide", "which of a slot's two mbarriers",
    [SideFull, SideEmpty]> {
  let cppNamespace = "::mlir::dash";
  let genSpecializedAttr = 0;
}

def BarrierSideAttr : EnumAttr<DashDialect, BarrierSide, "side"> {
  let summary = "Which of a slot's two mbarriers";
  let description = [{
    `full`: completes when the slot has been filled. `empty`: completes when it may be filled again.

    **Example**: `#dash<side full>`; on an op its bare word.

    **Errors**: the parser's, which lists the words.
  }];
}

/// The one thread that runs the role.
def ArriveThread : I32EnumAttrCase<"Thread", 0, "thread">;
/// One lane of each warp, once all lanes of the warp have arrived.
def ArriveWarp : I32EnumAttrCase<"Warp", 1, "warp">;
/// Every thread; race detectors understand this.
def ArriveAll : I32EnumAttrCase<"All", 2, "all">;

def ArriveScope : I32EnumAttr<"ArriveScope", "which threads arrive at an mbarrier",
    [ArriveThread, ArriveWarp, ArriveAll]> {
  let cppNamespace = "::mlir::dash";
  let genSpecializedAttr = 0;
}

def ArriveScopeAttr : EnumAttr<DashDialect, ArriveScope, "arrive"> {
  let summary = "Which threads arrive at an mbarrier";
  let description = [{
    `thread`: the one thread that runs the role. `warp`: one lane of each warp, after a barrier of
    the warp. `all`: every thread.

    **Example**: `#dash<arrive warp>`; on an op its bare word.

    **Errors**: the parser's, which lists the words.
  }];
}

/// Sums of a product: wgmma's D fragment.
def FragmentAccumulator : I32EnumAttrCase<"Accumulator", 0, "accumulator">;
/// The same numbers rounded and packed in pairs: the A fragment of the next product.
def FragmentOperand : I32EnumAttrCase<"Operand", 1, "operand">;
/// A number for each column of an accumulator.
def FragmentPerColumn : I32EnumAttrCase<"PerColumn", 2, "per_column">;
/// One or four numbers for each row of an accumulator.
def FragmentPerRow : I32EnumAttrCase<"PerRow", 3, "per_row">;

def FragmentKind : I32EnumAttr<"FragmentKind", "how threads hold a tile in registers",
    [FragmentAccumulator, FragmentOperand, FragmentPerColumn, FragmentPerRow]> {
  let cppNamespace = "::mlir::dash";
  let genSpecializedAttr = 0;
}

/// Each warpgroup has 64 of the tile's rows, and all columns.
def SplitRows : I32EnumAttrCase<"Rows", 0, "rows">;
/// Each warpgroup has all 64 rows, and an equal share of the columns.
def SplitColumns : I32EnumAttrCase<"Columns", 1, "columns">;

/// Each warpgroup has all of it.
def SplitReplicated : I32EnumAttrCase<"Replicated", 2, "replicated">;

def FragmentSplit : I32EnumAttr<"FragmentSplit", "what warpgroups split of a tile",
    [SplitRows, SplitColumns, SplitReplicated]> {
  let cppNamespace = "::mlir::dash";
  let genSpecializedAttr = 0;
}

/// A lane begins.
def TraceBegin : I32EnumAttrCase<"Begin", 0, "begin">;
/// It ends.
def TraceEnd : I32EnumAttrCase<"End", 1, "end">;
/// An item begins.
def TraceItem : I32EnumAttrCase<"Item", 2, "item">;
/// Waited until a slot was full.
def TraceSlotFull : I32EnumAttrCase<"SlotFull", 3, "slot_full">;
/// Waited until a slot was empty.
def TraceSlotEmpty : I32EnumAttrCase<"SlotEmpty", 4, "slot_empty">;
/// Waited for a turn.
def TraceTurn : I32EnumAttrCase<"Turn", 5, "turn">;
/// Waited until an add was in memory, and passed on the turn.
def TraceGiven : I32EnumAttrCase<"Given", 6, "given">;
/// Waited until copies had read their slots, or were in memory.
def TraceCopies : I32EnumAttrCase<"Copies", 7, "copies">;
/// Waited until products were complete.
def TraceProducts : I32EnumAttrCase<"Products", 8, "products">;
/// Waited for the tensor core's other warpgroup.
def TraceTensorCore : I32EnumAttrCase<"TensorCore", 9, "tensor_core">;
/// Products were issued.
def TraceIssue : I32EnumAttrCase<"Issue", 10, "issue">;
/// Computed element by element.
def TraceElementwise : I32EnumAttrCase<"Elementwise", 11, "elementwise">;
/// Ended an item, of a trace that does not have all of them.
def TraceItemEnd : I32EnumAttrCase<"ItemEnd", 12, "item_end">;

def TraceEvent : I32EnumAttr<"TraceEvent", "the event of a trace record",
    [TraceBegin, TraceEnd, TraceItem, TraceSlotFull, TraceSlotEmpty,
     TraceTurn, TraceGiven, TraceCopies, TraceProducts, TraceTensorCore,
     TraceIssue, TraceElementwise, TraceItemEnd]> {
  let cppNamespace = "::mlir::dash";
  let genSpecializedAttr = 0;
}

def TraceEventAttr : EnumAttr<DashDialect, TraceEvent, "trace_event"> {
  let summary = "The event of a trace record";
  let description = [{
    `begin`, `end`: of a lane. `item`, `item_end`: an item begins, and ends. `slot_full`,
    `slot_empty`, `turn`, `copies`, `products`, `tensor_core`: the end of a wait for it. `given`:
    the end of a wait for an add, whose turn was passed on. `issue`: products were issued.
    `elementwise`: threads computed with sums.

    **Example**: `#dash<trace_event turn>`; on an op its bare word.

    **Errors**: the parser's, which lists the words.
  }];
}

#endif // DASH_IR_DASHENUMS_TD
