// RUN: dash-opt %s -verify-diagnostics -split-input-file

func.func private @problem_sizes_positive() attributes
  // expected-error @below {{'head_dim' must be at least 1, got 0}}
  {a = #dash.problem<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4,
                     head_dim = 0, head_dim_v = 128, sequences = <[1, 1]>>}

// -----

func.func private @problem_kv_heads_divide_heads() attributes
  // expected-error @below {{'kv_heads' must divide 'heads', got 3 and 16}}
  {a = #dash.problem<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 3,
                     head_dim = 128, head_dim_v = 128, sequences = <[1, 1]>>}

// -----

func.func private @problem_lengths_are_stated() attributes
  // expected-error @below {{the lengths of 'sequences' must be stated: an order is proven for some, whatever it serves}}
  {a = #dash.problem<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4,
                     head_dim = 128, head_dim_v = 128, sequences = <?>>}

// -----

func.func private @q_tiles_have_no_chains() attributes
  // expected-error @below {{'chains' is of items that own kv tiles: those that own q tiles have none}}
  {a = #dash.problem<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4,
                     head_dim = 128, head_dim_v = 128, sequences = <[1, 1]>, own = q, chains = false>}

// -----

func.func private @pieces_are_whole_tiles() attributes
  // expected-error @below {{'cut' must be a multiple of the kv tile, 128, in items that own q tiles, got 1000}}
  {a = #dash.problem<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4,
                     head_dim = 128, head_dim_v = 128, sequences = <[1, 1]>, own = q, cut = 1000>}

// -----

func.func private @keys_are_cut_for_q_tiles() attributes
  // expected-error @below {{'cut' must be a multiple of the kv tile, 128, in items that own q tiles, got 1024}}
  {a = #dash.problem<tiles = <q = 64, kv = 128>, mask = <full>, heads = 16, kv_heads = 4,
                     head_dim = 128, head_dim_v = 128, sequences = <[1, 1]>, cut = 1024>}
