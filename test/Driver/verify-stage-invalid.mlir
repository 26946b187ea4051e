// RUN: split-file %s %t
// RUN: dash-opt %t/ir.mlir --dash-verify-stage=after=IR -verify-diagnostics -split-input-file
// RUN: dash-opt %t/schedule.mlir --dash-verify-stage=after=Schedule -verify-diagnostics -split-input-file
// RUN: dash-opt %t/pipeline.mlir --dash-verify-stage=after=Pipeline -verify-diagnostics -split-input-file
// RUN: dash-opt %t/lowering.mlir --dash-verify-stage=after=Lowering -verify-diagnostics -split-input-file
// RUN: dash-opt %t/target.mlir --dash-verify-stage=after=Target -verify-diagnostics -split-input-file

//--- ir.mlir
// expected-error @below {{expected a 'dash.attention_bwd' or 'dash.attention_fwd' after IR, found none}}
module {
}

// -----

func.func @already_spelled_out(%dq: memref<1x1x256x64xf32>, %out: memref<1x1x256x64xbf16>) {
  // expected-error @below {{'dash.convert' op must be gone after IR}}
  dash.convert %dq to %out : memref<1x1x256x64xf32> to memref<1x1x256x64xbf16>
  return
}

//--- schedule.mlir
// expected-error @below {{expected a scheduled 'dash.items' after Schedule, found none}}
module {
}

// -----

!Q = memref<1x1x256x64xbf16>
!R = memref<1x1x256xf32>
func.func @not_tiled(%q: !Q, %k: !Q, %v: !Q, %do: !Q, %o: !Q, %lse: !R, %dq: !Q, %dk: !Q, %dv: !Q) {
  // expected-error @below {{'dash.attention_bwd' op must be gone after Schedule}}
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !Q, !Q, !Q, !Q, !R, !Q)
                     outs(%dq, %dk, %dv : !Q, !Q, !Q) mask(<full>) level(run)
  return
}

// -----

!Q = memref<1x1x256x64xbf16>
func.func @not_ordered(%q: !Q, %k: !Q, %v: !Q) {
  // expected-error @below {{'dash.items' op must have an order after Schedule}}
  dash.items unscheduled over(%q, %k, %v : !Q, !Q, !Q)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
  }
  return
}

//--- pipeline.mlir
// expected-error @below {{expected a 'dash.workers' after Pipeline, found none}}
module {
}

// -----

!Q = memref<1x1x256x64xbf16>
func.func @without_roles(%q: !Q, %k: !Q, %v: !Q) {
  // expected-error @below {{'dash.items' op must be gone after Pipeline outside of roles}}
  dash.items unscheduled over(%q, %k, %v : !Q, !Q, !Q)
      tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv) {
  }
  return
}

// -----

!Q = memref<1x1x256x64xbf16>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <1 x [256, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step, turn(kv, q) = kv>)
func.func @not_placed(%q: !Q, %k: !Q, %v: !Q) {
  dash.workers {
    // expected-error @below {{'dash.channel' op must have a place in shared memory after Pipeline}}
    %channel = dash.channel "kv" depth(1) : !dash.channel<tensor<128x64xbf16>>
    dash.role "load" producer warps(1) registers(24) {
      dash.items order(@order) over(%q, %k, %v : !Q, !Q, !Q)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
      }
    }
  }
  return
}

// -----

!Q = memref<1x1x256x64xbf16>
dash.schedule @order kind("ascending") level(run) parts(1) workers(2) width(2)
  problem(<tiles = <q = 64, kv = 128>, mask = <full>, heads = 1, kv_heads = 1, head_dim = 64, head_dim_v = 64,
           sequences = <1 x [256, 256]>>)
  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers = 2>)
  order(#dash.formulas<item(i) = (i, 0, i), worker(unit) = unit, visit(kv, step) = step, turn(kv, q) = kv>)
func.func @without_registers(%q: !Q, %k: !Q, %v: !Q) {
  dash.workers {
    // expected-error @below {{'dash.role' op must have registers after Pipeline}}
    dash.role "load" producer warps(1) {
      dash.items order(@order) over(%q, %k, %v : !Q, !Q, !Q)
          tiles(<q = 64, kv = 128>) mask(<full>) level(run) (%seq, %kv_head, %kv, %part_turn) {
      }
    }
  }
  return
}

//--- lowering.mlir
// expected-error @below {{expected a kernel module with an entry after Lowering, found none}}
module {
}

// -----

func.func @not_lowered(%dq: memref<1x1x256x64xf32>, %out: memref<1x1x256x64xbf16>) {
  // expected-error @below {{'dash.convert' op must be gone after Lowering}}
  dash.convert %dq to %out : memref<1x1x256x64xf32> to memref<1x1x256x64xbf16>
  return
}

// -----

gpu.module @kernels attributes {dash.program = #dash.program<"x"
  facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
         tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
         parts = 1, workers = 132, width = 132, min_workers = 132>
  order <entry = "x_order">>} {
  llvm.func @main() attributes {dash.entry = #dash.entry<main, always, grid["1", "1", "1"], block[1, 1, 1], cluster[1, 1, 1],
              shared_bytes = 0, cooperative = false>} {
    // expected-error @below {{'gpu.barrier' op must be gone after Lowering in kernels; they are of llvm, nvvm, arith, cf and scf}}
    gpu.barrier
    llvm.return
  }
}

//--- target.mlir
// expected-error @below {{'gpu.module' op must be gone after Target}}
gpu.module @kernels attributes {dash.program = #dash.program<"x"
  facts <element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>,
         tiles = <q = 64, kv = 128>, kind = "ascending", level = run, deterministic = true,
         parts = 1, workers = 132, width = 132, min_workers = 132>
  order <entry = "x_order">>} {
}
