"""The store of torch.distributed, asked for no longer than some seconds: the process that has it
may have ended, which raises, or may stand still, which blocks its callers."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any


class Limited:
    """store: asked in a thread of its own, one question after the other. What does not answer
    within `seconds` raises TimeoutError; what was asked is done once the store answers again."""

    def __init__(self, store: Any, seconds: float) -> None:
        self._store, self._seconds = store, seconds
        self._questions: SimpleQueue[tuple[Future, str, tuple[Any, ...]]] = SimpleQueue()
        threading.Thread(target=self._answer, name="dash world store", daemon=True).start()

    def _answer(self) -> None:
        while True:
            found, name, arguments = self._questions.get()
            try:
                found.set_result(getattr(self._store, name)(*arguments))
            except Exception as error:  # noqa: BLE001: whatever a store raises
                found.set_exception(error)
            del found, name, arguments  # an error has the frames of those that wait for it

    def _ask(self, name: str, *arguments: Any) -> Any:
        found: Future = Future()
        self._questions.put((found, name, arguments))
        try:
            return found.result(self._seconds)
        except TimeoutError as error:  # before Python 3.11 one of concurrent.futures
            raise TimeoutError(f"no answer for {self._seconds:g} seconds") from error
        finally:
            del found

    def check(self, keys: list[str]) -> bool:
        return self._ask("check", keys)

    def get(self, key: str) -> bytes:
        return self._ask("get", key)

    def compare_set(self, key: str, expected: str, value: str) -> bytes:
        return self._ask("compare_set", key, expected, value)
