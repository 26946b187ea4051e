// RUN: dash-opt %s --split-input-file --verify-diagnostics

// Rows of a q tile are dealt to warpgroups.
func.func @rows(%steps: index, %lead: index) {
  dash.workers {
    dash.role "compute" consumer warps(12) {
      // expected-error @+1 {{deals 80 rows of a q tile to 3 warpgroups, expected a multiple}}
      %seen = dash.visible_steps %steps lead(%lead) tiles(<q = 80, kv = 128>) hidden(1)
    }
  }
  return
}

// -----

func.func @outside(%steps: index, %lead: index) {
  // expected-error @+1 {{stands inside 'dash.role' only}}
  %seen = dash.visible_steps %steps lead(%lead) tiles(<q = 192, kv = 128>) hidden(1)
  return
}

// -----

func.func @none(%steps: index, %lead: index) {
  dash.workers {
    dash.role "compute" consumer warps(12) {
      // expected-error @+1 {{attribute 'hidden' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
      %seen = dash.visible_steps %steps lead(%lead) tiles(<q = 192, kv = 128>) hidden(0)
    }
  }
  return
}
