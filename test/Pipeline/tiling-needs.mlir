// What a tiling is said to need is what its kernel needs: shared memory as it is planned, registers as they are counted on finished roles.
// DEFINE: %{columns} = 64
// DEFINE: %{tiling} =
// DEFINE: %{edit} = p
// DEFINE: %{check} = sed 's/x64xbf16/x%{columns}xbf16/' %s | sed -n '%{edit}' | dash-opt --dash-choose-tiling='%{tiling}' --dash-tile \
// DEFINE:   --dash-apply-schedule='kind=shift workers=132 sizes=q:4096,heads:16' --dash-assign-roles --dash-order-products --dash-place-releases \
// DEFINE:   --dash-plan-buffers --dash-hold-factors --remarks-filter='dash-choose.*' -o %t.mlir 2> %t.remarks && \
// DEFINE:   sed 's/consumer warps(8) registers(2[34].)/consumer warps(8) registers(24)/' %t.mlir | not dash-opt --dash-check-resources 2> %t.errors && \
// DEFINE:   cat %t.remarks %t.mlir %t.errors | FileCheck %s
// RUN: %{check}
// REDEFINE: %{columns} = 96
// RUN: %{check}
// REDEFINE: %{columns} = 128
// RUN: %{check}
// REDEFINE: %{edit} = s/level(run)/& softcap(50.0)/;p
// RUN: %{check}
// REDEFINE: %{columns} = 64
// RUN: %{check}
// REDEFINE: %{edit} = p
// REDEFINE: %{tiling} = structure=alternating
// RUN: %{check}
// REDEFINE: %{tiling} = slots=dq:3
// RUN: %{check}

// CHECK: registers=[[#REGISTERS:]], sharedBytes=[[#BYTES:]],
// CHECK: dash.workers {{.*}}shared_bytes([[#BYTES]])
// CHECK: error: needs about [[#REGISTERS]] registers a thread
!T = memref<?x?x?x64xbf16>
!R = memref<?x?x?xf32>
func.func @attention_bwd(%q: !T, %k: !T, %v: !T, %do: !T, %o: !T, %lse: !R, %dq: !T, %dk: !T, %dv: !T) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !T, !T, !T, !T, !R, !T)
      outs(%dq, %dk, %dv : !T, !T, !T) mask(<causal>) level(run)
  return
}
