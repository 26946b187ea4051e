//===- DashTraceOps.td - clocks and records of a trace -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DASH_IR_DASHTRACEOPS_TD
#define DASH_IR_DASHTRACEOPS_TD

include "dash/IR/DashAsyncOps.td"

def CyclesType : Dash_Type<"Cycles", "cycles"> {
  let summary = "A time, in cycles of a multiprocessor";
  let description = [{
    The low 32 bits of a count. Roles do not compute with it: their behaviour does not depend on it.

    **Example**: `!dash.cycles`.
  }];
}

def ClockOp : Dash_SlotOp<"clock", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The value of the multiprocessor's clock";
  let description = [{
    The low 32 bits of a count of cycles. It keeps its place among waits, arrivals, loads and
    stores; arithmetic may move across it.

    **Preconditions**: none.
    **Postconditions**: none.
    **Example**: `%now = dash.clock`, as in test/Steps/insert-trace.mlir.
    **Errors**: `stands inside 'dash.role' only: channels connect roles`.
  }];
  let results = (outs Res<CyclesType, "the time">:$now);
  let assemblyFormat = "attr-dict";
}

def TraceOp : Dash_SlotOp<"trace", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Write a record to the trace";
  let description = [{
    Stores 16 bytes: the event, its time from `since` until a clock that was read before, or until
    now, the channel or products it refers to, and up to two numbers, with 32 bits of the first and
    16 of the second.
    One thread stores: the only one of a role in a warp, or the first of a warpgroup. A lane's
    records follow each other until its part of the region is full; later ones are counted but not
    stored. `begin` and `end` are a lane's first and last, and also record the time that all
    multiprocessors share. An `end` with a number ends a lane that has records of items
    alone, and the number is that of the items. Such a lane keeps no count: the item gives the
    address of its records, `item` and, if not all items are traced, `item_end`.

    **Preconditions**: the workers have a `trace`; `begin` precedes all other records of the role,
    and `end` follows them.
    **Postconditions**: nothing that roles wait for is changed.
    **Example**: `%then = dash.trace slot_full of("q") since(%now) numbers(%use)`, as in
    test/Steps/insert-trace.mlir.
    **Errors**: `stands inside 'dash.role' only: channels connect roles`; `has room for 2 numbers,
    got 3`; `'begin' is of nothing, and has no time before and no numbers`; `'end' is of nothing,
    and has no time before and at most the number of items`; `its workers keep no trace: they have
    no number of records`.
  }];
  let arguments = (ins
    Arg<TraceEventAttr, "what happened">:$event,
    Arg<OptionalAttr<StrAttr>, "the channel, or the products">:$of,
    Arg<Optional<CyclesType>, "when it began; now, if it took no time">:$since,
    Arg<Optional<CyclesType>, "when it ended; now, if it is not said">:$until,
    Arg<Variadic<Index>, "which use, item or turn">:$numbers);
  let results = (outs Res<CyclesType, "when it ended">:$now);
  let assemblyFormat = [{
    $event (`of` `(` $of^ `)`)? (`since` `(` $since^ `)`)? (`until` `(` $until^ `)`)?
    (`numbers` `(` $numbers^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

#endif // DASH_IR_DASHTRACEOPS_TD
