// RUN: dash-opt %s --dash-choose-tiling='q-tile=64 kv-tile=128' --dash-tile --dash-apply-schedule='kind=shift workers=132 sizes=q:4096,heads:16' --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-check-resources | FileCheck %s --check-prefix=SMALL-Q
// RUN: dash-opt %s --dash-choose-tiling='q-tile=64 kv-tile=64' --dash-tile --dash-apply-schedule='kind=shift workers=132 sizes=q:4096,heads:16' --dash-assign-roles --dash-order-products --dash-place-releases --dash-plan-buffers --dash-check-resources | FileCheck %s --check-prefix=SMALL-KV

// Head dim 64: warpgroups that multiply are as many as 64 rows of a kv tile.
// SMALL-Q: dash.workers structure(overlapping) registers(168) shared_bytes(232448) {
// SMALL-Q: dash.role "compute" consumer warps(8) registers(240)
// SMALL-KV: dash.workers structure(overlapping) registers(240) shared_bytes(166912) {
// SMALL-KV: dash.role "compute" consumer warps(4) registers(240)
!T = memref<?x?x?x64xbf16>
!R = memref<?x?x?xf32>
func.func @attention_bwd(%q: !T, %k: !T, %v: !T, %do: !T, %o: !T, %lse: !R, %dq: !T, %dk: !T, %dv: !T) {
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !T, !T, !T, !T, !R, !T)
      outs(%dq, %dk, %dv : !T, !T, !T) mask(<full>) level(run)
  return
}
