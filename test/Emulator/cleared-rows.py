"""The entry that clears rows outside of all sequences, on the emulator of `lib`. Such rows become 0
in every output, and -inf in the LSE; all others stay as they were, all bits set. Lists have empty
sequences, rows in front and behind, and numbers that do not ascend or lie outside of the tensors.
Behind a whole launch, sequences have the bits that they have without the entry."""

# REQUIRES: python, host-supports-nvptx
# RUN: %python %s %t

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent / "lib"), str(ROOT / "test/Main"), str(ROOT / "python")]

from forward_case import Case, are_equal, compiled, demand  # noqa: E402
from lanes import u16  # noqa: E402
from launch import BITS, Kernel  # noqa: E402

from dash_attn.kernel.problem import OF_KV, OF_Q, Wanted, program_of  # noqa: E402

CAUSAL = (-1, 0)
WORKERS = 2  # 1024 threads: fewer than the rows of the longest list
ALL_SET = {np.uint16: 0xFFFF, np.uint32: 0xFFFFFFFF}


@dataclass(frozen=True)
class List:
    """Offsets of a list in the rows of both tensors, and how many heads these have."""

    cu_q: tuple[int, ...]
    cu_kv: tuple[int, ...]
    q_rows: int
    kv_rows: int
    heads: int = 4
    kv_heads: int = 2

    def sizes(self) -> dict[str, int]:
        return {
            "batch": 1,
            "heads": self.heads,
            "kv_heads": self.kv_heads,
            "q_rows": self.q_rows,
            "kv_rows": self.kv_rows,
            "bounds": len(self.cu_q),
        }

    def outside(self, is_key_value: bool) -> np.ndarray:
        """Whether no sequence has a row, for each of them. A sequence begins at the largest number
        up to its own, and ends where the next number says, or there."""
        numbers, rows = (self.cu_kv, self.kv_rows) if is_key_value else (self.cu_q, self.q_rows)
        found, begin = np.ones(rows, bool), 0
        for own, after in zip(numbers, numbers[1:]):
            begin = max(begin, min(max(own, 0), rows))
            end = max(begin, min(max(after, 0), rows))
            found[begin:end], begin = False, end
        return found


def lists() -> list[List]:
    plain = List((0, 70, 200), (0, 64, 300), 200, 300)
    empty = List((3, 3, 3), (0, 0, 0), 40, 50, heads=3, kv_heads=3)
    found = [
        plain,
        List((0, 70, 199), (1, 64, 300), 200, 300),
        List((5, 5, 70, 70, 190, 190), (0, 9, 9, 9, 299, 300), 200, 301, heads=1, kv_heads=1),
        List((100, 30, 60, 150), (250, -7, 2**31 - 1, 10), 200, 300),  # they do not ascend
        List((-(2**31), 2**31 - 1), (300, 300), 200, 300),
        List((200, 0), (7, 3), 200, 300),
        empty,
        List((700, 705), (0, 1), 1400, 1100, heads=2, kv_heads=1),  # more rows than threads
    ]
    of = random.Random(1)
    for count in (31, 32, 33, 70):
        both = [tuple(sorted(of.randrange(250) for _ in range(count + 1))) for _ in range(2)]
        found.append(List(*both, 260, 255, heads=1, kv_heads=1))
    return found


def kernel_of(wanted: Wanted, folder: Path) -> Kernel:
    folder.mkdir(parents=True, exist_ok=True)
    program, options, _ = program_of(wanted._replace(is_list=True))
    (folder / "list.mlir").write_text(program, encoding="utf-8")
    options += f" workers={WORKERS} output={folder}/list"
    command = ["dash-opt", folder / "list.mlir", f"--dash-to-ptx={options}", "-o", "/dev/null"]
    subprocess.run(command, check=True)
    return Kernel(folder / "list.json")


def inputs_of(kernel: Kernel, one: List) -> dict[str, np.ndarray]:
    """Offsets; nothing reads the rest."""
    values, found = kernel.values(one.sizes()), {}
    for tensor in kernel.manifest["tensors"]:
        if tensor["access"] == "read":
            shape = [kernel.number(size, values) for size in tensor["shape"]]
            dtype = BITS.get(tensor["element"], u16)
            found[tensor["name"]] = np.zeros(shape, dtype)
    given = {"cu_seqlens_q": one.cu_q, "cu_seqlens_kv": one.cu_kv}
    return found | {name: np.array(numbers, np.int32) for name, numbers in given.items()}


def check(kernel: Kernel, one: List, memory: str) -> None:
    """That entry, and the one that it needs."""
    roles = ("sequences", "clear")
    given = inputs_of(kernel, one)
    for name, tensor in kernel.run(given, one.sizes(), 1.0, 1, memory, roles).items():
        words = tensor.view(np.uint32 if tensor.dtype == np.float32 else np.uint16)
        if name == "dsink":
            cleared = np.zeros(words.shape[0], bool)
        else:
            cleared, words = one.outside(name in ("dk", "dv")), words.swapaxes(0, 2)
        expected = np.float32(-np.inf).view(np.uint32) if name == "lse" else 0
        demand(bool((words[cleared] == expected).all()), f"{one}: {name} outside: {memory}")
        untouched = words[~cleared] == ALL_SET[words.dtype.type]
        demand(bool(untouched.all()), f"{one}: {name} inside is written: {memory}")


def check_whole(folder: Path) -> None:
    """All entries of a launch, with the one that clears and without."""
    lengths = ((70, 70), (0, 30), (33, 0), (1, 200))
    case = Case(options="kind=longest-first", lengths=lengths, mask="full")
    kernel, given = compiled(case, folder), case.inputs()
    roles = [entry["role"] for entry in kernel.manifest["entries"]]
    demand(roles[-1] == "clear", f"the last entry of {roles}")
    run = (given, case.sizes(), case.head_dim**-0.5, case.seed, "bshd")
    without, cleared = kernel.run(*run), kernel.run(*run, roles)
    outside = np.ones(cleared["o"].shape[2], bool)
    for of_q, _ in case.rows():
        outside[of_q] = False
        own = {name: tensor[:, :, of_q] for name, tensor in cleared.items()}
        demand(are_equal(own, without, of_q), f"other bits in {of_q} beside the entry that clears")
    for name, value in (("o", 0), ("lse", -np.inf)):
        demand(bool((cleared[name][:, :, outside] == value).all()), f"{name} outside")


def main() -> None:
    folder = Path(sys.argv[1])
    forward = Wanted(64, 64, "bf16", CAUSAL, is_forward=True, level="row")
    backward = Wanted(64, 64, "f16", CAUSAL, has_sink=True)
    wide = Wanted(192, 128, "bf16", CAUSAL)
    for name, wanted in (
        ("forward", forward),
        ("f16", forward._replace(element="f16", head_dim=40, head_dim_v=24)),
        ("cut", forward._replace(cut=128)),
        ("unrounded", forward._replace(is_unrounded=True, head_dim_v=40)),
        ("backward", backward),
        ("of-kv", wide._replace(gradients=OF_KV)),
        ("of-q", wide._replace(gradients=OF_Q)),
    ):
        kernel = kernel_of(wanted, folder / name)
        for number, one in enumerate(lists()):
            check(kernel, one, ("bhsd", "bshd", "padded")[number % 3])
    check_whole(folder / "whole")


main()
