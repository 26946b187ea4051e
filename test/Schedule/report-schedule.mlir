// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=symmetric-shift workers=2 sizes=q:256+64,heads:2' --dash-report-schedule='max-steps=3 max-workers=1' -o /dev/null | FileCheck %s
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile --dash-apply-schedule='kind=symmetric-shift workers=2 sizes=q:256+64,heads:2' --dash-report-schedule='format=svg output=%t.svg' --dash-report-schedule='format=json output=%t.json' --dash-report-schedule='format=trace output=%t.trace.json' -o /dev/null
// RUN: FileCheck %s --check-prefix=SVG < %t.svg
// RUN: FileCheck %s --check-prefix=JSON < %t.json
// RUN: FileCheck %s --check-prefix=TRACE < %t.trace.json
// RUN: %python %S/check_report.py %t.json
// RUN: %python -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' %t.svg

// What does not fit is counted.
// CHECK-LABEL: schedule symmetric-shift of @attention_bwd
// CHECK-NEXT:    problem causal mask, q x kv rows 256 x 256, 64 x 64, 2 heads over 2 kv heads, tiles 64 x 128
// CHECK:         cells: s sequence, h head, kv tile,q tile
// CHECK:       step | w0
// CHECK-NEXT:     0 | s0 h0 0,2
// CHECK-NEXT:     1 | s0 h0 0,3
// CHECK-NEXT:     2 | s0 h0 0,0
// CHECK-NEXT:   ... | 4 more steps (max-steps=0 prints all)
// CHECK-NEXT:   ... | 1 more worker (max-workers=0 prints all)

// SVG:      <svg xmlns="http://www.w3.org/2000/svg"
// SVG:      symmetric-shift of @attention_bwd</text>
// SVG:      <rect class="c" {{.+}}<title>sequence 0, head 0, (kv, q) = (0, 2), turn 0; compute 0.00 to 7.67, reduction 7.67 to 9.01</title>
// SVG:      <path class="p" d="M
// SVG:      <line class="bound"

// JSON:      "op": "attention_bwd",
// JSON-NEXT: "kind": "symmetric-shift",
// JSON-NEXT: "level": "run",
// JSON:      "sequences": [
// JSON-NEXT:   {"q":256,"kv":256},
// JSON-NEXT:   {"q":64,"kv":64}
// JSON:      "cost": {"c":1.876,"r":1.338,"latency":0.337,"buffers":2,"boundary":5.793,"piece":1.15,"convert":7,"gather":0.95},
// JSON:      "items": [
// JSON-NEXT:   {"worker":0,"sequence":0,"kvHead":0,"part":0,"kv":0,"visit":{{\[\[}}0,2],[0,3],[0,0],[0,1]]},
// JSON:      "chains": [
// JSON-NEXT:   {"sequence":0,"head":0,"q":0,"order":{{\[\[}}0,0]]},

// A process a schedule, two threads a worker; a slice a task, a wait before it, an arrow from what was waited for.
// TRACE:      "traceEvents":[
// TRACE-NEXT: {"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"symmetric-shift of @attention_bwd"}},
// TRACE-NEXT: {"ph":"M","pid":1,"tid":0,"name":"thread_name","args":{"name":"w0 compute"}},
// TRACE:      {"ph":"X","pid":1,"tid":0,"name":"s0 h0 0,2","cat":"compute","ts":0.000,"dur":7.669,"args":{"worker":0,"item":0,"sequence":0,"head":0,"part":0,"kv":0,"q":2,"turn":0}},
// TRACE-NEXT: {"ph":"X","pid":1,"tid":1,"name":"s0 h0 0,2","cat":"reduce","ts":7.669,"dur":1.338,"args":{"worker":0,"item":0,"sequence":0,"head":0,"part":0,"kv":0,"q":2,"turn":0}},
