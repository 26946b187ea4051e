"""Runs an example as a reader would, but on the CPU: run_on_cpu.py FILE."""

import importlib
import sys
from pathlib import Path

import on_cpu  # noqa: F401  (computes dash_attn's operators there)
import torch

randn, on_gpu = torch.randn, []


def randn_here(*sizes, device, **options):
    on_gpu.append(device)
    return randn(*sizes, **options)


torch.randn = randn_here
path = Path(sys.argv[1])
sys.path.insert(0, str(path.parent))
importlib.import_module(path.stem)
assert on_gpu and set(on_gpu) == {"cuda"}, f"expected an example for a GPU, found none in {path}"
