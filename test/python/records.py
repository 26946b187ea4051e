# RUN: rm -rf %t && mkdir -p %t
# RUN: env PYTHONPATH=%dash_src/python:%dash_src/test/python/lib %python %s %t
# REQUIRES: python, plain-libdash
"""Fields of records that a stranger may have written are known words, numbers within bounds and
lines of text, or are refused with their place: of kernels that a certificate names, of
measurements, of recordings. None of them becomes another option, a path or a program."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from fixtures import refused

from dash_attn import audit, tune
from dash_attn.kernel.problem import KINDS, Wanted, program_of, wanted_of
from dash_attn.measure import fit
from dash_attn.measure.predict import KINDS as FIXED_KINDS
from dash_attn.support.records import Record, is_name, parse, read

TMP = Path(sys.argv[1])
EVIL = f"shift ptxas={TMP}/ptxas"  # it would leave a file
KERNEL = Wanted(
    64,
    64,
    "f16",
    (300, 0),
    "symmetric-shift",
    8,
    True,
    (1, 2, 1, 640, 640),
    "batch",
    False,
    True,
    "parts",
)
LISTED = Wanted(128, 64, "bf16", (-1, -1), is_list=True)
FORWARD = Wanted(
    64, 64, "bf16", (-1, 0), level="row", softcap=50.0, is_forward=True, q_tile=128, has_sink=True
)


def kernels() -> None:
    """A kernel with all its fields comes back; with any other value in any of them it does not."""
    for wanted in (KERNEL, LISTED, FORWARD):
        fields = json.loads(json.dumps(wanted._asdict()))
        assert wanted_of(Record(fields)) == wanted
        for name in Wanted._fields:
            for value in (
                EVIL,
                f"{wanted[Wanted._fields.index(name)]} costs=/etc/passwd",
                None,
                -7,
                1.5,
                10**30,
                [],
                {},
                ["1 path=x"] * 2,
                [10**30] * 5,
            ):
                if (name, value) == ("sizes", []):
                    continue  # of no table
                if name == "softcap" and type(value) in (int, float) and value > 0:
                    continue
                found = refused(
                    lambda: wanted_of(Record(fields | {name: value}, "kernels[0]")), ValueError
                )
                assert found.startswith(f"kernels[0].{name}: expected ") and len(found) < 400, found
        for name in Wanted._fields:
            rest = {key: value for key, value in fields.items() if key != name}
            assert refused(lambda: wanted_of(Record(rest)), ValueError).endswith(", found nothing")
    assert (
        refused(
            lambda: wanted_of(Record(KERNEL._asdict() | {"kind": EVIL}, "kernels[0]")), ValueError
        )
        == f"kernels[0].kind: expected one of {', '.join(map(repr, KINDS))}, found {EVIL!r}"[:400]
    )
    words = re.compile(r"[a-z-]+=[a-z0-9:,-]+")
    assert all(
        words.fullmatch(word)
        for wanted in (KERNEL, LISTED, FORWARD)
        for word in program_of(wanted)[1].split()
    )


def kinds() -> None:
    """Those that the compiler has, but for the one that has no order."""
    source = Path(__file__).parents[2] / "dialects/dash/examples/bwd-full.mlir"
    done = subprocess.run(
        ["dash-opt", str(source), "--dash-to-ptx=kind=none"],
        capture_output=True,
        text=True,
        check=False,
    )
    known = re.search(r"expected one of (.*), auto or file", done.stderr)[1].split(", ")
    of_gradients = set(known) - {"unordered", "longest-first"}  # the last is of parts without dQ
    assert sorted(of_gradients) == sorted(KINDS) and set(FIXED_KINDS) < set(KINDS), known


def measurements() -> None:
    """What --from is given goes into programs and options of dash-opt."""
    row = {
        "head_dim": 64,
        "mask": "full",
        "rows": 512,
        "batch": 1,
        "heads": 4,
        "variant": "shift",
        "entries_ms": {"main": 1.0},
    }
    record = {
        "gpu": "a GPU",
        "date": "2026-01-01",
        "commit": "abc",
        "workers": 132,
        "options": {"64 full": "slots=q:3,do:3"},
        "results": [row],
    }
    enough = "expected more than 4 measured orders"
    assert enough in refused(lambda: fit.fit(record), ValueError)
    program = "1x64xbf16>) { return } func.func @other("
    for change, said in (
        (
            {"workers": "132 kind=file path=/etc/passwd"},
            "workers: expected a whole number from 1 to 1048576, found '132 kind=file path",
        ),
        ({"results": {}}, "results: expected a list of objects, found {}"),
        ({"results": [1]}, "results[0]: expected an object, found 1"),
        *(
            ({"results": [row, row | {name: value}]}, f"results[1].{name}: expected ")
            for name in ("rows", "batch", "heads", "kv_heads", "kv_rows")
            for value in (program, 0, -1, 2**31, True)
        ),
        (
            {"results": [row | {"mask": "full costs=/x\n"}]},
            "results[0].mask: expected one line of text",
        ),
        (
            {"results": [row | {"entries_ms": {"main": "1"}}]},
            "results[0].entries_ms.main: expected a number above 0",
        ),
        (
            {"results": [row | {"entries_ms": {"main": float("nan")}}]},
            "results[0].entries_ms.main: expected a number above 0",
        ),
        ({"results": [row | {"variant": 7}]}, "results[0].variant: expected one line of text"),
    ):
        found = refused(lambda change=change: fit.fit(record | change), ValueError)
        assert found.startswith(said), (found, said)
    for change, said in (
        ({"gpu": "\x1b]0;title\x07"}, "gpu: expected one line of text"),
        ({"options": {"a\n": ""}}, "options: expected lines of text by names"),
    ):
        found = refused(lambda change=change: fit.fit(record | change), ValueError)
        assert found.startswith(said), found
    costs, source = TMP / "costs.json", TMP / "record.json"
    costs.write_text("old", encoding="utf-8")
    for text, said in (
        ("[" * 100_000, "brackets nest deeper than in any such record"),
        ("{", "Expecting property name"),
        ("[]", "expected an object"),
        (
            json.dumps(record | {"search": [{"ms": {"": 0}}]}),
            "search[0].ms: expected numbers above 0",
        ),
    ):
        source.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "dash_attn.tune", str(costs), f"--from={source}"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (
            done.returncode == 2
            and done.stderr.startswith(f"dash_attn.tune: error: {source}: ")
            and said in done.stderr
            and done.stderr.count("\n") == 1
        ), done
    assert costs.read_text(encoding="utf-8") == "old" and tune.print_search(record) is None


def recordings() -> None:
    head, entry = (
        {"dash_audit": 1, "every": False},
        [
            0,
            "forward",
            "layers.0",
            "aten.mm.default",
            0,
            "0123456789abcdef",
        ],
    )
    path = TMP / "run.audit"

    def load(*lines: Any) -> audit.Run:
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        return audit.Run.load(path)

    assert load(head, entry).entries == (audit.Entry(*entry[:-1], 0x0123456789ABCDEF),)
    for lines, said in (
        ((head | {"every": 1},), "line 1.every: expected true or false, found 1"),
        (([],), "line 1: expected an object, found []"),
        ((head, entry, entry[:-1]), "line 3: expected a list of 6, found "),
        ((head, "x" * 6), "line 2: expected a list of 6"),
        *(
            (
                (head, [*entry[:i], value, *entry[i + 1 :]]),
                f"line 2.{audit.Entry._fields[i]}: expected ",
            )
            for i, value in enumerate((-1, "sideways", 7, "\x1b[2J", "0", "xyz"))
        ),
        ((head, [*entry[:5], "0x123"]), "line 2.hash: "),
    ):
        found = refused(lambda lines=lines: load(*lines), ValueError)
        assert found.startswith(
            f"{path}: expected a file of Run.save, of version 1 or 3: {said}"
        ), found
    path.write_text("[" * 100_000, encoding="utf-8")
    assert refused(lambda: audit.Run.load(path), ValueError).endswith(
        "brackets nest deeper than in any such record"
    )


def names() -> None:
    assert all(map(is_name, ("d64-causal-shift", "a.b_c+d", "0")))
    assert not any(
        map(
            is_name,
            (
                "",
                "-x",
                "--options-file=x",
                ".",
                "..",
                ".hidden",
                "a/b",
                "../x",
                "a\\b",
                "a b",
                "a\n",
                "é",
                7,
                None,
            ),
        )
    )
    assert refused(lambda: parse("[" * 10**6), ValueError) and refused(
        lambda: read("/dev/zero"), ValueError
    ).startswith("expected a regular file")


for test in (kernels, kinds, measurements, recordings, names):
    test()
assert not (TMP / "ptxas").exists()
