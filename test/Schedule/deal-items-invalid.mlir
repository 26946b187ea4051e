// RUN: sed 's/scale(%%scale)/scale(%%scale) sequences(<?>)/' %dash_examples/bwd-full.mlir | dash-opt --dash-tile='q=128 kv=128' --dash-apply-schedule='kind=shift workers=3 sizes=q:300+384,kv:300+384' | sed 's/kind("shift")/kind("shortest-first")/' > %t.mlir
// RUN: not dash-opt %t.mlir --dash-deal-items 2>&1 | FileCheck %s

// Formulas of another kind under the name of one that is dealt.

// CHECK: error: cannot be dealt by work: expected items that wait for none but those issued earlier, as kind 'shortest-first' makes them, found formulas by which one waits for a later one; take those of the kind, or give the order another name
