// What each stage leaves of one program, as dialects/dash/docs/kernels.md shows it. Types are cut off: they repeat.
// REQUIRES: host-supports-nvptx
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=64 kv=128' \
// RUN:   --dash-apply-schedule='kind=symmetric-shift assume' \
// RUN:   | sed -n '/dash.items/,/^    }/p' | sed 's/ over(.*//; s/ : [^{]*/ /; s/ $//' \
// RUN:   | FileCheck %s --check-prefix=SCHEDULE
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=64 kv=128' \
// RUN:   --dash-apply-schedule='kind=symmetric-shift assume' --dash-assign-roles --dash-order-products \
// RUN:   --dash-place-releases --dash-plan-buffers --dash-check-resources \
// RUN:   | sed -n '/dash.workers/,/dash.role "compute"/p' \
// RUN:   | sed 's/ over(.*//; /tiles(<q/d; s/: <\(.*\)>$/: \1/; / dash.channel /!s/ : [^{]*/ /; s/ $//' \
// RUN:   | FileCheck %s --check-prefix=ROLES
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-tile='q=64 kv=128' \
// RUN:   --dash-apply-schedule='kind=symmetric-shift assume' --dash-assign-roles --dash-order-products \
// RUN:   --dash-place-releases --dash-plan-buffers \
// RUN:   | sed -n 's/^ *\(.*\) {dash.order = \(.*\) : i64, dash.stage = \(.\) : i64}.*/\2 | \3 | \1/p' | sort -n \
// RUN:   | FileCheck %s --check-prefix=TURN
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift output=attention' -o /dev/null \
// RUN:   && sed -n '/ld.acquire/,/red.release/p' attention.ptx \
// RUN:   | grep -o 'ld\.acquire.*\|mbarrier.*\|fence.*\|cp\..*\|red\..*' | sed 's/ [a-z_]*,* *\[.*/;/' \
// RUN:   | FileCheck %s --check-prefix=ADD
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift output=attention' -o /dev/null \
// RUN:   && python3 %dash_src/tools/scripts/list_entries.py attention.json \
// RUN:   | FileCheck %s --check-prefix=ENTRIES

// One walk, in the order that the schedule names; no thread, no machine.
// SCHEDULE: dash.items order(@attention_bwd_order)
// SCHEDULE: dash.walk (%head, %q, %turn)
// SCHEDULE: dash.ordered_reduce {{.*}} turn(%turn)

// Roles share channels, and each runs the same items.
// ROLES: dash.workers registers({{[0-9]+}}) shared_bytes({{[0-9]+}}) {
// ROLES: dash.channel "ds"
// ROLES: dash.role "load-q"
// ROLES: dash.put
// ROLES: dash.role "reduce"
// ROLES: dash.ordered_reduce
// ROLES: dash.role "load-kv"
// ROLES: dash.role "compute"

// A turn takes the tensor core once: dQ of the step before, dK and dV of this one, S and dP of the next.
// TURN:      0 | 1 | dash.take_tensor_core
// TURN:      | 2 | {{.*}} dash.matmul transpose
// TURN:      | 1 | {{.*}} dash.matmul {{.*}} accumulate
// TURN:      | 1 | {{.*}} dash.matmul {{.*}} accumulate
// TURN:      | 0 | {{.*}} dash.matmul {{.*}} transpose
// TURN:      | 0 | {{.*}} dash.matmul {{.*}} transpose
// TURN:      | 1 | dash.give_tensor_core

// The turn is waited for before the add, and given on only when the sums are in memory.
// ADD:      ld.acquire.gpu
// ADD:      mbarrier.try_wait
// ADD-NEXT: fence.proxy.async.global
// ADD:      cp.reduce.async.bulk.global
// ADD:      cp.async.bulk.commit_group
// ADD-NEXT: cp.async.bulk.wait_group.read 0
// ADD-NEXT: mbarrier.arrive
// ADD-NEXT: cp.async.bulk.wait_group 0
// ADD-NEXT: fence.proxy.async.global
// ADD-NEXT: red.release.gpu

// ENTRIES:      attention_bwd, causal, bf16, head dim 128, symmetric-shift
// ENTRIES:      attention_bwd_order {{ *}}sizes-change
// ENTRIES-NEXT: attention_bwd_prepare {{ *}}always
// ENTRIES-NEXT: attention_bwd_main {{ *}}always {{.*}}, cooperative
// ENTRIES-NEXT: attention_bwd_convert {{ *}}always
