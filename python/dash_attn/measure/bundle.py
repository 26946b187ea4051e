"""A bundle: kernels of several kinds, and all that a machine with a GPU needs to test and
measure them.

    bundle.json       what is in it, and from which commit
    kernels/          NAME.ptx, NAME.json and, for tables, NAME.order
    dash_attn/        this package, and libdash
    Device/           the tests, and the driver of a run
    examples/         of this package
`tools/make-device-bundle` writes it; a folder or a .tar.gz of one.
"""

from __future__ import annotations

import importlib.metadata
import shutil
import tarfile
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ..errors import ManifestError
from ..kernel.runtime import GRADIENTS, Kernel
from ..reference import Mask
from ..support.records import Record, read

MOST_MEMBERS, MOST_BYTES = 10_000, 1 << 32  # of an archive
DEBUG_BUILDS = ("contributions", "delays", "threads", "tickets")
# Builds of a forward in which something differs that no bit follows from, at level `row`. Those of
# two changes come before the second one alone.
FORWARD_BUILDS = (
    *("list-fold2", "q64-fold2", "fold2"),
    *("q64", "q128", "ascending", "alternating", "workers7", "table", "list"),
    "list-threads",
)


def commit() -> str:
    """The version of the bundle that this package lies in; or the package's version."""
    bundle = Path(__file__).parents[2] / "bundle.json"
    if bundle.exists():
        return Record(read(bundle)).text("commit")
    try:
        return importlib.metadata.version("dash-attn")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


@dataclass(frozen=True)
class BundledKernel:
    """name: such as d128-causal-shift; manifest: the file."""

    name: str
    head_dim: int
    element: str
    mask: Mask
    kind: str
    is_deterministic: bool
    path: Path
    manifest: dict[str, Any]  # as JSON has it
    debug: str = ""  # one of DEBUG_BUILDS: a build for tests

    @property
    def group(self) -> str:
        """Kernels of one problem, such as d128-causal: tests run in a process for each."""
        return f"d{self.head_dim}-{self.mask.name}"

    @property
    def is_forward(self) -> bool:
        """It computes o and the LSE. Items of a dq program own q tiles, too."""
        return not any(tensor["name"] in GRADIENTS for tensor in self.manifest["tensors"])

    @property
    def head_dim_v(self) -> int:
        return self.manifest["program"]["head_dim_v"]

    @property
    def is_list(self) -> bool:
        """Kernels of a list of sequences, each with lengths of its own."""
        return "sequences" in self.manifest["derived"]

    @property
    def takes_delta(self) -> bool:
        """As a tensor, in place of o."""
        return any(spec["name"] == "delta" for spec in self.manifest["tensors"])

    @property
    def is_for_levels(self) -> bool:
        """Made to be compared with others of its level."""
        return "-level-" in self.name

    @property
    def is_apart(self) -> bool:
        """Contributions are kept apart, and added up at the end."""
        return "apart" in self.manifest["program"]

    @property
    def is_unrounded(self) -> bool:
        """A forward that writes o in f32, too, or gradients of such an o."""
        return any(
            tensor["name"] == "unrounded" or tensor["name"] == "o" and tensor["element"] == "f32"
            for tensor in self.manifest["tensors"]
        )

    @property
    def fold(self) -> int:
        """Query heads that a q tile of a forward folds; 1 where each has its own."""
        return self.manifest["program"].get("fold", 1)

    @property
    def parts(self) -> int:
        """Items of a kv tile, which add up its dK and dV."""
        return self.manifest["program"]["parts"]

    @property
    def softcap(self) -> float | None:
        return self.manifest["program"].get("softcap")

    @property
    def is_cut(self) -> bool:
        """A forward whose keys are cut into pieces."""
        return "cut" in self.manifest["program"]

    @property
    def has_sink(self) -> bool:
        return any(tensor["name"] == "sink" for tensor in self.manifest["tensors"])

    @property
    def fixed_sizes(self) -> dict[str, int]:
        """Sizes that its order is a table for."""
        return {
            name: size["value"] for name, size in self.manifest["sizes"].items() if "value" in size
        }

    def serves(self, sizes: dict[str, int]) -> bool:
        return all(sizes[name] == value for name, value in self.fixed_sizes.items())


@dataclass(frozen=True)
class Bundle:
    path: Path
    commit: str
    date: str
    kernels: tuple[BundledKernel, ...]
    debug: tuple[BundledKernel, ...] = ()  # builds of the same kernels for tests
    # of lists of sequences, builds for tests too, and those with a softcap or a sink
    lists: tuple[BundledKernel, ...] = ()
    levels: tuple[BundledKernel, ...] = ()  # of levels of determinism, for tests of these
    given_delta: tuple[BundledKernel, ...] = ()  # that take delta in place of o
    scores: tuple[BundledKernel, ...] = ()  # of batches, with a softcap or a sink
    apart: tuple[BundledKernel, ...] = ()  # whose contributions are kept apart
    unrounded: tuple[BundledKernel, ...] = ()  # that take o in f32
    forwards: tuple[BundledKernel, ...] = ()  # all others compute gradients

    @property
    def all(self) -> tuple[BundledKernel, ...]:
        return (
            self.kernels
            + self.debug
            + self.lists
            + self.levels
            + self.given_delta
            + self.scores
            + self.apart
            + self.unrounded
            + self.forwards
        )

    @property
    def ptx(self) -> dict[str, str]:
        """The SHA-256 of each kernel's PTX, by its name: what it is to the byte."""
        return {kernel.name: kernel.manifest["ptx"]["sha256"] for kernel in self.all}

    @staticmethod
    def open(path: str | Path) -> Bundle:
        """Reads a folder, or unpacks a .tar.gz into a temporary one. Raises ManifestError if it
        is no bundle."""
        path = Path(path)
        try:
            if path.is_file():
                path = _unpacked(path)
            about = Record(read(path / "bundle.json"))
            names, commit, date = about.names("kernels"), about.text("commit"), about.text("date")
        except (OSError, ValueError, tarfile.TarError, EOFError, zlib.error) as error:
            raise ManifestError(
                f"{path}: expected a bundle of tools/make-device-bundle: {error}"
            ) from error
        found = [_kernel(name, path / "kernels" / f"{name}.json") for name in names]
        forwards = tuple(kernel for kernel in found if kernel.is_forward)
        kernels = [kernel for kernel in found if not kernel.is_forward]
        levels = tuple(kernel for kernel in kernels if kernel.is_for_levels)
        given_delta = tuple(kernel for kernel in kernels if kernel.takes_delta)
        scores = tuple(
            kernel
            for kernel in kernels
            if (kernel.softcap or kernel.has_sink) and not kernel.is_list
        )
        apart = tuple(kernel for kernel in kernels if kernel.is_apart)
        unrounded = tuple(kernel for kernel in kernels if kernel.is_unrounded)
        others = levels + given_delta + scores + apart + unrounded
        rest = [kernel for kernel in kernels if kernel not in others]
        return Bundle(
            path,
            commit,
            date,
            tuple(kernel for kernel in rest if not kernel.debug and not kernel.is_list),
            tuple(kernel for kernel in rest if kernel.debug and not kernel.is_list),
            tuple(kernel for kernel in rest if kernel.is_list),
            levels,
            given_delta,
            scores,
            apart,
            unrounded,
            forwards,
        )


def _unpacked(archive: Path) -> Path:
    """The bundle in an archive, in a temporary folder. Files and folders are written one by one,
    each below that folder and where nothing is yet: Python's own `extractall` follows any path
    and any link where it has no filters, as before 3.11.4. Raises ValueError for other members."""
    folder = Path(tempfile.mkdtemp(prefix="dash-bundle-"))
    try:
        with tarfile.open(archive, "r:gz") as members:
            left, bytes_left = MOST_MEMBERS, MOST_BYTES
            for member in members:
                left, bytes_left = left - 1, bytes_left - member.size
                name = PurePosixPath(member.name)
                if left < 0 or bytes_left < 0:
                    raise ValueError(
                        f"expected at most {MOST_MEMBERS} files of {MOST_BYTES} bytes together,"
                        " found more"
                    )
                if (
                    name.is_absolute()
                    or ".." in name.parts
                    or not (member.isreg() or member.isdir())
                ):
                    raise ValueError(
                        "expected files and folders below the archive's own, found"
                        f" {member.name[:80]!r}"
                        f"{'' if member.isreg() or member.isdir() else ', a link or a device'}"
                    )
                target = folder / name
                if member.isdir():
                    target.mkdir(parents=True, exist_ok=True)
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("xb") as file:  # a name that comes twice is refused
                    shutil.copyfileobj(members.extractfile(member), file)
                target.chmod(0o755 if member.mode & 0o100 else 0o644)
        return next(folder.rglob("bundle.json"), folder / "bundle.json").parent
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _kernel(name: str, path: Path) -> BundledKernel:
    manifest = Kernel.load(path).manifest
    program = manifest["program"]
    debug = next((word for word in DEBUG_BUILDS if name.endswith(f"-{word}")), "")
    return BundledKernel(
        name,
        program["head_dim"],
        program["element"],
        Mask.parse(program["mask"]),
        program["kind"],
        program["deterministic"],
        path,
        manifest,
        debug,
    )
