# RUN: rm -rf %t && mkdir -p %t
# RUN: %python %s %t
# REQUIRES: python
"""Golden hashes: their inputs are known integers, the file has every kernel of the bundle, and only
a reason changes it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import SOURCE  # noqa: E402

sys.path[:0] = [str(SOURCE / "test/Device"), str(SOURCE / "tools/scripts")]

import golden_values as values  # noqa: E402
from device_kernels import DeviceKernel, device_kernels  # noqa: E402
from forward_kernels import BUILDS, forward_kernels  # noqa: E402
from outcomes import fold  # noqa: E402

from dash_attn.measure.bundle import DEBUG_BUILDS, FORWARD_BUILDS  # noqa: E402
from dash_attn.reference import Mask  # noqa: E402

TMP = Path(sys.argv[1])
GOLDEN = values.read()
STATED = {
    "q": "q_rows",
    "kv": "kv_rows",
    "batch": "batch",
    "heads": "heads",
    "kv-heads": "kv_heads",
}


def inputs_are_known() -> None:
    # As published for splitmix64 from 1234567:
    # rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64
    found = values.splitmix64(1234567, np.arange(5)).view(np.uint64).tolist()
    assert found == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ], found
    index = np.arange(1 << 16)
    pinned = {
        "q": ([-70, -63, -7, 42, 49, 35], "30ce2180deba8834"),
        "k": ([9, -55, 2, -54, 48, -65], "1fda6c6e56bdd653"),
        "v": ([9, 93, 15, -60, -4, 82], "1849858c63bcc915"),
        "do": ([-10, 10, -26, 23, 72, -56], "ccd7eab9e0b002d2"),
        "o": ([-29, 5, -40, 105, 9, -102], "a59bfcecbffe8fb5"),
    }
    for name, (first, hashed) in pinned.items():
        numerators = values.numerators(name, index)
        assert numerators[:6].tolist() == first, (name, numerators[:6].tolist())
        assert values.hash_of(numerators.astype("<i8").tobytes()) == hashed, name
        # bf16 has 8 significant bits: each of them is exact.
        exact = numerators.astype(np.float32) / values.DENOMINATORS[name]
        assert abs(numerators).max() < 256 and not (exact.view(np.uint32) & 0xFFFF).any(), name


def logarithms_are_sane() -> None:
    """Rows that see nothing are known; elsewhere P adds up to something near 1, and none is
    large."""
    numerators, sees = values.lse_numerators(np.arange(2 * 457), 457, 333, Mask(right=0))
    assert (
        sees.reshape(2, 457).sum(axis=1).tolist() == [333, 333]
        and not sees[:124].any()
        and sees[124:457].all()
    )
    assert numerators[[0, 124, 456, 457]].tolist() == [40, 69, 428, 29], numerators[
        [0, 124, 456, 457]
    ].tolist()
    assert values.hash_of(numerators.astype("<i8").tobytes()) == "0001d32ce2da0564"
    rows, head_dim = 512, 64
    q, k = (
        values.numerators(name, np.arange(rows * head_dim)).reshape(rows, head_dim)
        / values.DENOMINATORS[name]
        for name in ("q", "k")
    )
    lse = values.lse_numerators(np.arange(rows), rows, rows, Mask())[0] / values.DENOMINATORS["lse"]
    p = np.exp(q @ k.T * head_dim**-0.5 - lse[:, None])
    assert 0.1 < p.sum(axis=1).min() and p.sum(axis=1).max() < 10 and p.max() < 1, (
        p.sum(axis=1).min(),
        p.max(),
    )


# Groups of device tests hold these to bits of others: a sequence's alone, chains replayed, the same
# order at another level, delta from o, no sink, sums that grow turn by turn. Softcaps are held to
# float64 and to repeats.
HELD_ELSEWHERE = ("-list", "-parts", "-runs", "-level-", "-delta", "-sink", "-softcap", "-apart-")


def every_kernel_is_held() -> None:
    """Each kernel of the bundle, or the one that it is a build of, with its problems; and nothing
    else."""
    kernels = {
        kernel.name: kernel
        for kernel in device_kernels()
        if not any(word in kernel.name for word in HELD_ELSEWHERE)
    }
    forwards = {kernel.name: kernel for kernel in forward_kernels()}
    assert not any(map(values.is_forward, kernels)) and all(map(values.is_forward, forwards))
    kernels |= forwards
    of_unrounded = {
        name for name in kernels if values.OF_UNROUNDED in name and not values.is_forward(name)
    }
    assert of_unrounded
    for name in of_unrounded:
        rounded = GOLDEN["hashes"][name.removesuffix(values.OF_UNROUNDED)]
        for problem, hashes in GOLDEN["hashes"][name].items():
            same = {one for one in hashes if hashes[one] == rounded[problem][one]}
            assert same == {"dv"}, (name, problem, same)  # what o is not read for
    plain = {values.plain_name(name) for name in kernels}
    assert plain <= set(kernels) and plain == set(GOLDEN["hashes"]), plain ^ set(GOLDEN["hashes"])
    assert len(plain) < len(kernels)
    for name, problems in GOLDEN["hashes"].items():
        expected = [
            values.problem_name(problem) for problem in values.problems(stated_sizes(kernels[name]))
        ]
        assert list(problems) == expected, (name, list(problems), expected)
        for problem, hashes in problems.items():
            assert tuple(hashes) == values.hashed_outputs(name), (name, problem, hashes)
            assert all(len(text) == 16 and int(text, 16) >= 0 for text in hashes.values()), (
                name,
                problem,
                hashes,
            )
    assert values.hashed_outputs("d64-full-unordered") == ("dk", "dv")
    assert values.hashed_outputs("d64-full-forward-q128") == ("o", "lse")
    assert values.hashed_outputs("d64-full-forward-unrounded-list") == ("o", "lse", "unrounded")
    assert values.hashed_outputs("d64-full-shift-unrounded") == ("dq", "dk", "dv")
    recorded = {kernel for entry in GOLDEN["history"] for kernel in entry["kernels"]}
    assert recorded >= plain and all(
        entry["why"] and entry["commit"] and entry["machine"]["gpu"] for entry in GOLDEN["history"]
    )


def builds_of_forwards_are_known() -> None:
    """Each differs from its plain kernel in its options, or is a list: all else is the same."""
    forwards = {kernel.name: kernel for kernel in forward_kernels()}
    assert set(BUILDS) - set(DEBUG_BUILDS) == set(FORWARD_BUILDS), BUILDS
    for name, kernel in forwards.items():
        plain = forwards[values.plain_name(name)]
        build = name.removeprefix(plain.name).removeprefix("-")
        assert (build in BUILDS) == (plain is not kernel) and BUILDS.get(
            build, ""
        ) in kernel.options
        text = (SOURCE / "dialects/dash/examples" / kernel.example).read_text(encoding="utf-8")
        program = kernel.program(text).replace(" sequences(<?>)", "").replace(" fold(2)", "")
        assert (kernel.fold == 2) == ("fold2" in build) == (" fold(2)" in kernel.program(text))
        assert kernel.is_unrounded == (values.OF_UNROUNDED in name) == ("slack=0" in kernel.options)
        assert program == plain.program(text), (name, program)
        assert plain is kernel or (kernel.options == plain.options) == (not BUILDS[build]), name
    assert values.plain_name("d64-full-shift-list") == "d64-full-shift-list"  # of gradients
    assert values.problems({"batch": 1}) == values.problems({}) == list(values.PROBLEMS)
    assert values.problems({}, fold=2) == [one for one in values.PROBLEMS if one[3] == 2 * one[4]]
    assert len(values.problems({}, fold=2)) == 2 and not values.problems({}, fold=4)


def stated_sizes(kernel: DeviceKernel) -> dict[str, int]:
    """What the manifest of the kernel fixes: the sizes that its order is a table for."""
    text = next(
        (
            part.removeprefix("sizes=")
            for part in kernel.options.split()
            if part.startswith("sizes=")
        ),
        "",
    )
    return {
        STATED[name]: int(size)
        for name, size in (item.split(":") for item in text.split(",") if item)
    }


def differences_are_found() -> None:
    kernel, problem = "d128-causal-shift", values.problem_name(values.PROBLEMS[1])
    found = dict(GOLDEN["hashes"][kernel][problem])
    assert values.difference(GOLDEN, kernel, problem, found) == ""
    assert values.difference(GOLDEN, f"{kernel}-delays", problem, found) == ""
    right, found["dk"] = found["dk"], "0" * 16
    assert (
        values.difference(GOLDEN, kernel, problem, found)
        == f"dk: expected {right}, found {'0' * 16}"
    )
    del found["dk"]
    assert values.difference(GOLDEN, kernel, problem, found) == f"dk: expected {right}, found none"
    for name, missing in ((kernel, "q1-kv1-b1-h1-kvh1"), ("d32-full-shift", problem)):
        assert values.difference(GOLDEN, name, missing, found).startswith(
            f"expected hashes of {name} {missing} in golden.json"
        )


def record(change: dict[str, Any] | None = None) -> Path:
    """What check-device writes of the kernel d64-full-shift and one build for tests, with a change
    of the second problem."""
    tests = [
        {
            "name": f"golden {kernel} {problem}",
            "status": "passed",
            "kernel": kernel,
            "problem": problem,
            "hashes": dict(hashes),
        }
        for kernel in ("d64-full-shift", "d64-full-shift-threads")
        for problem, hashes in GOLDEN["hashes"]["d64-full-shift"].items()
    ]
    for name, hashes in (change or {}).items():
        for test in tests:
            if test["kernel"] == name and test["problem"] == values.problem_name(
                values.PROBLEMS[1]
            ):
                test["status"] = "failed"
                test.update(hashes=test["hashes"] | hashes) if hashes else test.pop("hashes")
    line, kept = fold(tests)
    path = TMP / "record.json"
    path.write_text(
        json.dumps(
            {
                "date": "2027-01-02T03:04:05+00:00",
                "commit": "abc",
                "machine": {"gpu": "a GPU", "driver": "1"},
                "groups": {"golden d64-full": line},
                "tests": kept,
            }
        ),
        encoding="utf-8",
    )
    return path


def take(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        str(SOURCE / "tools/scripts/record_golden.py"),
        str(path),
        f"--file={TMP / 'golden.json'}",
    ]
    return subprocess.run([*command, *options], capture_output=True, text=True, check=False)


def only_a_reason_changes_it() -> None:
    file = TMP / "golden.json"
    file.write_text(json.dumps(GOLDEN), encoding="utf-8")
    assert (
        "nothing is changed" in take(record(), "--why=none").stdout and values.read(file) == GOLDEN
    )
    new = {"dq": "1" * 16}
    both = {"d64-full-shift": new, "d64-full-shift-threads": new}
    found = take(record(both))
    assert found.returncode and "required: --why" in found.stderr, found
    found = take(record({"d64-full-shift": new}), "--why=a mistake")
    assert (
        found.returncode
        and "-threads q333-kv457-b2-h4-kvh2 is not d64-full-shift: dq: expected 1111"
        in found.stderr
    ), found
    found = take(record({"d64-full-shift": {}}), "--why=a mistake")
    assert (
        found.returncode
        and "found none from golden d64-full-shift q333-kv457-b2-h4-kvh2" in found.stderr
    ), found
    assert values.read(file) == GOLDEN
    found = take(record(both), "--why=sums are taken from the right")
    assert found.returncode == 0 and "hashes of 1 kernels are taken" in found.stdout, found
    changed = values.read(file)
    assert changed["hashes"]["d64-full-shift"]["q333-kv457-b2-h4-kvh2"]["dq"] == "1" * 16
    assert changed["history"][-1] == {
        "date": "2027-01-02",
        "commit": "abc",
        "machine": {"gpu": "a GPU", "driver": "1"},
        "why": "sums are taken from the right",
        "kernels": ["d64-full-shift"],
    }


inputs_are_known()
logarithms_are_sane()
every_kernel_is_held()
builds_of_forwards_are_known()
differences_are_found()
only_a_reason_changes_it()
