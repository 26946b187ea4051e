// What stages and passes leave of one program, as dialects/dash/docs/kernels.md shows it. Types are cut off: they repeat.
// REQUIRES: host-supports-nvptx
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift' -o /dev/null \
// RUN:   --mlir-print-ir-after=dash-apply-schedule 2>&1 \
// RUN:   | python3 %dash_src/tools/scripts/excerpt.py dash.items \
// RUN:   | FileCheck %s --check-prefix=SCHEDULE
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift' -o /dev/null \
// RUN:   --mlir-print-ir-after=dash-plan-buffers 2>&1 \
// RUN:   | python3 %dash_src/tools/scripts/excerpt.py dash.workers 'dash.channel..role "compute"' \
// RUN:   | FileCheck %s --check-prefix=ROLES
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift' -o /dev/null \
// RUN:   --mlir-print-ir-after=dash-plan-buffers 2>&1 \
// RUN:   | python3 %dash_src/tools/scripts/excerpt.py 'role "compute"' dash.walk \
// RUN:   | FileCheck %s --check-prefix=WALK
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift' -o /dev/null \
// RUN:   --mlir-print-ir-after=dash-peel-walks 2>&1 | dash-opt --cse \
// RUN:   | python3 %dash_src/tools/scripts/excerpt.py 'role "compute"' scf.for \
// RUN:   | FileCheck %s --check-prefix=STEADY
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift' -o /dev/null \
// RUN:   --mlir-print-ir-after=dash-read-order 2>&1 | dash-opt --cse \
// RUN:   | python3 %dash_src/tools/scripts/excerpt.py 'role "load-kv"' \
// RUN:   | FileCheck %s --check-prefix=ORDER
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift' -o /dev/null \
// RUN:   --mlir-print-ir-after=dash-distribute-tiles 2>&1 | dash-opt --cse \
// RUN:   | python3 %dash_src/tools/scripts/excerpt.py 'role "compute"' scf.for scf.for --types --grep 'transpose|round|into .dq' \
// RUN:   | FileCheck %s --check-prefix=LAYOUTS
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift' -o /dev/null \
// RUN:   --mlir-print-ir-after=dash-lower-ordered-reduce 2>&1 | dash-opt --cse \
// RUN:   | python3 %dash_src/tools/scripts/excerpt.py 'role "reduce"' read_visit..release_turn \
// RUN:   | FileCheck %s --check-prefix=TURN
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift' -o /dev/null \
// RUN:   --mlir-print-ir-after=dash-insert-waits 2>&1 | dash-opt --cse \
// RUN:   | python3 %dash_src/tools/scripts/excerpt.py 'role "compute"' scf.for scf.for \
// RUN:   | FileCheck %s --check-prefix=WAITS
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift output=attention' -o /dev/null \
// RUN:   && sed -n '/ld.acquire/,/red.release/p' attention.ptx \
// RUN:   | grep -o 'ld\.acquire.*\|mbarrier.*\|fence.*\|cp\..*\|red\..*' | sed 's/[[:space:]]\+[a-z0-9_%]*,* *\[.*/;/; s/[[:space:]]\+/ /' \
// RUN:   | FileCheck %s --check-prefix=ADD
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift output=attention' -o /dev/null \
// RUN:   && python3 %dash_src/tools/scripts/list_entries.py attention.json \
// RUN:   | FileCheck %s --check-prefix=ENTRIES
// RUN: sed s/x128xbf16/x64xbf16/ %dash_examples/bwd-causal.mlir | dash-opt --dash-to-ptx='kind=symmetric-shift' -o /dev/null \
// RUN:   --mlir-print-ir-after=dash-plan-buffers 2>&1 \
// RUN:   | python3 %dash_src/tools/scripts/excerpt.py 'role "compute"' dash.walk \
// RUN:   | FileCheck %s --check-prefix=OVERLAP
// RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift' -o /dev/null \
// RUN:   --mlir-print-ir-after=dash-insert-waits 2>&1 | dash-opt --cse \
// RUN:   | python3 %dash_src/tools/scripts/excerpt.py 'role "compute"' scf.for 'borrows..scf.yield' \
// RUN:   | FileCheck %s --check-prefix=END

// One walk, in the order that the schedule names; no thread, no machine.
// SCHEDULE: dash.items order(@attention_bwd_order)
// SCHEDULE: dash.walk (%head, %q, %turn)
// SCHEDULE: dash.ordered_reduce {{.*}} turn(%turn)

// Roles share channels, and each runs the same items.
// ROLES: dash.channel "k" depth(1) at({{.*}}) barriers({{.*}}) : {{.*}}index_index_index_index
// ROLES: dash.channel "ds"
// ROLES: dash.role "load-q" producer
// ROLES: dash.band_lead
// ROLES: dash.put
// ROLES: dash.role "reduce" reducer
// ROLES: dash.ordered_reduce
// ROLES: dash.role "load-kv" producer
// ROLES: dash.num_steps
// ROLES: dash.role "compute" consumer

// An iteration takes the tensor core once: dQ of the step before, dK and dV of this one, S and dP of the next.
// WALK:      dash.take_tensor_core stage(1)
// WALK:      dash.matmul transpose {{.*}} stage(2)
// WALK:      dash.matmul {{.*}} accumulate{{.*}} stage(1)
// WALK:      dash.matmul {{.*}} accumulate{{.*}} stage(1)
// WALK:      dash.matmul {{.*}} transpose {{.*}} stage(0)
// WALK:      dash.matmul {{.*}} transpose {{.*}} stage(0)
// WALK:      dash.give_tensor_core stage(1)
// WALK:      dash.score_gradient {{.*}} stage(0)

// The same iteration as a loop: sums, P and dS go around it, Q and dO are held in their slots.
// STEADY:      scf.for {{.*}} iter_args(
// STEADY-NEXT:   dash.take_tensor_core
// STEADY:        [[LATE:%[0-9]+]] = dash.matmul transpose
// STEADY:        dash.held %q_tiles{{\[}}[[STEP:%[0-9]+]]{{\]}}
// STEADY:        dash.held %do_tiles{{\[}}[[STEP]]{{\]}}
// STEADY:        dash.put [[LATE]] into %dq_tiles
// STEADY:        dash.release %q_tiles{{\[}}[[STEP]]{{\]}}
// STEADY-NEXT:   dash.wait %q_tiles
// STEADY:        dash.put {{.*}} into %ds_tiles
// STEADY-NEXT:   scf.yield

// A producer reads its worker's list, and numbers its uses of a channel.
// ORDER:      dash.role "load-kv" producer
// ORDER:      scf.for [[PLACE:%[a-z0-9]+]] =
// ORDER:      dash.read_item{{\[}}[[PLACE]]{{\]}}
// ORDER:      dash.put {{.*}} into %k_tiles{{\[}}[[PLACE]]{{\]}}
// ORDER:      dash.put {{.*}} into %v_tiles{{\[}}[[PLACE]]{{\]}}

// Sums of 128 rows are shared by rows, those of dQ by columns; what is rounded is an operand of the same threads.
// LAYOUTS:      dash.matmul transpose
// LAYOUTS:      -> !acc_64x128_columns2
// LAYOUTS:      into %dq_tiles
// LAYOUTS:      dash.matmul
// LAYOUTS-NEXT: : (!swizzled_128x128xbf16, !swizzled_64x128xbf16)
// LAYOUTS-NEXT: -> !acc_128x64_rows2
// LAYOUTS:      dash.round
// LAYOUTS-NEXT: : !acc_128x64_rows2 to !operand_128x64xbf16_rows2

// The turn is waited for before the slot, and released when the sums are in memory.
// TURN:      dash.acquire_turn
// TURN-NEXT: dash.wait %dq_tiles
// TURN:      dash.bulk_store
// TURN:      dash.bulk_add
// TURN:      wait_group 0 {read}
// TURN-NEXT: dash.release %dq_tiles
// TURN-NEXT: wait_group 0
// TURN:      dash.release_turn

// Every wait, fence and arrival is an op, and products are in flight until they are waited for.
// WAITS:      [[SLOT:%[a-z0-9_]+]], [[PHASE:%[a-z0-9_]+]] = dash.ring %ds_tiles
// WAITS-NEXT: dash.mbarrier_wait %ds_tiles full{{\[}}[[SLOT]]{{\]}} phase([[PHASE]])
// WAITS:      [[LATE:%[0-9]+]] = dash.matmul transpose {{.*}} async
// WAITS:      nvvm.fence.proxy
// WAITS:      dash.mbarrier_arrive %ds_tiles full
// WAITS:      [[SUMS:%[0-9]+]] = dash.wgmma_wait [[LATE]] pending(2)
// WAITS-NEXT: dash.mbarrier_arrive %ds_tiles empty{{\[}}[[SLOT]]{{\]}}
// WAITS:      dash.store_fragment [[SUMS]] to %dq_tiles
// WAITS:      dash.mbarrier_arrive %q_tiles empty
// WAITS:      dash.mbarrier_wait %q_tiles full
// WAITS:      dash.wgmma_wait {{.*}} pending(0)
// WAITS:      scf.yield

// The turn is waited for before the add, and given on only when the sums are in memory.
// ADD:      ld.acquire.gpu
// ADD:      mbarrier.try_wait
// ADD-NEXT: fence.proxy.async.global
// ADD:      cp.reduce.async.bulk.global
// ADD:      cp.async.bulk.commit_group
// ADD-NEXT: cp.async.bulk.wait_group.read 0
// ADD-NEXT: mbarrier.arrive
// ADD-NEXT: cp.async.bulk.wait_group 0
// ADD-NEXT: red.release.gpu

// ENTRIES:      attention_bwd, causal, bf16, head dim 128, symmetric-shift
// ENTRIES:      attention_bwd_order {{ *}}sizes-change
// ENTRIES-NEXT: attention_bwd_prepare {{ *}}always
// ENTRIES-NEXT: attention_bwd_main {{ *}}always {{.*}}, cooperative
// ENTRIES-NEXT: attention_bwd_convert {{ *}}always

// At head dim 64 the products of the next step go first, and element-wise work is under those of this one.
// OVERLAP:      dash.take_tensor_core stage(1)
// OVERLAP-NEXT: {{.*}} = dash.wait %q_do_tiles stage(0)
// OVERLAP:      dash.matmul {{.*}} transpose {{.*}} stage(0)
// OVERLAP:      dash.matmul {{.*}} transpose {{.*}} stage(0)
// OVERLAP:      dash.matmul {{.*}} accumulate{{.*}} stage(1)
// OVERLAP:      dash.matmul {{.*}} accumulate{{.*}} stage(1)
// OVERLAP-NEXT: dash.give_tensor_core stage(1)
// OVERLAP-NEXT: {{.*}} = dash.log_probability {{.*}} stage(0)
// OVERLAP:      dash.exp2 {{.*}} stage(0)
// OVERLAP:      dash.matmul transpose {{.*}} stage(2)
// OVERLAP:      dash.score_gradient {{.*}} stage(0)
// OVERLAP:      dash.commit %ds_tiles stage(0)
// OVERLAP-NEXT: dash.commit %dq_tiles stage(2)

// Behind an item dV leaves through the slots that come next, then dK; no barrier is told.
// END:      dash.mbarrier_wait %ds_tiles empty{{.*}} borrows
// END:      dash.round
// END-NEXT: dash.store_fragment {{.*}} to %ds_tiles{{.*}} slice(0)
// END-NEXT: dash.store_fragment {{.*}} to %ds_tiles{{.*}} slice(1)
// END-NOT:  mbarrier_arrive
// END:      nvvm.cp.async.bulk.wait_group 0 {read}
// END:      dash.round {{.*}} scale
// END-NOT:  mbarrier_arrive
// END:      scf.yield
