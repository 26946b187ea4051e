// RUN: dash-opt %s | dash-opt | FileCheck %s

// CHECK-LABEL: func.func @rows
// CHECK:         dash.visible_steps %{{.+}} lead(%{{.+}}) tiles(<q = 192, kv = 128>) hidden(2)
func.func @rows(%steps: index, %lead: index) {
  dash.workers {
    dash.role "compute" consumer warps(12) {
      %seen = dash.visible_steps %steps lead(%lead) tiles(<q = 192, kv = 128>) hidden(2)
    }
  }
  return
}
