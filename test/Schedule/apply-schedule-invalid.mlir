// Every option that cannot be served is an error at the problem, with what was expected and what was found.

// RUN: not dash-opt %s --dash-apply-schedule='kind=spiral sizes=q:64' 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not dash-opt %s --dash-apply-schedule='kind=file sizes=q:64' 2>&1 | FileCheck %s --check-prefix=PATH
// RUN: not dash-opt %s --dash-apply-schedule='level=always sizes=q:64' 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: sed 's/level(batch)/level(world)/' %s | not dash-opt --dash-apply-schedule='sizes=q:64' 2>&1 | FileCheck %s --check-prefix=WORLD
// RUN: not dash-opt %s --dash-apply-schedule='level=run sizes=q:64' 2>&1 | FileCheck %s --check-prefix=WEAKER
// RUN: not dash-opt %s --dash-apply-schedule='workers=-1 sizes=q:64' 2>&1 | FileCheck %s --check-prefix=WORKERS
// RUN: not dash-opt %s --dash-apply-schedule='target=sm_80 sizes=q:64' 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not dash-opt %s --dash-apply-schedule='for-workers=-1 sizes=q:64' 2>&1 | FileCheck %s --check-prefix=FORWORKERS
// RUN: not dash-opt %s --dash-apply-schedule='parts=3 sizes=q:64' 2>&1 | FileCheck %s --check-prefix=PARTS
// RUN: not dash-opt %s --dash-apply-schedule='parts=6 sizes=q:100,kv:500' 2>&1 | FileCheck %s --check-prefix=RUNS
// RUN: not dash-opt %s --dash-apply-schedule='kind=shift parts=4 sizes=q:500' 2>&1 | FileCheck %s --check-prefix=GRID
// RUN: not dash-opt %s --dash-apply-schedule='compute=nan sizes=q:64' 2>&1 | FileCheck %s --check-prefix=COMPUTE
// RUN: not dash-opt %s --dash-apply-schedule='reduce=-1.5 sizes=q:64' 2>&1 | FileCheck %s --check-prefix=REDUCE
// RUN: not dash-opt %s --dash-apply-schedule='latency=-0.5 sizes=q:64' 2>&1 | FileCheck %s --check-prefix=LATENCY
// RUN: not dash-opt %s --dash-apply-schedule='buffers=0 sizes=q:64' 2>&1 | FileCheck %s --check-prefix=BUFFERS
// RUN: not dash-opt %s --dash-apply-schedule='kind=shift level=machine workers=7 for-workers=32 sizes=q:4096' 2>&1 | FileCheck %s --check-prefix=WAVES
// RUN: not dash-opt %s --dash-apply-schedule='kind=symmetric-shift level=machine workers=7 for-workers=8 sizes=q:4096' 2>&1 | FileCheck %s --check-prefix=FOLDED
// RUN: not dash-opt %s --dash-apply-schedule='' 2>&1 | FileCheck %s --check-prefix=OPEN
// RUN: not dash-opt %s --dash-apply-schedule='sizes=q:0' 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not dash-opt %s --dash-apply-schedule='sizes=q:64,kv:-64' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not dash-opt %s --dash-apply-schedule='sizes=q:many' 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not dash-opt %s --dash-apply-schedule='sizes=q:64,rows:64' 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not dash-opt %s --dash-apply-schedule='sizes=q:64,q:128' 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not dash-opt %s --dash-apply-schedule='sizes=q:64,heads:4+4' 2>&1 | FileCheck %s --check-prefix=ONENUMBER
// RUN: not dash-opt %s --dash-apply-schedule='sizes=q:64+64,kv:64' 2>&1 | FileCheck %s --check-prefix=COUNTS
// RUN: not dash-opt %s --dash-apply-schedule='sizes=kv:64+64' 2>&1 | FileCheck %s --check-prefix=KVONLY
// RUN: not dash-opt %s --dash-apply-schedule='sizes=q:64,heads:8' 2>&1 | FileCheck %s --check-prefix=CONTRADICTS
// RUN: not dash-opt %s --dash-apply-schedule='sizes=q:2147483647' 2>&1 | FileCheck %s --check-prefix=TOOLARGE
// RUN: not dash-opt %s --dash-apply-schedule='dq-limit=-1 sizes=q:64' 2>&1 | FileCheck %s --check-prefix=DQLIMIT
// RUN: not dash-opt %s --dash-apply-schedule='kind=synthesized sizes=q:600000' 2>&1 | FileCheck %s --check-prefix=SYNLARGE
// RUN: not dash-opt %s --dash-apply-schedule='kind=shift form=table sizes=q:600000' 2>&1 | FileCheck %s --check-prefix=TABLE
// RUN: not dash-opt %s --dash-apply-schedule='boundary=-2 sizes=q:64' 2>&1 | FileCheck %s --check-prefix=BOUNDARY
// RUN: not dash-opt %s --dash-apply-schedule='kind=synthesized level=machine workers=7 sizes=q:4096' 2>&1 | FileCheck %s --check-prefix=SYNWORKERS
// RUN: not dash-opt %s --dash-apply-schedule='sizes=q:64,heads' 2>&1 | FileCheck %s --check-prefix=NOVALUE
// RUN: not dash-opt %s --dash-apply-schedule='sizes=q:64,,kv:64' 2>&1 | FileCheck %s --check-prefix=EMPTYENTRY
// RUN: not dash-opt %s --dash-apply-schedule='kind=unordered sizes=q:64' 2>&1 | FileCheck %s --check-prefix=UNORDERED
// RUN: not dash-opt %s --dash-apply-schedule='function=other sizes=q:64' 2>&1 | FileCheck %s --check-prefix=FUNCTION

// One unscheduled problem of one sequence, 4 query heads over 2 kv heads; rows are open.
func.func @attention_bwd(%q: memref<1x4x?x128xbf16>, %k: memref<1x2x?x128xbf16>) {
  dash.items unscheduled over(%q, %k, %k : memref<1x4x?x128xbf16>, memref<1x2x?x128xbf16>, memref<1x2x?x128xbf16>)
      tiles(<q = 64, kv = 128>) mask(<causal>) level(batch) (%seq, %kv_head, %kv) {
  }
  return
}

// KIND: :{{[0-9]+}}:3: error: unknown schedule 'spiral', expected one of ascending, descending, longest-first, shift, shortest-first, symmetric-shift, synthesized, unordered, auto or file
// PATH: :{{[0-9]+}}:3: error: kind=file needs path=FILE, an order in the format of the JSON report
// LEVEL: for the --level option: expected one of run, batch, machine, own, found 'always'
// WORLD: :{{[0-9]+}}:3: error: no schedule keeps level 'world' yet, expected run, batch or machine
// WEAKER: :{{[0-9]+}}:3: error: level 'run' is weaker than the problem's, 'batch'
// WORKERS: :{{[0-9]+}}:3: error: workers must be from 1 to 16384, or 0 for the multiprocessors of the target, got -1
// TARGET: :{{[0-9]+}}:3: error: unknown target 'sm_80', expected one of sm_90a
// FORWORKERS: :{{[0-9]+}}:3: error: for-workers must be from 1 to 16384, got -1
// PARTS: :{{[0-9]+}}:3: error: parts must divide the 2 query heads of a kv head or be a multiple of them, got 3
// RUNS: :{{[0-9]+}}:3: error: 6 parts cut the 2 q tiles of a head into 3 runs, expected at most one a tile: state at most 4 parts
// GRID: :{{[0-9]+}}:3: error: formulas of kind 'shift' cut a head's q tiles into 2 runs on full masks only, got mask 'causal': take kind=synthesized, or at most 2 parts
// COMPUTE: :{{[0-9]+}}:3: error: 'compute' must be above 0 and at most 1e100, got nan
// REDUCE: :{{[0-9]+}}:3: error: 'reduce' must be from 0 to 1e100, got -1.5
// LATENCY: :{{[0-9]+}}:3: error: 'latency' must be from 0 to 1e100, got -0.5
// BUFFERS: :{{[0-9]+}}:3: error: 'buffers' must be at least 1, got 0
// WAVES: :{{[0-9]+}}:3: error: schedule 'shift' made for 32 workers has waves of 32 that walk at once, got 7 workers
// FOLDED: :{{[0-9]+}}:3: error: schedule 'symmetric-shift' made for 8 workers has waves of 8 that walk at once, got 7 workers
// OPEN: :{{[0-9]+}}:3: error: size 'q' is not in the types: state it, as in sizes=q:4096
// ZERO: :{{[0-9]+}}:3: error: sizes: 'q' must be a number from 1 to 2147483647, got '0'
// NEGATIVE: :{{[0-9]+}}:3: error: sizes: 'kv' must be a number from 1 to 2147483647, got '-64'
// WORD: :{{[0-9]+}}:3: error: sizes: 'q' must be a number from 1 to 2147483647, got 'many'
// KEY: :{{[0-9]+}}:3: error: sizes: unknown key 'rows', expected q, kv, batch, heads or kv-heads
// TWICE: :{{[0-9]+}}:3: error: sizes: 'q' is stated twice
// ONENUMBER: :{{[0-9]+}}:3: error: sizes: 'heads' must be one number, got '4+4'; only q and kv may be lists of sequences
// COUNTS: :{{[0-9]+}}:3: error: sizes: q is a list of 2 sequences, but kv of 1
// KVONLY: :{{[0-9]+}}:3: error: sizes: kv is a list of sequences, but q is not stated
// CONTRADICTS: :{{[0-9]+}}:3: error: sizes: 'heads' is 8, but the types say 4
// TOOLARGE: :{{[0-9]+}}:3: error: problem is too large to be scheduled: expected at most 8388608 kv tiles, 16777216 q tiles and 17179869184 tasks over all heads and sequences
// WAVES: note: lower for-workers (which changes the bits), or use 'ascending' or 'descending', which have no waves
// DQLIMIT: :{{[0-9]+}}:3: error: dq-limit must be from 0 to 1048576 MiB, got -1
// SYNLARGE: :{{[0-9]+}}:3: error: schedule 'synthesized' writes out at most 67108864 tasks, got {{[0-9]+}}
// SYNWORKERS: :{{[0-9]+}}:3: error: schedule 'synthesized' is made for 32 workers at level 'machine', got 7 workers
// SYNLARGE: note: use a kind that is formulas, such as 'shift' or 'symmetric-shift'
// TABLE: :{{[0-9]+}}:3: error: an order of this problem is too large for a table, which has at most 67108864 tasks; a kind that has formulas for the mask needs no table
// BOUNDARY: :{{[0-9]+}}:3: error: 'boundary' must be from 0 to 1e100, got -2.0
// SYNWORKERS: note: lower for-workers (which changes the bits)
// NOVALUE: :{{[0-9]+}}:3: error: sizes: 'heads' has no value, expected as in heads:4096
// EMPTYENTRY: :{{[0-9]+}}:3: error: sizes: unknown key '', expected q, kv, batch, heads or kv-heads
// UNORDERED: :{{[0-9]+}}:3: error: schedule 'unordered' adds in any order, so its bits may differ from run to run: expected level run, got 'batch'
// FUNCTION: error: no unscheduled 'dash.items' is called 'other'
