# RUN: rm -rf %t && mkdir -p %t && %python %s %t
# REQUIRES: python, plain-libdash
"""A watch reports launches that do not end, within seconds of its timeout, from a thread that waits
for no kernel; and what it says of those that have not begun, that move, that cannot be read. Dumps
are read elsewhere, also raw memory; what is no dump of the program is refused."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import refused  # noqa: E402
from stub_driver import StubDriver  # noqa: E402
from turns import Run, made  # noqa: E402

from dash_attn import ArgumentError, Kernel, ManifestError, Tensor, hang  # noqa: E402
from dash_attn.kernel.runtime import maker_of  # noqa: E402
from dash_attn.kernel.tensors import contiguous  # noqa: E402

TMP = Path(sys.argv[1])
SIZES = {"batch": 1, "heads": 2, "kv_heads": 2, "q_rows": 512, "kv_rows": 512}
ORDER = made(TMP, "ascending", "causal", SIZES, 4)
LATE = 5.0


def counted(done: int) -> str:
    return f"{done} of 4 workers {'has' if done == 1 else 'have'}"


def tensors() -> dict[str, Any]:
    found = {}
    for i, name in enumerate(("q", "k", "v", "do", "o", "lse", "dq", "dk", "dv")):
        shape = (1, 2, 512) if name == "lse" else (1, 2, 512, 128)
        found[name] = Tensor(
            (i + 1) << 40, shape, contiguous(shape), "f32" if name == "lse" else "bf16"
        )
    return found


def loaded(**settings: Any) -> tuple[Kernel, StubDriver]:
    compiled, driver = ORDER.compiled, StubDriver(**settings)
    return (
        Kernel(maker_of((compiled.manifest.encode(), compiled.ptx, compiled.order)), driver),
        driver,
    )


def write(kernel: Kernel, given: list[int], stream: int = 0) -> None:
    """Counters of a launch, into the memory that stands for the device's."""
    address, _ = kernel.workspace(0, stream).region("turns")
    data = ORDER.words(given)["turns"]
    ctypes.memmove(address, data, len(data))


def stuck(worker: int) -> list[int]:
    """A worker stops where most others wait for it."""
    found = []
    for place in range(len(ORDER.lists[worker])):
        run = Run(ORDER, stops=(worker, place))
        run.go(random.Random(1))
        found.append((len(unfinished(run.given)), run.given))
    most, given = max(found)
    assert most > 1, found
    return given


def unfinished(given: list[int]) -> list[int]:
    return [
        worker
        for worker, tasks in enumerate(ORDER.lists)
        if any(turn >= given[counter] for counter, turn in tasks)
    ]


def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    path = str(Path(__file__).resolve().parents[2] / "python")
    return subprocess.run(
        [sys.executable, "-m", "dash_attn.hang", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=TMP,
        env={**os.environ, "PYTHONPATH": path},
    )


def waits_for(reports: list[hang.Report], seconds: float) -> float:
    begin = time.monotonic()
    while not reports and time.monotonic() < begin + seconds:
        time.sleep(0.02)
    assert reports, "no report"
    return time.monotonic() - begin


def a_launch_that_hangs() -> None:
    # The device comes to the event in front of the launch, not to the one behind it.
    kernel, driver = loaded(events=1)
    reports: list[hang.Report] = []
    with hang.watch(0.5, report=reports.append, folder=TMP / "reports", rank=3, ranks=8):
        kernel.backward(**tensors())
        given = stuck(2)
        write(kernel, given)
        seconds = waits_for(reports, 0.5 + LATE)
        assert 0.5 <= seconds <= 0.5 + LATE, seconds
        time.sleep(1.0)
        assert len(reports) == 1, "a launch is reported once"
    report, waiting = reports[0], unfinished(given)
    lines = report.text.splitlines()
    assert lines[0].startswith(
        f"rank 3 of 8: launch 1 of dash on this rank (dash file {kernel.certificate}) has run"
        " for 0."
    ) and lines[0].endswith(" s and has not ended")
    assert (
        lines[1]
        == f"{sum(given)} of {sum(ORDER.lengths)} turns are given; {counted(4 - len(waiting))}"
        " given all of theirs"
    ), lines
    assert lines[2] == "no turn was given between two looks" and lines[3].startswith(
        "cause: worker 2 has turn "
    ), lines
    assert all(
        line.startswith("  worker ") and " waits for turn " in line for line in lines[4:]
    ) and len(lines) == 3 + len(waiting), lines
    assert (report.launch, report.waits, report.moves) == (1, False, False) and report.turns[
        "roots"
    ] == [2]
    reads = [call for call in driver.calls() if call[0] == "read"]
    # Counters and order, twice, on a stream of their own.
    assert {call[-1] for call in reads} == {"0x5e"} and len(reads) == 4, reads
    written = json.loads((TMP / "reports/hang-3.json").read_text(encoding="utf-8"))
    assert (
        written["rank"] == 3 and written["turns"]["roots"] == [2] and written["text"] == report.text
    )

    # Elsewhere, from the dump.
    done = command("reports/hang-3.zip", "--svg", "hang.svg")
    assert done.returncode == 1 and "at work, or the cause: worker 2 has turn " in done.stdout, done
    assert "does not give it" in (TMP / "hang.svg").read_text(encoding="utf-8")
    done = command("reports/hang-3.zip", "--before", "reports/hang-3.zip")
    assert done.returncode == 1 and "no turn was given between two looks" in done.stdout, done
    done = command("reports/hang-3.zip", "--json")
    assert json.loads(done.stdout)["roots"] == [2]


def a_launch_that_moves() -> None:
    kernel, _ = loaded(events=0)
    run = Run(ORDER)
    run.go(random.Random(2), 20)
    reports: list[hang.Report] = []
    with hang.watch(0.3, report=reports.append):
        kernel.backward(**tensors())
        write(kernel, run.given)
        waits_for(reports, 0.3 + LATE)
        assert (
            reports[0].waits
            and reports[0].text.startswith("dash: launch 1 ")
            and "to begin: what stands still is in front of it" in reports[0].text
        ), reports
        assert "flight recorder" in reports[0].text and reports[0].turns is None
    kernel, _ = loaded(events=10**6)  # all happen: no report
    reports.clear()
    with hang.watch(0.2, report=reports.append) as watch:
        kernel.backward(**tensors())
        time.sleep(1.0)
        assert not reports and not watch._pending and watch.look() == [], reports
        (said,) = watch.look(anyhow=True)
        assert said.text == "dash: no launch of dash is under way that this watch has seen"

    # Between the two looks of a report some turns are given.
    kernel, driver = loaded(events=next_event(0))
    reports.clear()

    def goes_on() -> None:
        while not [call for call in driver.calls() if call[0] == "read"]:
            time.sleep(0.01)
        run.go(random.Random(3), 6)
        write(kernel, run.given)

    with hang.watch(0.3, report=reports.append):
        kernel.backward(**tensors())
        write(kernel, run.given)
        thread = threading.Thread(target=goes_on)
        thread.start()
        waits_for(reports, 0.3 + LATE)
        thread.join()
    assert (
        reports[0].moves
        and "the launch goes on: " in reports[0].text
        and "it is slow and does not stand still" in reports[0].text
    ), reports[0].text


def next_event(behind: int) -> int:
    """The number of the next launch's event in front, and `behind` more."""
    driver = StubDriver()
    with driver.on(0):
        return driver.record_event(0) + 1 + behind


def what_is_not_read() -> None:
    reports: list[hang.Report] = []
    kernel, driver = loaded(events=next_event(0))
    with hang.watch(0.3, report=reports.append):
        kernel.backward(**tensors())
        StubDriver.set(fail="cuMemcpyDtoHAsync_v2:719")
        waits_for(reports, 0.3 + LATE)
        StubDriver.set(fail=None)
    assert (
        "its turns cannot be read: copy " in reports[0].text
        and " bytes from the device: " in reports[0].text
    ), reports[0].text
    # Counters that no launch of these sizes has: what was there before the kernel's first entry
    # ran.
    kernel, _ = loaded(events=next_event(0))
    reports.clear()
    with hang.watch(0.3, report=reports.append):
        kernel.backward(**tensors())
        waits_for(reports, 0.3 + LATE)
    assert (
        "its turns cannot be read: the counter of q tile 0 of dq (sequence 0, head 0): expected 0"
        " to 3, or -1 where all turns are given, found -"
        in reports[0].text
        or "its turns cannot be read: the counter of q tile" in reports[0].text
        and "the entry 'prepare' has not begun it" in reports[0].text
    ), reports[0].text
    # A stream that is captured, and a watch that has ended, see nothing.
    kernel, driver = loaded(events=next_event(0))
    kernel.reserve(**SIZES, stream=7)
    driver.calls()
    StubDriver.set(capturing=7)
    with hang.watch(0.3):
        kernel.backward(**tensors(), stream=7)
    StubDriver.set(capturing=None)
    kernel.backward(**tensors())
    assert not [call for call in driver.calls() if call[0] in ("event", "record")]
    for timeout in (0, -1, "long", True, float("inf"), float("nan")):
        assert refused(lambda timeout=timeout: hang.Watch(timeout), ArgumentError).startswith(
            "timeout: expected seconds above 0, found "
        ), timeout
    said: list[str] = []
    thread = threading.Thread(
        target=lambda: said.append(
            refused(lambda: hang.Watch(1, signal=signal.SIGUSR1), ArgumentError)
        )
    )
    thread.start()
    thread.join()
    assert said == [
        "signal: expected None in a thread that is not the main one, which alone may choose what"
        " signals do"
    ]


def a_signal() -> None:
    """The main thread is in C, and does not come to any handler; another reader of signals still
    has its own."""
    before = os.pipe()
    os.set_blocking(before[1], False)
    previous = signal.set_wakeup_fd(before[1], warn_on_full_buffer=False)
    handler = signal.signal(signal.SIGUSR2, lambda *_: None)
    kernel, _ = loaded(events=next_event(0))
    reports: list[tuple[float, hang.Report]] = []
    with hang.watch(
        1000,
        report=lambda report: reports.append((time.monotonic(), report)),
        signal=signal.SIGUSR1,
    ):
        kernel.backward(**tensors())
        write(kernel, stuck(1))
        threading.Timer(
            0.2,
            lambda: (os.kill(os.getpid(), signal.SIGUSR1), os.kill(os.getpid(), signal.SIGUSR2)),
        ).start()
        end = time.monotonic() + 1
        rounds = 200_000
        while time.monotonic() < end + 4 and not reports:  # each round is in C for long
            hashlib.pbkdf2_hmac("sha256", b"dash", b"hang", rounds)
        assert reports, "no report on a signal"
    assert reports[0][1].turns["roots"] == [1] and "cause: worker 1 has turn " in reports[0][1].text
    assert signal.set_wakeup_fd(previous) == before[1] and os.read(before[0], 8) == bytes(
        [signal.SIGUSR2]
    )
    signal.signal(signal.SIGUSR2, handler)


def dumps() -> None:
    given = stuck(0)
    words = ORDER.words(given)
    manifest = ORDER.compiled.manifest

    def explained(**changed: Any) -> str:
        regions = {name: data for name, data in (words | changed).items() if data is not None}
        return refused(lambda: hang.explain(manifest, SIZES, regions), ArgumentError)

    def order_with(*changes: tuple[int, int]) -> bytes:
        data = bytearray(words["order"])
        for word, value in changes:
            data[4 * word : 4 * word + 4] = value.to_bytes(4, "little", signed=True)
        return bytes(data)

    another = "; it is of another program, or of other sizes, or damaged"
    assert (
        explained(turns=words["turns"][:-4])
        == f"region 'turns': expected its {len(words['turns'])} bytes for these sizes, found "
        f"{len(words['turns']) - 4}; the dump is cut, or of other sizes"
    )
    assert (
        explained(order=None)
        == "expected the region 'order', found turns; hand over the order that the launch reads"
    )
    assert (
        explained(turns=None)
        == "expected the region 'turns', found order; the dump is cut, or another program's"
    )
    assert (
        explained(order=b"")
        == "order: expected a header of 32 bytes, found 0 bytes; hand over the order that the"
        " launch reads"
    )
    assert (
        explained(other=b"")
        == f"expected regions of the kernel ({', '.join(names())}), found 'other': the dump is"
        " another program's"
    )
    assert explained(order=order_with((0, 2))) == f"order: expected version 1, found 2{another}"
    assert explained(order=order_with((1, 5))) == f"order: expected 4 workers, found 5{another}"
    assert explained(order=order_with((4, 1 << 30))).startswith(
        "order: expected lists and items within its "
    )
    first_list, first_item, first_visit = (
        int.from_bytes(words["order"][4 * i : 4 * i + 4], "little") for i in (3, 4, 5)
    )
    assert (
        explained(order=order_with((first_list + 1, 99)))
        == f"order: worker 0: expected items up to 8, found 0 to 99{another}"
    )
    assert (
        explained(order=order_with((first_item, 1)))
        == "order: item 0: expected a sequence, head and tile of the sizes, found one beyond"
        f" them{another}"
    )
    assert (
        explained(order=order_with((first_item + 4, 1 << 20)))
        == f"order: item 0: expected visits of the sizes, found one beyond them{another}"
    )
    assert (
        explained(order=order_with((first_visit + 2, -3)))
        == f"order: item 0: expected a turn of the sizes, found one beyond them{another}"
    )
    assert "expected a task for each of " in explained(order=order_with((first_visit + 2, 40)))
    counters = bytearray(words["turns"])
    counters[4:8] = (77).to_bytes(4, "little")
    assert (
        explained(turns=bytes(counters))
        == "the counter of q tile 1 of dq (sequence 0, head 0): expected 0 to 0, or -1 where all"
        " turns are given, found 77: the entry 'prepare' has not begun it, or the"
        f" workspace{another}"
    )
    assert refused(
        lambda: hang.explain(manifest, SIZES | {"q_rows": 100}, words), ArgumentError
    ).startswith("'problem0' serves q_rows = 512, found 100")
    assert refused(lambda: hang.explain(manifest, {"batch": 1}, words), ArgumentError).startswith(
        "expected a value for the size "
    )
    assert refused(lambda: hang.explain("{}", SIZES, words), ManifestError)
    for change in ({"deterministic": False}, None):
        other = json.loads(manifest)
        if change:
            other["program"] |= change
        else:  # all contributions are kept apart
            other["workspace"] = [
                region | {"name": region["name"].replace("dq_sum", "contributions")}
                for region in other["workspace"]
            ]
            for entry in other["entries"]:
                for parameter in entry["parameters"]:
                    parameter["name"] = parameter["name"].replace("dq_sum", "contributions")
        assert (
            refused(
                lambda other=other: hang.explain(
                    json.dumps(other), SIZES, {"order": words["order"]}
                ),
                ArgumentError,
            )
            == "'problem0' adds in no order, or keeps all contributions apart: no worker of it"
            " waits for a turn; look for the cause in front of the launch"
        )

    # Raw memory, as a debugger writes it: the workspace with the order behind it, or in a file of
    # its own.
    kernel, driver = loaded()
    kernel.backward(**tensors())
    write(kernel, given)
    workspace = kernel.workspace()
    memory, order = workspace.place(workspace.plan)
    (TMP / "workspace").write_bytes(driver.read(memory.address, memory.bytes))
    (TMP / "order").write_bytes(words["order"])
    (TMP / "both").write_bytes(
        (TMP / "workspace").read_bytes() + bytes(-memory.bytes % 256) + words["order"]
    )
    (TMP / "kernel.json").write_text(manifest, encoding="utf-8")
    sizes = ",".join(f"{name}={value}" for name, value in SIZES.items())
    expected = hang.explain(manifest, SIZES, words).describe()
    for words_ in (
        ["workspace", "kernel.json", "--sizes", sizes, "--order", "order"],
        ["both", "kernel.json", "--sizes", sizes],
    ):
        done = command(*words_)
        assert done.returncode == 1 and done.stdout == expected + "\n", done
    (TMP / "cut").write_bytes((TMP / "workspace").read_bytes()[:-1])
    (TMP / "no.zip").write_bytes(b"PK nothing")
    (TMP / "bad.json").write_text("{}", encoding="utf-8")
    for words_, message in (
        (["workspace", "kernel.json", "--sizes", sizes], "expected the region 'order', found "),
        (
            ["cut", "kernel.json", "--sizes", sizes],
            (
                f"the workspace: expected {memory.bytes} bytes for these sizes, found"
                f" {memory.bytes - 1}; it is cut, or of other sizes"
            ),
        ),
        (
            ["workspace"],
            (
                "workspace: expected WORKSPACE MANIFEST --sizes SIZES, or a .zip of hang.watch,"
                " found 1 file and no sizes"
            ),
        ),
        (
            ["workspace", "kernel.json", "--sizes", "batch"],
            "--sizes: expected NAME=NUMBER,..., found 'batch'",
        ),
        (
            ["no.zip"],
            (
                "no.zip: expected a dump of hang.watch, with 'manifest.json', 'sizes.json' and"
                " regions: "
            ),
        ),
        (
            ["no.zip", "kernel.json"],
            (
                "no.zip: expected a dump of hang.watch alone, which has its manifest, sizes and"
                " order; found more beside it"
            ),
        ),
        (["bad.json"], "bad.json: expected a report of hang.watch, version 1, found {}"),
        (["nowhere.zip"], "No such file or directory"),
    ):
        done = command(*words_)
        assert (
            done.returncode == 2
            and f"dash_attn.hang: error: {message}" in done.stderr
            or message in done.stderr
        ), (words_, done)
    done = command("workspace", "kernel.json", "--sizes", sizes, "--order", "order", "--json")
    assert done.returncode == 1 and json.loads(done.stdout)["roots"] == [0]


def names() -> list[str]:
    return [region["name"] for region in json.loads(ORDER.compiled.manifest)["workspace"]]


def ranks() -> None:
    base = {
        "version": 1,
        "ranks": 4,
        "seconds": 61.0,
        "text": "head\nline one\nline two",
        "launch": 0,
        "label": "",
        "waits": False,
        "moves": False,
        "where": "a forward of attention, phase 'inputs'",
        "call": 7,
        "turns": None,
    }

    def said(*reports: dict[str, Any]) -> list[str]:
        for number, report in enumerate(reports):
            (TMP / f"rank{number}.json").write_text(json.dumps(base | report), encoding="utf-8")
        done = command(*(f"rank{number}.json" for number in range(len(reports))))
        assert done.returncode == 1 and not done.stderr, done
        return done.stdout.splitlines()

    waits = "in a forward of attention, phase 'inputs', call 7 of attention"
    assert said({"rank": 0}, {"rank": 1}, {"rank": 3}) == [
        "cause: rank 2 has written no report: ended, or no thread of the watch runs there",
        f"ranks 0, 1, 3 wait {waits}",
    ]
    leaves = {"launch": 12, "where": "the leaves of a forward", "rank": 2}
    assert said({"rank": 0}, {"rank": 1}, {"rank": 3}, leaves) == [
        (
            "cause: rank 2 is in the leaves of a forward, call 7 of attention, launch 12 of dash,"
            " which has not ended:"
        ),
        "  line one",
        "  line two",
        f"ranks 0, 1, 3 wait {waits}",
    ]
    assert said({"rank": 0}, {"rank": 1}, {"rank": 3}, leaves | {"moves": True})[0].startswith(
        "slow, not a cause: rank 2 is "
    )
    assert said(
        {"rank": 0},
        {"rank": 1},
        {"rank": 3},
        {"rank": 2, "call": 6, "where": "the end of a forward"},
    ) == [
        "cause: rank 2 is behind the others: in the end of a forward, call 6 of attention",
        f"ranks 0, 1, 3 wait {waits}",
        "rank 2 waits in the end of a forward, call 6 of attention",
    ]
    for reports, message in (
        (
            [{"rank": 0}, {"rank": 0}],
            "expected one report of each rank below 4, found rank 0 twice",
        ),
        ([{"rank": 4}], "expected one report of each rank below 4, found rank 4"),
        (
            [{"rank": 0}, {"rank": 1, "ranks": 5}],
            "expected reports of one run, found some of 4 and some of 5 ranks",
        ),
        ([{"rank": "0"}], "expected 'rank' of a report, found 0"),
    ):
        for number, report in enumerate(reports):
            (TMP / f"rank{number}.json").write_text(json.dumps(base | report), encoding="utf-8")
        done = command(*(f"rank{number}.json" for number in range(len(reports))))
        assert done.returncode == 2 and message in done.stderr, done


a_launch_that_hangs()
a_launch_that_moves()
what_is_not_read()
a_signal()
dumps()
ranks()
