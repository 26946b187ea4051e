"""Instructions that only compute, as Python on arrays of lanes: a run of them becomes one
function."""

from __future__ import annotations

import re
from collections.abc import Callable

import lanes
from ptx_text import Instruction, Wrong, operands_of

# How operands of a type are read, and how registers keep them.
READ = {"pred": "bool", "b16": "u16", "u16": "u16"} | {
    f"{kind}{bits}": f"{dtype}{bits}"
    for kind, dtype in (("s", "i"), ("u", "u"), ("b", "u"), ("f", "f"))
    for bits in (32, 64)
}
KEEP = {"f32": "u32", "i32": "u32", "i64": "u64", "f16": "u16"}
# Sums, products and negations modulo 2^n do not ask for a sign.
BINARY = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "and": "{} & {}",
    "or": "{} | {}",
    "xor": "{} ^ {}",
}
SIGNED = {
    "min": "np.minimum({}, {})",
    "max": "np.maximum({}, {})",
    "div": "quotient({}, {})",
    "rem": "remainder({}, {})",
}
FLOAT = {
    "add.rn": "{} + {}",
    "add.rn.ftz": "flushed(flushed({}) + flushed({}))",
    "sub.rn": "{} - {}",
    "mul.rn": "{} * {}",
    "max": "np.fmax({}, {})",
    "min": "np.fmin({}, {})",
}
UNARY = {
    "neg.f32": "-{}",
    "abs.f32": "np.abs({})",
    "ex2.approx.ftz.f32": "ex2({})",
    "rcp.approx.ftz.f32": "rcp({})",
    "rcp.rn.f32": "divided(f32(1), {})",
    "lg2.approx.ftz.f32": "lg2({})",
    "neg.s32": "-{}",
    "neg.s64": "-{}",
    "not.b32": "~{}",
    "not.b64": "~{}",
    "not.pred": "~{}",
    "popc.b32": "bits_set({})",
}
COMPARE = {"eq": "==", "ne": "!=", "neu": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
CONVERT = {
    "cvt.u64.u32": ("u32", "{}.astype(u64)"),
    "cvt.u32.u64": ("u64", "{}.astype(u32)"),
    "cvt.f32.f16": ("f16", "{}.astype(f32)"),
    "cvt.s64.s32": ("i32", "{}.astype(i64)"),
    "cvta.global.u64": ("u64", "{}"),
    "cvta.shared.u64": ("u64", "{}"),
}
PACK = {"cvt.rn.bf16x2.f32": "bf16x2({}, {})", "cvt.rn.f16x2.f32": "f16x2({}, {})"}
CLOCKS = {"%clock": "constant(clock() & 0xffffffff, u32)", "%globaltimer": "constant(clock(), u64)"}
NAME = re.compile(r"%?[a-z_$][\w.$]*", re.I)


class Translator:
    """The code of an entry: its functions share their constants."""

    def __init__(self, clock: Callable[[], int]):
        self.names = {name: getattr(lanes, name) for name in dir(lanes)} | {"clock": clock}

    def read(self, text: str, dtype: str) -> str:
        if NAME.fullmatch(text):
            return f'r["{text}"]' + (f".view({dtype})" if dtype in KEEP else "")
        number = int(text[2:], 16) if text[:2] in ("0f", "0F", "0x", "0d", "0D") else int(text)
        name = f"k{'m' * (number < 0)}{abs(number)}_{dtype}"
        self.names[name] = lanes.constant(
            number, getattr(lanes, dtype) if dtype != "bool" else bool
        )
        return name

    def shift(self, text: str, dtype: str) -> str:
        """A count has 32 bits, whatever is shifted."""
        return (
            f"{self.read(text, 'u32')}.astype({dtype})"
            if text.startswith("%")
            else self.read(text, dtype)
        )

    def translate(self, instruction: Instruction) -> list[tuple[str, str]] | None:
        """(register, its value) of each that gets one; None of an instruction that does more."""
        name, operands = instruction.name, instruction.operands
        words = name.split(".")
        root, last = words[0], words[-1]
        dtype = READ.get(last, "u32")

        def kept(text: str, kind: str = dtype) -> list[tuple[str, str]]:
            return [(operands[0], f"({text}).view({KEEP[kind]})" if kind in KEEP else text)]

        def of(text: str, kind: str = dtype) -> str:
            return text.format(*(self.read(operand, kind) for operand in operands[1:]))

        if root == "mov":
            return self.move(operands, dtype)
        if root == "createpolicy":  # only L2 reads it
            return [(operands[0], "constant(0, u64)")]
        if name.startswith("ld.param.") and len(words) == 3:
            place = f'r["{operands[1].strip("[]")}"]'
            return [
                (
                    operands[0],
                    place if last != "s32" else f"{place}.view(i32).astype(i64).view(u64)",
                )
            ]
        if root == "setp" and len(words) == 3 and words[1] in COMPARE:
            return [(operands[0], of(f"{{}} {COMPARE[words[1]]} {{}}"))]
        if root == "selp":
            one, other = (self.read(operand, KEEP.get(dtype, dtype)) for operand in operands[1:3])
            return [(operands[0], f"np.where({self.read(operands[3], 'bool')}, {one}, {other})")]
        if name in CONVERT:
            kind, text = CONVERT[name]
            return kept(
                of(text, kind), {"cvt.f32.f16": "f32", "cvt.s64.s32": "i64"}.get(name, "u32")
            )
        if name in PACK:
            return [(operands[0], of(PACK[name], "f32"))]
        if name in UNARY:
            kind = dtype if dtype == "f32" else KEEP.get(dtype, dtype)
            return kept(of(UNARY[name], kind), kind)
        if name == "fma.rn.f32":
            return kept(of("fma({}, {}, {})"))
        if dtype == "f32" and name.rpartition(".")[0] in FLOAT:
            return kept(of(FLOAT[name.rpartition(".")[0]]))
        if name == "bfe.u32":
            return [(operands[0], of("{} >> {} & (u32(1) << {}) - u32(1)"))]
        if name in ("mul.wide.s32", "mul.wide.u32"):
            wide = "i64" if name.endswith("s32") else "u64"
            return kept(
                " * ".join(
                    f"{self.read(operand, dtype)}.astype({wide})" for operand in operands[1:]
                ),
                wide,
            )
        if name == "mul.hi.u32":
            return [
                (operands[0], of("({}.astype(u64) * {}.astype(u64) >> u64(32)).astype(u32)", "u32"))
            ]
        if name == "mul.hi.u64":
            return [(operands[0], of("high_product({}, {})", "u64"))]
        if name == "mul.hi.s64":
            return [(operands[0], of("high_signed_product({}, {})", "u64"))]
        if (
            dtype == "f32"
            or len(words) != (3 if root in ("mul", "mad") else 2)
            or len(words) == 3
            and words[1] != "lo"
        ):
            return None
        unsigned = KEEP.get(dtype, dtype)
        if root == "mad":
            return [(operands[0], of("{} * {} + {}", unsigned))]
        if root == "shl":
            return [
                (
                    operands[0],
                    f"{self.read(operands[1], unsigned)} << {self.shift(operands[2], unsigned)}",
                )
            ]
        if root == "shr":
            return kept(f"{self.read(operands[1], dtype)} >> {self.shift(operands[2], dtype)}")
        if root in BINARY:
            return [(operands[0], of(BINARY[root], unsigned))]
        return kept(of(SIGNED[root])) if root in SIGNED else None

    def move(self, operands: list[str], dtype: str) -> list[tuple[str, str]]:
        if operands[0].startswith("{"):
            low, high = operands_of(operands[0].strip("{}"))
            whole, half, bits = ("u64", "u32", 32) if dtype.endswith("64") else ("u32", "u16", 16)
            word = self.read(operands[1], whole)
            return [
                (low, f"{word}.astype({half})"),
                (high, f"({word} >> {whole}({bits})).astype({half})"),
            ]
        if operands[1].startswith("{"):
            low, high = (self.read(part, "u32") for part in operands_of(operands[1].strip("{}")))
            return [(operands[0], f"{low}.astype(u64) | {high}.astype(u64) << u64(32)")]
        return [
            (operands[0], CLOCKS.get(operands[1]) or self.read(operands[1], KEEP.get(dtype, dtype)))
        ]

    def function(
        self, code: list[tuple[Instruction, list[tuple[str, str]]]], partial: bool
    ) -> Callable:
        """Runs instructions on registers `r`, in the lanes `m` alone if it is partial."""
        text = ["def run(r, m):"]
        for instruction, values in code:
            for register, value in values:
                active = ["m"] * partial + [
                    f'{"~" * instruction.unless}r["{instruction.guard}"]'
                ] * bool(instruction.guard)
                text.append(
                    f'    r["{register}"] = '
                    + (
                        f'merge({" & ".join(active)}, {value}, r.get("{register}"))'
                        if active
                        else value
                    )
                )
        exec("\n".join(text), self.names)  # noqa: S102 - the text is made above, of registers and numbers
        return self.names["run"]


def unknown(instruction: Instruction) -> Wrong:
    return Wrong(f"expected an instruction that this machine knows, got '{instruction.name}'")
