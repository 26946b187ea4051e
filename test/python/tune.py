# RUN: env PYTHONPATH=%dash_src/python %python %s %dash_src %dash_build %t
# REQUIRES: python, plain-libdash
"""dash_attn.tune without a GPU: the fit finds costs that made the measurements, its file is one for
the compiler, and what is missing is said, with the file as it was. Predictions are those of
dash-plan."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from dash_attn import tune
from dash_attn.measure import fit as fitting
from dash_attn.measure.predict import COSTS, KINDS, predict
from dash_attn.support.records import Record

SOURCE, BUILD, TMP = map(Path, sys.argv[1:])
INPUTS = Path(__file__).parent / "Inputs"
RECORDS = SOURCE / "test/Device/records"
PRICE = {"compute": 1.5, "reduce": 0.8, "latency": 0.6, "boundary": 5.0}
TMP.mkdir(parents=True, exist_ok=True)


def row(kind: str, rows: int, mask: str = "full", head_dim: int = 64) -> dict[str, Any]:
    return {
        "head_dim": head_dim,
        "mask": mask,
        "rows": rows,
        "batch": 1,
        "heads": 4,
        "variant": kind,
        "entries_ms": {"main": 1.0},
    }


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dash_attn.tune", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | environment
    )


def predictions_are_the_planners() -> None:
    """With the costs of a file, and with those that come with dash; by libdash, and by dash-opt."""
    costs = TMP / "given.json"
    costs.write_text(
        fitting.file_text(
            "given", [{"headDim": 64, "mask": mask, **PRICE} for mask in ("full", "masked")]
        )
    )
    rows = [
        row(kind, length, mask)
        for kind in KINDS
        for length in (384, 1024)
        for mask in ("full", "causal")
    ]
    for path in ("", costs):
        found = predict(rows, 12, path)
        assert found == predict(rows, 12, path, ["dash-opt"])
        for one, (makespan, used) in zip(rows, found):
            sizes = f"q:{one['rows']},kv:{one['rows']},batch:1,heads:4,kv-heads:4"
            plan = subprocess.run(
                [
                    BUILD / "bin/dash-plan",
                    f"--kind={one['variant']}",
                    f"--mask={one['mask']}",
                    "--head-dim=64",
                    "--workers=12",
                    f"--sizes={sizes}",
                    f"--costs={path}",
                ],
                capture_output=True,
                text=True,
                check=True,
            )
            assert abs(json.loads(plan.stdout)["makespan"] - makespan) < 0.06, (
                one,
                makespan,
                plan.stdout,
            )
            assert not path or used == PRICE, used


def parts_have_prices_of_their_own() -> None:
    """Times that a price predicts give the price again, for a part that sums nothing across items;
    the card's shipped file has such prices for what was measured."""
    price = {"compute": 1.2, "boundary": 2.5}
    costs = TMP / "parts.json"
    for part, head_dim_v in (("dk dv", 128), ("dq", 192)):
        dims = {"headDim": 192, "headDimV": head_dim_v}
        prices = [{"program": part, **dims, "mask": mask, **price} for mask in ("full", "masked")]
        whole = [{"headDim": 128, "mask": mask, **PRICE} for mask in ("full", "masked")]
        costs.write_text(fitting.file_text("given", prices + whole))
        rows = [
            row("longest-first", length, "causal", 192)
            | {"program": part, "head_dim_v": head_dim_v}
            for length in (384, 1024, 2048)
        ]
        for one, (makespan, used) in zip(rows, predict(rows, 12, costs)):
            assert used == dict.fromkeys(COSTS, 0.0) | price, used
            one["entries_ms"] = {"main": makespan / 1000}
        found = fitting.Fit(192, "masked", rows, 12)
        assert found.error < 0.01 and found.price.keys() == prices[1].keys(), found.price
        assert all(abs(found.price[name] / price[name] - 1) < 0.03 for name in price), found.price
    shipped = json.loads((SOURCE / "dialects/dash/Schedule/costs-h100.json").read_text())
    parts = [one for one in shipped["prices"] if "program" in one]
    assert {(one["program"], one["headDim"], one["headDimV"]) for one in parts} == {
        (part, *dims) for part in ("dk dv", "dq") for dims in ((192, 192), (192, 128), (256, 256))
    }


def the_fit_finds_what_made_the_times() -> None:
    """Times of a model that is quick to ask: each kind has its share of each cost. The same times
    give the same file."""
    shares = {
        kind: [30 + 9 * i, 7 + (5 * i) % 4, 3 + 2 * (i % 2), 1] for i, kind in enumerate(KINDS)
    }

    def model(
        rows: list[dict[str, Any]], workers: int, costs: str = "", dash_opt: object = None
    ) -> list[tuple[float, dict[str, float]]]:
        price = (
            json.loads(Path(costs).read_text())["prices"][0] if costs else dict.fromkeys(COSTS, 1.0)
        )
        return [
            (
                sum(
                    price[name] * share * one["rows"] ** (i != 3)
                    for i, (name, share) in enumerate(zip(COSTS, shares[one["variant"]]))
                ),
                price,
            )
            for one in rows
        ]

    results = [
        row(kind, length, mask)
        for kind in KINDS
        for length in (2, 4, 8)
        for mask in ("full", "causal")
    ]
    truth = TMP / "truth.json"
    truth.write_text(fitting.file_text("", [PRICE]))
    for one, (makespan, _) in zip(results, model(results, 1, str(truth))):
        one["entries_ms"] = {"main": makespan / 1000}
    record, costs, again = TMP / "made.json", TMP / "costs.json", TMP / "again.json"
    record.write_text(
        json.dumps(
            {
                "gpu": "a GPU",
                "date": "2026-01-01",
                "commit": "abc",
                "results": results,
                "options": {"64 full": "slots=q:3,do:3"},
            }
        )
    )
    costs.write_text("old")
    asked, fitting.predict = fitting.predict, model
    try:
        for path in (costs, again):
            assert tune.main([str(path), f"--from={record}", "--head-dims=64"]) == 0
    finally:
        fitting.predict = asked
    assert costs.read_text() == again.read_text()
    found = json.loads(costs.read_text())
    assert (
        found["machine"] == "a GPU, 2026-01-01, kernels of commit abc; 64 full with slots=q:3,do:3"
    ), found
    for mask, price in zip(("full", "causal"), found["prices"]):
        assert all(abs(price[name] / PRICE[name] - 1) < 0.1 for name in COSTS), price
        ((_, used),) = predict([row("shift", 512, mask)], 12, costs)  # the compiler reads it
        assert used == {name: price[name] for name in COSTS}, (used, price)


def the_recorded_costs_fit_their_measurements() -> None:
    """What tune wrote on a GPU beside what it measured there: better than the costs that come with
    dash, and in microseconds."""
    record, costs = (
        json.loads((RECORDS / f"h200-2026-11-22-{name}.json").read_text(encoding="utf-8"))
        for name in ("tune", "costs")
    )
    assert costs["machine"] == fitting.machine(Record(record))
    for price in costs["prices"]:
        mask = "full" if price["mask"] == "full" else "causal"
        rows = [
            one
            for one in record["results"]
            if (one["head_dim"], one["mask"]) == (price["headDim"], mask)
            and one["variant"] in KINDS
        ]
        errors = []
        for path in (RECORDS / "h200-2026-11-22-costs.json", ""):
            scale, error = fitting.left(
                rows,
                [makespan for makespan, _ in predict(rows, record["workers"], path, ["dash-opt"])],
            )
            errors.append(error)
            assert not path or abs(scale - 1) < 0.002, (price, scale)
        assert errors[0] < errors[1] and errors[0] < 0.05, (price, errors)


def what_is_missing_is_said() -> None:
    costs, record = TMP / "kept.json", TMP / "record.json"
    costs.write_text("old")
    lines = [row(kind, rows) for kind in KINDS for rows in (512, 1024)]
    few = {"gpu": "", "date": "", "commit": "", "results": lines}
    cases = [
        (
            few,
            (
                "expected more than 4 measured orders of at least 2 lengths up to 2048 for head dim"
                " 64 and mask causal, found 0 of 0"
            ),
        ),
        (few | {"results": lines[::2]}, "for head dim 64 and mask full, found 4 of 1"),
    ]
    for content, message in cases:
        record.write_text(json.dumps(content))
        done = run(str(costs), f"--from={record}", "--head-dims=64")
        assert done.returncode == 2 and message in done.stderr and not done.stdout, done
    record.write_text("{}")
    done = run(str(costs), f"--from={record}")
    assert (
        done.returncode == 2
        and f"dash_attn.tune: error: {record}: gpu: expected one line of text, found nothing\n"
        == done.stderr
    ), done
    done = run(str(costs), "--from=/nowhere")
    assert done.returncode == 2 and "'/nowhere'" in done.stderr, done
    done = run(str(costs), PYTHONPATH=f"{INPUTS / 'no-gpu-torch'}:{SOURCE / 'python'}")
    assert (
        done.returncode == 2
        and done.stderr
        == "dash_attn.tune: error: measuring needs a GPU of compute capability 9.0, found none; "
        "--from fits a record of another machine\n"
    ), done
    assert costs.read_text() == "old"


def an_interruption_leaves_the_file() -> None:
    costs = TMP / "interrupted" / "costs.json"
    shutil.rmtree(costs.parent, ignore_errors=True)
    costs.parent.mkdir()
    costs.write_text("old")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # lit's processes ignore it, and so would theirs
    done = run(
        str(costs),
        f"--from={RECORDS / 'h200-2026-11-22-tune.json'}",
        f"--dash-opt={INPUTS / 'interrupting-dash-opt'}",
        INTERRUPTED=str(costs.parent / "once"),
    )
    assert (
        done.returncode == 130
        and done.stderr == f"dash_attn.tune: interrupted; '{costs}' is as it was\n"
    ), done
    assert (
        sorted(path.name for path in costs.parent.iterdir()) == ["costs.json", "once"]
        and costs.read_text() == "old"
    )


predictions_are_the_planners()
parts_have_prices_of_their_own()
the_fit_finds_what_made_the_times()
what_is_missing_is_said()
an_interruption_leaves_the_file()
the_recorded_costs_fit_their_measurements()
