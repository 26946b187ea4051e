"""The CUDA driver of tests: it writes down what it is asked for. Its memory is that of the host, so
fills and copies can be read."""

from __future__ import annotations

import ctypes
import os
import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fixtures  # noqa: F401  (finds dash_attn)

from dash_attn.kernel.driver import Driver

STUB = str(Path(os.environ["DASH_LIBRARY"]).with_name("libcapi-stub-driver.so"))
FORMATS = {"ptr": "<Q", "i64": "<q", "i32": "<i", "f32": "<f"}
LOG = Path(tempfile.mkdtemp(prefix="dash-stub-")) / "calls"


@dataclass
class Launch:
    name: str
    grid: tuple[int, int, int]
    stream: int
    overlaps: bool
    is_cooperative: bool
    parameters: list[bytes]

    def values(self, entry: dict[str, Any]) -> dict[str, Any]:
        """entry: of the manifest."""
        return {
            item["name"]: struct.unpack(FORMATS[item["type"]], value)[0]
            for item, value in zip(entry["parameters"], self.parameters, strict=True)
        }


class StubDriver(Driver):
    """settings: what it pretends, as stub-driver.c says; they hold until the next one is made."""

    def __init__(self, **settings: Any) -> None:
        for name in [name for name in os.environ if name.startswith("DASH_STUB_")]:
            del os.environ[name]
        os.environ["DASH_STUB_LOG"] = str(LOG)
        self.set(**settings)
        super().__init__(STUB)
        self._read = LOG.stat().st_size
        self.past: list[list[str]] = []

    @staticmethod
    def set(**settings: Any) -> None:
        """None takes a setting back."""
        for name, value in settings.items():
            if value is None:
                os.environ.pop(f"DASH_STUB_{name.upper()}", None)
            else:
                os.environ[f"DASH_STUB_{name.upper()}"] = str(value)

    def calls(self) -> list[list[str]]:
        """Those since the last time, as words. None may have come from a thread without a context
        that needs one."""
        with LOG.open(encoding="utf-8") as log:
            log.seek(self._read)
            lines = log.read()
            self._read = log.tell()
        found = [line.split() for line in lines.splitlines()]
        assert "contextless" not in [call[0] for call in found], found
        return found

    def read(self, pointer: int, size: int) -> bytes:
        with self.on(0):
            return super().read(pointer, size)

    def launches(self) -> list[Launch]:
        return [launch_of(call[1:]) for call in self.calls() if call[0] == "launch"]

    def names(self) -> list[str]:
        """Entries launched since the last time, fills and what else changes memory in between."""
        return [
            call[1] if call[0] == "launch" else call[0]
            for call in self.calls()
            if call[0] in ("launch", "fill", "copy", "allocate", "free")
        ]

    def on_launch(self, call: Any) -> Any:
        """Calls `call` with each entry's name; keep what is returned. None ends it."""
        function = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(call) if call else None
        ctypes.c_void_p.in_dll(ctypes.CDLL(STUB), "dashStubOnLaunch").value = (
            ctypes.cast(function, ctypes.c_void_p).value if function else None
        )
        return function


def launch_of(words: list[str]) -> Launch:
    at = {word: words.index(word) for word in ("grid", "stream", "overlaps", "cooperative")}
    stream = words[at["stream"] + 1]
    return Launch(
        words[0],
        tuple(map(int, words[at["grid"] + 1 : at["grid"] + 4])),
        0 if stream == "(nil)" else int(stream, 16),
        words[at["overlaps"] + 1] == "1",
        words[at["cooperative"] + 1] == "1",
        [bytes.fromhex(word) for word in words[at["cooperative"] + 2 :]],
    )
