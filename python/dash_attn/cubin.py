"""Assembles kernels ahead of time: python3 -m dash_attn.cubin MANIFEST... [--ptxas PTXAS], or --all

Beside each manifest's PTX, NAME.cubin is written, and named in the manifest with its hash:
launchers then load it instead of assembling the PTX, which takes a second. Drivers that are
older than ptxas may refuse it; they assemble the PTX.

--all compiles and assembles what `attention` asks for at usual sizes, with full and causal masks.
First calls then wait for neither, also where there is no ptxas. The folder is `programs` beside
libdash, or that of the user's caches where the first cannot be written to; --to names another one.
What a folder has already is not assembled again. Needs no GPU.

--head-dims chooses: up to 128 each takes some 20 MB and 180 programs, above it 5 MB and 32. At 64
and 128 these have forwards that fold 2, 4 and 8 query heads, as decoded tokens take them. Others
than those that it has by itself may be named, too: any multiple of 8 up to 256.

Without --ptxas, the first of these that makes code which is not slow: the program that
DASH_PTXAS names, and no other; or each ptxas on PATH, and that of /usr/local/cuda; or one that
Triton or NVIDIA's packages for Python bring.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .errors import ManifestError
from .kernel import ahead
from .kernel.assembler import CUDA, find_assemblers, packaged_assemblers, refusal_of
from .kernel.commands import GOOD, parser_of, run
from .kernel.problem import head_dims
from .kernel.runtime import Kernel
from .support.files import appears

__all__ = ["assemble", "assemble_by_any", "find_ptxas", "main"]


def find_ptxas() -> str | None:
    """The one that is asked first."""
    return next(iter(find_assemblers()), None)


def assemble(manifest: str | Path, ptxas: str) -> Path:
    """Writes the cubin, then the manifest that names it. Raises ManifestError, also for what
    ptxas refuses, or makes slow code of."""
    path = Path(manifest)
    raw = Kernel.load(path).manifest
    cubin = path.with_name(raw["ptx"]["file"]).with_suffix(".cubin")
    try:
        with appears(cubin) as part:
            # a path, so that no name is an option
            source = path.absolute().with_name(raw["ptx"]["file"])
            command = [
                ptxas,
                f"-arch={raw['ptx']['target']}",
                str(source),
                "-o",
                str(part.absolute()),
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if refusal := refusal_of(ptxas, done.returncode, done.stderr + done.stdout):
                raise ManifestError(f"{path}: {refusal}")
            code = part.read_bytes()
            if not code:
                raise ManifestError(
                    f"{path}: cannot write '{cubin.name}' by '{ptxas}': it succeeds, and writes"
                    " nothing"
                )
            raw["cubin"] = {
                "file": cubin.name,
                "sha256": hashlib.sha256(code).hexdigest(),
                "ptx_sha256": raw["ptx"]["sha256"],
                "target": raw["ptx"]["target"],
            }
    except OSError as error:
        raise ManifestError(f"{path}: cannot write '{cubin.name}' by '{ptxas}': {error}") from error
    with appears(path) as part:
        part.write_text(json.dumps(raw, indent=2) + "\n", encoding="utf-8")
    return cubin


def assemble_by_any(manifest: str | Path, assemblers: Sequence[str]) -> Path:
    """By the first that neither refuses the PTX nor makes slow code of it. Raises ManifestError
    with what each said where there is none."""
    refusals: dict[str, None] = {}
    for ptxas in assemblers:
        try:
            return assemble(manifest, ptxas)
        except ManifestError as error:
            refusals[str(error)] = None
    raise ManifestError("\n".join(refusals))


def _head_dims(text: str) -> ahead.HeadDims:
    """As `head_dims` of a problem spells them. Raises ValueError."""
    of_qk, _, of_v = text.partition("/")
    return int(of_qk), int(of_v or of_qk)


def keep_all(arguments: argparse.Namespace, assemblers: Sequence[str]) -> int:
    named = [_head_dims(one) for one in arguments.head_dims.split(",")]
    folder = arguments.to or ahead.usual_folder()
    wanted = ahead.wanted_programs(named, arguments.elements.split(","))
    programs, codes = ahead.make(folder, wanted, assemblers, arguments.jobs, ahead.Bar())
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(
        f"{len(wanted)} programs in {folder}, {size / 1e6:.1f} MB; new are {programs} of them, and"
        f" the code of {codes}"
    )
    return GOOD


def main(argv: list[str] | None = None) -> int:
    """The command; argv without its name, that of the process if None. Returns the exit status."""
    parser = parser_of("cubin", __doc__)
    parser.add_argument("manifests", nargs="*", type=Path, metavar="MANIFEST")
    parser.add_argument("--all", action="store_true", help="the programs that attention() asks for")
    parser.add_argument("--to", type=Path, help="of --all: the folder")
    parser.add_argument(
        "--head-dims",
        default=",".join(head_dims(*one) for one in ahead.HEAD_DIMS),
        help="of --all, with commas between; 128/64 is a v of its own (default: %(default)s)",
    )
    parser.add_argument(
        "--elements",
        default=",".join(ahead.ELEMENTS),
        help="of --all, with commas between (default: %(default)s)",
    )
    parser.add_argument(
        "--jobs", type=int, default=ahead.usual_jobs(), help="of --all: assemblers at once"
    )
    parser.add_argument("--ptxas", help="this one, and no other")
    arguments = parser.parse_args(argv)
    if bool(arguments.manifests) == arguments.all:
        parser.error("expected manifests or --all")
    if arguments.jobs < 1:
        parser.error(f"expected at least one job, found {arguments.jobs}")
    assemblers = (
        [arguments.ptxas]
        if arguments.ptxas is not None
        else [*find_assemblers(), *packaged_assemblers()]
    )

    def assemble_all() -> int:
        if not assemblers:
            raise OSError(
                f"found no ptxas on PATH, nor in {CUDA}, nor among the packages of Python; name it"
                " by --ptxas or DASH_PTXAS"
            )
        if arguments.all:
            return keep_all(arguments, assemblers)
        for manifest in arguments.manifests:
            print(assemble_by_any(manifest, assemblers))
        return GOOD

    return run("cubin", assemble_all)


if __name__ == "__main__":
    raise SystemExit(main())
