# RUN: rm -rf %t && mkdir -p %t && %python %s %dash_examples %t
# REQUIRES: python, host-supports-nvptx
"""A planner makes of a manifest and other sizes what the compiler makes of the program and these
sizes; the rest is refused."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from blake3 import blake3  # noqa: E402

EXAMPLES, TMP = Path(sys.argv[1]), Path(sys.argv[2])
SIZES = {"batch": 2, "heads": 4, "kv_heads": 2, "q_rows": 300, "kv_rows": 1100}
SQUARE = SIZES | {"q_rows": 1100}
MANY = {"batch": 8, "heads": 16, "kv_heads": 16, "q_rows": 2048, "kv_rows": 2248}
problems: list[str] = []


def expect(what: str, holds: bool, found: object = "") -> None:
    if not holds:
        problems.append(f"{what}; found {found!r}")


def compile_example(name: str, mask: str, options: str) -> Path:
    """mask: the example's, and a clause behind its scale."""
    mask, _, clause = mask.partition(" ")
    example = EXAMPLES / f"{'' if mask.startswith('fwd') else 'bwd-'}{mask}.mlir"
    program = TMP / f"{name}.mlir"
    text = example.read_text(encoding="utf-8").replace(" scale(%scale)", f" scale(%scale) {clause}")
    program.write_text(text, encoding="utf-8")
    subprocess.run(
        [
            "dash-opt",
            str(program),
            f"--dash-to-ptx={options} output={TMP}/{name}",
            "-o",
            "/dev/null",
        ],
        check=True,
    )
    return TMP / f"{name}.json"


def stated(q: int, kv: int, batch: int, heads: int, kv_heads: int) -> str:
    return f"sizes=q:{q},kv:{kv},batch:{batch},heads:{heads},kv-heads:{kv_heads}"


def call(
    manifest: Path | str, mode: str, sizes: dict[str, int] | None = None, **environment: str
) -> str:
    done = subprocess.run(
        [
            "capi-planner",
            str(manifest),
            mode,
            *(f"{key}={value}" for key, value in (sizes or {}).items()),
        ],
        cwd=TMP,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    expect(f"{mode} ends with 0", done.returncode == 0, done.stderr)
    return done.stdout


def same_as_compiled() -> None:
    small = stated(512, 512, 1, 2, 1)
    for number, (mask, options, sizes) in enumerate(
        (
            ("causal", "kind=synthesized workers=8 parts=1", SIZES),
            ("causal", "kind=synthesized workers=8 parts=2 level=batch", SIZES),
            ("full", "kind=synthesized workers=132 parts=1 level=batch", SIZES),
            ("causal", "kind=synthesized workers=16 parts=1 level=machine for-workers=8", SIZES),
            ("window", "kind=synthesized workers=8 parts=1", SIZES),
            ("causal", "kind=synthesized workers=1 parts=1", SIZES),
            ("causal", "kind=synthesized workers=8 parts=1 tickets=true", SIZES),
            # One kv tile: no worker waits.
            ("causal", "kind=synthesized workers=8 parts=1", SIZES | {"kv_rows": 100}),
            ("causal", "kind=synthesized workers=8 parts=2 apart=all table=true", SIZES),
            ("causal", "kind=synthesized workers=8 parts=2 apart=parts table=true", SIZES),
            # A forward: items own q tiles, and no worker waits.
            ("fwd-causal", "kind=longest-first workers=8 table=true", SIZES),
            ("fwd-causal", "kind=ascending workers=8 table=true q-tile=64", SIZES),
            # Its prices are its own: by those of a backward, items go to other workers.
            ("fwd-causal", "kind=longest-first workers=132 table=true", MANY),
            # Heads share q tiles.
            ("fwd-causal fold(2)", "kind=longest-first workers=8 table=true", SIZES),
            ("fwd-causal fold(2)", "kind=ascending workers=8 table=true", SIZES | {"kv_rows": 100}),
            # And not for its parts.
            (
                "causal",
                "kind=synthesized workers=8 parts=2 apart=parts table=true",
                SIZES | {"kv_rows": 100},
            ),
        )
    ):
        manifest = compile_example(f"small{number}", mask, f"{options} {small}")
        names = ("q_rows", "kv_rows", "batch", "heads", "kv_heads")
        others = stated(*(sizes[name] for name in names))
        wanted = compile_example(f"other{number}", mask, f"{options} {others}")
        said = call(manifest, "plan", sizes)
        found, compiled = (
            json.loads((TMP / "planned.json").read_text()),
            json.loads(wanted.read_text()),
        )
        for key in ("ptx", "order"):  # files are called as they were
            compiled[key]["file"] = found[key]["file"]
        if mask == "full":  # which serves more
            compiled["sizes"] = found["sizes"]
        expect(
            f"{mask}, {options}: the manifest of the compiler",
            found == compiled,
            {key: (found[key], compiled[key]) for key in found if found[key] != compiled.get(key)},
        )
        expect(
            f"{mask}, {options}: its table",
            (TMP / "planned.order").read_bytes() == wanted.with_suffix(".order").read_bytes(),
        )
        expect(
            f"{mask}, {options}: its certificate",
            said == f"DASH_SUCCESS\n{compiled['certificate']}\n",
            said,
        )
        expect("threads", call(manifest, "threads", sizes) == "threads: the same\n")


def kept_on_disk() -> None:
    folder = TMP / "cache"
    first, again = (
        call(TMP / "small0.json", "plan", SIZES, DASH_CACHE=str(folder)) for _ in range(2)
    )
    expect("one file in the cache", len(list((folder / "orders").iterdir())) == 1)
    expect("the same from the cache", first == again, again)
    (TMP / "file").write_text("")
    blocked = call(TMP / "small0.json", "plan", SIZES, DASH_CACHE=str(TMP / "file"))
    expect(
        "a warning where nothing can be kept",
        blocked.startswith("warning: orders are not kept on disk: "),
        blocked,
    )
    expect("the same without a cache", blocked.endswith(first), blocked)


def edited(change: str, value: str, name: str = "small0") -> Path:
    """A manifest in which a regular expression's first match has become something else."""
    text, count = re.subn(change, value, (TMP / f"{name}.json").read_text(), count=1)
    assert count, change
    path = TMP / f"edited-{name}.json"
    path.write_text(text)
    return path


def refusals() -> None:
    table = TMP / "small0.json"
    formulas = compile_example("formulas", "causal", "kind=shift")
    compile_example(
        "folded",
        "fwd-causal fold(2)",
        f"kind=longest-first workers=8 table=true {stated(512, 512, 1, 2, 1)}",
    )
    blocks = compile_example(
        "blocks", "blocks", f"kind=synthesized workers=4 {stated(1024, 1024, 1, 2, 2)}"
    )
    listed = compile_example(
        "listed",
        "causal",
        "kind=synthesized workers=4 sizes=q:200+300,kv:200+300,heads:2,kv-heads:2",
    )
    refused = {
        (
            "a planner serves batches of equal sequences, and 'attention_bwd' is of a list:"
            " use dash-opt for others"
        ): (
            listed,
            SIZES,
        ),
        "expected a value for the size 'kv_rows' of 'attention_bwd', found none": (
            table,
            {key: value for key, value in SIZES.items() if key != "kv_rows"},
        ),
        (
            "'rows' is no size of a kernel, or is given twice:"
            " expected batch, heads, kv_heads, q_rows, kv_rows"
        ): (
            table,
            SIZES | {"rows": 1},
        ),
        "kernels serve q_rows from 1 to 2097152, found 0": (table, SIZES | {"q_rows": 0}),
        "kernels serve heads from 1 to 65535, found 65536": (table, SIZES | {"heads": 65536}),
        "4 heads are not a multiple of 3 kv heads": (table, SIZES | {"kv_heads": 3}),
        (
            "q tiles fold 2 heads, which must divide the query heads of a kv head, got 6 heads"
            " over 2"
        ): (
            TMP / "folded.json",
            SIZES | {"heads": 6},
        ),
        "'fold' must be a power of two from 1 to 64, got 3": (
            edited('"fold": 2', '"fold": 3', "folded"),
            SIZES,
        ),
        "parts must divide the 3 query heads of a kv head or be a multiple of them, got 2": (
            TMP / "small1.json",
            SIZES | {"heads": 6},
        ),
        (
            "the order of 'attention_bwd' is made by an entry for any sizes:"
            " there is no table to plan"
        ): (
            formulas,
            SIZES,
        ),
        "a planner serves masks without bitmaps and unions; use dash-opt for others": (
            blocks,
            SIZES,
        ),
        (
            "the order of 'attention_bwd' is of kind 'file', which cannot be planned:"
            " compile it anew"
        ): (
            edited('"kind": "synthesized"', '"kind": "file"'),
            SIZES,
        ),
    }
    for message, (manifest, sizes) in refused.items():
        said = call(manifest, "plan", sizes)
        expect(message, said == f"error: {message}\nDASH_INVALID_ARGUMENT\n", said)
    order = json.loads(table.read_text())["order"]
    version, budget = re.findall(r"\d+", order["search"])[:2]
    damaged = {
        (
            "the order of 'attention_bwd' was found by version 999 of the search"
            f" with a budget of {budget},"
            f" expected {version} and {budget}: compile it anew"
        ): (
            r"search<version = \d+",
            "search<version = 999",
        ),
        (
            "manifest of 'attention_bwd': its order is not what this compiler writes:"
            " 'compute' must be above 0 and at most 1e100, got -1.0"
        ): (
            r"cost<compute = [\d.]+",
            "cost<compute = -1.0",
        ),
        "manifest of 'attention_bwd': its program is not what this compiler writes": (
            '"level": "run"',
            '"level": "world"',
        ),
        # Text for MLIR's parser, which calls itself for each bracket.
        (
            "manifest of 'attention_bwd': its program is not what this compiler writes:"
            " brackets nest deeper than 32 levels"
        ): (
            '"mask": "[^"]*"',
            f'"mask": "{"[" * 200000}"',
        ),
        (
            "manifest of 'attention_bwd': its order is not what this compiler writes:"
            " brackets nest deeper than 32 levels"
        ): (
            "cost<compute",
            f"cost<{'{' * 200000}compute",
        ),
        "manifest.program.workers: expected 1 to 16384, found 1000000": (
            '"workers": [0-9]+',
            '"workers": 1000000',
        ),
    }
    for message, change in damaged.items():
        said = call(edited(*change), "plan", SIZES)
        expect(
            message,
            said.startswith(f"error: {message}") and said.endswith("\nDASH_INVALID_MANIFEST\n"),
            said,
        )
    # Whatever a manifest says, there is an answer.
    lines = (TMP / "small0.json").read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if '"program"' in line)
    for number in [
        *range(start, start + 16),
        *(i for i, line in enumerate(lines) if '"order"' in line),
    ]:
        without = TMP / "edited.json"
        without.write_text("\n".join(line for i, line in enumerate(lines) if i != number))
        said = call(without, "plan", SIZES)
        expect(
            f"without line {number}",
            said.splitlines()[-1].startswith(("DASH_INVALID", "sha256:")),
            said,
        )


def choices() -> None:
    """What the compiler takes, whatever order the manifest has, and then the compiler's table; at
    the same sizes, of few heads and of many."""
    asked, found = 0, set()
    for mask, level in (("causal", ""), ("full", ""), ("window", ""), ("causal", " level=batch")):
        manifest = compile_example(
            "any", mask, f"kind=shift parts=2{level} sizes=heads:2,kv-heads:1"
        )
        for q, kv, batch, heads, kv_heads in (
            (2048, 2048, 1, 8, 1),
            (2048, 2048, 1, 32, 8),
            (1000, 1000, 1, 6, 1),
            (2040, 2040, 1, 4, 4),
            (1000, 3000, 2, 4, 4),
            (3000, 3000, 1, 2, 2),
        )[2 * bool(level) :]:
            sizes = dict(zip(SIZES, (batch, heads, kv_heads, q, kv)))
            exact = stated(q, kv, batch, heads, kv_heads)
            compiled = compile_example("auto", mask, f"kind=auto apart=auto{level} {exact}")
            expected = json.loads(compiled.read_text())
            kind, parts, apart = (
                expected["program"].get(key, "none") for key in ("kind", "parts", "apart")
            )
            steps = (64, 128) if mask == "full" else (64, 64) if q == kv else (1, 1)
            rows = "x".join(str(-(-size // step) * step) for size, step in zip((q, kv), steps))
            said = call(manifest, "choose", sizes)
            what = f"{mask}{level}, {q} x {kv} rows, {heads} heads over {kv_heads}"
            start = (
                f"DASH_SUCCESS\n{kind} parts={parts} apart={apart}"
                f" table={int(kind == 'synthesized')} rows={rows} "
            )
            expect(what, said.startswith(start) and 1 <= float(said.split()[-1]) < 3, said)
            asked, found = asked + 1, found | {(kind, parts, apart)}
            if kind == "synthesized":
                any_heads = (
                    f"q:{64 * parts},heads:1"
                    if parts > heads // kv_heads
                    else f"q:128,heads:{parts}"
                )
                table = compile_example(
                    "table",
                    mask,
                    f"kind=synthesized table=true{level} parts={parts} apart={apart} "
                    f"sizes={any_heads},kv:128,batch:1,kv-heads:1",
                )
                planned = call(table, "plan", sizes)
                expect(
                    f"{what}: the compiler's table",
                    planned == f"DASH_SUCCESS\n{expected['certificate']}\n",
                    planned,
                )
                expect(
                    f"{what}: to the last byte",
                    (TMP / "planned.order").read_bytes()
                    == compiled.with_suffix(".order").read_bytes(),
                )
            said = call(manifest, "choose", sizes, PARTS=str(heads // kv_heads))
            expect(f"{what}: stated parts hold", f" parts={heads // kv_heads} " in said, said)
    expect(
        "choices differ",
        asked == 22
        and len(found) > 5
        and len({kind for kind, *_ in found}) > 2
        and len({apart for *_, apart in found}) == 3,
        found,
    )
    for message, sizes, parts in (
        ("4 heads are not a multiple of 3 kv heads", SIZES | {"kv_heads": 3}, "0"),
        (
            "parts must divide the 2 query heads of a kv head or be a multiple of them, got 3",
            SIZES,
            "3",
        ),
        (
            "parts must divide the 2 query heads of a kv head or be a multiple of them, got -1",
            SIZES,
            "-1",
        ),
    ):
        said = call(TMP / "any.json", "choose", sizes, PARTS=parts)
        expect(
            "a refusal",
            said == f"error: {message}\nDASH_INVALID_ARGUMENT\nuntouched parts=-1 apart=untouched"
            " table=-1 rows=-1x-1 0.000000\n",
            said,
        )


def bounds() -> None:
    """Sizes that no order has are refused before anything is made of them: in little memory, by
    what chooses as by what plans."""
    huge = {"batch": 65535, "heads": 65535, "kv_heads": 65535, "q_rows": 1, "kv_rows": 1}
    refused = (
        "error: problem is too large to be scheduled: expected at most 8388608 kv tiles, 16777216 q"
        " tiles and 17179869184 tasks over all heads and sequences\nDASH_INVALID_ARGUMENT\n"
    )
    unlimited = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, unlimited[1]))
    try:
        for sizes in (
            huge,
            huge | {"heads": 129, "kv_heads": 129},
            SIZES | {"batch": 65535, "heads": 65535, "kv_heads": 1},
            SIZES | {"q_rows": 2097152, "kv_rows": 2097152, "batch": 64},
        ):
            for mode in ("plan", "choose"):
                said = call(TMP / "small0.json", mode, sizes)
                expect(f"{mode}, {sizes}", said.startswith(refused), said)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, unlimited)


def kept_choices() -> None:
    """With a choice its table: a later plan finds it. What is damaged is chosen anew."""
    folder, sizes = TMP / "choices", SQUARE
    kept = {"DASH_CACHE": str(folder), "PARTS": "1"}
    first = call(TMP / "small0.json", "choose", sizes, **kept)
    files = sorted((folder / "orders").iterdir(), key=lambda path: path.stat().st_size)
    expect("a choice and its table", len(files) == 2 and " table=1 " in first, (files, first))
    # It has the same tiles.
    call(TMP / "small0.json", "plan", sizes | {"q_rows": 1090, "kv_rows": 1090}, **kept)
    expect("planning finds it", len(list((folder / "orders").iterdir())) == 2)
    whole = files[0].read_bytes()
    expect("the same from the disk", call(TMP / "small0.json", "choose", sizes, **kept) == first)
    makespan = re.search(rb"makespan ([0-9A-F]+)", whole)[1]
    for damaged in (
        b"",
        whole[:-3],
        whole.replace(b"parts 1", b"parts 2"),
        *(
            hashed(whole.replace(*change))
            for change in (
                (b"kind synthesized", b"kind unordered"),
                (b"kind synthesized", b"kind shift"),
                (b"kind synthesized", b"kind nothing"),
                (b"form table", b"form formulas"),
                (makespan, b"4000000000000000"),
                (b"bound 40", b"bound 3F"),
            )
        ),
    ):
        files[0].write_bytes(damaged)
        expect(
            f"a choice that is damaged: {damaged!r}",
            call(TMP / "small0.json", "choose", sizes, **kept) == first,
        )
        expect(f"and written again: {damaged!r}", files[0].read_bytes() == whole)
    # A valid order that is not the one that the search finds, whole and with its hash: the choice
    # knows another makespan.
    others = TMP / "others"
    call(
        compile_example(
            "descending",
            "causal",
            f"kind=descending table=true workers=8 parts=1 {stated(512, 512, 1, 2, 1)}",
        ),
        "plan",
        sizes,
        DASH_CACHE=str(others),
    )
    words = next((others / "orders").iterdir()).read_bytes().split(b"\nwords\n")[1]
    table = files[1].read_bytes()
    files[1].write_bytes(hashed(table.split(b"words\n")[0] + b"words\n" + words))
    expect(
        "of as many words", len(table.split(b"\nwords\n")[1]) == len(words) and words not in table
    )
    files[0].touch()
    expect(
        "a choice whose order is another",
        call(TMP / "small0.json", "choose", sizes, **kept) == first,
    )
    expect(
        "the order is found again",
        files[1].read_bytes() == table and files[0].read_bytes() == whole,
    )
    files[1].unlink()
    expect(
        "a choice whose order is gone",
        call(TMP / "small0.json", "choose", sizes, **kept) == first
        and files[1].read_bytes() == table,
    )


def hashed(content: bytes) -> bytes:
    """A kept file with the hash of what it holds."""
    body = content.partition(b"\n")[2]
    return b"blake3 " + blake3(body).encode() + b"\n" + body


def ranges() -> None:
    """An order serves all rows of its tiles, where these meet the mask alike; the launcher refuses
    others."""
    for manifest, mask, sizes, q, kv, constrained in (
        ("small0", "causal", SQUARE, {"min": 1089, "max": 1152}, {"min": 1089, "max": 1152}, True),
        ("small0", "causal", SIZES, {"value": 300}, {"value": 1100}, False),
        ("small2", "full", SIZES, {"min": 257, "max": 320}, {"min": 1025, "max": 1152}, False),
    ):
        call(TMP / f"{manifest}.json", "plan", sizes)
        first = (TMP / "planned.order").read_bytes()
        planned = json.loads((TMP / "planned.json").read_text())
        expect(
            f"{mask}: rows",
            (planned["sizes"]["q_rows"], planned["sizes"]["kv_rows"]) == (q, kv),
            planned["sizes"],
        )
        expressions = [one["expression"] for one in planned["constraints"]]
        expect(
            f"{mask}: constraints",
            (expressions.count("q_rows - kv_rows") == 1) == constrained,
            expressions,
        )
        if constrained:  # a manifest of the planner may be planned again
            (TMP / "again.json").write_text(json.dumps(planned))
            for rows in (1089, 1152):
                call(TMP / "again.json", "plan", SIZES | {"q_rows": rows, "kv_rows": rows})
                expect(
                    f"{rows} rows: the same table", (TMP / "planned.order").read_bytes() == first
                )
                expect(
                    f"{rows} rows: the same manifest but for its command",
                    json.loads((TMP / "planned.json").read_text()) | {"order": 0}
                    == planned | {"order": 0},
                )
            call(TMP / "again.json", "plan", SIZES)
            expect(
                "nothing is left of them",
                json.loads((TMP / "planned.json").read_text())["constraints"]
                == planned["constraints"][:1],
            )


def misuse() -> None:
    invalid = "DASH_INVALID_ARGUMENT\n"
    said = call(TMP / "small0.json", "misuse")
    expect(
        "misuse",
        said
        == "".join(
            (
                "error: 'choice' is NULL: there is no place for the result\n",
                invalid,
                "error: 'planner' is NULL: there is no place for the result\n",
                invalid,
                "error: 'order' is NULL: there is no place for the result\n",
                invalid,
                "error: 'planner' is NULL\n",
                invalid,
                "error: 'sizes' is NULL but not empty\n",
                invalid,
                "error: a string is NULL but not empty\n",
                invalid,
                "error: a string is NULL but not empty\n",
                invalid,
                invalid,
                "DASH_INVALID_MANIFEST\n",
                "nothing: '' '' ''\n",
            )
        ),
        said,
    )


same_as_compiled()
kept_on_disk()
refusals()
choices()
bounds()
kept_choices()
ranges()
misuse()
if problems:
    sys.exit("\n".join(problems))
