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
    apart: str = ""  # contributions that wait for no turn: "parts", to dK and dV, "all", or none
    predicted: float = 0  # the time of the order by that which no order is below; 0 where lengths are not known

    @staticmethod
    def of(forward: str, kernel: Kernel, predicted: float = 0) -> Explanation:
        program = kernel.manifest["program"]
        return Explanation("", forward, f"dash, {program['mask']} mask, {program['element']}, head dim {program['head_dim']}, "
                           f"tiles {program['tiles']['q']} x {program['tiles']['kv']}",
                           program["kind"], program["level"], program["workers"], kernel.certificate, program["parts"], program.get("apart", ""), predicted)

    @property
    def _rest(self) -> str:
        return f", heads in {self.parts} parts" * (self.parts > 1) + f", kept apart: {self.apart}" * bool(self.apart) + f", predicted {self.predicted:.3f} x its lower bound" * bool(self.predicted)

    def __bool__(self) -> bool:
        return not self.refusal

    def __str__(self) -> str:
        if self.refusal:
            return f"refused      {self.refusal}"
        return "\n".join((f"forward      {self.forward}", f"backward     {self.backward}",
                          f"order        {self.order}, level {self.level}, {self.workers} workers{self._rest}", f"certificate  {self.certificate}"))
