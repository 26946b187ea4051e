"""What a machine has: versions, GPUs, assemblers, caches and whose they are, and what is
missing. Needs no GPU and no framework."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any

from ..errors import DriverError, LibraryError
from ..kernel.assembler import find_assemblers, spell
from ..kernel.driver import Driver
from ..kernel.library import library
from ..kernel.problem import refusal_of_gpu
from ..kernel.programs import cache_folder
from ..measure.bundle import commit

PACKAGES = (
    "torch",
    "triton",
    "nvidia-cudnn-cu12",
    "nvidia-cudnn-cu13",
    "transformers",
    "jax",
    "jaxlib",
    "cupy",
    "numpy",
)
NEEDED = {
    "torch": "PyTorch, for dash_attn.attention and enable()",
    "transformers": 'transformers, for attn_implementation="dash"',
    "jax": "JAX, for dash_attn.jax",
}
# Variables of the environment that change which kernels run, and where files are kept.
VARIABLES = (
    "DASH_CACHE",
    "DASH_DS_BYTES",
    "DASH_PTXAS",
    "DASH_LIBRARY",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_CACHE_DISABLE",
    "CUDA_LAUNCH_BLOCKING",
    "CUBLAS_WORKSPACE_CONFIG",
    "NVIDIA_TF32_OVERRIDE",
    "NCCL_ALGO",
    "NCCL_PROTO",
)
MODULE = Path("/proc/driver/nvidia/version")


def look(driver: str = "") -> dict[str, Any]:
    """As JSON has it. driver: the library, as `Driver` takes it. missing: what keeps kernels
    from running here; absent: what only some need."""
    found: dict[str, Any] = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
    }
    missing: list[str] = []
    try:
        found["dash"] = {"version": library().dashGetVersion().text, "commit": commit()}
    except LibraryError as error:
        found["dash"] = None
        missing.append(str(error))
    found |= {"driver": None, "gpus": []}
    if found["dash"]:
        try:
            opened = Driver(driver)
            found["driver"] = {"cuda": opened.version(), "module": _module()}
            found["gpus"] = [
                {
                    "name": gpu.name,
                    "capability": "{}.{}".format(*gpu.capability),
                    "multiprocessors": gpu.multiprocessors,
                    "refused": refusal_of_gpu(gpu.name, gpu.capability) or "",
                }
                for gpu in opened.gpus()
            ]
        except DriverError as error:
            missing.append(str(error))
        if not any(not gpu["refused"] for gpu in found["gpus"]):
            missing += list(dict.fromkeys(gpu["refused"] for gpu in found["gpus"])) or [
                str(refusal_of_gpu("", None))
            ]
    found["assemblers"] = [
        {"path": path, "version": spell(path).removeprefix(f"'{path}' ").strip("()")}
        for path in find_assemblers()
    ]
    found["caches"] = caches()
    found["environment"] = {name: os.environ[name] for name in VARIABLES if name in os.environ}
    found["missing"] = missing
    found["absent"] = [what for name, what in NEEDED.items() if name not in found["packages"]]
    return found


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _module() -> str:
    """The driver's own version, as its module says it."""
    try:
        return next(
            (
                word
                for word in MODULE.read_text(encoding="utf-8").splitlines()[0].split()
                if word[:1].isdigit()
            ),
            "",
        )
    except (OSError, IndexError):
        return ""


def caches() -> list[dict[str, Any]]:
    """What is kept of which, where, and whose it is."""
    dash, home = cache_folder(), os.environ.get("HOME", "")
    drivers = os.environ.get("CUDA_CACHE_PATH") or (f"{home}/.nv/ComputeCache" if home else "")
    is_on = os.environ.get("CUDA_CACHE_DISABLE", "0") in ("", "0")
    return [
        _cache("assembled code", dash, "*.cubin"),
        _cache("orders", dash and dash / "orders", "*"),
        _cache("compiled programs", dash and dash / "programs", "*"),
        _cache("the driver's own", Path(drivers) if drivers and is_on else None, "**/*"),
    ]


def _cache(what: str, path: Path | None, pattern: str) -> dict[str, Any]:
    if path is None:
        return {"what": what, "state": "off"}
    try:
        owner = path.stat().st_uid
        sizes = [file.stat().st_size for file in path.glob(pattern) if file.is_file()]
    except FileNotFoundError:
        return {"what": what, "path": str(path), "state": "empty"}
    except OSError as error:
        return {"what": what, "path": str(path), "state": f"cannot be read: {error.strerror}"}
    mine = owner == os.geteuid()
    state = (
        "yours"
        if mine
        else (
            f"of user {owner}, who does not run this process (user {os.geteuid()}): nothing of it"
            " is used"
        )
    )
    if mine and not os.access(path, os.W_OK | os.X_OK):
        state = "yours, and cannot be written to"
    return {
        "what": what,
        "path": str(path),
        "state": state,
        "files": len(sizes),
        "bytes": sum(sizes),
    }


def text_of(found: dict[str, Any]) -> str:
    dash, driver = found["dash"], found["driver"]
    packages = ", ".join(f"{name} {version}" for name, version in found["packages"].items())
    lines = [
        ("dash", f"{dash['version']}, commit {dash['commit']}" if dash else "no libdash"),
        ("python", f"{found['python']}, {found['system']}"),
        ("packages", packages or "none that dash knows"),
        (
            "driver",
            (
                f"CUDA {driver['cuda']}{', ' + driver['module'] if driver['module'] else ''}"
                if driver
                else "none"
            ),
        ),
    ]
    lines += [
        (
            "GPU",
            (
                f"{gpu['name']}, capability {gpu['capability']}, {gpu['multiprocessors']}"
                f" multiprocessors{', refused' * bool(gpu['refused'])}"
            ),
        )
        for gpu in found["gpus"]
    ]
    lines += [
        ("ptxas", f"{one['path']}, {one['version']}" if "path" in one else one["version"])
        for one in found["assemblers"]
    ] or [("ptxas", "none: the driver assembles, in its own cache")]
    for cache in found["caches"]:
        place = f" in {cache['path']}" if "path" in cache else ""
        held = (
            f": {cache['files']} files, {cache['bytes'] / (1 << 20):.1f} MiB"
            if "files" in cache
            else ""
        )
        lines.append(("cache", f"{cache['what']}{place}, {cache['state']}{held}"))
    lines += [("environment", f"{name}={value}") for name, value in found["environment"].items()]
    lines += [("missing", one) for one in found["missing"]] + [
        ("absent", one) for one in found["absent"]
    ]
    return "\n".join(f"{name:<12} {text}" for name, text in lines)
