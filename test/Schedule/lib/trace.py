"""A trace of a predicted run: is it well-formed, does it tell the run of its report, and what it
adds up to."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from report import Json, cost_of, problem_of

ROUNDING = 1.01  # nanoseconds: two ends of half a one each, and what float64 adds
TASK = ("sequence", "head", "kv", "q")
PART = ("sequence", "kvHead", "part", "kv", "item")


@dataclass(frozen=True)
class Slice:
    """Times in nanoseconds."""

    begin: int
    end: int
    category: str
    args: Json

    @property
    def task(self) -> tuple[int, ...]:
        """The item of a part: what has no q tile."""
        return tuple(self.args[key] for key in (TASK if "q" in self.args else PART))


@dataclass(frozen=True)
class Shares:
    """Parts of all workers' time from 0 to the makespan."""

    turn: float
    buffer: float
    idle: float


def _nanoseconds(microseconds: float) -> int:
    return round(microseconds * 1000)


def lanes_of(events: Iterable[Json], process: int) -> dict[int, list[Slice]]:
    """The slices of each thread of a process, by time."""
    lanes: dict[int, list[Slice]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X" and event["pid"] == process:
            begin, length = _nanoseconds(event["ts"]), _nanoseconds(event["dur"])
            lanes[event["tid"]].append(Slice(begin, begin + length, event["cat"], event["args"]))
    return {thread: sorted(lane, key=lambda one: one.begin) for thread, lane in lanes.items()}


def _track_differences(events: list[Json], process: int, schedule: Json) -> list[str]:
    names = {
        e["tid"]: e["args"]["name"]
        for e in events
        if e["pid"] == process and e["name"] == "thread_name"
    }
    want = {
        2 * worker + lane: f"w{worker} {what}"
        for worker in range(schedule["workers"])
        for lane, what in enumerate(("compute", "reduce"))
    }
    title = [
        e["args"]["name"] for e in events if e["pid"] == process and e["name"] == "process_name"
    ]
    lines = [] if names == want else [f"threads {sorted(names.items())[:4]}..."]
    expected = f"{schedule['kind']} of @{schedule['op']}"
    return lines + ([] if title == [expected] else [f"process {title}, expected {expected}"])


def _lane_differences(thread: int, lane: list[Slice]) -> list[str]:
    """Slices follow each other; each is what its lane is for, of the worker whose lane it is."""
    worker, what = thread // 2, ("compute", "reduce")[thread % 2]
    lines = [
        f"thread {thread}: {b} starts before {a} ends"
        for a, b in zip(lane, lane[1:])
        if b.begin < a.end
    ]
    lines += [
        f"thread {thread}: {one}"
        for one in lane
        if one.category not in (what, "wait", *("part" for _ in range(thread % 2)))
        or one.end <= one.begin
    ]
    return lines + [
        f"thread {thread}: {one} of another worker"
        for one in lane
        if one.category in (what, "part") and one.args["worker"] != worker
    ]


def _wait_differences(schedule: Json, lanes: dict[int, list[Slice]], pieces: int) -> list[str]:
    """A wait ends when what it names has ended, and one hop later if that was another's turn. The
    first piece of a part counts for the part behind, and one of the others for the task whose
    buffer it had, whose boundary needs none."""
    reductions = {
        one.task: one
        for lane in lanes.values()
        for one in lane
        if one.category in ("reduce", "part")
    }
    piece = schedule["cost"].get("piece", 0) * 1000
    lines = []
    for thread, lane in lanes.items():
        for wait, then in zip(lane, lane[1:]):
            if wait.category != "wait":
                continue
            named = reductions[wait.task]
            away = named.args["worker"] != thread // 2
            hop = schedule["cost"]["latency"] if wait.args["for"] == "turn" and away else 0
            until = named.begin + piece if named.category == "part" else named.end
            isTimely = abs(wait.end - until - hop * 1000) <= ROUNDING
            if pieces and wait.args["for"] == "buffer":
                isTimely = wait.end <= named.end + ROUNDING
            if not isTimely or then.begin != wait.end:
                lines.append(f"thread {thread}: {wait} ends neither with {named} nor at {then}")
            if wait.args["for"] == "turn" and wait.args["turn"] + 1 != then.args["turn"]:
                lines.append(f"thread {thread}: {wait} is not for the turn before {then}")
    return lines


def _arrow_differences(events: list[Json], process: int) -> list[str]:
    ends: dict[str, list[str]] = defaultdict(list)
    for event in events:
        if event["pid"] == process and event["ph"] in "sf":
            ends[event["id"]].append(event["ph"])
    return [
        f"arrow {name} has the ends {have}" for name, have in ends.items() if have != ["s", "f"]
    ]


def trace_differences(schedule: Json, trace: Json, process: int = 1) -> list[str]:
    """All in which a trace is not that of the report's schedule."""
    events, cost, pieces = (
        trace["traceEvents"],
        schedule["cost"],
        cost_of(schedule).pieces(problem_of(schedule)),
    )
    lanes = lanes_of(events, process)
    lines = _track_differences(events, process, schedule) + _arrow_differences(events, process)
    for thread, lane in lanes.items():
        lines += _lane_differences(thread, lane)
    want = Counter(
        (i["sequence"], head, i["kv"], q) for i in schedule["items"] for head, q in i["visit"]
    )
    firsts = {
        (i["sequence"], i["visit"][0][0], i["kv"], i["visit"][0][1])
        for i in schedule["items"]
        if i["visit"]
    }
    for what, price, boundary in (
        ("compute", cost["c"], cost["boundary"]),
        ("reduce", cost["r"], 0),
    ):
        found = [one for lane in lanes.values() for one in lane if one.category == what]
        if Counter(one.task for one in found) != want:
            lines.append(f"{what}: not each task once")
        if any(
            abs(one.end - one.begin - (price + boundary * (one.task in firsts)) * 1000) > ROUNDING
            for one in found
        ):
            lines.append(
                f"{what}: not all as long as {price}, with {boundary} more for the first of an item"
            )
    if pieces:
        found = [one for lane in lanes.values() for one in lane if one.category == "part"]
        if Counter(one.task[:-1] for one in found) != Counter(
            (i["sequence"], i["kvHead"], i["part"], i["kv"]) for i in schedule["items"]
        ):
            lines.append("part: not each item once")
        if any(
            abs(one.end - one.begin - pieces * cost["piece"] * 1000) > ROUNDING for one in found
        ):
            lines.append(f"part: not all as long as {pieces} pieces of {cost['piece']}")
    last = max((lane[-1].end for lane in lanes.values()), default=0)
    if abs(last - schedule["makespan"] * 1000) > ROUNDING:
        lines.append(f"ends at {last} ns, the makespan is {schedule['makespan']}")
    return lines or _wait_differences(schedule, lanes, pieces)


def _overlap(interval: tuple[int, int], others: Iterable[Slice]) -> int:
    return sum(max(0, min(interval[1], o.end) - max(interval[0], o.begin)) for o in others)


def shares_of(schedule: Json, trace: Json) -> Shares:
    """Where the workers' time goes, from the pictures of their lanes alone."""
    lanes = lanes_of(trace["traceEvents"], 1)
    makespan = _nanoseconds(schedule["makespan"])
    turn = buffer = idle = 0
    for worker in range(schedule["workers"]):
        computes = [s for s in lanes.get(2 * worker, []) if s.category == "compute"]
        reduces = [s for s in lanes.get(2 * worker + 1, []) if s.category in ("reduce", "part")]
        end = reduces[-1].end if reduces else 0
        starts = [0, *(s.end for s in computes)]
        pauses = list(zip(starts, [*(s.begin for s in computes), end]))
        reducing = [_overlap(pause, reduces) for pause in pauses]
        turn += sum(b - a for a, b in pauses) - sum(reducing)
        buffer += sum(reducing[:-1])
        idle += makespan - end
    all_time = makespan * schedule["workers"] or 1
    return Shares(turn / all_time, buffer / all_time, idle / all_time)


def peak_dq_bytes(schedule: Json, trace: Json) -> int:
    """The largest sum, over all times, of the f32 dQ of the pairs between first and last
    reduction."""
    spans: dict[tuple[int, int], list[int]] = {}
    for lane in lanes_of(trace["traceEvents"], 1).values():
        for one in (s for s in lane if s.category == "reduce"):
            span = spans.setdefault((one.args["sequence"], one.args["head"]), [one.begin, one.end])
            span[:] = [min(span[0], one.begin), max(span[1], one.end)]
    rows = [s["q"] for s in schedule["sequences"]]
    return max(
        (
            sum(
                4 * schedule["headDim"] * rows[sequence]
                for (sequence, _), (begin, end) in spans.items()
                if begin <= time < end
            )
            for time, _ in spans.values()
        ),
        default=0,
    )
