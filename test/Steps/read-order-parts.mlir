// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-choose-tiling --dash-tile --dash-apply-schedule='kind=shift workers=4 parts=2 sizes=q:512,batch:1,heads:4,kv-heads:1' --dash-verify-schedule --dash-check-kernels --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-check-resources --dash-outline-program --dash-peel-walks --dash-read-order --canonicalize --cse | FileCheck %s

// Uses of an item follow its steps in the channel of steps, so the channel's are counted on by four more from item to item; the warp adds
// a piece whose number the use has, and the part's turn is read behind the walk.
// CHECK:         dash.role "reduce" reducer warps(2) registers(24) {
// CHECK:           scf.for %[[PLACE:.+]] = %c0 to %{{.+}} step %c1 iter_args(%[[STEPS_BEFORE:.+]] = %c0) -> (index) {
// CHECK:             %[[USES_BEFORE:.+]] = arith.muli %[[PLACE]], %c4 : index
// CHECK-NEXT:        %[[FIRST:.+]] = arith.addi %[[STEPS_BEFORE]], %[[USES_BEFORE]] : index
// CHECK-NEXT:        %[[WARP:.+]] = dash.warp_of_role
// CHECK:             %[[STEPS:.+]] = arith.muli %{{.+}}, %{{.+}} : index
// CHECK:             scf.for %[[STEP:[a-z0-9]+]] = {{.+}} {
// CHECK-NEXT:          %[[USE:.+]] = arith.addi %[[FIRST]], %[[STEP]] : index
// CHECK:               dash.wait %dq_tiles[%[[USE]]]
// CHECK:             %[[BEHIND:.+]] = arith.addi %[[FIRST]], %[[STEPS]] : index
// CHECK-NEXT:        %[[NEXT:.+]] = arith.addi %[[STEPS_BEFORE]], %[[STEPS]] : index
// CHECK-NEXT:        %[[TURN:.+]], %[[LAST:.+]] = dash.read_part[%[[PLACE]]]
// CHECK-NEXT:        %[[WHOSE:.+]] = arith.remui %[[BEHIND]], %c2 : index
// CHECK-NEXT:        %[[MINE:.+]] = arith.cmpi eq, %[[WHOSE]], %[[WARP]] : index
// CHECK-NEXT:        scf.if %[[MINE]] {
// CHECK-NEXT:          %[[T:.+]] = dash.wait %dq_tiles[%[[BEHIND]]]
// CHECK-NEXT:          dash.ordered_reduce %[[T]] into %{{.+}} piece(0 of 2) turn(%[[TURN]]) last(%[[LAST]])
// CHECK-NEXT:          dash.release %dq_tiles[%[[BEHIND]]]
// CHECK-NEXT:        }
// CHECK-NEXT:        %[[SECOND:.+]] = arith.addi %[[BEHIND]], %c1 : index
// CHECK:               dash.wait %dq_tiles[%[[SECOND]]]
// CHECK-NEXT:          dash.ordered_reduce %{{.+}} piece(1 of 2)
// CHECK:               dash.ordered_reduce %{{.+}} piece(0 of 2)
// CHECK:               dash.ordered_reduce %{{.+}} piece(1 of 2)
// CHECK:             scf.yield %[[NEXT]] : index

// CHECK:         dash.role "compute" consumer warps(8)
// CHECK:           scf.for %[[PLACE:.+]] = %c0 to %{{.+}} step %c1 iter_args(%[[STEPS_BEFORE:.+]] = %c0) -> (index) {
// CHECK-NEXT:        %[[USES_BEFORE:.+]] = arith.muli %[[PLACE]], %c4 : index
// CHECK-NEXT:        %[[FIRST:.+]] = arith.addi %[[STEPS_BEFORE]], %[[USES_BEFORE]] : index
// CHECK-NEXT:        %{{.+}}, %[[STEPS:.+]], %{{.+}}, %{{.+}}, %{{.+}} = dash.wait %k_tiles[%[[PLACE]]]
// CHECK:               dash.wait %q_tiles[%[[STEPS_BEFORE]]]
// CHECK:             %[[BEHIND:.+]] = arith.addi %[[FIRST]], %[[STEPS]] : index
// CHECK-NEXT:        dash.put %{{.+}} into %dq_tiles[%[[BEHIND]]]
// CHECK-NEXT:        dash.commit %dq_tiles[%[[BEHIND]]]
