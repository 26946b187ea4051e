// RUN: rm -rf %t && mkdir %t %t/again %t/table
// RUN: dash-opt %s --dash-to-ptx='kind=shift workers=132 output=%t/bwd' | FileCheck %s --check-prefix=REST --implicit-check-not=dash. --implicit-check-not=gpu. --implicit-check-not=attention
// RUN: ls %t | FileCheck %s --check-prefix=FILES
// RUN: FileCheck %s --check-prefix=PTX --input-file=%t/bwd.ptx
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t/bwd.json
// RUN: dash-opt --help | FileCheck %s --check-prefix=HELP
// REQUIRES: host-supports-nvptx

// The same program gives the same bytes, whatever its files are called, with and without threads.
// RUN: dash-opt %s --dash-to-ptx='kind=shift workers=132 output=%t/again/bwd' --mlir-disable-threading -o /dev/null
// RUN: cmp %t/bwd.ptx %t/again/bwd.ptx && cmp %t/bwd.json %t/again/bwd.json

// A table is a file too.
// RUN: dash-opt %s --dash-to-ptx='kind=synthesized workers=4 sizes=q:512,kv:512,batch:1,heads:2,kv-heads:1 output=%t/table/bwd' -o /dev/null
// RUN: dash-opt %s --dash-to-ptx='kind=synthesized workers=4 sizes=q:512,kv:512,batch:1,heads:2,kv-heads:1 output=%t/again/bwd' -o /dev/null
// RUN: cmp %t/table/bwd.ptx %t/again/bwd.ptx && cmp %t/table/bwd.json %t/again/bwd.json && cmp %t/table/bwd.order %t/again/bwd.order
// RUN: FileCheck %s --check-prefix=TABLE --input-file=%t/table/bwd.json

// A program for any sizes has one part. For stated ones, the manifest has the chosen number, and the command that finds the order again,
// which does not follow from the prices of parts where there is one.
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=auto output=%t/table/open' -o /dev/null
// RUN: FileCheck %s --check-prefix=OPEN --input-file=%t/table/open.json
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=auto sizes=q:8192,kv:8192,batch:1,heads:8,kv-heads:1 output=%t/table/parts' -o /dev/null
// RUN: FileCheck %s --check-prefix=PARTS --input-file=%t/table/parts.json
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=auto workers=4 sizes=q:1024,kv:1024,batch:1,heads:4,kv-heads:2 output=%t/table/whole' -o /dev/null
// RUN: FileCheck %s --check-prefix=WHOLE --input-file=%t/table/whole.json
// OPEN: "parts": 1,
// PARTS: "parts": 4,
// PARTS: {"name":"dk_sum",
// PARTS: level=run workers=132 parts=4 {{.*}} boundary=5.793 piece=1.15 buffers=2 {{.*}}"cost":"#dash.cost<{{.*}}, boundary = 5.793, piece = 1.15>"
// WHOLE: "parts": 1,
// WHOLE: level=run workers=4 parts=1 {{.*}} boundary=5.793 buffers=2 {{.*}}"cost":"#dash.cost<{{.*}}, boundary = 5.793>"

// By the proof one worker of this order would do if workers started in order. They may wait for each other, so all are launched at once.
// RUN: dash-opt %s --dash-tile --dash-apply-schedule='kind=ascending workers=4 sizes=q:512,kv:512,batch:1,heads:2,kv-heads:1' --dash-report-schedule='format=json output=%t/order.json' -o /dev/null
// RUN: FileCheck %s --check-prefix=PROVEN --input-file=%t/order.json
// RUN: dash-opt %s --dash-to-ptx='kind=file path=%t/order.json workers=4 sizes=q:512,kv:512,batch:1,heads:2,kv-heads:1 output=%t/table/file' -o /dev/null
// RUN: FileCheck %s --check-prefix=WAITS --input-file=%t/table/file.json
// Workers that draw tickets do start in order, and a plain launch will do. They are known by their tickets alone, not by their blocks.
// RUN: dash-opt %s --dash-to-ptx='tickets=true kind=file path=%t/order.json workers=4 sizes=q:512,kv:512,batch:1,heads:2,kv-heads:1 output=%t/table/tickets' -o /dev/null
// RUN: FileCheck %s --check-prefix=TICKETS --input-file=%t/table/tickets.json --implicit-check-not='"cooperative": true'
// RUN: FileCheck %s --check-prefix=DRAWN --input-file=%t/table/tickets.ptx
// TICKETS: "min_workers": 1
// TICKETS: {"name":"tickets","bytes":"4","alignment":16,"initial":"zero","after":"zero"}
// TICKETS: "name": "attention_bwd_main"
// TICKETS: "shared_bytes": 231424,
// TICKETS: "workspace.tickets"
// DRAWN:     .visible .entry attention_bwd_main(
// DRAWN:     mbarrier.init
// DRAWN:     atom.relaxed.gpu.global.inc.u32
// DRAWN:     st.shared
// DRAWN:     bar{{(rier)?}}.sync
// DRAWN-NOT: %ctaid
// DRAWN:     .visible .entry attention_bwd_convert(
// PROVEN: "minWorkers": 1,
// WAITS: "min_workers": 4
// WAITS: "cooperative": true

// Slots are options: beside a third buffer of dQ, 64 x 64 floats more, K and V have room for one slot each.
// RUN: sed s/x128xbf16/x64xbf16/ %dash_examples/bwd-causal.mlir | dash-opt --dash-to-ptx='slots=dq:2' | FileCheck %s --check-prefix=TWO
// RUN: sed s/x128xbf16/x64xbf16/ %dash_examples/bwd-causal.mlir | dash-opt --dash-to-ptx='slots=dq:3' | FileCheck %s --check-prefix=THREE
// TWO: shared_bytes\22: 232448
// THREE: shared_bytes\22: 216064

// Without an output, PTX and manifest stay in the module.
// RUN: dash-opt %s --dash-to-ptx='kind=shift target=sm_90a' | FileCheck %s --check-prefix=BINARY

// What was there before is gone; what is not dash's stays.
// REST:      func.func private @of_another

// FILES:      bwd.json
// FILES-NEXT: bwd.ptx

// PTX:      .version 8.3
// PTX:      .target sm_90a
// PTX:      .visible .entry attention_bwd_order(
// PTX:      .visible .entry attention_bwd_prepare(
// PTX:      .visible .entry attention_bwd_main(
// PTX:      .maxntid 384
// PTX:      .visible .entry attention_bwd_convert(

// In the order of a launch.
// JSON:      "name": "attention_bwd",
// JSON:      "file": "bwd.ptx",
// JSON:      "kind": "shift",
// JSON:      "workers": 132,
// JSON:      "min_workers": 132
// JSON:      "q_rows": {"min":1,"max":{{[0-9]+}}}
// JSON:      "order": {"source":"entry","entry":"attention_bwd_order"},
// JSON:      "name": "attention_bwd_order",
// JSON:      "when": "sizes-change",
// JSON:      "name": "attention_bwd_prepare",
// JSON:      "when": "always",
// JSON:      "name": "attention_bwd_main",
// JSON:      "grid": ["workers","1","1"],
// JSON-NEXT: "block": [384,1,1],
// JSON-NEXT: "cluster": [1,1,1],
// JSON-NEXT: "shared_bytes": 231424,
// JSON-NEXT: "cooperative": true,
// JSON:      "name": "attention_bwd_convert",

// TABLE:     "q_rows": {"value":512}
// TABLE:     "source":"file","file":"bwd.order"
// TABLE-NOT: "role": "order"

// BINARY:      gpu.binary @attention_bwd_kernels {dash.manifest = "{{.+}}attention_bwd_main{{.+}}"}
// BINARY-SAME: [#gpu.object<#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx83">, assembly = "{{.+}}.visible .entry attention_bwd_main(
// BINARY-NOT:  func.func @attention_bwd

// HELP: --dash-to-ptx
!tensor = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1], offset: ?>>
!per_row = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>

func.func @attention_bwd(%q: !tensor, %k: !tensor, %v: !tensor, %do: !tensor, %o: !tensor,
                         %lse: !per_row, %dq: !tensor, %dk: !tensor, %dv: !tensor, %scale: f32) {
  dash.attention_bwd
      ins(%q, %k, %v, %do, %lse, o = %o : !tensor, !tensor, !tensor, !tensor, !per_row, !tensor)
      outs(%dq, %dk, %dv : !tensor, !tensor, !tensor)
      mask(<causal>) level(run) scale(%scale)
  return
}

func.func private @of_another(memref<4xf32>)
