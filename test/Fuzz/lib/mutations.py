"""Inputs of the tests, order files and pass options, changed at random: whatever they say, dash-opt
answers."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tool import Done, Tool

INPUTS_A_BATCH = 20

NUMBERS = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "16",
    "64",
    "4096",
    "65536",
    "1048576",
    "1048577",
    "2147483647",
    "2147483648",
    "-2147483648",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551616",
    "0.5",
    "-0.0",
    "1e-320",
    "1e100",
    "1e308",
    "1e400",
    "0x7FC00000",
    "0x7FF8000000000000",
    "nan",
    "inf",
    "?",
]
TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|[-+]?\d+\.\d*(?:[eE][-+]?\d+)?|\d+|[%@#!^]?[\w.$]+|\s+|.', re.S
)
NUMBER = re.compile(r"[-+]?\d+(\.\d*)?([eE][-+]?\d+)?")


@dataclass(frozen=True)
class Fault:
    kind: str
    command: str
    text: str
    order: str

    def keep(self, folder: Path) -> Path:
        """Writes the input, and the order file if the command names one."""
        name = hashlib.sha256((self.kind + self.text).encode("utf-8", "replace")).hexdigest()[:12]
        path = folder / f"fault-{name}.mlir"
        path.write_text(self.text, encoding="utf-8", errors="surrogateescape")
        if self.order:
            path.with_suffix(".json").write_text(
                self.order, encoding="utf-8", errors="surrogateescape"
            )
        return path


@dataclass(frozen=True)
class Corpus:
    inputs: tuple[str, ...]  # pieces that stand by themselves
    orders: tuple[str, ...]  # order files, of the first of `ordered`
    ordered: tuple[str, ...]
    words: tuple[str, ...]

    @staticmethod
    def of(root: Path, tool: Tool) -> Corpus:
        files = sorted([*(root / "test").rglob("*.mlir"), *(root / "dialects").rglob("*.mlir")])
        texts = [path.read_text(encoding="utf-8") for path in files if "Inputs" not in path.parts]
        pieces = {piece for text in texts for piece in re.split(r"^// -----.*$", text, flags=re.M)}
        bare = {re.sub(r"^\s*//.*\n", "", piece, flags=re.M) for piece in pieces}
        example = (root / "dialects/dash/examples/bwd-causal.mlir").read_text(encoding="utf-8")
        orders, ordered = [], [example]
        for index, (form, kind) in enumerate(
            [
                ("formulas", "ascending"),
                ("table", "symmetric-shift"),
                ("formulas", "shift"),
                ("table", "descending"),
            ]
        ):
            report, scheduled = tool.path(f"seed-{index}.json"), tool.path(f"seed-{index}.mlir")
            done = tool.run(
                "-o",
                str(scheduled),
                "--dash-tile=q=64 kv=64",
                f"--dash-apply-schedule=kind={kind} workers=3 form={form} "
                "sizes=q:100+300,kv:200+100,heads:4,kv-heads:2 parts=2",
                f"--dash-report-schedule=format=json output={report}",
                text=example,
            )
            if done.code != 0:
                raise RuntimeError("\n".join(done.told("no order to start from")))
            orders.append(report.read_text(encoding="utf-8"))
            bare.add(scheduled.read_text(encoding="utf-8"))
        inputs = tuple(sorted(piece for piece in bare if piece.strip() and len(piece) < 20000))
        words = {word for piece in inputs for word in TOKEN.findall(piece) if not word.isspace()}
        return Corpus(inputs, tuple(orders), tuple(ordered), tuple(sorted(words)))


def mutate_text(rng: random.Random, text: str, words: tuple[str, ...]) -> str:
    """One to four changes of tokens: numbers first, then words, then structure."""
    tokens = TOKEN.findall(text)
    for _ in range(rng.choice([1, 1, 1, 2, 2, 4])):
        solid = [index for index, token in enumerate(tokens) if not token.isspace()]
        if not solid:
            break
        numbers = [index for index in solid if NUMBER.fullmatch(tokens[index])]
        at = rng.choice(numbers if numbers and rng.random() < 0.5 else solid)
        change = rng.randrange(8)
        if at in numbers and change < 6:
            tokens[at] = rng.choice(NUMBERS)
        elif change < 2:
            tokens[at] = rng.choice(words)
        elif change == 2:
            del tokens[at : at + rng.choice([1, 1, 2, 8, 30])]
        elif change == 3:
            length, times = rng.choice([1, 2, 5, 20]), rng.choice([1, 1, 2, 50])
            tokens[at:at] = tokens[at : at + length] * times
        elif change == 4:
            other = rng.choice(solid)
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif change == 5:
            tokens.insert(at, rng.choice(words))
        elif change == 6:
            tokens[at] = "".join(
                rng.choice('<>()[]{},:=#!%@"\\\0\x7f\u00e9-+ 0aZ') for _ in range(rng.randint(1, 4))
            )
        else:
            del tokens[at:]
    return "".join(tokens)


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Every (container, key) in a JSON value."""
    if isinstance(value, (dict, list)):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            found.append((value, key))
            _places(value[key], found)
    return found


def mutate_json(rng: random.Random, text: str, words: tuple[str, ...]) -> str:
    """As often as not it stays JSON, so that what reads its meaning is reached."""
    if rng.random() < 0.25:
        return mutate_text(rng, text, words)
    document = json.loads(text)
    for _ in range(rng.choice([1, 1, 2, 3])):
        places = _places(document, [])
        if not places:
            break
        (container, key), change = rng.choice(places), rng.randrange(6)
        if change == 0:
            del container[key]
        elif change == 1 and isinstance(container, list):
            container.insert(key, container[key])
        elif change == 2:
            other, other_key = rng.choice(places)
            if other_key in other if isinstance(other, dict) else other_key < len(other):
                container[key] = json.loads(json.dumps(other[other_key]))
        else:
            container[key] = rng.choice(
                [
                    0,
                    -1,
                    1,
                    2,
                    2**31,
                    -(2**31),
                    2**63,
                    2**64,
                    1e308,
                    0.5,
                    None,
                    True,
                    "",
                    "run",
                    [],
                    {},
                    [[0, 0]],
                    1048577,
                    2**53,
                ]
            )
    return json.dumps(document)


def _number(rng: random.Random, good: list[Any]) -> str:
    return (
        str(rng.choice(good)) if rng.random() < 0.8 else rng.choice(NUMBERS + ["", "x", "1 2", "-"])
    )


def _sizes(rng: random.Random) -> str:
    entries = [f"q:{_number(rng, [1, 64, 500, '100+300', '7+7+7'])}"]
    for key, good in (
        ("kv", [1, 100, 700, "200+100"]),
        ("batch", [1, 2]),
        ("heads", [1, 4]),
        ("kv-heads", [1, 2]),
    ):
        if rng.random() < 0.6:
            entries.append(f"{key}:{_number(rng, good)}")
    text = ",".join(entries)
    if rng.random() < 0.1:
        text = mutate_text(rng, text, ("q", "kv", ":", "+", ",", "heads", "batch", "x"))
    return text.replace("\0", "")  # no argument of a program can hold one


def _apply(rng: random.Random, order: Path | None) -> str:
    options: list[tuple[str, Callable[[], str]]] = [
        ("workers", lambda: _number(rng, [1, 2, 5, 132])),
        ("level", lambda: rng.choice(["run", "batch", "machine", "world", "x", ""])),
        ("for-workers", lambda: _number(rng, [1, 2, 5, 32])),
        ("parts", lambda: _number(rng, [1, 2, 4])),
        ("compute", lambda: _number(rng, [1, 2.1])),
        ("reduce", lambda: _number(rng, [1, 1.6])),
        ("latency", lambda: _number(rng, [0, 0.3])),
        ("buffers", lambda: _number(rng, [1, 2, 3])),
        ("form", lambda: rng.choice(["formulas", "table", "table", "x"])),
    ]
    kinds = ["ascending", "descending", "shift", "symmetric-shift", "file", "?"]
    kind = "file" if order and rng.random() < 0.8 else rng.choice(kinds)
    words = [f"kind={kind}"] + ([f"path={order}"] if order else [])
    words += [f"{name}={draw()}" for name, draw in options if rng.random() < 0.3]
    if rng.random() < 0.7:
        words.append(f"sizes={_sizes(rng)}")
    return f"--dash-apply-schedule={' '.join(words)}"


def pipeline(rng: random.Random, tool: Tool, order: Path | None) -> list[str]:
    """Passes of this project with options, most of them right."""
    output = tool.path("report.out")
    chosen = []
    if rng.random() < 0.7:
        chosen.append(
            f"--dash-tile=q={_number(rng, [16, 64, 128])} kv={_number(rng, [16, 128, 256])}"
            if rng.random() < 0.7
            else "--dash-tile"
        )
    if order or rng.random() < 0.7:
        chosen.append(_apply(rng, order))
    if rng.random() < 0.5:
        chosen.append("--dash-verify-schedule")
    if rng.random() < 0.6:
        form = rng.choice(["table", "json", "svg", "trace", "trace", "x"])
        chosen.append(
            f"--dash-report-schedule=format={form} max-steps={_number(rng, [0, 5])} output={output}"
        )
    if rng.random() < 0.3:
        chosen.append(f"--dash-explain=output={output}")
    if rng.random() < 0.1:
        rng.shuffle(chosen)
    for flag in (
        "--verify-roundtrip",
        "--mlir-elide-elementsattrs-if-larger=4",
        "--mlir-print-op-generic",
        "--emit-bytecode",
        "--allow-unregistered-dialect",
        "--canonicalize",
        "--cse",
    ):
        if rng.random() < 0.06:
            chosen.append(flag)
    return chosen


def fault_kind(done: Done) -> str | None:
    """One name for all inputs that fail alike: the place in our code, or the text without its
    numbers."""
    fault = done.fault()
    if fault is None:
        return None
    if not fault.startswith("crash"):
        return re.sub(r"\d+|'[^']*'", "N", fault)
    frames = re.findall(
        r"#\d+ 0x[0-9a-f]+ (?:in )?(mlir::dash[^ (]*|[^ (]*dash[^ (]*)", done.errors
    )
    asserted = re.search(r"Assertion `.*' failed", done.errors)
    return (
        f"{fault} {asserted[0] if asserted else ''} in {' < '.join(frames[:3]) or 'code of others'}"
    )


def batch_faults(folder: Path, dash_opt: str, corpus: Corpus, seed: int) -> list[Fault]:
    """Many inputs in one run; one by one where the run does not end well."""
    tool, rng = Tool(dash_opt, folder, seconds=40), random.Random(seed)
    order_text, order = "", None
    if rng.random() < 0.3:
        order_text = mutate_json(rng, rng.choice(corpus.orders), corpus.words)
        order = tool.path("mutant.json")
        order.write_text(order_text, encoding="utf-8", errors="surrogateescape")
    passes = pipeline(rng, tool, order)
    source = corpus.ordered if order else corpus.inputs
    texts = [mutate_text(rng, rng.choice(source), corpus.words) for _ in range(INPUTS_A_BATCH)]
    if order:
        texts[0] = corpus.ordered[0]
    together = tool.run_text("\n// -----\n".join(texts), "--split-input-file", *passes)
    if fault_kind(together) is None:
        return []
    found = []
    for text in texts:
        done = tool.run_text(text, *passes)
        if kind := fault_kind(done):
            found.append(Fault(kind, done.command, text, order_text))
    return found or [
        Fault(
            f"together only: {fault_kind(together)}",
            together.command,
            "\n// -----\n".join(texts),
            order_text,
        )
    ]
