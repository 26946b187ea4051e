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

    @staticmethod
    def of(forward: str, kernel: Kernel) -> Explanation:
        program = kernel.manifest["program"]
        return Explanation("", forward, f"dash, {program['mask']} mask, {program['element']}, head dim {program['head_dim']}, "
                           f"tiles {program['tiles']['q']} x {program['tiles']['kv']}",
                           program["kind"], program["level"], program["workers"], kernel.certificate)

    def __bool__(self) -> bool:
        return not self.refusal

    def __str__(self) -> str:
        if self.refusal:
            return f"refused      {self.refusal}"
        return "\n".join((f"forward      {self.forward}", f"backward     {self.backward}",
                          f"order        {self.order}, level {self.level}, {self.workers} workers", f"certificate  {self.certificate}"))
