// RUN: dash-opt %s --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=shortest-first workers=3 sizes=q:200+700+300,kv:200+700+300' --dash-deal-items | FileCheck %s
// RUN: dash-opt %s --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=shortest-first workers=3 sizes=q:200+700+300,kv:200+700+300' --dash-deal-items --dash-verify-schedule --dash-deal-items --dash-report-schedule -o /dev/null | FileCheck %s --check-prefix=LISTS

// Prices are those of the cost, in eighths of a task: 5.793 of 1.876 are 25 of 8.

// CHECK:      dash.schedule @attention_bwd_order kind("shortest-first") level(run) parts(1) workers(3) width(3) min_workers(3)
// CHECK:        cost(<{{.+}}>) deal(<task = 8, boundary = 25>)

// The sequence with most rows comes first, each with its shortest items first; an item goes to the worker that is free first.

// LISTS:        order        level run, made for 3 workers, 1 part, formulas, dealt by work
// LISTS:        workers      3, at least 3 resident; items may be handed out at run time
// LISTS:      step |     w0     w1     w2
// LISTS-NEXT:    0 | s1 5,5 s1 4,4 s1 3,3
// LISTS-NEXT:    1 | s1 2,2 s1 4,5 s1 3,4
// LISTS-NEXT:    2 | s1 2,3 s1 1,1 s1 3,5
// LISTS-NEXT:    3 | s1 2,4 s1 1,2 s1 0,0
// LISTS-NEXT:    4 | s1 2,5 s1 1,3 s1 0,1
// LISTS-NEXT:    5 | s2 2,2 s1 1,4 s1 0,2
// LISTS-NEXT:    6 | s0 1,1 s1 1,5 s1 0,3
// LISTS-NEXT:    7 |      - s2 1,1 s1 0,4
// LISTS-NEXT:    8 |      - s2 1,2 s1 0,5
// LISTS-NEXT:    9 |      - s0 0,0 s2 0,0
// LISTS-NEXT:   10 |      - s0 0,1 s2 0,1
// LISTS-NEXT:   11 |      -      - s2 0,2

// Left as they are: other kinds, more workers than an entry deals to, batches, and forwards, whose items are drawn.
// RUN: dash-opt %s --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=shift workers=3 sizes=q:200+700+300,kv:200+700+300' --dash-deal-items | FileCheck %s --check-prefix=LEFT
// RUN: dash-opt %s --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=shortest-first workers=1025 sizes=q:200+700,kv:200+700' --dash-deal-items | FileCheck %s --check-prefix=LEFT
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=shortest-first workers=3 sizes=q:200,kv:200,batch:2' --dash-deal-items | FileCheck %s --check-prefix=LEFT
// RUN: sed 's/scale(%%scale)/scale(%%scale) sequences(<?>)/' %dash_examples/fwd-causal.mlir | dash-opt --dash-tile --dash-apply-schedule='kind=longest-first workers=3 sizes=q:200+700+300,kv:200+700+300' --dash-deal-items | FileCheck %s --check-prefix=LEFT

// LEFT:     dash.schedule
// LEFT-NOT: deal(

!tensor = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1], offset: ?>>  // [batch, heads, rows, head dim]
!per_row = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>         // [batch, heads, q rows]

func.func @attention_bwd(%q: !tensor, %k: !tensor, %v: !tensor, %do: !tensor, %o: !tensor,
                         %lse: !per_row, %dq: !tensor, %dk: !tensor, %dv: !tensor, %scale: f32) {
  dash.attention_bwd
      ins(%q, %k, %v, %do, %lse, o = %o : !tensor, !tensor, !tensor, !tensor, !per_row, !tensor)
      outs(%dq, %dk, %dv : !tensor, !tensor, !tensor)
      mask(<causal>) level(run) scale(%scale) sequences(<?>)
  return
}
