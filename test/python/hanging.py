# RUN: %python %s %t
# REQUIRES: python
"""tools/check-device goes on behind a test that hangs or ends its process, without the kernel that
hung; groups that measure times run alone, others beside each other; and it begins no process that
has no test."""

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

from dash_attn.measure.bundle import BundledKernel  # noqa: E402
from dash_attn.reference import Mask  # noqa: E402

TMP = Path(sys.argv[1])
loader = SourceFileLoader("check_device", str(SOURCE / "tools/check-device"))
check_device = module_from_spec(spec_from_loader("check_device", loader))
loader.exec_module(check_device)

TMP.mkdir(parents=True, exist_ok=True)
shutil.copy(Path(__file__).parent / "Inputs/hanging-group.py", TMP / "run_group.py")
check_device.DEVICE, check_device.SILENCE = TMP, 10
bundle = argparse.Namespace(path=TMP)
results = check_device.run_process(
    bundle, "repeat", "d64-full", argparse.Namespace(filter="", quick=False)
)
found = [(result["name"], result["status"], result.get("message", "")) for result in results]
assert found == [
    ("test 0", "passed", ""),
    ("test 1", "failed", "hung: no outcome after 10 s"),
    ("test 2", "failed", "not run: descending hung before"),
    ("test 3", "failed", "the process ended with status 1: the GPU fell off the bus"),
    ("test 4", "passed", ""),
], found

(TMP / "run_group.py").write_text("import no_such_module\n", encoding="utf-8")
results = check_device.run_process(
    bundle, "repeat", "d64-full", argparse.Namespace(filter="", quick=True)
)
assert [(result["name"], result["status"]) for result in results] == [
    ("repeat d64-full", "failed")
], results
assert results[0]["message"].startswith("the process ended with status 1: ModuleNotFoundError"), (
    results
)

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


cases = ("d64-full", "d64-causal")
results = check_device.run_all(
    [(group, which) for group in ("golden", "jax_attention") for which in cases], 2, outcomes
)
assert [result["name"] for said in results.values() for result in said] == [
    "jax_attention d64-full",
    "jax_attention d64-causal",
    "golden d64-full",
    "golden d64-causal",
], results
assert list(results) == [
    ("jax_attention", "d64-full"),
    ("jax_attention", "d64-causal"),
    ("golden", "d64-full"),
    ("golden", "d64-causal"),
], results
assert list(beside.values()) == [1, 1, 2, 2], beside


def kernel(name: str, mask: str = "causal", parts: int = 1) -> BundledKernel:
    return BundledKernel(
        name, 128, "bf16", Mask.named(mask), "shift", True, TMP, {"program": {"parts": parts}}
    )


plain, union, table, list_ = (
    kernel("plain"),
    kernel("union", "union-4-100-all-all-0"),
    kernel("table-bench"),
    kernel("list", "full"),
)
bundle = argparse.Namespace(
    kernels=[plain, union, table, kernel("parts", parts=2)],
    debug=[kernel("delays")],
    lists=[list_],
    levels=[],
    scores=[],
    given_delta=[],
    apart=[kernel("plain-apart-all")],
    unrounded=[kernel("plain-unrounded")],
    forwards=[kernel("plain-forward")],
)
for quick in (False, True):
    tested = {
        group: {
            which: [one.name for one in check_device.kernels_of(bundle, group, which, quick)]
            for which in ("d128-causal", "d128-full", union.group)
        }
        for group in check_device.GROUPS
    }
    assert tested["golden"] == {
        "d128-causal": ["plain", "table-bench", "delays", "plain-unrounded", "plain-forward"],
        "d128-full": [],
        union.group: ["union"],
    }, tested
    assert tested["accuracy"] == {
        "d128-causal": ["plain"],
        "d128-full": [],
        union.group: ["union"],
    }, tested
    assert (
        tested["attention"]
        == tested["audit"]
        == {
            "d128-causal": ["plain"],
            "d128-full": [],
            union.group: [],
        }
    ), tested
    assert tested["sequences"] == {
        "d128-causal": [],
        "d128-full": ["list"],
        union.group: [],
    }, tested
    assert tested["parts"]["d128-causal"] == ["parts"] and not any(tested["levels"].values()), (
        tested
    )
    assert tested["apart"] == {
        "d128-causal": ["plain-apart-all", "plain", "parts"],
        "d128-full": [],
        union.group: [],
    }, tested
    assert any(tested["sanitizer"].values()) == any(tested["first_call"].values()) != quick, tested
