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

// -----

func.func private @heads_are_folded_for_q_tiles() attributes
  // expected-error @below {{folds heads into the q tiles of items that own kv tiles: only items that own q tiles do}}
  {a = #dash.problem<tiles = <q = 16, kv = 128, fold = 4>, mask = <full>, heads = 16, kv_heads = 4,
                     head_dim = 128, head_dim_v = 128, sequences = <[1, 1]>>}

// -----

func.func private @folded_heads_share_a_kv_head() attributes
  // expected-error @below {{q tiles fold 8 heads, which must divide the query heads of a kv head, got 12 heads over 4}}
  {a = #dash.problem<tiles = <q = 16, kv = 128, fold = 8>, mask = <full>, heads = 12, kv_heads = 4,
                     head_dim = 128, head_dim_v = 128, sequences = <[1, 1]>, own = q>}

// -----

func.func private @folds_are_of_bands() attributes
  // expected-error @below {{folds heads under a mask with a bitmap or a union: only bands are served, so drop the fold}}
  {a = #dash.problem<tiles = <q = 16, kv = 128, fold = 4>, mask = <causal, union = #dash.union<columns = 4, window = [8, -1]>>,
                     heads = 16, kv_heads = 4, head_dim = 128, head_dim_v = 128, sequences = <[64, 64]>, own = q>}
