// The consumer of convert-to-nvvm.mlir with scores that are capped at 50: scores are hidden behind the cap, and what of P goes on is damped.
// RUN: sed -e 's/%log = dash.log_probability.*/%capped = dash.softcap %%s_done cap(50.0) scale(%%scale) : !P/' \
// RUN:   -e 's/%%shown = dash.hide %log/%%shown = dash.hide %capped/' \
// RUN:   -e 's/%%p = dash.exp2 %%shown : !P/%log = dash.log_probability %%shown, %lse scale(%cap) : !P, !L %whole = dash.exp2 %log : !P %%p = dash.damp %whole, %%shown : !P/' \
// RUN:   -e 's/%dk = dash.tensor #dk .*/&  %cap = arith.constant 50.0 : f32/' %S/convert-to-nvvm.mlir \
// RUN:   | dash-opt --dash-convert-to-nvvm -split-input-file | FileCheck %s

// CHECK-LABEL: llvm.func @consumer
// CHECK-SAME:    %[[SCALE:[^ ]+]]: f32 {dash.parameter = "scale"}
// What an exponent is multiplied by is the cap now.
// CHECK:           %[[CAP:.+]] = arith.constant 5.000000e+01 : f32
// CHECK:           %[[TO_BASE_2:.+]] = arith.mulf %[[CAP]], %{{.+}} : f32
// 2 log2(e) / 50; then 1 - 2 / (1 + 2^x).
// CHECK:             %[[PART:.+]] = arith.constant 5.770780e-02 : f32
// CHECK:             %[[FACTOR:.+]] = arith.mulf %[[SCALE]], %[[PART]] : f32
// CHECK:             %[[X:.+]] = arith.mulf %{{.+}}, %[[FACTOR]] : f32
// CHECK-NEXT:        %[[POWER:.+]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[X]])
// CHECK-NEXT:        %[[SUM:.+]] = arith.addf %{{.+}}, %[[POWER]] : f32
// CHECK-NEXT:        %[[QUOTIENT:.+]] = nvvm.rcp.approx.ftz.f %[[SUM]] : f32
// CHECK-NEXT:        llvm.call_intrinsic "llvm.fma.f32"(%{{.+}}, %[[QUOTIENT]], %{{.+}})
// CHECK-COUNT-31:    nvvm.rcp.approx.ftz.f
// CHECK:             %[[SHOWN:.+]]:32 = scf.if
// CHECK-COUNT-32:    llvm.call_intrinsic "llvm.fma.f32"({{.*}}%[[TO_BASE_2]]
// CHECK:             %[[P:.+]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
// CHECK-COUNT-31:    llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
// -1 where the mask has put -inf: no slope.
// CHECK:             %[[TANH:.+]] = arith.maxnumf %[[SHOWN]]#0, %{{.+}} : f32
// CHECK:             %[[SLOPE:.+]] = llvm.call_intrinsic "llvm.fma.f32"(%{{.+}}, %[[TANH]], %{{.+}})
// CHECK-NEXT:        arith.mulf %[[P]], %[[SLOPE]] : f32
// CHECK-COUNT-31:    arith.maxnumf
// CHECK-COUNT-16:    nvvm.convert.f32x2.to.bf16x2
