// A bitmap hides tiles as a whole, so it is a matter of the order: the main kernel is that of its band, to the byte.
// REQUIRES: host-supports-nvptx
// DEFINE: %{mask} =
// DEFINE: %{compile} = dash-opt %dash_examples/bwd-%{mask}.mlir -o /dev/null \
// DEFINE:   --dash-to-ptx='kind=shift workers=8 sizes=q:1024,kv:1024,batch:1,heads:2,kv-heads:2 output=%t/%{mask}' \
// DEFINE:   && sed -n '/entry attention_bwd_main/,/entry attention_bwd_convert/p' %t/%{mask}.ptx | sed 's/BB[0-9]*_/BB_/g' > %t/%{mask}-main.ptx

// RUN: rm -rf %t && mkdir %t
// REDEFINE: %{mask} = causal
// RUN: %{compile}
// REDEFINE: %{mask} = blocks
// RUN: %{compile}
// RUN: grep -q wgmma.mma_async %t/blocks-main.ptx && cmp %t/causal-main.ptx %t/blocks-main.ptx
// RUN: FileCheck %s --input-file=%t/blocks.json

// What it is made for is stated, its order a file.
// CHECK: "mask": "causal, blocks = #dash.blocks<q = 256, kv = 256,
// CHECK: "name":"order",{{.*}}"initial":"file"
