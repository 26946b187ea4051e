"""Kernels of any framework: libdash, programs, orders, plans, memory and launches. Users import
`Kernel` and `compile_program` from dash_attn."""
