// Every op and every block argument keeps its place in the source through text and back.
// RUN: dash-opt %s --mlir-print-debuginfo --mlir-print-local-scope | dash-opt --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

!T = memref<?x?x?x128xbf16>

// CHECK: dash.items
// CHECK-NEXT: (%{{.+}} loc("seq"), %{{.+}} loc("kv_head"), %{{.+}} loc("kv")) {
// CHECK-NEXT: dash.walk (%{{.+}} loc("head"), %{{.+}} loc("q")) init(%{{.+}} loc("carried") = %{{.+}}) : tensor<64xf32> {
// CHECK-NEXT: dash.yield %{{.+}} : tensor<64xf32> loc("yield")
// CHECK-NEXT: } loc("walk")
// CHECK-NEXT: } loc("items")
func.func @locations(%q: !T, %k: !T, %v: !T, %a: tensor<64xf32>) {
  dash.items unscheduled over(%q, %k, %v : !T, !T, !T) tiles(<q = 64, kv = 128>) mask(<full>) level(run)
      (%seq loc("seq"), %kv_head loc("kv_head"), %kv loc("kv")) {
    %r = dash.walk (%head loc("head"), %qi loc("q")) init(%a0 loc("carried") = %a) : tensor<64xf32> {
      dash.yield %a0 : tensor<64xf32> loc("yield")
    } loc("walk")
  } loc("items")
  return
}
