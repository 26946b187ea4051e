// RUN: dash-opt %s -verify-diagnostics -split-input-file

// expected-error @below {{'element' must be bf16 or f16, got 'i32'}}
#facts = #dash.facts<element = i32, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "shift", level = run, deterministic = true, parts = 1, workers = 4, width = 4, min_workers = 4>

// -----

// expected-error @below {{'head_dim' must be at least 1, got 0}}
#facts = #dash.facts<element = bf16, head_dim = 0, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "shift", level = run, deterministic = true, parts = 1, workers = 4, width = 4, min_workers = 4>

// -----

// expected-error @below {{'min_workers' must be at most the workers, 4, got 5}}
#facts = #dash.facts<element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "shift", level = run, deterministic = true, parts = 1, workers = 4, width = 4, min_workers = 5>

// -----

// expected-error @below {{'apart' keeps contributions by their turns, and this program has none}}
#facts = #dash.facts<element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "unordered", level = run, deterministic = false, parts = 1, workers = 4, width = 4, min_workers = 1, apart = all>

// -----

// expected-error @below {{'overlaps_rounding' wants sums that grow in turns, and this program has none, or keeps contributions apart}}
#facts = #dash.facts<element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "unordered", level = run, deterministic = false, parts = 1, workers = 4, width = 4, min_workers = 1, overlaps_rounding = true>

// -----

// expected-error @below {{'overlaps_rounding' wants sums that grow in turns, and this program has none, or keeps contributions apart}}
#facts = #dash.facts<element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "shift", level = run, deterministic = true, parts = 2, workers = 4, width = 4, min_workers = 4, apart = parts, overlaps_rounding = true>

// -----

// expected-error @below {{'workers' must be at most 16384, got 9223372036854775807}}
#facts = #dash.facts<element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "shift", level = run, deterministic = true, parts = 1, workers = 9223372036854775807, width = 4, min_workers = 4>

// -----

// expected-error @below {{size 'batch' must be from at least 1 to no less, got 3 to 2}}
#size = #dash.size<name = "batch", min = 3, max = 2>

// -----

// expected-error @below {{alignment of 'q' must be a power of two, got 3}}
#tensor = #dash.tensor<<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>, shape["batch"], alignment = 3, stride_multiple = 1>

// -----

// expected-error @below {{strides of 'q' must be multiples of at least 1, got 0}}
#tensor = #dash.tensor<<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>, shape["batch"], alignment = 4, stride_multiple = 0>

// -----

// expected-error @below {{sums of 'dq' are in the workspace, and no launcher passes them}}
#tensor = #dash.tensor<<"dq", side = q, access = sum, kind = tile, element = f32, columns = 64>, shape["batch"], alignment = 4, stride_multiple = 1>

// -----

// expected-error @below {{columns of 'q' must be at least 1, got 0}}
#role = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 0>

// -----

// expected-error @below {{'lse' has one number a log_row, expected no columns, got 64}}
#role = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32, columns = 64>

// -----

// expected-error @below {{tiles of 'q' must be wider than its 88 columns where they state a width, got 64}}
#role = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = bf16, columns = 88, width = 64>

// -----

// expected-error @below {{tiles of 'lse' must be wider than its 1 columns where they state a width, got 64}}
#role = #dash.tensor_role<"lse", side = q, access = read, kind = log_row, element = f32, width = 64>

// -----

// expected-error @below {{'q' must have elements of bf16, f16 or f32, got 'f64'}}
#role = #dash.tensor_role<"q", side = q, access = read, kind = tile, element = f64, columns = 64>

// -----

// expected-error @below {{'dq' must have elements of f32, got 'bf16'}}
#role = #dash.tensor_role<"dq", side = q, access = sum, kind = tile, element = bf16, columns = 64>

// -----

// expected-error @below {{'bounds' must have elements of i32, got 'f32'}}
#role = #dash.tensor_role<"bounds", side = q, access = read, kind = bounds, element = f32>

// -----

// expected-error @below {{descriptors are of tiles, got 'lse', a log_row}}
#map = #dash.tensor_map<<"lse", side = q, access = read, kind = log_row, element = f32>, rows = 64, panels = 1>

// -----

// expected-error @below {{a box must have at least 1 row and 1 panel, got 0 and 1}}
#map = #dash.tensor_map<<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>, rows = 0, panels = 1>

// -----

// expected-error @below {{a box of 'q', whose 88 columns do not fill panels of 64, must be one panel, got 2}}
#map = #dash.tensor_map<<"q", side = q, access = read, kind = tile, element = bf16, columns = 88, width = 128>, rows = 64, panels = 2>

// -----

// expected-error @below {{alignment of 'turns' must be a power of two, got 0}}
#region = #dash.region<name = "turns", bytes = "4", alignment = 0, before = zero, after = zero>

// -----

// expected-error @below {{the order's entry must have a name}}
#order = #dash.order_source<entry = "">

// -----

// expected-error @below {{the order's file must have a command that makes it}}
#order = #dash.order_source<file = "">

// -----

// expected-error @below {{an order that was searched for is a file, and has both a search and its costs}}
#order = #dash.order_source<file = "dash-opt", search <version = 1, budget = 1, dq_limit = 0>>

// -----

#facts = #dash.facts<element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "shift", level = run, deterministic = true, parts = 1, workers = 4, width = 4, min_workers = 4>
// expected-error @below {{a program must have a name}}
#program = #dash.program<"" facts #facts order <file = "dash-opt">>

// -----

#facts = #dash.facts<element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "shift", level = run, deterministic = true, parts = 1, workers = 4, width = 4, min_workers = 4>
// expected-error @below {{texts must be UTF-8, which a manifest is written in, got '64�'}}
#program = #dash.program<"x" facts #facts
  tensors[<<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>, shape["64\FF"], alignment = 16, stride_multiple = 8>] order <file = "dash-opt">>

// -----

#facts = #dash.facts<element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "shift", level = run, deterministic = true, parts = 1, workers = 4, width = 4, min_workers = 4>
// expected-error @below {{two sizes are called 'batch'}}
#program = #dash.program<"x" facts #facts
  sizes[<name = "batch", min = 1, max = 2>] derived[<name = "batch", expression = "1">] order <file = "dash-opt">>

// -----

#facts = #dash.facts<element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "shift", level = run, deterministic = true, parts = 1, workers = 4, width = 4, min_workers = 4>
// expected-error @below {{two tensors are called 'q'}}
#program = #dash.program<"x" facts #facts
  tensors[<<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>, shape["batch"], alignment = 4, stride_multiple = 1>,
           <<"q", side = q, access = read, kind = tile, element = bf16, columns = 64>, shape["batch"], alignment = 4, stride_multiple = 1>] order <file = "dash-opt">>

// -----

#facts = #dash.facts<element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 64, kv = 128>, kind = "shift", level = run, deterministic = true, parts = 1, workers = 4, width = 4, min_workers = 4>
// expected-error @below {{two regions are called 'turns'}}
#program = #dash.program<"x" facts #facts
  workspace[<name = "turns", bytes = "4", alignment = 16, before = zero, after = zero>,
             <name = "turns", bytes = "4", alignment = 16, before = zero, after = zero>] order <file = "dash-opt">>

// -----

// expected-error @below {{a grid must have three expressions, got 1}}
#entry = #dash.entry<main, always, grid["1"], block[32, 1, 1], cluster[1, 1, 1], shared_bytes = 0, cooperative = false>

// -----

// expected-error @below {{'block' must be three numbers of at least 1, got [0, 1, 1]}}
#entry = #dash.entry<main, always, grid["1", "1", "1"], block[0, 1, 1], cluster[1, 1, 1], shared_bytes = 0, cooperative = false>

// -----

// expected-error @below {{'cluster' must be three numbers of at least 1, got [1]}}
#entry = #dash.entry<main, always, grid["1", "1", "1"], block[32, 1, 1], cluster[1], shared_bytes = 0, cooperative = false>

// -----

// expected-error @below {{'shared_bytes' must be at least 0, got -1}}
#entry = #dash.entry<main, always, grid["1", "1", "1"], block[32, 1, 1], cluster[1, 1, 1], shared_bytes = -1, cooperative = false>

// -----

// expected-error @below {{a trace has one item in 1 to 1048576, got one in 0}}
#trace = #dash.trace<level = all, every = 0, records = 16384, lanes = ["load"]>

// -----

// expected-error @below {{a lane of a trace has from 3 to 16777216 records, got 2}}
#trace = #dash.trace<level = all, every = 1, records = 2, lanes = ["load"]>

// -----

// expected-error @below {{rows of panels must be 32, 64 or 128 bytes, got 96}}
#map = #dash.tensor_map<<"q", side = q, access = read, kind = tile, element = bf16, columns = 96>, rows = 64, panels = 2, bytes = 96>

// -----

// expected-error @below {{a box of 'q', whose 88 columns do not fill panels of 32, must be one panel, got 3}}
#map = #dash.tensor_map<<"q", side = q, access = read, kind = tile, element = bf16, columns = 88, width = 96>, rows = 64, panels = 3, bytes = 64>

// -----

// A forward's items add nothing.
// expected-error @below {{items that own q tiles add nothing to memory: they have no parts, keep nothing apart, and leave no sums to round}}
#facts = #dash.facts<element = bf16, head_dim = 64, head_dim_v = 64, mask = <full>, tiles = <q = 128, kv = 128>, kind = "ascending", level = row, deterministic = true, parts = 2, workers = 4, width = 4, min_workers = 1, own = q>

// -----

func.func private @pieces_are_whole_tiles() attributes
  // expected-error @below {{'cut' must be a multiple of the kv tile, 128, in items that own q tiles, got 1000}}
  {a = #dash.facts<element = bf16, head_dim = 128, head_dim_v = 128, mask = <full>, tiles = <q = 64, kv = 128>, kind = "x",
                   level = run, deterministic = true, parts = 1, workers = 4, width = 4, min_workers = 1, own = q, cut = 1000>}

// -----

func.func private @heads_are_folded_for_q_tiles() attributes
  // expected-error @below {{folds heads into the q tiles of items that own kv tiles: only items that own q tiles do}}
  {a = #dash.facts<element = bf16, head_dim = 128, head_dim_v = 128, mask = <full>, tiles = <q = 16, kv = 128, fold = 4>, kind = "x",
                   level = run, deterministic = true, parts = 1, workers = 4, width = 4, min_workers = 1>}

// -----

// expected-error @below {{a box of folded heads of 'q' must be one panel, got 2}}
#map = #dash.tensor_map<<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>, rows = 16, panels = 2, fold = 4>

// -----

// expected-error @below {{'fold' must be a power of two from 1 to 64, got 3}}
#map = #dash.tensor_map<<"q", side = q, access = read, kind = tile, element = bf16, columns = 128>, rows = 16, panels = 1, fold = 3>
