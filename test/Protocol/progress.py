# RUN: rm -rf %t && mkdir %t
# RUN: %python %s --dash-opt %dash_build/bin/dash-opt --source %dash_src --out %t --schedules 240 --seed 1 | FileCheck %s
# REQUIRES: python
# CHECK: 240 schedules ({{.*}}file{{.*}}), {{[1-9][0-9]*}} of several parts: 0 hang with as many workers as they need, {{[1-9][0-9]*}} of {{[0-9]+}} with one fewer, {{[1-9][0-9]*}} that start in another order
"""Verified schedules, on workers reduced to takes and gives: none hangs with exactly min_workers
resident; some do with one fewer, and some where workers start in a random order, as they may if
they draw no tickets.

Random problems of all masks, groups and parts are ordered by a random kind, or by a random order
from a file. What a worker may do is what dialects/dash/docs/protocol.md says of the reduced worker,
with 1 to 4 warps that add and 1 to 5 slots. With several parts, each item ends with 1 to 4 pieces
of its sums, whose chains go over the parts.
"""

import argparse
import random
import sys
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
for name in ("--dash-opt", "--source", "--out"):
    parser.add_argument(name, required=True, type=Path)
parser.add_argument("--schedules", type=int, default=100000)
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
for folder in ("Schedule", "Fuzz", "Protocol"):
    sys.path.insert(0, str(args.source / "test" / folder / "lib"))
from orders import random_order  # noqa: E402
from problems import COSTS, Asked, Maker, Powers, module_text  # noqa: E402
from reduced import finishes  # noqa: E402
from report import Numbers, Setting, document, read, schedule_json  # noqa: E402
from tool import Tool  # noqa: E402

A_MODULE = 12


def schedules_of(tool, powers, rng):
    """A module's worth of them, as dash-opt has proven them."""
    maker = Maker(rng, powers)
    problems = [maker.problem() for _ in range(A_MODULE)]
    source, report = tool.path("in.mlir"), tool.path("out.json")
    source.write_text(module_text(["run"] * A_MODULE, problems), encoding="utf-8")
    asked = Asked.draw(rng, powers.kinds).serving(problems)
    kind, options = asked.kind, asked.options(maker.parts)
    if rng.random() < 0.2:
        file, kind = tool.path("order.json"), "file"
        tool.write_json(
            file,
            document(
                *(
                    schedule_json(
                        problem,
                        random_order(problem, rng.choice([1, 2, 3, 8, 40]), rng),
                        Numbers(0, 0, 1, False),
                        Setting(op=f"p{index}", cost=rng.choice(COSTS), head_dim=64, head_dim_v=64),
                    )
                    for index, problem in enumerate(problems)
                )
            ),
        )
        options = f"--dash-apply-schedule=kind=file path={file}"
    done = tool.run(
        str(source),
        f"--dash-tile=q={maker.tiles[0]} kv={maker.tiles[1]}",
        options,
        "--dash-verify-schedule",
        f"--dash-report-schedule=format=json output={report}",
        "-o",
        "/dev/null",
    )
    if done.code != 0:
        raise SystemExit("\n".join(done.told(f"exit code {done.code}")))
    return kind, read(report)["schedules"]


tool = Tool(str(args.dash_opt), args.out)
powers, rng, kinds = Powers.of(tool), random.Random(args.seed), set()
tried = with_parts = hang = fewer = hang_fewer = hang_unordered = 0
while tried < args.schedules:
    kind, schedules = schedules_of(tool, powers, rng)
    kinds.add(kind)
    for schedule in schedules[: args.schedules - tried]:
        tried += 1
        with_parts += schedule["parts"] > 1
        warps, ahead, pieces, needed = (
            rng.randint(1, 4),
            rng.randint(1, 5),
            rng.randint(1, 4),
            schedule["minWorkers"],
        )
        if not finishes(schedule, pieces, needed, warps, ahead, rng):
            hang += 1
            print(
                f"{schedule['op']} of kind {kind} hangs with {needed} workers, {warps} warps,"
                f" {ahead} slots, {pieces} pieces"
            )
        if needed > 1:
            fewer += 1
            hang_fewer += not finishes(schedule, pieces, needed - 1, warps, ahead, rng)
        hang_unordered += not finishes(schedule, pieces, needed, warps, ahead, rng, tickets=False)
print(
    f"{tried} schedules ({', '.join(sorted(kinds))}), {with_parts} of several parts: {hang} hang"
    f" with as many workers as they need, {hang_fewer} of {fewer} with one fewer, {hang_unordered}"
    " that start in another order"
)
sys.exit(hang > 0)
