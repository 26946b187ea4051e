"""Computes gradients once, with nothing but cuda-bindings and what dash-opt wrote: embedding.py
MANIFEST."""

# REQUIRES: host-supports-nvptx
# RUN: rm -rf %t && mkdir -p %t
# RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=shift output=%t/run' -o /dev/null
# RUN: env PYTHONPATH=%S/Inputs/no-gpu %python %s %t/run.json | FileCheck %s
# RUN: dash-opt %dash_examples/bwd-causal.mlir -o /dev/null \
# RUN:   --dash-to-ptx='kind=synthesized parts=1 sizes=q:1000,kv:1200,batch:2,heads:4,kv-heads:2 output=%t/table'
# RUN: env PYTHONPATH=%S/Inputs/no-gpu %python %s %t/table.json | FileCheck %s --check-prefix=TABLE
import ctypes
import hashlib
import json
import operator
import re
import sys
from pathlib import Path

from cuda.bindings import driver as cuda

TYPES = {
    "ptr": ctypes.c_uint64,
    "i64": ctypes.c_int64,
    "i32": ctypes.c_int32,
    "f32": ctypes.c_float,
}
FUNCTIONS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "%": operator.mod,
    "min": min,
    "max": max,
    "ceildiv": lambda a, b: -(-a // b),
    "align": lambda a, b: -(-a // b) * b,
}


def call(function, *arguments):
    status, *results = function(*arguments)
    if int(status):
        sys.exit(f"error: {function.__name__} failed with status {int(status)}")
    return results[0] if results else None


def number(expression, values):
    """The value of a manifest's expression: integers, names, + - * %, parentheses and four
    functions of two values."""
    tokens = [*re.findall(r"\w+|\S", expression), "end"]

    def take(expected):
        if tokens.pop(0) != expected:
            sys.exit(f"error: expected '{expected}' in the expression '{expression}'")

    def chain(operators, operand):
        value = operand()
        while tokens[0] in operators:
            value = FUNCTIONS[tokens.pop(0)](value, operand())
        return value

    def total():
        return chain(("+", "-"), lambda: chain(("*", "%"), factor))

    def factor():
        token = tokens.pop(0)
        if token != "(" and tokens[0] != "(":
            return int(token) if token.isdecimal() else values[token]
        if token != "(":
            take("(")
        value = total()
        if token != "(":
            take(",")
            value = FUNCTIONS[token](value, total())
        take(")")
        return value

    value = total()
    take("end")
    if abs(value) >= 2**63:
        sys.exit(f"error: '{expression}' is a number of more than 64 bits")
    return value


def checked(folder, file):
    data = (folder / file["file"]).read_bytes()
    if hashlib.sha256(data).hexdigest() != file["sha256"]:
        sys.exit(f"error: {file['file']} is not the file that the manifest was written for")
    return data


def main():
    path = Path(sys.argv[1])
    manifest = json.loads(path.read_text(encoding="utf-8"))
    program, order = manifest["program"], manifest["order"]
    call(cuda.cuInit, 0)
    device = call(cuda.cuDeviceGet, 0)
    call(cuda.cuCtxSetCurrent, call(cuda.cuDevicePrimaryCtxRetain, device))
    module = call(cuda.cuModuleLoadData, checked(path.parent, manifest["ptx"]) + b"\0")
    stream = call(cuda.cuStreamCreate, 1)

    # 1. Sizes, as the manifest allows them, and what is derived from them.
    sizes = {"batch": 2, "heads": 4, "kv_heads": 2, "q_rows": 1000, "kv_rows": 1200}
    for name, allowed in manifest["sizes"].items():
        low, high = (
            (allowed["value"],) * 2 if "value" in allowed else (allowed["min"], allowed["max"])
        )
        if not low <= sizes[name] <= high:
            sys.exit(f"error: {name} must be {low} to {high}, found {sizes[name]}")
    for constraint in manifest["constraints"]:
        if number(constraint["expression"], sizes) != constraint["equals"]:
            sys.exit(f"error: {constraint['message']}")
    values = sizes | {"workers": program["workers"], "width": program["width"]}
    values |= {name: number(text, values) for name, text in manifest["derived"].items()}

    # 2. A value for each name that a parameter may have: tensors with strides in elements, numbers,
    #    workspace.
    known = values | {"scale": program["head_dim"] ** -0.5}
    for tensor in manifest["tensors"]:
        name, shape = tensor["name"], [number(size, values) for size in tensor["shape"]]
        strides = [1]
        for size in reversed(shape[1:]):
            strides.insert(0, strides[0] * size)
        known[name] = int(
            call(cuda.cuMemAlloc, shape[0] * strides[0] * (4 if tensor["element"] == "f32" else 2))
        )
        for dimension, stride in zip(("batch", "head", "row"), strides[:-1]):
            known[f"{name}.stride.{dimension}"] = stride
    # ... here q, k, v, do, o and lse are filled.
    for region in manifest["workspace"]:
        size = number(region["bytes"], values)
        known[f"workspace.{region['name']}"] = pointer = int(call(cuda.cuMemAlloc, size))
        if region["initial"] == "zero":
            call(cuda.cuMemsetD8Async, pointer, 0, size, stream)
        elif region["initial"] == "file":
            call(
                cuda.cuMemcpyHtoDAsync, pointer, checked(path.parent, order), order["bytes"], stream
            )

    # 3. All entries, in the manifest's order; those "when": "sizes-change" again only when sizes
    #    change.
    for entry in manifest["entries"]:
        function = call(cuda.cuModuleGetFunction, module, entry["name"].encode())
        call(
            cuda.cuFuncSetAttribute,
            function,
            cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            entry["shared_bytes"],
        )
        config = cuda.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = (
            number(size, values) for size in entry["grid"]
        )
        config.blockDimX, config.blockDimY, config.blockDimZ = entry["block"]
        config.sharedMemBytes, config.hStream = entry["shared_bytes"], stream
        attribute = cuda.CUlaunchAttribute()
        if entry["cooperative"]:
            attribute.id = cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
            attribute.value.cooperative = 1
            config.attrs, config.numAttrs = [attribute], 1
        elif entry.get("overlaps"):  # faster; right without, too
            attribute.id = (
                cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
            )
            attribute.value.programmaticStreamSerializationAllowed = 1
            config.attrs, config.numAttrs = [attribute], 1
        cells = [
            TYPES[parameter["type"]](known[parameter["name"]]) for parameter in entry["parameters"]
        ]
        addresses = (ctypes.c_void_p * len(cells))(*map(ctypes.addressof, cells))
        call(cuda.cuLaunchKernelEx, config, function, ctypes.addressof(addresses), 0)
    call(cuda.cuStreamSynchronize, stream)


main()

# CHECK-NOT:  set
# CHECK:      attention_bwd_order on 132 x 1 x 1, 512 threads, {{[0-9]+}} bytes
# CHECK-NEXT: attention_bwd_prepare on 128 x 1 x 1, 256 threads, {{[0-9]+}} bytes
# CHECK-NEXT: attention_bwd_main on 132 x 1 x 1, 384 threads, {{[0-9]+}} bytes, cooperative
# CHECK-NEXT: attention_bwd_convert on 128 x 1 x 1, 256 threads, 0 bytes, overlapping

# TABLE-NOT:  set
# TABLE:      copy {{[0-9]+}} bytes
# TABLE-NEXT: attention_bwd_prepare on 128 x 1 x 1
# TABLE-NEXT: attention_bwd_main on 132 x 1 x 1, {{.*}}, cooperative
# TABLE-NEXT: attention_bwd_convert on 128 x 1 x 1, {{.*}}, overlapping
