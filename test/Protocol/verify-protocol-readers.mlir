// RUN: dash-opt %s --dash-verify-waits --dash-verify-protocol -o /dev/null
// RUN: dash-opt %s --dash-emit-promela=output=%t.pml -o /dev/null
// RUN: FileCheck %s --input-file=%t.pml

!C = !dash.channel<index>

// Two consumers read one channel: each waits and releases by itself, and a slot is empty when the warps of both have arrived.
// CHECK: arrivals[1] = 8;
// CHECK: run role0_load(0);
// CHECK: run role1_dv(0);
// CHECK: run role2_dk(0);
// As long as the list is.
func.func @two_readers() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  dash.workers {
    %c = dash.channel "c" depth(2) arrivals([1, 8]) : !C
    dash.role "load" producer warps(1) {
      scf.for %use = %c0 to %c4 step %c1 {
        %slot, %phase = dash.ring %c[%use] : !C
        dash.mbarrier_wait %c empty[%slot] phase(%phase) : !C
        dash.write_indices %use to %c[%slot] : !C
        dash.mbarrier_arrive %c full[%slot] by thread : !C
      }
    }
    dash.role "dv" consumer warps(4) warpgroup(0 of 1) {
      scf.for %use = %c0 to %c4 step %c1 {
        %slot, %phase = dash.ring %c[%use] : !C
        dash.mbarrier_wait %c full[%slot] phase(%phase) : !C
        %told = dash.read_indices %c[%slot] : !C -> index
        dash.mbarrier_arrive %c empty[%slot] by warp : !C
      }
    }
    dash.role "dk" consumer warps(4) warpgroup(0 of 1) {
      scf.for %use = %c0 to %c4 step %c1 {
        %slot, %phase = dash.ring %c[%use] : !C
        dash.mbarrier_wait %c full[%slot] phase(%phase) : !C
        %told = dash.read_indices %c[%slot] : !C -> index
        dash.mbarrier_arrive %c empty[%slot] by warp : !C
      }
    }
  }
  return
}
