# RUN: env PYTHONPATH=%dash_src/python %python %s
# REQUIRES: python, host-supports-nvptx, plain-libdash
"""What kernels cover is what the compiler compiles and the planner plans: each answer, at both
sides of each limit, beside what becomes of a program."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from typing import Any

from dash_attn import ArgumentError, CompileError, compile_program
from dash_attn.kernel.coverage import Coverage, ask, limits
from dash_attn.kernel.masks import refusal_of_rules, rules_of
from dash_attn.kernel.orders import forward_for, order_for, texts_of
from dash_attn.kernel.problem import FULL, ROW, Wanted
from dash_attn.reference import Blocks, Mask

PROGRAM = """
func.func @attention_bwd(%q: memref<{q}, strided<[?, ?, ?, 1], offset: ?>>, %k: memref<{k}, strided<[?, ?, ?, 1], offset: ?>>,
    %v: memref<{v}, strided<[?, ?, ?, 1], offset: ?>>, %do: memref<{o}, strided<[?, ?, ?, 1], offset: ?>>,
    %lse: memref<{lse}xf32, strided<[?, ?, 1], offset: ?>>, %delta: memref<{lse}xf32, strided<[?, ?, 1], offset: ?>>,
    %dq: memref<{q}, strided<[?, ?, ?, 1], offset: ?>>, %dk: memref<{k}, strided<[?, ?, ?, 1], offset: ?>>,
    %dv: memref<{v}, strided<[?, ?, ?, 1], offset: ?>>, %scale: f32) {{
  dash.attention_bwd
      ins(%q, %k, %v, %do, %lse, delta = %delta : memref<{q}, strided<[?, ?, ?, 1], offset: ?>>,
          memref<{k}, strided<[?, ?, ?, 1], offset: ?>>, memref<{v}, strided<[?, ?, ?, 1], offset: ?>>,
          memref<{o}, strided<[?, ?, ?, 1], offset: ?>>, memref<{lse}xf32, strided<[?, ?, 1], offset: ?>>,
          memref<{lse}xf32, strided<[?, ?, 1], offset: ?>>)
      outs(%dq, %dk, %dv : memref<{q}, strided<[?, ?, ?, 1], offset: ?>>, memref<{k}, strided<[?, ?, ?, 1], offset: ?>>,
           memref<{v}, strided<[?, ?, ?, 1], offset: ?>>)
      mask(<window = [{left}, {right}]>) level({level}) scale(%scale){softcap}
  return
}}
"""


def is_compiled(problem: dict[str, Any]) -> bool:
    """Whether a program of these sizes becomes kernels; sizes that are not stated come with each
    launch."""
    size = {
        name: problem.get(name, "?") for name in ("batch", "heads", "kv_heads", "q_rows", "kv_rows")
    }
    element, dim, dim_v = (
        problem.get("element", "bf16"),
        problem.get("head_dim", 64),
        problem.get("head_dim_v", problem.get("head_dim", 64)),
    )
    of_q, of_k = (
        f"{size['batch']}x{size[heads]}x{size[rows]}"
        for heads, rows in (("heads", "q_rows"), ("kv_heads", "kv_rows"))
    )
    left, right = problem.get("window", (-1, 0))
    softcap = f" softcap({problem['softcap']})" if "softcap" in problem else ""
    text = PROGRAM.format(
        q=f"{of_q}x{dim}x{element}",
        k=f"{of_k}x{dim}x{element}",
        v=f"{of_k}x{dim_v}x{element}",
        o=f"{of_q}x{dim_v}x{element}",
        lse=of_q,
        left=left,
        right=right,
        level=problem.get("level", "run"),
        softcap=softcap,
    )
    if max(dim, dim_v) > 128:  # a program for each part of the gradients
        for gradients in (("dk", "dv"), ("dq",)):
            if not _compiles(_part(text, gradients)):
                return False
        return True
    # An order of so many rows takes minutes to prove; the pass that refuses sizes comes first.
    if size != dict.fromkeys(size, "?"):
        return (
            subprocess.run(
                ["dash-opt", "--dash-check-sizes", "-o", "/dev/null"],
                input=text,
                capture_output=True,
                text=True,
                check=False,
            ).returncode
            == 0
        )
    return _compiles(text)


def _compiles(text: str) -> bool:
    try:
        compile_program(text, "kind=ascending")
    except CompileError:
        return False
    return True


def _part(text: str, gradients: Sequence[str]) -> str:
    """The program without its other gradients."""
    head, outs, rest = re.split(r"outs\((.*?>)\)\n", text, maxsplit=1, flags=re.DOTALL)
    types = dict(zip(("dq", "dk", "dv"), re.findall(r"memref<.*?>>", outs)))
    for name in types.keys() - set(gradients):
        head = re.sub(rf"%{name}: memref<.*?>>,\s*", "", head)
    names = ", ".join(f"{name} = %{name}" for name in gradients)
    return f"{head}outs({names} : {', '.join(types[name] for name in gradients)})\n{rest}"


def is_one_launch(problem: dict[str, Any], answer: Coverage | str) -> bool:
    """Slices are other problems, as their sizes say."""
    return (
        isinstance(answer, Coverage)
        and answer.batch >= problem.get("batch", 0)
        and answer.kv_heads >= problem.get("kv_heads", 0)
    )


def compiler() -> None:
    most = limits()
    assert (most.rows, most.sequences, most.head_dim_multiple, most.head_dim) == (
        2**21,
        65535,
        8,
        256,
    ), most
    problems: list[dict[str, Any]] = [
        *({"head_dim": dim} for dim in (32, 64, 80, 96, 128, 192, 256, 264)),
        {"head_dim": 192, "head_dim_v": 128},
        {"head_dim": 128, "head_dim_v": 64},
        *({"element": element} for element in ("bf16", "f16", "f32", "f64")),
        *({"level": level} for level in ("run", "batch", "machine", "world", "best")),
        *(
            {"window": window}
            for window in ((-1, -1), (0, 0), (2**31 - 1, 5), (2**31, 0), (-2, 0), (0, -2))
        ),
        *({"softcap": cap} for cap in (30.0, -1.0)),
        *({name: size} for name in ("batch", "heads", "kv_heads") for size in (1, 65535, 65536)),
        *({name: size} for name in ("q_rows", "kv_rows") for size in (1, most.rows, most.rows + 1)),
        {"heads": 4, "kv_heads": 2},
        {"heads": 4, "kv_heads": 3},
    ]
    for problem in problems:
        one = (
            {"heads": 1, "kv_heads": 1}
            if "batch" in problem
            else {"kv_heads": 1}
            if "heads" in problem
            else {}
        )
        answer = ask(**one | problem)
        assert is_compiled(problem) == is_one_launch(problem, answer), (problem, answer)


def planner() -> None:
    """What no order counts is cut into slices that one does."""
    wanted = Wanted(64, 64, "bf16", FULL)
    for sizes, is_whole in (
        ((65535, 1, 1, 1, 1), True),
        ((65536, 1, 1, 1, 1), False),
        ((16384, 512, 512, 1, 1), True),
        ((16384, 513, 513, 1, 1), False),
    ):
        answer = ask(**dict(zip(("batch", "heads", "kv_heads", "q_rows", "kv_rows"), sizes)))
        assert (
            isinstance(answer, Coverage)
            and ((answer.batch, answer.kv_heads) == (sizes[0], sizes[2])) == is_whole
        ), (sizes, answer)
        if is_whole and sizes[1] > 1:
            continue  # takes a while, and some memory
        try:
            order_for(wanted, *sizes)
        except ArgumentError:
            assert not is_whole, sizes
        else:
            assert is_whole, sizes


def bitmaps() -> None:
    """Blocks are whole tiles of both passes, and there are as many as rows need."""
    for columns, q, kv, rows in (
        ((64, 64), 64, 128, 100),
        ((64, 64), 32, 128, 50),
        ((64, 64), 64, 64, 100),
        ((64, 64), 64, 128, 60),
        ((96, 96), 192, 384, 300),
        ((96, 96), 192, 128, 300),
        ((192, 128), 128, 896, 200),
        ((192, 128), 64, 896, 100),
        ((192, 128), 128, 128, 200),
    ):
        mask = Mask(blocks=Blocks(q, kv, ((True, True), (False, True))))
        wanted = Wanted(*columns, "bf16", FULL, rules=rules_of(mask))
        sizes = 1, 1, 1, rows, 2 * kv
        forward = forward_for(wanted._replace(is_forward=True, level=ROW), *sizes)
        try:
            for one in (forward, *order_for(wanted, *sizes).kernels):
                texts_of(one)
            is_served = True
        except CompileError:
            is_served = False
        reason = refusal_of_rules(mask, *columns, False, rows, 2 * kv)
        assert is_served == (reason is None), (columns, q, kv, rows, reason)


compiler()
planner()
bitmaps()
