"""Assembles kernels ahead of time: python3 -m dash_attn.cubin MANIFEST... [--ptxas PTXAS]

Beside each manifest's PTX, NAME.cubin is written, and named in the manifest with its hash: launchers then load it instead of
assembling the PTX, which takes a second. Drivers that are older than ptxas may refuse it; they assemble the PTX.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

from .commands import GOOD, parser_of, run
from .errors import ManifestError
from .files import appears
from .runtime import Kernel

PTXAS = "/usr/local/cuda/bin/ptxas"


def find_ptxas() -> str | None:
    """ptxas on the path, or where CUDA installs it."""
    return shutil.which("ptxas") or shutil.which(PTXAS)


def assemble(manifest: str | Path, ptxas: str) -> Path:
    """Writes the cubin, then the manifest that names it. Raises ManifestError, also for what ptxas refuses."""
    path = Path(manifest)
    raw = Kernel.load(path).manifest
    cubin = path.with_name(raw["ptx"]["file"]).with_suffix(".cubin")
    try:
        with appears(cubin) as part:
            source = path.absolute().with_name(raw["ptx"]["file"])  # a path, so that no name is an option
            command = [ptxas, f"-arch={raw['ptx']['target']}", str(source), "-o", str(part.absolute())]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise ManifestError(f"{path}: '{ptxas}' refuses its PTX: {(done.stderr or done.stdout).strip()}")
            code = part.read_bytes()
            if not code:
                raise ManifestError(f"{path}: cannot write '{cubin.name}' by '{ptxas}': it succeeds, and writes nothing")
            raw["cubin"] = {"file": cubin.name, "sha256": hashlib.sha256(code).hexdigest(),
                            "ptx_sha256": raw["ptx"]["sha256"], "target": raw["ptx"]["target"]}
    except OSError as error:
        raise ManifestError(f"{path}: cannot write '{cubin.name}' by '{ptxas}': {error}") from error
    with appears(path) as part:
        part.write_text(json.dumps(raw, indent=2) + "\n", encoding="utf-8")
    return cubin


def main(argv: list[str] | None = None) -> int:
    parser = parser_of("cubin", __doc__)
    parser.add_argument("manifests", nargs="+", type=Path, metavar="MANIFEST")
    parser.add_argument("--ptxas", default=find_ptxas())
    arguments = parser.parse_args(argv)

    def assemble_all() -> int:
        if arguments.ptxas is None:
            raise OSError(f"found no ptxas on the path, nor {PTXAS}; name it by --ptxas")
        for manifest in arguments.manifests:
            print(assemble(manifest, arguments.ptxas))
        return GOOD

    return run("cubin", assemble_all)


if __name__ == "__main__":
    raise SystemExit(main())
