"""What `attention` would do with its arguments, and why: in the same words for every framework."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import (
    ArgumentError,
    CapacityError,
    CompileError,
    DriverError,
    LibraryError,
    ManifestError,
)
from .problem import head_dims
from .runtime import Kernel
from .unrounded import NAME as UNROUNDED

# too long to be read
BITMAP = re.compile(r"#dash\.blocks<q = (\d+), kv = (\d+), bits = dense<[^>]*> : [^>]*>>")


@dataclass(frozen=True)
class Explanation:
    """refusal: why it is refused; empty if it is not, and then the rest says by what it is
    computed. launches: slices of the batch or of heads that the backward pass is computed in,
    the first of which has the order; certificate: that of dash's forward, if it is dash's, and of
    the backward, one behind the other; of slices too, where the last ones have fewer sizes and so
    another order; cut: rows of the pieces into which the forward cuts keys, 0 where it does
    not. level: that of gradients; `forward` has that of o and the LSE."""

    refusal: str
    forward: str = ""
    backward: str = ""
    order: str = ""
    level: str = ""
    workers: int = 0
    certificate: str = ""
    parts: int = 1
    apart: str = ""  # contributions that wait for no turn: "parts", to dK and dV, "all", or none
    # the time of the order by that which no order is below; 0 where lengths are not known
    predicted: float = 0
    launches: int = 1
    cut: int = 0

    @staticmethod
    def of(
        forward: str | Sequence[Kernel],
        kernels: Sequence[Kernel],
        predicted: float = 0,
        launches: int = 1,
    ) -> Explanation:
        """forward: what computes it, in words, or its kernels; kernels: of gradients, those of
        slices that have different sizes."""
        own = () if isinstance(forward, str) else forward
        program = kernels[0].manifest["program"]
        certificates = dict.fromkeys(kernel.certificate for kernel in (*own, *kernels))
        return Explanation(
            "",
            forward if isinstance(forward, str) else f"{_in_words(own[0])}, level row",
            _in_words(kernels[0]),
            program["kind"],
            program["level"],
            program["workers"],
            " ".join(certificates),
            program["parts"],
            program.get("apart", ""),
            predicted,
            launches,
            own[0].manifest["program"].get("cut", 0) if own else 0,
        )

    @property
    def _rest(self) -> str:
        return (
            f", {self.launches} launches" * (self.launches > 1)
            + f", heads in {self.parts} parts" * (self.parts > 1)
            + f", kept apart: {self.apart}" * bool(self.apart)
            + f", predicted {self.predicted:.3f} x its lower bound" * bool(self.predicted)
        )

    def __bool__(self) -> bool:
        return not self.refusal

    def __str__(self) -> str:
        if self.refusal:
            return f"refused      {self.refusal}"
        return "\n".join(
            (
                f"forward      {self.forward}",
                f"backward     {self.backward}",
                (
                    f"order        {self.order}, level {self.level}, {self.workers}"
                    f" workers{self._rest}"
                ),
                f"certificate  {self.certificate}",
            )
        )


def _in_words(kernel: Kernel) -> str:
    program = kernel.manifest["program"]
    elements = {one["name"]: one["element"] for one in kernel.manifest["tensors"]}
    is_backward = "do" in elements
    mask = BITMAP.sub(r"a bitmap of blocks of \1 x \2", program["mask"])
    return (
        f"dash, {mask} mask, {program['element']}, head dim"
        f" {head_dims(program['head_dim'], program['head_dim_v'])}, "
        f"tiles {program['tiles']['q'] * program.get('fold', 1)} x {program['tiles']['kv']}"
        + (f", {program['fold']} heads in a q tile" if "fold" in program else "")
        + (f", keys cut into pieces of {program['cut']} rows" if "cut" in program else "")
        + ", o also unrounded" * (UNROUNDED in elements)
        + ", delta of unrounded o" * (is_backward and elements.get("o") == "f32")
    )


def said_of(error: Exception) -> str:
    """Why there is no explanation: what this package says of itself, or what an argument raised
    when it was looked at."""
    ours = (ArgumentError, CapacityError, CompileError, DriverError, LibraryError, ManifestError)
    return (
        str(error)
        if isinstance(error, ours)
        else (
            "expected arguments that can be looked at, found one that raises"
            f" {type(error).__name__}: {error}"
        )
    )
