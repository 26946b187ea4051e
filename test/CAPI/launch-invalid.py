# RUN: env PYTHONPATH=%dash_src/test/python/lib %python %s %dash_build %t
# REQUIRES: python
"""What the C API refuses, before anything is enqueued: arguments as dash_attn does, devices, and
manifests of strangers."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from capi_launch import ORDER, WORKSPACE, problem, run, sizes_of, write  # noqa: E402
from fixtures import tensors  # noqa: E402
from refusals import REFUSED  # noqa: E402


def same_refusals() -> None:
    """Python's table of refusals; sizes are those of the right tensors, as a plan knows no
    tensor."""
    base = write("refused")
    for given, message in REFUSED:
        sizes = sizes_of(tensors())
        if "serves" in message or "multiple of kv_heads" in message:
            sizes = sizes_of(given)
        ran = run(base, text=problem(given, sizes))
        assert ran.lines[-2:] == [f"error: {message}", ran.lines[-1]] and ran.lines[-1].endswith(
            ": DASH_INVALID_ARGUMENT"
        ), ran.lines
        assert ran.enqueued() == (["fill", "launch"] if ran.lines[-1].startswith("run") else []), (
            ran.calls
        )


def more_refusals() -> None:
    base, right = write("more"), tensors()
    sizes = sizes_of(right)

    def found(
        *lines: str,
        given: dict[str, Any] = right,
        sizes: dict[str, int] = sizes,
        base: Path = base,
        **settings: Any,
    ) -> list[str]:
        ran = run(base, text=problem(given, sizes, *lines), **settings)
        return ran.lines[2:]

    total = int(found()[1].split()[1])
    for lines, message in (
        (
            [f"workspace {WORKSPACE} {total - 1}"],
            f"error: workspace: expected {total} bytes, found {total - 1}",
        ),
        (["workspace 0 0"], "error: workspace: expected memory, found a null pointer"),
        (
            [f"workspace {WORKSPACE + 128} 0"],
            (
                "error: workspace: expected an address that is a multiple of 256 bytes, found"
                f" {WORKSPACE + 128:#x}"
            ),
        ),
        (
            [f"workspace {2**64 - 256} 0"],
            f"error: workspace: expected {total} bytes, found {total}",
        ),
        (
            [f"workspace {WORKSPACE | 1 << 60} 0"],
            "error: workspace: expected memory of device 0, found memory of device 1",
        ),
        (
            [f"order {ORDER + 1} 0"],
            (
                "error: order: expected an address that is a multiple of 16 bytes, found"
                f" {ORDER + 1:#x}"
            ),
        ),
        ([f"order {WORKSPACE + 512} 0"], "error: order: this memory is also that of the workspace"),
        (
            [f"workspace {right['v'].pointer} 0"],
            "error: v: this tensor shares memory with the workspace",
        ),
        ([f"order {right['dq'].pointer} 0"], "error: dq: this tensor shares memory with the order"),
        (["scale inf"], "error: scale: expected a number of f32, found inf"),
        (
            ["stream 7", f"workspace {1 << 61} 0"],
            (
                "error: workspace: expected memory of device 0: CUDA_ERROR_INVALID_VALUE (1): "
                "invalid argument"
            ),
        ),
    ):
        lines = found(*lines)
        assert message in lines and "run: DASH_INVALID_ARGUMENT" in lines, (lines, message)
    # 0xca: in a capture, memory of the graph is not there yet.
    lines = found("stream 202", f"workspace {1 << 61} 0")
    assert lines[-1] == "run: DASH_SUCCESS", lines
    lost = right | {"k": replace(right["k"], pointer=1 << 61)}
    assert "k: expected memory of device 0: CUDA_ERROR_INVALID_VALUE" in found(given=lost)[-2]
    far = right | {"k": replace(right["k"], strides=(2**63 - 8, 32768, 128, 1))}
    assert found(given=far)[-2].startswith(
        "error: k: expected memory below 2^64, found strides (9223372036854775800, "
    ), found(given=far)
    del far["dv"]
    assert found(given=far)[-2] == "error: expected 9 tensors, found 8"
    flat = right | {"q": replace(right["q"], shape=(1,) * 5, strides=(1,) * 5)}
    assert (
        found(given=flat)[-2]
        == "error: q: expected the dimensions [batch, heads, q_rows, 128], found 5 of them"
    )

    for wrong, message in (
        (sizes | {"batch": -1}, "'attention_bwd' serves batch = 1 to 65535, found -1"),
        ({"batch": 2}, "expected a value for the size 'heads' of 'attention_bwd', found none"),
        (
            sizes | {"pages": 2},
            (
                "'pages' is no size of 'attention_bwd', or is given twice: expected batch, heads, "
                "q_rows, kv_heads, kv_rows"
            ),
        ),
    ):
        assert found(sizes=wrong) == [f"error: {message}", "plan: DASH_INVALID_ARGUMENT"], found(
            sizes=wrong
        )
    for empty in ({"batch": 0}, {"q_rows": 0, "kv_rows": 0}):
        ran = run(base, text=problem(tensors(**empty), sizes | empty))
        assert (
            ran.lines[2:]
            == [
                "plan: DASH_SUCCESS",
                "workspace 0 order 0",
                "clear: DASH_SUCCESS",
                "order: DASH_SUCCESS",
                "run: DASH_SUCCESS",
            ]
            and ran.calls == []
        ), ran

    # A table serves its sizes, and is not copied in a capture.
    table = write("rows", table=bytes(range(64)))
    assert (
        found(base=table)[0]
        == "error: 'attention_bwd' serves q_rows = 4096, found 256; its order is a table for stated"
        " sizes, made for others by: dash-opt --dash-to-ptx=..."
    )
    long = tensors(q_rows=4096, kv_rows=4096)
    lines = found("stream 202", given=long, sizes=sizes_of(long), base=table)
    assert lines[3:] == [
        (
            "error: the stream is being captured, and the order is a table that comes from the"
            " host: copy it before the capture"
        ),
        "order: DASH_INVALID_ARGUMENT",
        "run: DASH_SUCCESS",
    ], lines

    def without_scale(raw: dict[str, Any]) -> None:
        for entry in raw["entries"]:
            entry["parameters"] = [item for item in entry["parameters"] if item["name"] != "scale"]

    plain = write("unscaled", without_scale)
    assert (
        found("scale 0.5", base=plain)[-2]
        == "error: scale: 'attention_bwd' was compiled without a scale, found 0.500000"
    )
    assert found("scale 1", base=plain)[-1] == "run: DASH_SUCCESS"


def devices() -> None:
    """What the driver says, and what the device cannot hold: the same messages as Python's."""
    base, given = write("devices"), problem(tensors(), sizes_of(tensors()))
    main = "attention_bwd_main"
    for settings, message, status in (
        (
            {"multiprocessors": 114},
            (
                f"'{main}' needs 132 resident blocks, found room for 114 on a fake GPU: 1 on each"
                " of 114 multiprocessors; compile it with workers=114"
            ),
            "NO_CAPACITY",
        ),
        (
            {"shared": 101376},
            f"'{main}' needs 230000 bytes of shared memory a block, found 101376 on a fake GPU",
            "NO_CAPACITY",
        ),
        (
            {"capability": 100},
            "compiled for sm_90a, found a fake GPU of sm_100",
            "INVALID_MANIFEST",
        ),
        ({"devices": 0}, "open device 0: CUDA_ERROR_UNKNOWN (101): unknown error", "DRIVER_ERROR"),
        (
            {"fail": "cuModuleLoadDataEx:218"},
            "assemble 'attention_bwd' for a fake GPU: CUDA_ERROR_UNKNOWN (218): unknown error",
            "DRIVER_ERROR",
        ),
    ):
        ran = run(base, text=given, **settings)
        assert (
            ran.lines[2] == f"error: {message}"
            and ran.lines[-1] == f"plan: DASH_{status}"
            and ran.enqueued() == []
        ), ran
    assert run(base, text=given, fail="cuModuleLoadDataEx:218").lines[3] == "ptxas fatal: a log"
    assert run(base, text=given, fail="cuInit:100").lines == [
        "error: initialise the CUDA driver: CUDA_ERROR_UNKNOWN (100): unknown error",
        "driver: DASH_DRIVER_ERROR",
    ]
    ran = run(base, text=given, fail="cuLaunchKernelEx:719")
    assert ran.lines[-2:] == [
        (
            "error: launch 'attention_bwd_prepare' with a grid of 4 x 4 x 2 blocks, 128 threads"
            " each, 0 bytes of shared memory: CUDA_ERROR_LAUNCH_FAILED (719): unspecified launch"
            " failure; clear the workspace before it is used again"
        ),
        "run: DASH_DRIVER_ERROR",
    ], ran.lines

    def without_zeros(raw: dict[str, Any]) -> None:
        for region in raw["workspace"]:
            region["initial"] = region["initial"].replace("zero", "any")

    # What the preparation makes anew needs no clearing.
    assert (
        run(write("anew", without_zeros), text=given, fail="cuLaunchKernelEx:719")
        .lines[-2]
        .endswith("(719): unspecified launch failure")
    )
    assert run(base, text=given, fail="cuMemsetD8Async:1").lines[4:6] == [
        "error: fill 128 bytes: CUDA_ERROR_INVALID_VALUE (1): invalid argument",
        "clear: DASH_DRIVER_ERROR",
    ]
    # Another device: its own code, in its own context.
    there = {
        name: replace(tensor, pointer=tensor.pointer | 1 << 60)
        for name, tensor in tensors().items()
    }
    ran = run(
        base,
        text=given
        + problem(
            there,
            sizes_of(there),
            "device 1",
            f"workspace {WORKSPACE | 1 << 60} 0",
            f"order {ORDER | 1 << 60} 0",
        ),
    )
    assert ran.lines.count("run: DASH_SUCCESS") == 2 and [
        call for call in ran.calls if call[0] in ("retain", "load")
    ] == [["retain", "0"], ran.calls[1], ["retain", "1"], ran.calls[1]], ran


def damage() -> None:
    """No byte of a manifest that is lost or changed ends in a crash."""
    assert run(write("damaged"), "damage").lines[-1] == "damaged: most refused, some made"


def written() -> None:
    """PTX is read as an assembler reads it: what stands in comments and strings is nothing. The
    driver would read past the end of what a launch hands over."""
    base = write("text")
    right, raw = (
        base.with_suffix(".ptx").read_text(encoding="utf-8"),
        json.loads(base.with_suffix(".json").read_text(encoding="utf-8")),
    )
    name = "attention_bwd_order"
    shown = right[right.index(f".visible .entry {name}(") : right.index("{")].strip()
    more = shown.replace("(\n", "(\n\t.param .u64 more,\n")

    def found(text: str) -> str:
        data = text.encode("latin-1")
        base.with_suffix(".ptx").write_bytes(data)
        raw["ptx"]["sha256"] = hashlib.sha256(data).hexdigest()
        base.with_suffix(".json").write_text(json.dumps(raw), encoding="utf-8")
        return run(base).lines[1]

    assert not found(right).startswith("error"), found(right)
    for hidden in (
        f"// {' '.join(shown.split())}\n",
        f"/* {shown} */",
        f'.pragma "{shown}";\n',
        f"/*/ {shown} */",
        f"/* // */ // {' '.join(shown.split())} \n",
    ):
        for text in (
            right.replace(shown, hidden + more),
            right.replace(shown, more).replace(".address_size", f"{hidden}.address_size"),
        ):
            assert (
                found(text)
                == f"error: entry '{name}' of the PTX has 9 parameters, found 8 in the manifest"
            ), (hidden, found(text))
        assert found(right.replace(shown, hidden)) == f"error: the PTX has no entry '{name}'", (
            found(right.replace(shown, hidden))
        )
    # What is hidden may be anything, and spaces and comments may stand between any words.
    assert not found(
        f"// .entry {name}()\n/* .entry {name}( */" + right.replace("(\n", " /* ( */ (\n // ,\n")
    ).startswith("error")
    # An entry that is declared in one way, and defined in another.
    assert (
        found(right + more + ";")
        == f"error: entry '{name}' of the PTX has 9 parameters, found 8 in the manifest"
    )
    for letter in "\0\\#":
        text = f"//{letter}\n" + right
        assert (
            found(text)
            == f"error: the PTX has the byte {ord(letter)} at 2, expected text without zeros,"
            " backslashes and #"
        ), found(text)
    assert found(
        right.replace(".param .u64 .ptr .global .align 1 ", ".param .align 8 .b8 ").replace(
            "_param_0,", "_param_0[8],"
        )
    ).startswith(
        f"error: entry '{name}' of the PTX has '.param .align 8 .b8 {name}_param_0 [ 8 ]' for the"
        " parameter 'workspace.order'"
    )


def manifests() -> None:
    """What the manifest may not say; each with its place."""

    def at(place: str, value: Any) -> Any:
        def change(raw: dict[str, Any]) -> None:
            node: Any = raw
            *path, last = [int(part) if part.isdigit() else part for part in place.split(".")]
            for part in path:
                node = node[part]
            if value is None:
                del node[last]
            else:
                node[last] = value

        return change

    deep = "1" + "+1" * 100
    for place, value, message in (
        (
            "version",
            2,
            "expected manifest version 1, found 2; use the library that came with the compiler",
        ),
        ("ptx", None, "manifest: has no 'ptx'"),
        ("name", 7, "manifest.name: expected a string, found 7"),
        ("program", [], "manifest.program: expected an object, found []"),
        ("program.head_dim", 0, "manifest.program.head_dim: expected 1 to 2147483647, found 0"),
        (
            "tensors.0.element",
            "int8",
            'manifest.tensors[0].element: expected one of bf16, f16, f32, i32, found "int8"',
        ),
        (
            "entries.0.grid",
            [1, 1],
            "manifest.entries[0].grid: expected a list of 3 to 3, found [1,1]",
        ),
        (
            "entries.0.block",
            [1, 0, 1],
            "manifest.entries[0].block: expected 3 positive numbers, found [1,0,1]",
        ),
        (
            "entries.0.cooperative",
            1,
            "manifest.entries[0].cooperative: expected true or false, found 1",
        ),
        ("entries.3.overlaps", 1, "manifest.entries[3].overlaps: expected true or false, found 1"),
        (
            "entries.0.grid.0",
            deep,
            "manifest.entries[0].grid[0]: expected an expression of at most 64 levels, found more",
        ),
        (
            "entries.0.grid.0",
            "(" * 70 + "1" + ")" * 70,
            "manifest.entries[0].grid[0]: expected an expression of at most 64 levels, found more",
        ),
        (
            "entries.0.grid.0",
            "1+" * 1000 + "1",
            (
                "manifest.entries[0].grid[0]: expected an expression of at most 1024 characters,"
                " found 2001"
            ),
        ),
        (
            "entries.0.block",
            [1025, 1, 1],
            "entry 'attention_bwd_order': expected a block of at most 1024 threads",
        ),
        (
            "entries.0.grid.1",
            "70000",
            "manifest.entries[0].grid[1]: expected 1 to 65535 blocks, found 70000",
        ),
        (
            "workspace.0.alignment",
            24,
            "manifest.workspace[0].alignment: expected a power of two up to 256",
        ),
        (
            "workspace.0.bytes",
            "rows*2",
            "manifest.workspace[0].bytes: 'rows*2' uses 'rows', which is no size",
        ),
        (
            "workspace.0.bytes",
            "0-1",
            "manifest.workspace[0].bytes: expected bytes of a region, found -1",
        ),
        (
            "workspace.0.bytes",
            "batch % 0",
            "manifest.workspace[0].bytes: 'batch % 0' divides by zero",
        ),
        (
            "workspace.0.bytes",
            "9223372036854775807*2",
            "manifest.workspace[0].bytes: '9223372036854775807*2' leaves the range of 64 bits",
        ),
        (
            "workspace.0.initial",
            "file",
            (
                "manifest: the region 'descriptors' is there twice, or of another order than the"
                " manifest's"
            ),
        ),
        (
            "workspace.0.name",
            "turns",
            "manifest: the region 'turns' is there twice, or of another order than the manifest's",
        ),
        ("tensors.1.name", "q", "manifest: the tensor 'q' is there twice"),
        (
            "tensors.0.shape.3",
            "0-5",
            "manifest.tensors[0].shape[3]: expected 0 to 2147483647, found -5",
        ),
        (
            "sizes.pages",
            {"min": 1, "max": 2},
            "manifest.sizes: no tensor's shape has the size 'pages'",
        ),
        ("derived.a", "b", "manifest.derived: 'a' uses itself or a name that is none"),
        (
            "derived",
            {"q_tiles": "1", "kv_tiles": "1", "a0": "10"}
            | {f"a{i + 1}": f"a{i} * a{i}" for i in range(60)},
            "manifest.derived.a5: 'a4 * a4' leaves the range of 64 bits",
        ),
        ("program.workers", 10**6, "manifest.program.workers: expected 1 to 16384, found 1000000"),
        ("program.width", 16385, "manifest.program.width: expected 1 to 16384, found 16385"),
        ("ptx.target", "x86", "cannot read the target 'x86'"),
        ("ptx.target", "sm_", "cannot read the target 'sm_'"),
        (
            "entries.1.parameters.0.name",
            "q.stride.dim",
            (
                "manifest: entry 'attention_bwd_prepare': parameter 'q.stride.dim' is none "
                "of its type that a launcher knows"
            ),
        ),
        (
            "entries.0.parameters.0.name",
            "workspace.turns",
            (
                "manifest: entry 'attention_bwd_order': parameter 'workspace.turns' is "
                "none of its type that a launcher knows"
            ),
        ),
    ):
        ran = run(
            write("wrong", at(place, value), is_wrong=True),
            text=problem(tensors(), sizes_of(tensors())),
        )
        assert f"error: {message}" in ran.lines and ran.lines[-1].endswith(
            "DASH_INVALID_MANIFEST"
        ), (place, message, ran.lines)
        assert ran.enqueued() == []

    def fewer(raw: dict[str, Any]) -> None:
        raw["entries"][2]["parameters"].pop()

    found = run(write("foreign", fewer, is_wrong=True)).lines
    assert (
        found[1]
        == "error: entry 'attention_bwd_main' of the PTX has 12 parameters, found 11 in the"
        " manifest"
    ), found
    found = run(write("foreign", at("entries.3.name", "convert"), is_wrong=True)).lines
    assert found[1] == "error: the PTX has no entry 'convert'", found

    def swapped(raw: dict[str, Any]) -> None:
        raw["entries"][3]["parameters"][0] = {"name": "scale", "type": "f32"}

    assert (
        "for the parameter 'scale', found another type"
        in run(write("foreign", swapped, is_wrong=True)).lines[1]
    )
    written()
    base = write("hash", table=bytes(64))
    base.with_suffix(".order").write_bytes(bytes(63) + b"1")
    assert "does not belong to the order: expected sha256" in run(base).lines[1]
    base.with_suffix(".ptx").write_bytes(b"")
    assert "does not belong to the PTX: expected sha256" in run(base).lines[1]
    for text in (
        "[" * 100000,
        '{"program": ' * 100000,
        "{",
        "",
        "\0",
        '"',
        '{"version": ' + "9" * 400 + "}",
    ):
        base.with_suffix(".json").write_text(text, encoding="latin-1")
        assert run(base).lines[-1] == "kernel: DASH_INVALID_MANIFEST"


for test in (same_refusals, more_refusals, devices, damage, manifests):
    test()
