"""Who looks on where kernels are launched: nobody, unless asked. `dash_attn.torch.sampling` has those that there are."""

from __future__ import annotations

from collections.abc import Callable

# Each is called in front of a launch with what is launched, such as "dash symmetric-shift sha256:…", its device and its stream, in the thread that
# launches; what it returns is called behind, also where the launch fails.
Observer = Callable[[str, int, int], Callable[[], None]]
observers: list[Observer] = []


def begin(label: str, device: int, stream: int) -> list[Callable[[], None]]:
    """What is to be called behind a launch, the last one first."""
    return [observer(label, device, stream) for observer in tuple(observers)][::-1]
