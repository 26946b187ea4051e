"""What the bits of a run depend on, for `dash_attn.audit`: kernels, orders, versions, switches,
and hashes of weights."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from typing import Any

import torch

from ..compare.certificates import VERSION
from ..compare.runs import Run, differences
from ..kernel.problem import Wanted, wanted_of
from ..support.records import Record
from .dropin import state
from .hash_log import Log
from .kernels import kernel_of, kernels

VARIABLES = (
    "CUBLAS_WORKSPACE_CONFIG",
    "NVIDIA_TF32_OVERRIDE",
    "NCCL_ALGO",
    "NCCL_PROTO",
    "DASH_CACHE",
    "DASH_PTXAS",
)


def certificate(model: torch.nn.Module | None = None, run: Run | None = None) -> dict[str, Any]:
    """kernels, worlds: those that were used until now. Waits for the device where there is a
    model."""
    found = {
        "dash_certificate": VERSION,
        "versions": versions(),
        "machine": machine(),
        "switches": switches(),
        "kernels": [describe(wanted) for wanted in kernels()],
        "drop_in": state(),
    }
    if worlds():
        found["worlds"] = worlds()
    if model is not None:
        found["weights"] = hashes({**dict(model.named_parameters()), **dict(model.named_buffers())})
    if run is not None:
        digest = hashlib.sha256("\n".join(map(repr, run.entries)).encode()).hexdigest()
        found["run"] = {
            "entries": len(run.entries),
            "steps": len({entry.step for entry in run.entries}),
            "sha256": digest,
        }
    return found


def check(expected: dict[str, Any], model: torch.nn.Module | None = None) -> list[str]:
    """Why a run that goes on here may have other bits than one that goes on where the
    certificate was made. Compiles its kernels, whose fields are known words and numbers, or
    ValueError says which is not."""
    record = Record(expected)
    if expected.get("dash_certificate") != VERSION:
        raise ValueError(
            f"expected a certificate of version {VERSION}, found"
            f" {expected.get('dash_certificate')!r}"
        )
    of_kernels = [describe(wanted_of(one)) for one in record.objects("kernels")]
    for name in ("versions", "machine", "switches", *(("weights",) if "weights" in record else ())):
        record.object(name)
    found = {
        "versions": versions(),
        "machine": machine(),
        "switches": switches(),
        "kernels": of_kernels,
    }
    if worlds() and "worlds" in expected:  # of lengths and heads that only this process knows
        found["worlds"] = worlds()
    if model is not None and "weights" in expected:
        found["weights"] = hashes({**dict(model.named_parameters()), **dict(model.named_buffers())})
    return list(differences({name: expected[name] for name in found}, found))


def describe(wanted: Wanted) -> dict[str, Any]:
    """Equal certificates and inputs give equal gradients; the rest says what it is, and on how
    many workers."""
    kernel = kernel_of(wanted)
    program = kernel.manifest["program"]
    return wanted._asdict() | {
        "window": list(wanted.window),
        "sizes": list(wanted.sizes),
        "mask": program["mask"],
        "order": program["kind"],
        "workers": program["workers"],
        "tiles": program["tiles"],
        "certificate": kernel.certificate,
    }


def worlds() -> list[str]:
    """Certificates of those that were made, if any were."""
    module = sys.modules.get("dash_attn.distributed.world")
    return sorted(module.certificates) if module else []


def versions() -> dict[str, Any]:
    return {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "python": platform.python_version(),
    }


def machine() -> dict[str, Any]:
    if not torch.cuda.is_available():
        return {"gpu": None}
    about = torch.cuda.get_device_properties(torch.cuda.current_device())
    return {
        "gpu": about.name,
        "multiprocessors": about.multi_processor_count,
        "devices": torch.cuda.device_count(),
    }


def switches() -> dict[str, Any]:
    """PyTorch's, and of the environment, that change which kernels run."""
    return {
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "deterministic_warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
        "cudnn_deterministic": torch.backends.cudnn.deterministic,
        "cudnn_benchmark": torch.backends.cudnn.benchmark,
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "environment": {name: os.environ[name] for name in VARIABLES if name in os.environ},
    }


def hashes(tensors: dict[str, torch.Tensor]) -> dict[str, str]:
    logs: dict[torch.device, Log] = {}
    slots = {
        name: (tensor.device, logs.setdefault(tensor.device, Log(tensor.device)).add(tensor))
        for name, tensor in tensors.items()
    }
    values = {device: log.values() for device, log in logs.items()}
    return {name: f"{values[device][slot]:016x}" for name, (device, slot) in slots.items()}
