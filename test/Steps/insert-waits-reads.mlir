// A role that puts nothing has no fence of its puts. So a fence stands in front of the release of a slot whose rows threads have read: in the
// same turn of the loop, or in the turn before where products overlap. One of K, which threads hold, too.
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift split=dv' -o /dev/null --mlir-print-ir-after=dash-insert-waits 2>&1 \
// RUN:   | python3 %dash_src/tools/scripts/excerpt.py 'role "compute"' --grep 'fence|load_row|arrive|for|if|yield' | FileCheck %s
// RUN: sed 's/x128xbf16/x64xbf16/g' %dash_examples/bwd-causal.mlir > %t
// RUN: dash-opt %t --dash-to-ptx='kind=symmetric-shift split=dv' -o /dev/null --mlir-print-ir-after=dash-insert-waits 2>&1 \
// RUN:   | python3 %dash_src/tools/scripts/excerpt.py 'role "compute"' --grep 'fence|load_row|arrive|for|if|yield' | FileCheck %s --check-prefix=OVERLAPPING

// CHECK:      scf.if
// CHECK-NEXT: dash.load_row %q_tiles[%[[SLOT:[a-z0-9_]+]]] element(1)
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: dash.mbarrier_arrive %q_tiles empty[%[[SLOT]]]
// CHECK-NEXT: scf.for
// CHECK-NEXT: dash.load_row %q_tiles[%[[SLOT:[a-z0-9_]+]]] element(1)
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: dash.mbarrier_arrive %q_tiles empty[%[[SLOT]]]
// CHECK-NEXT: dash.mbarrier_arrive %do_tiles
// CHECK-NEXT: scf.yield
// CHECK-NEXT: dash.mbarrier_arrive %k_tiles
// CHECK-NEXT: dash.mbarrier_arrive %do_tiles

// OVERLAPPING:      scf.if
// OVERLAPPING-NEXT: dash.load_row %q_do_tiles
// OVERLAPPING-NEXT: scf.for
// OVERLAPPING-NEXT: dash.load_row %q_do_tiles[%[[NEXT:[a-z0-9_]+]]] element(1)
// OVERLAPPING-NEXT: nvvm.fence.proxy
// OVERLAPPING-NEXT: dash.mbarrier_arrive %q_do_tiles empty[%{{.+}}]
// OVERLAPPING-NEXT: scf.yield
// OVERLAPPING-NEXT: nvvm.fence.proxy
// OVERLAPPING-NEXT: dash.mbarrier_arrive %q_do_tiles
// OVERLAPPING-NEXT: scf.yield
// OVERLAPPING-NEXT: nvvm.fence.proxy
// OVERLAPPING-NEXT: scf.yield
// OVERLAPPING-NEXT: dash.mbarrier_arrive %k_tiles
