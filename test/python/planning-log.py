# RUN: env DASH_CACHE=off PYTHONPATH=%dash_src/python %python %s
# REQUIRES: python, plain-libdash
"""Planning that takes a moment is in the log `dash_attn`, while it runs and with its time
afterwards. What is planned at once is not, and without a reader of the log nothing is timed."""

from __future__ import annotations

import logging
import threading
import time

from dash_attn.kernel import orders
from dash_attn.kernel.problem import CAUSAL, Wanted


class Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.one = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if not record.getMessage().startswith("plan"):
            return  # of what is compiled
        self.found.append(f"{record.levelname} {record.getMessage()}")
        self.one.set()


SIZES = (2, 4, 2, 300, 300)
WHAT = "the order of 2 x 4 query and 2 kv heads of 300 x 300 rows"
lines, log = Lines(), logging.getLogger("dash_attn")
log.addHandler(lines)

with orders._said(SIZES):
    threads = threading.active_count()
assert not lines.found and threads == threading.active_count(), lines.found

log.setLevel(logging.INFO)
orders.SLOW = 60.0
wanted = orders.order_for(Wanted(128, 128, "bf16", CAUSAL), *SIZES).wanted
orders.texts_of(wanted)
assert not lines.found, lines.found

orders.SLOW = 0.01
with orders._said(SIZES):
    assert lines.one.wait(60)
    time.sleep(0.02)
    assert lines.found == [f"INFO planning {WHAT}"], lines.found
assert len(lines.found) == 2 and lines.found[1].startswith(f"INFO planned {WHAT} in 0."), (
    lines.found
)

orders.SLOW = 0.0
orders.order_for(Wanted(128, 128, "bf16", CAUSAL), 1, 3, 3, 400, 400)
assert any(
    line.startswith("INFO planned the order of 1 x 3 query and 3 kv heads of 400 x 400 rows in ")
    for line in lines.found
), lines.found
print("as they should be")
