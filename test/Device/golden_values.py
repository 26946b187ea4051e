"""Golden hashes: the problems they are of, the integers their inputs are made of, and the file that
has them.

Inputs are splitmix64 of (seed, tensor, element), mapped to small dyadic rationals, which bf16, f16
and f32 hold exactly: no random generator, no rounding and no library's version takes part. Integer
operators are all that is used, so that NumPy and PyTorch compute the same here. Needs neither: it
is given their arrays.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from dash_attn.measure.bundle import DEBUG_BUILDS, FORWARD_BUILDS
from dash_attn.reference import GRADIENTS, Mask

FILE = Path(__file__).with_name("golden.json")
SEED = 9
GAMMA, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
# The denominators of each tensor's elements: scores have a standard deviation of 4/3, as those of
# normal inputs nearly have.
DENOMINATORS = {"q": 32, "k": 64, "v": 64, "do": 64, "o": 256, "lse": 64, "sink": 64}
# What an o in f32 has beside: below the last place that 16 bits have.
FINE = "fine"
DENOMINATORS[FINE] = 1 << 18
NUMBERS = {name: number for number, name in enumerate(DENOMINATORS)}
LOG_OF_2, JITTER = 44, 64  # in 64ths
LARGER = 16  # so many times larger is q where a softcap of 50 is to be felt

# (q rows, kv rows, batch, heads, kv heads, memory): more items than workers, whole tiles; then no
# tile whole, heads in groups, and rows that a mask leaves nothing.
PROBLEMS = (
    (1024, 1024, 2, 12, 12, "bhsd"),
    (333, 457, 2, 4, 2, "bshd"),
    (457, 333, 2, 4, 2, "padded"),
)
FORWARD = ("o", "lse")
OF_UNROUNDED = "-unrounded"  # in names
SIZES = ("q_rows", "kv_rows", "batch", "heads", "kv_heads")


def problems(
    fixed_sizes: dict[str, int], fold: int = 1
) -> list[tuple[int, int, int, int, int, str]]:
    """The problems of a kernel; one whose order is a table has the problem that it is stated for. A
    list, whose batch is 1, has sequences as long as the problem's. A kernel that folds heads has
    those whose groups it divides."""
    if not fixed_sizes.keys() - {"batch"}:
        return [one for one in PROBLEMS if one[3] // one[4] % fold == 0]
    return [(*(fixed_sizes[name] for name in SIZES), "bhsd")]


def problem_name(problem: tuple[int, int, int, int, int, str]) -> str:
    return "q{}-kv{}-b{}-h{}-kvh{}".format(*problem[:5])


def is_forward(kernel: str) -> bool:
    return "-forward" in kernel


def plain_name(kernel: str) -> str:
    """The kernel whose hashes this one must have: a build for tests has those of the kernel that it
    is a build of, and a forward those of another q tile, fold, order or packing."""
    builds = FORWARD_BUILDS * is_forward(kernel) + DEBUG_BUILDS
    return next(
        (kernel.removesuffix(f"-{word}") for word in builds if kernel.endswith(f"-{word}")),
        kernel,
    )


def hashed_outputs(kernel: str) -> tuple[str, ...]:
    """`unordered` adds to dQ as workers come: only its dK and dV, of one worker each, have bits to
    hold."""
    if is_forward(kernel):
        return (*FORWARD, "unrounded") if OF_UNROUNDED in kernel else FORWARD
    return GRADIENTS[1:] if kernel.endswith("-unordered") else GRADIENTS


# ---- Inputs --------------------------------------------------------------------------------------


def splitmix64(state: int, index: Any) -> Any:
    """Output number `index` (int64, an array) of the generator that starts in `state`; int64 with
    its 64 bits.

    Products and sums of int64 wrap around in both libraries; a shift takes its sign along, so that
    is cut off.
    """
    z = (index + 1) * signed(GAMMA) + signed(state)
    z = (z ^ shifted(z, 30)) * signed(FIRST)
    z = (z ^ shifted(z, 27)) * signed(SECOND)
    return z ^ shifted(z, 31)


def signed(word: int) -> int:
    """The int64 with these 64 bits."""
    return (word + (1 << 63)) % (1 << 64) - (1 << 63)


def shifted(z: Any, bits: int) -> Any:
    return (z >> bits) & ((1 << (64 - bits)) - 1)


def numerators(name: str, index: Any) -> Any:
    """Values of q, k, v, do, o and a sink at places `index` in C order: -127 to 127, those near 0
    more often."""
    z = splitmix64(SEED << 32 | NUMBERS[name] << 24, index)
    return (z & 127) + (shifted(z, 7) & 127) - 127


def lse_numerators(index: Any, q_rows: int, kv_rows: int, mask: Mask) -> tuple[Any, Any]:
    """(64ths of the LSE, whether the row sees anything) of rows `index` in C order of [batch,
    heads, q_rows].

    About ln(columns seen) + 1/2, by the length of that number in bits: the P of a row add up to
    something near 1, and none is so large that it hides the others.
    """
    first, end = mask.columns(index % q_rows, q_rows, kv_rows)
    seen = end - first
    length = sum(((seen >> bit) > 0) * 1 for bit in range(25))
    jitter = splitmix64(SEED << 32 | NUMBERS["lse"] << 24, index) & (JITTER - 1)
    return LOG_OF_2 * length + jitter, seen > 0


# ---- The file ------------------------------------------------------------------------------------


def hash_of(content: bytes) -> str:
    """64 bits of SHA-256, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()[:16]


def read(path: Path = FILE) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def difference(golden: dict[str, Any], kernel: str, problem: str, found: dict[str, str]) -> str:
    """Empty if the kernel's hashes are those of the file; else what was expected. What the file
    lacks is a difference."""
    expected = golden["hashes"].get(plain_name(kernel), {}).get(problem)
    if expected is None:
        return (
            f"expected hashes of {plain_name(kernel)} {problem} in golden.json, found none; record"
            " them there with a reason"
        )
    wrong = [
        f"{name}: expected {expected.get(name, 'none')}, found {found.get(name, 'none')}"
        for name in hashed_outputs(plain_name(kernel))
        if expected.get(name) != found.get(name) or name not in found
    ]
    return "; ".join(wrong)
