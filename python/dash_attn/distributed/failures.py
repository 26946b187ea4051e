"""A rank that raises, ends or hangs ends the others, with a message that names it.

Each rank has a thread that looks, a few times a second, whether any rank has failed. A rank that
fails records it in the store of torch.distributed before it lets go. A rank that does not answer
when it is asked has ended, or hangs where no other thread of it runs. Where a device waits and the
host has gone on, the thread also looks whether an exchange takes longer than the timeout. Neither a
store nor a device that fails, or does not answer, ends the thread.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from ..kernel.watching import Place, places
from .limited import Limited
from .under_way import Exchanged, UnderWay

LOOKS = 0.2  # seconds between two looks, of up to 64 ranks; as much longer as there are more
PATIENCE = 3.0  # seconds that a rank has to answer, in looks of 0.2 seconds, and that a store has
FAILED = "failed"
OUTSIDE = "outside of attention"


class RankError(RuntimeError):
    """Another rank raised, ended or hangs: the message names it. The world's group is of no more
    use."""


class Watch:
    """store: of keys that only these ranks use; abort: ends what a rank waits for; is_alive:
    whether there is anything to look for; under_way: exchanges that a device does; timeout: seconds
    that one of them may take."""

    def __init__(
        self,
        store: Any,
        rank: int,
        size: int,
        abort: Callable[[], None],
        is_alive: Callable[[], bool],
        under_way: UnderWay | None = None,
        timeout: float = 0.0,
    ) -> None:
        self.rank, self.size, self.where, self.call, self.since = (
            rank,
            size,
            OUTSIDE,
            0,
            time.monotonic(),
        )
        self._store, self._abort, self._is_alive, self._looks = (
            Limited(store, PATIENCE),
            abort,
            is_alive,
            LOOKS * max(1.0, size / 64),
        )
        self._under_way, self._timeout = under_way or UnderWay(), timeout
        self._told: Place | None = None  # where it was when another rank failed, or was late
        self._ended, self._seen, self._error = threading.Event(), threading.Event(), ""
        self._explains = threading.Lock()
        threading.Thread(target=self._look, name="dash world", daemon=True).start()
        atexit.register(self._ended.set)
        places.add(self)

    def _look(self) -> None:
        with contextlib.suppress(Exception):  # of what is torn down
            resumes, pause = 0.0, PATIENCE
            while not self._ended.wait(self._looks) and self._is_alive():
                if time.monotonic() >= resumes:
                    has_failed = False
                    try:
                        has_failed = self._store.check([FAILED])
                    except Exception:  # noqa: BLE001: the store goes with the process that has it
                        # PyTorch writes a warning each time.
                        resumes, pause = time.monotonic() + pause, 2 * pause
                    if has_failed:
                        with contextlib.suppress(Exception):
                            self._answer()
                        return self._let_go()
                front = self._front()
                if front and time.monotonic() > front.since + self._timeout:
                    self.explain(f"nothing came for {self._timeout:g} seconds")
                    return self._let_go()

    def _let_go(self) -> None:
        self._seen.set()
        with contextlib.suppress(Exception):  # it must not hide what is raised
            self._abort()

    def _front(self) -> Exchanged | None:
        """The exchange that its device waits in. A device that fails says nothing of it."""
        with contextlib.suppress(Exception):
            return self._under_way.front()
        return None

    def now(self) -> Place:
        """The exchange that its device waits in, or else where the host is. A host goes on while
        its device waits, and may then wait for its device anywhere."""
        front = self._front()
        return (
            Place(front.where, front.call, front.since)
            if front
            else Place(self.where, self.call, self.since)
        )

    def _answer(self) -> None:
        """Where this rank was when it was first asked. What its device waits in ends with the
        group."""
        self._told = self._told or self.now()
        self._store.compare_set(f"at {self.rank}", "", self._told.where)

    @property
    def has_failed(self) -> bool:
        return self._seen.is_set()

    def tell(self, error: BaseException) -> None:
        """This rank raised: the first to say so is the one that is named."""
        self._say(
            {
                "rank": self.rank,
                "where": self.where,
                "error": f"{type(error).__name__}: {error}"[:2000],
            }
        )

    def _say(self, what: dict[str, Any]) -> None:
        with contextlib.suppress(Exception):
            self._store.compare_set(FAILED, "", json.dumps(what))
        self._let_go()

    def explain(self, symptom: str) -> RankError:
        """Why this rank waited in vain: once, and the same from then on. symptom: what it saw of
        it."""
        with self._explains:
            self._error = self._error or str(self._explained(symptom))
        return RankError(self._error)

    def _explained(self, symptom: str) -> RankError:
        at = self._told = self._told or self.now()
        here = (
            f"rank {self.rank} was {at.where}"
            if at.where == OUTSIDE
            else f"rank {self.rank} waited in {at.where}"
            + f", call {at.call} of attention" * (at.call > 0)
        )
        try:
            if not self._store.check([FAILED]):
                self._say({"rank": self.rank, "where": at.where, "symptom": symptom})
            said = json.loads(self._store.get(FAILED))
            if "error" in said:
                return RankError(
                    f"rank {said['rank']} raised in {said['where']}, while {here}: {said['error']}"
                )
            symptom = symptom or said["symptom"]
            places = self._ask()
        except Exception as error:  # noqa: BLE001: whatever a store that is gone gives
            return RankError(
                f"{here}, and the process that has the store of torch.distributed, usually rank"
                f" 0's, has ended or does not answer: {symptom or error}"
            )
        missing = [rank for rank in range(self.size) if rank not in places]
        if missing:
            ranks, verb = named(missing), "has" if len(missing) == 1 else "have"
            return RankError(
                f"{ranks} {verb} ended, or hang{'s' * (len(missing) == 1)} where no other thread"
                f" runs, while {here}: {symptom}"
            )
        others = [
            f"rank {rank} is {'in ' * (place != OUTSIDE)}{place}"
            for rank, place in sorted(places.items())
            if place != at.where
        ]
        return RankError(
            f"{here}, and waited in vain: {'; '.join(others[:8]) or 'all others are there, too'}:"
            f" {symptom}"
        )

    def _ask(self) -> dict[int, str]:
        """Where each rank is that answers."""
        self._answer()
        end = time.monotonic() + PATIENCE * max(1.0, self._looks / LOOKS)
        while True:
            places = {
                rank: self._store.get(f"at {rank}").decode()
                for rank in range(self.size)
                if self._store.check([f"at {rank}"])
            }
            if len(places) == self.size or time.monotonic() > end:
                return places
            time.sleep(LOOKS / 4)

    @contextlib.contextmanager
    def named(self, where: str, call: int = 0) -> Iterator[None]:
        """Where this rank is inside of it, for people. call: which one of attention, counted from
        1; 0 is as before."""
        before = self.where, self.call
        self.where, self.call, self.since = where, call or self.call, time.monotonic()
        try:
            yield
        finally:
            (self.where, self.call), self.since = before, time.monotonic()

    @contextlib.contextmanager
    def at(self, where: str, call: int = 0) -> Iterator[None]:
        """The same; what is raised ends the others."""
        with self.named(where, call):
            try:
                yield
            except RankError:
                raise
            except BaseException as error:
                self.tell(error)
                raise


def named(ranks: list[int]) -> str:
    return (
        f"rank {ranks[0]}"
        if len(ranks) == 1
        else f"ranks {', '.join(map(str, ranks[:16]))}{' …' * (len(ranks) > 16)}"
    )
