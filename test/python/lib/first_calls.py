"""First calls of kernels on the stub driver, with a stub of ptxas: what is assembled and loaded,
and what is kept."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

from fixtures import SIZES, SOURCE
from stub_driver import StubDriver

from dash_attn import Kernel

PROBLEM = dict(zip(SIZES, (2, 4, 4, 256, 256)))
PTX, CUBIN = ["load", "PTX"], ["load", "cubin"]
PTXAS = ["assemble", "-arch=sm_90a"]
ASSEMBLED = [PTXAS, CUBIN]
# Where another user can run it, too.
TOOLS = tempfile.TemporaryDirectory(prefix="dash-ptxas-", dir="/tmp")
os.chmod(TOOLS.name, 0o755)


def assembler(folder: str = "good", **settings: str | int) -> str:
    """A stub in a folder of its own; settings: version, said and status, as stub-ptxas has them."""
    path = Path(TOOLS.name, folder, "ptxas")
    path.parent.mkdir(exist_ok=True)
    shutil.copy(SOURCE / "test/CAPI/lib/stub-ptxas", path)
    path.with_suffix(".sh").write_text(
        "".join(f'DASH_STUB_PTXAS_{name.upper()}="{value}"\n' for name, value in settings.items()),
        encoding="utf-8",
    )
    return str(path)


os.environ["DASH_PTXAS"] = assembler()


def called(driver: StubDriver) -> list[list[str]]:
    return [[call[0], call[-1]] for call in driver.calls() if call[0] in ("load", "assemble")]


def first_call(
    cache: str | Path | None, *manifests: Path, **settings: Any
) -> tuple[list[list[str]], list[str]]:
    """What is loaded and assembled by new kernels on a new driver, and what it warns of."""
    if cache is None:
        os.environ.pop("DASH_CACHE", None)
    else:
        os.environ["DASH_CACHE"] = str(cache)
    driver = StubDriver(**settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for manifest in manifests:
            Kernel.load(manifest, driver).reserve(**PROBLEM)
    assert all(warning.category is RuntimeWarning for warning in caught)
    return called(driver), [str(warning.message) for warning in caught]


def files(folder: Path) -> list[Path]:
    assert not list(folder.glob("*.part")), list(folder.iterdir())
    return sorted(folder.glob("*.cubin"))
