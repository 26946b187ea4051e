"""What `attention` would do with its arguments, and why: in the same words for every framework."""

from __future__ import annotations

from dataclasses import dataclass

from .runtime import Kernel


@dataclass(frozen=True)
class Explanation:
    """refusal: why it is refused; empty if it is not, and then the rest says by what it is computed."""

    refusal: str
    forward: str = ""
    backward: str = ""
    order: str = ""
    level: str = ""
    workers: int = 0
    certificate: str = ""
    parts: int = 1

    @staticmethod
    def of(forward: str, kernel: Kernel) -> Explanation:
        program = kernel.manifest["program"]
        return Explanation("", forward, f"dash, {program['mask']} mask, {program['element']}, head dim {program['head_dim']}, "
                           f"tiles {program['tiles']['q']} x {program['tiles']['kv']}",
                           program["kind"], program["level"], program["workers"], kernel.certificate, program["parts"])

    @property
    def _parts(self) -> str:
        return f", heads in {self.parts} parts" if self.parts > 1 else ""

    def __bool__(self) -> bool:
        return not self.refusal

    def __str__(self) -> str:
        if self.refusal:
            return f"refused      {self.refusal}"
        return "\n".join((f"forward      {self.forward}", f"backward     {self.backward}",
                          f"order        {self.order}, level {self.level}, {self.workers} workers{self._parts}", f"certificate  {self.certificate}"))
