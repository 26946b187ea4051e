# RUN: rm -rf %t && mkdir -p %t && %python %s %t
# REQUIRES: python, plain-libdash
"""Made-up traces that are what was predicted: no differences, the prices that they were made with,
pictures of their tracks; and with faults, which are named."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import refused  # noqa: E402
from made_up_traces import WORKERS, made_up, report  # noqa: E402

from dash_attn import ArgumentError, heat  # noqa: E402
from dash_attn.measure import prices as trace_prices  # noqa: E402
from dash_attn.measure import perfetto, shares, spans, tracks  # noqa: E402
from dash_attn.measure.fit import file_text  # noqa: E402
from dash_attn.measure.predict import ENVIRONMENT, predict  # noqa: E402
from dash_attn.measure.predicted import differences  # noqa: E402
from dash_attn.measure.spans import Lane, Span  # noqa: E402
from dash_attn.measure.tasks import Tasks, check  # noqa: E402

TMP = Path(sys.argv[1])


def thinned(lane: Lane, every: int) -> Lane:
    """What of a lane's records a kernel leaves that traces one item in `every`. In a kernel all
    waits of an item stand behind its beginning, and that for K is the first."""
    items: list[list[Span]] = []
    waited: Span | None = None
    for span in lane.spans:
        if span.event == "item":
            ahead = items[-1].pop() if items and items[-1][-1].event == "slot_empty" else None
            begin = ahead.begin if ahead else span.begin
            items.append([replace(span, begin=begin, end=begin)])
            waited = ahead
        elif waited:
            end = waited.begin + span.end - span.begin
            items[-1] += [
                replace(span, begin=waited.begin, end=end),
                replace(waited, begin=end, end=span.end),
            ]
            waited = None
        else:
            items[-1].append(span)
    kept = [
        [*item, replace(item[0], event="item_end", begin=item[-1].end, end=item[-1].end)]
        for item in items
        if item[0].number in spans.traced_items(len(items), every)
    ]
    return replace(lane, spans=[span for item in kept for span in item], every=every)


def one_item_in_two(order: dict[str, Any], predicted: dict[str, Any]) -> None:
    """Nothing differs in the items that are traced, and gaps are no long steps."""
    whole = made_up(order, predicted)
    lanes = [thinned(lane, 2) for lane in whole]
    assert all(0 < lane.traced < lane.end - lane.begin for lane in lanes)
    check(lanes, order)
    first = min(span.number for lane in lanes for span in lane.spans if span.event == "turn")
    missing = [
        replace(
            lane,
            spans=[span for span in lane.spans if (span.event, span.number) != ("turn", first)],
        )
        for lane in lanes
    ]
    assert f"use {first} is missing or too many" in refused(
        lambda: check(missing, order), ValueError
    )
    said = differences(lanes, order, predicted)
    assert said[0].endswith("the largest differences in the traced items, one in 2:"), said
    assert len(said) == 6 and all(" (0.0 " in line for line in said[1:]), said
    for sums in shares.shares(lanes).values():
        assert abs(sum(sums.values()) - 1) < 1e-6 and min(sums.values()) > -1e-6, sums
    assert shares.table(lanes).endswith(
        "of the items that are traced: 1, 3, 5 and so on of each worker's list, from 0, or its only"
        " one"
    )
    # A step is known if it and the one in front are of a traced item, and then is as it was.
    every_step, some = (
        heat.of_trace(whole, order, "made up"),
        heat.of_trace(lanes, order, "made up"),
    )
    assert some.title == "made up, one item in 2" and not some.stragglers
    tasks = Tasks(order)
    for worker, (cells, all_cells) in enumerate(zip(some.cells, every_step.cells)):
        traced = {use for use, task in tasks.visits(worker, 2) if task}
        uses = [use for use, task in tasks.visits(worker) if task]
        known = [use in traced and use - 1 in {-1, *traced} for use in uses]
        assert list(cells) == [one if is_ else None for one, is_ in zip(all_cells, known)], worker
    assert "<svg" in some.as_svg() and "null" in json.dumps(some.as_json())
    # Prices are those of the items that are traced, and no kernel's time says what they were in it.
    of_some, of_all = trace_prices.find(lanes, order), trace_prices.find(whole, order)
    for name in ("compute", "reduce", "boundary"):
        assert abs(of_some.price[name] - of_all.price[name]) < 0.01, (name, of_some, of_all)
        assert of_some.of[name] < of_all.of[name], name
    assert "--plain: expected a trace of all items, found one of one item in 2" in refused(
        lambda: trace_prices.find(lanes, order, 1.0), ArgumentError
    )
    cut = replace(lanes[0], spans=lanes[0].spans[:3], lost=9)  # its item's end had no room
    assert cut.traced == cut.spans[2].end - cut.spans[0].begin, cut


def delayed(lane: Lane, use: int, by: float) -> Lane:
    """Waits so many nanoseconds longer for the turn of a use, and is so much later from there
    on."""
    at = next(
        index
        for index, span in enumerate(lane.spans)
        if span.event == "turn" and span.number == use
    )
    moved = [
        replace(span, begin=span.begin + by * (index > at), end=span.end + by * (index >= at))
        for index, span in enumerate(lane.spans)
    ]
    return replace(lane, end=lane.end + by, spans=moved)


def beside(order: dict[str, Any], predicted: dict[str, Any]) -> None:
    lanes = made_up(order, predicted)
    check(lanes, order)
    said = differences(lanes, order, predicted)
    makespan = order["makespan"]
    assert (
        said[0]
        == f"the order took {makespan:.1f} µs, predicted {makespan:.1f}: 1.00 of it; the largest"
        " differences:"
    ), said
    assert len(said) == 6 and all(" (0.0 " in line for line in said[1:]), said
    twice = differences(made_up(order, predicted, 2), order, predicted)
    assert (
        ": 2.00 of it" in twice[0]
        and twice[1].startswith("1. ")
        and "all workers on the mean" in twice[1]
    ), twice
    # One worker waits for one turn.
    late = [
        delayed(lane, 3, 50000.0) if (lane.worker, lane.role) == (1, "reduce") else lane
        for lane in lanes
    ]
    said = differences(late, order, predicted)
    turn = Tasks(order).turns[dict(Tasks(order).visits(1))[3]]
    assert (
        said[1].startswith("1. reduce of worker 1: waiting for turns takes ")
        and f"is for turn {turn} of sequence 0, head " in said[1]
    ), said
    assert (", behind kv tile " in said[1]) == (turn > 0), said
    other = json.loads(json.dumps(predicted))
    other["traceEvents"] = [
        event for event in other["traceEvents"] if event.get("args", {}).get("head", 0) == 0
    ]
    assert "the prediction: expected the " in refused(
        lambda: differences(lanes, order, other), ArgumentError
    )

    # Tables by worker hold what those by role hold; tracks lie under each other.
    by_worker = shares.times(lanes, shares.by_worker)
    assert set(by_worker) == {
        f"w{worker} {role}" for worker in range(WORKERS) for role in ("compute", "reduce")
    }
    for role, sums in shares.times(lanes).items():
        assert all(
            abs(sum(by_worker[f"w{worker} {role}"][column] for worker in range(WORKERS)) - time) < 1
            for column, time in sums.items()
        )
    perfetto.write(
        TMP / "both.json",
        perfetto.events(perfetto.of_workers(lanes, 2), "made up", 1, order),
        predicted,
    )
    both = json.loads((TMP / "both.json").read_text(encoding="utf-8"))["traceEvents"]
    tracks = [
        (event["pid"], event["args"]["name"]) for event in both if event["name"] == "thread_name"
    ]
    assert tracks == [
        (1 + worker, f"{role}, {part}")
        for worker in range(2)
        for role in ("compute", "reduce")
        for part in ("predicted", "measured")
    ], tracks
    assert {event["args"]["name"] for event in both if event["name"] == "process_name"} == {
        "w0",
        "w1",
    }
    slices = [event for event in both if event["ph"] == "X"]
    measured = {
        event["tid"]
        for event in both
        if event["name"] == "thread_name" and event["args"]["name"].endswith("measured")
    }
    for name, part in (("add s0 h", True), ("s0 h", False)):
        assert all(
            (event["tid"] in measured) == part for event in slices if event["name"].startswith(name)
        ), name
    assert sum(
        event["tid"] not in measured and event["cat"] in ("compute", "reduce") for event in slices
    ) == 2 * sum(len(item["visit"]) for item in order["items"] if item["worker"] < 2)


def other_orders() -> None:
    """Traces of parts, whose pieces are uses without a task, and of contributions that wait for no
    turn."""
    for kind in ("symmetric-shift parts=2", "ascending apart=parts parts=2", "ascending apart=all"):
        order, predicted = (report("causal", kind, form, kv_heads=1) for form in ("json", "trace"))
        order = order["schedules"][0]
        lanes = made_up(order, predicted)
        said = differences(lanes, order, predicted, 100)
        turns = [
            line
            for line in said
            if ". reduce, all workers on the mean: waiting for turns takes" in line
        ]
        assert (
            len(turns) == 1
            and " (0.0 " in turns[0]
            and ("takes 0.0 µs, predicted 0.0 " in turns[0]) == (kind == "ascending apart=all")
        ), (kind, turns)
        assert [len(cells) for cells in heat.of_trace(lanes, order, "").cells] == [
            sum(len(item["visit"]) for item in Tasks(order).items[worker])
            for worker in range(WORKERS)
        ]


def prices(order: dict[str, Any], predicted: dict[str, Any], mask: str) -> dict[str, Any]:
    """Those that the made-up kernel was made with; those of a kernel that takes twice as long are
    twice those."""
    cost = order["cost"]
    expected = {
        "compute": cost["c"],
        "reduce": cost["r"],
        "boundary": cost["boundary"],
        "latency": cost["latency"],
    }
    for factor, plain, times in ((1, None, 1), (2, None, 2), (2, order["makespan"] / 1000, 1)):
        found = trace_prices.find(made_up(order, predicted, factor), order, plain)
        assert (found.price["headDim"], found.price["mask"]) == (128, mask), found
        for name, price in expected.items():
            assert (
                abs(found.price[name] - times * price) < 0.01 * times
                or name == "latency"
                and not found.of[name]
            ), (name, found, expected)
        assert f"compute {found.price['compute']:g} (made with {cost['c']:g}, of " in str(found), (
            found
        )
    assert found.of["latency"] and abs(found.scale - 0.5) < 0.01 and "times 0.5" in str(found), (
        found
    )
    lanes = made_up(order, predicted)
    # Q and dO in one slot.
    together = [
        replace(
            lane,
            spans=[replace(span, of="q_do") if span.of == "q" else span for span in lane.spans],
        )
        for lane in lanes
    ]
    assert trace_prices.find(together, order) == trace_prices.find(lanes, order)
    for broken, message in (
        (
            [lane for lane in lanes if lane.role == "reduce"],
            "expected an item of two steps at least, found none",
        ),
        (
            [lane for lane in lanes if lane.role == "compute"],
            "expected turns that are added, found none",
        ),
    ):
        assert message in refused(
            lambda broken=broken: trace_prices.find(broken, order), ArgumentError
        )
    assert "--plain: expected about the " in refused(
        lambda: trace_prices.find(lanes, order, 1e6), ArgumentError
    )
    return trace_prices.find(lanes, order)


def tracks_over_time(order: dict[str, Any], predicted: dict[str, Any]) -> None:
    """Slices where the trace has them, cut at the ends of the stretch; and what is refused."""
    lanes = made_up(order, predicted)
    measured = [*perfetto.events(lanes, "made up", 1, order)]
    both = perfetto.track_for_track(
        [("predicted", predicted["traceEvents"]), ("measured", measured)]
    )
    text = tracks.drawn(both, "a <stretch>", (10, 20), 2)
    picture = ET.fromstring(text)
    texts = [one.text or "" for one in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[:2] == [
        "a <stretch>",
        "10 to 20 µs; in a slice: the turn, or KV tile and Q tile",
    ], texts
    named = [
        f"w{worker} {role}, {part}"
        for worker in range(2)
        for role in ("compute", "reduce")
        for part in ("predicted", "measured")
    ]
    assert [one for one in texts if one.startswith("w")][: len(named)] == named, texts
    boxes = [
        (float(one.get("x", "")), float(one.get("width", "")))
        for one in picture.iter("{http://www.w3.org/2000/svg}rect")
        if one.get("height") == "15"
    ]
    left, wide = tracks.LEFT, tracks.WIDTH
    assert boxes and all(left <= x and x + width <= left + wide + 0.2 for x, width in boxes), boxes
    expected = sum(
        event["ph"] == "X"
        and event["cat"] in tracks.KINDS
        and event["ts"] < 20
        and event["ts"] + event["dur"] > 10
        and event["pid"] < 3
        for event in both
    )
    assert len(boxes) == expected, (len(boxes), expected)
    added = next(
        one for one in both if one["ph"] == "X" and one["cat"] == "adds" and one["pid"] == 1
    )
    near = ET.fromstring(tracks.drawn(both, "", (added["ts"] - 1, added["ts"] + 1), 1, ["reduce"]))
    assert any(
        abs(float(one.get("x", "")) - left - wide / 2) < 0.2
        for one in near.iter("{http://www.w3.org/2000/svg}rect")
        if one.get("class") == "kadds"
    )
    assert added["name"].rpartition(" ")[2] in [
        one.text for one in near.iter("{http://www.w3.org/2000/svg}text")
    ]
    # A file holds what is drawn, with a prediction or without one.
    for beside, name in ((predicted, "both.json"), (None, "alone.json")):
        perfetto.write(TMP / name, measured, beside)
        again = tracks.drawn(tracks.load(TMP / name), "a <stretch>", (10, 20), 2)
        assert (
            again == text
            if beside
            else ", measured" in again and ", predicted" not in again and again != text
        )
    last = max(event["ts"] + event.get("dur", 0) for event in both if event["ph"] != "M")
    for between in ((5, 5), (9, 5), (-1, 5), (last + 1, last + 2), (float("nan"), 5)):
        assert (
            refused(lambda between=between: tracks.drawn(both, "", between), ArgumentError)
            == "--between: expected a beginning and a later end, in µs of a trace that takes"
            f" {last:.1f}, found {between[0]:g} and {between[1]:g}"
        )
    assert (
        refused(lambda: tracks.drawn(both, "", roles=["compute", "all"]), ArgumentError)
        == "--roles: expected some of compute, reduce, found 'all'"
    )
    many = [
        {**event, "ts": event["ts"] + shift / 1000}
        for event in both
        for shift in range(1 if event["ph"] == "M" else 200)
        if event["ph"] != "M"
    ]
    assert "expected at most 4000 slices on 200 tracks, found " in refused(
        lambda: tracks.drawn([*both, *many], ""), ArgumentError
    )
    items = [event for event in both if event["ph"] != "X"]
    assert "expected something between 0 and " in refused(
        lambda: tracks.drawn(items, ""), ArgumentError
    )
    for name, wrong in (
        ("list", []),
        ("none", {"traceEvents": [{"ph": "X"}]}),
        ("args", {"traceEvents": [{"ph": "M", "name": "thread_name", "pid": 1, "tid": 1}]}),
    ):
        path = TMP / f"{name}.json"
        path.write_text(json.dumps(wrong), encoding="utf-8")
        assert (
            refused(lambda path=path: tracks.load(path), ArgumentError)
            == f"{path}: expected a trace that --out has written, found something else"
        )
    command = [
        sys.executable,
        "-m",
        "dash_attn.trace",
        str(TMP / "both.json"),
        "--svg",
        str(TMP / "tracks.svg"),
        "--between",
        "10",
        "20",
        "--workers",
        "2",
    ]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and (TMP / "tracks.svg").read_text(
        encoding="utf-8"
    ) == text.replace("a &lt;stretch&gt;", "both"), done


def commands() -> None:
    for name, arguments, message in (
        ("trace", ("region", "manifest", "--heat=h.svg"), "--heat: expected --order beside it"),
        (
            "trace",
            ("region", "manifest", "--columns=9"),
            "--columns: expected --heat beside it, found none",
        ),
        (
            "trace",
            ("region", "manifest", "--between", "1", "2"),
            "--between: expected --svg beside it, found none",
        ),
        (
            "trace",
            ("region", "manifest", "--roles=reduce"),
            "--roles: expected --svg beside it, found none",
        ),
        (
            "trace",
            ("region", "manifest", "--workers=-1"),
            "--workers: expected a number of workers, or 0 for all, found -1",
        ),
        (
            "trace",
            ("t.json",),
            (
                "t.json: expected the kernel's manifest behind it, found none; what --out has"
                " written is drawn by --svg"
            ),
        ),
        (
            "trace",
            ("t.json", "--svg=t.svg", "--out=o"),
            "t.json: expected the kernel's manifest behind it, found --out alone",
        ),
        (
            "tune",
            ("costs", "--from-trace", "a", "b", "c", "--from=d"),
            "--from-trace: expected no --from beside it",
        ),
        (
            "tune",
            ("costs", "--from-trace", "a", "b", "c", "--plain=1", "--plain=2"),
            "--plain: expected one for each --from-trace, 1, found 2",
        ),
        ("tune", (TMP / "costs", "--from-trace", "a", "b", "c"), "No such file or directory: 'a'"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", f"dash_attn.{name}", *map(str, arguments)],
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2 and message in done.stderr, (name, done)
    assert not (TMP / "costs").exists()


found = []
for mask, kind in (("causal", "symmetric-shift"), ("full", "descending")):
    order, predicted = report(mask, kind, "json")["schedules"][0], report(mask, kind, "trace")
    beside(order, predicted)
    found.append(prices(order, predicted, "full" if mask == "full" else "masked"))
    one_item_in_two(order, predicted)
    tracks_over_time(order, predicted)
assert "expected one trace of a causal mask for head dim 128, found 0" in refused(
    lambda: trace_prices.whole(found[1:]), ArgumentError
)
(TMP / "costs.json").write_text(file_text("made up", trace_prices.whole(found)), encoding="utf-8")
row = {
    "rows": 1000,
    "batch": 1,
    "heads": 2,
    "head_dim": 128,
    "mask": "causal",
    "variant": "symmetric-shift",
}
((_, as_given),) = predict([row], WORKERS, TMP / "costs.json")
assert abs(as_given["compute"] - found[0].price["compute"]) < 1e-3, as_given
other_orders()
commands()
