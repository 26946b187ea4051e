# RUN: %python %s %t
# REQUIRES: python
"""tools/check-device goes on behind a test that hangs or ends its process, without the kernel that hung; groups that measure times run
alone, others beside each other."""

from __future__ import annotations

import argparse
import shutil
import sys
import threading
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import SOURCE  # noqa: E402

TMP = Path(sys.argv[1])
loader = SourceFileLoader("check_device", str(SOURCE / "tools/check-device"))
check_device = module_from_spec(spec_from_loader("check_device", loader))
loader.exec_module(check_device)

TMP.mkdir(parents=True, exist_ok=True)
shutil.copy(Path(__file__).parent / "Inputs/hanging-group.py", TMP / "run_group.py")
check_device.DEVICE, check_device.SILENCE = TMP, 10
bundle = argparse.Namespace(path=TMP)
results = check_device.run_process(bundle, "repeat", "d64-full", argparse.Namespace(filter="", quick=False))
found = [(result["name"], result["status"], result.get("message", "")) for result in results]
assert found == [
    ("test 0", "passed", ""),
    ("test 1", "failed", "hung: no outcome after 10 s"),
    ("test 2", "failed", "not run: descending hung before"),
    ("test 3", "failed", "the process ended with status 1: the GPU fell off the bus"),
    ("test 4", "passed", ""),
], found

(TMP / "run_group.py").write_text("import no_such_module\n", encoding="utf-8")
results = check_device.run_process(bundle, "repeat", "d64-full", argparse.Namespace(filter="", quick=True))
assert [(result["name"], result["status"]) for result in results] == [("repeat d64-full", "failed")], results
assert results[0]["message"].startswith("the process ended with status 1: ModuleNotFoundError"), results

running, beside, both = set(), {}, threading.Barrier(2, timeout=10)


def outcomes(of):
    running.add(of)
    if of[0] == "golden":
        both.wait()  # for ever, if nothing ran beside it
    beside[of] = len(running)
    if of[0] == "golden":
        both.wait()
    running.remove(of)
    return [{"name": " ".join(of)}]


results = check_device.run_all(["golden", "audit"], ["d64-full", "d64-causal"], 2, outcomes)
assert [result["name"] for result in results] == ["audit d64-full", "audit d64-causal", "golden d64-full", "golden d64-causal"], results
assert list(beside.values()) == [1, 1, 2, 2], beside
