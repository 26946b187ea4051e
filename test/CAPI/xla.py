# RUN: mkdir -p %t
# RUN: ln -sf %dash_build/lib/libcapi-stub-driver.so %t/libcuda.so.1
# RUN: env LD_LIBRARY_PATH=%t PYTHONPATH=%dash_src/test/python/lib %python %s
# REQUIRES: python, host-supports-nvptx, plain-libdash
"""libdash's handler for XLA, called by hand: what it says of itself, what it compiles, loads and
launches at which stage, and each error."""

from __future__ import annotations

import ctypes
import itertools
import json
import threading
from dataclasses import replace
from typing import Any

from fixtures import READS, SIZES, WRITES, tensors
from stub_driver import Launch, StubDriver
from xla_frame import EXECUTE, INITIALIZE, INSTANTIATE, PREPARE, Host

from dash_attn import Kernel, Tensor
from dash_attn.kernel.library import Handle, library
from dash_attn.kernel.orders import order_for, texts_of
from dash_attn.kernel.plan import Plan
from dash_attn.kernel.problem import CAUSAL, FULL, LAYOUTS, Wanted, for_any_sizes, program_of
from dash_attn.kernel.runtime import maker_of
from dash_attn.kernel.tensors import contiguous
from dash_attn.kernel.workspace import ALIGNMENT, aligned

HANDLER = library().dashXlaAttentionBackward
HANDLER.restype = ctypes.c_void_p
PROGRAM, OPTIONS, _ = program_of(Wanted(128, 128, "bf16", CAUSAL, "symmetric-shift"))
MEMORY, OTHER_DEVICE = 1 << 50, 1 << 60
ENQUEUED = [f"attention_bwd_{role}" for role in ("order", "prepare", "main", "convert")]
INVALID, EXHAUSTED, PRECONDITION, UNIMPLEMENTED, INTERNAL = 3, 8, 9, 12, 13

driver = StubDriver()
kernel, planned = Kernel.compile(PROGRAM, OPTIONS, driver=driver), Kernel.compile(PROGRAM, OPTIONS)
GIVEN = {
    "program": PROGRAM,
    "options": OPTIONS,
    "certificate": kernel.certificate,
    "layout": "bhsd",
    "scale": 0.25,
}


def plan_of(given: dict[str, Any]) -> Plan:
    """Without a driver: it says sizes."""
    q, k = given["q"].shape, given["k"].shape
    sizes = {"batch": q[0], "heads": q[1], "kv_heads": k[1], "q_rows": q[2], "kv_rows": k[2]}
    return Plan(planned._make_kernel(Handle()), 0, sizes, {}, False)


def size_of(given: dict[str, Any]) -> int:
    plan = plan_of(given)
    return aligned(plan.workspace_bytes) + aligned(plan.order_bytes) + 2 * ALIGNMENT


def buffers(
    given: dict[str, Any], memory: tuple[str, tuple[int, ...], int] | None = None
) -> tuple[list[Any], list[Any]]:
    """Memory as XLA may give it: at a multiple of 128 bytes."""
    found = {name: (tensor.dtype, tensor.shape, tensor.pointer) for name, tensor in given.items()}
    return [found[name] for name in READS], [
        *(found[name] for name in WRITES),
        memory or ("u8", (size_of(given),), MEMORY + 128),
    ]


def call(
    host: Host,
    stage: int,
    given: dict[str, Any] | None = None,
    *,
    memory: Any = None,
    without: str = "",
    **changed: Any,
) -> Any:
    attributes = {name: value for name, value in (GIVEN | changed).items() if name != without}
    return host.call(HANDLER, stage, *(buffers(given, memory) if given else ([], [])), attributes)


def values(launches: list[Launch]) -> list[dict[str, Any]]:
    entries = {entry["name"]: entry for entry in kernel.manifest["entries"]}
    return [one.values(entries[one.name]) for one in launches]


def is_workspace(name: str) -> bool:
    return name.startswith("workspace.")


def stages() -> None:
    """Compiles where it is instantiated, loads where it is initialized, and then enqueues, wherever
    XLA captures it."""
    host, given = Host(stream=7), tensors(kv_heads=2, q_rows=200, kv_rows=200)
    assert host.metadata(HANDLER) == (0, 5, 1) and Host(minor=4).metadata(HANDLER) == (
        0,
        4,
        1,
    ) == Host(minor=4).metadata(HANDLER)
    assert Host(minor=9).metadata(HANDLER) == (0, 5, 1)
    assert call(host, INSTANTIATE) is None and not driver.calls()
    for stage in (PREPARE, INITIALIZE):
        assert call(host, stage, given) is None
    assert [one[0] for one in driver.calls() if one[0] != "allow"] == ["retain", "load"]
    for stream in (7, 0xCA):  # the other one is being captured
        host.stream = stream
        assert call(host, EXECUTE, given) is None
        calls = driver.calls()
        assert [one[1] if one[0] == "launch" else one[0] for one in calls] == ENQUEUED
        assert all(one[one.index("stream") + 1] == hex(stream) for one in calls)


def same_as_kernel() -> None:
    """What Kernel.backward launches for these tensors, in memory that begins and ends where XLA's
    does."""
    for given, layout in (
        (tensors(kv_heads=2, q_rows=200, kv_rows=200), "bhsd"),
        (tensors(batch=3, kv_heads=1), "bshd"),
    ):
        as_given = {
            name: (
                replace(tensor, shape=tensor.transposed(1, 2).shape)
                if layout == "bshd" and name != "lse"
                else tensor
            )
            for name, tensor in given.items()
        }
        if layout == "bshd":
            as_given = {
                name: replace(tensor, strides=contiguous(tensor.shape))
                for name, tensor in as_given.items()
            }
        driver.calls()
        size = size_of(given)
        assert (
            call(Host(), EXECUTE, as_given, memory=("u8", (size,), MEMORY + 128), layout=layout)
            is None
        )
        ours = driver.launches()
        kernel.backward(**as_given, scale=0.25, layout=layout)
        theirs = driver.launches()[-len(ours) :]
        assert [(one.name, one.grid, one.overlaps, one.is_cooperative) for one in ours] == [
            (one.name, one.grid, one.overlaps, one.is_cooperative) for one in theirs
        ]
        for one, other in zip(values(ours), values(theirs), strict=True):
            assert {name: value for name, value in one.items() if not is_workspace(name)} == {
                name: value for name, value in other.items() if not is_workspace(name)
            }
        begins = {
            name: value for one in values(ours) for name, value in one.items() if is_workspace(name)
        }
        assert all(MEMORY + 256 <= value < MEMORY + 128 + size for value in begins.values())


def other_device() -> None:
    """Another device loads the code for itself, and takes its own memory only."""
    given = tensors()
    there = {
        name: replace(tensor, pointer=tensor.pointer + OTHER_DEVICE)
        for name, tensor in given.items()
    }
    memory = ("u8", (size_of(given),), MEMORY + OTHER_DEVICE)
    code, message = call(Host(device=1), EXECUTE, given, memory=memory)
    assert (code, message) == (
        INVALID,
        "dash: q: expected memory of device 1, found memory of device 0",
    ), message
    assert call(Host(device=1), EXECUTE, there, memory=memory) is None


def tables() -> None:
    """A table is an operand, for the sizes of the call: planned here to know its certificate, and
    neither made nor copied."""
    sizes = dict(zip(SIZES, (2, 32, 8, 2000, 2000)))
    ordered = order_for(Wanted(128, 128, "bf16", CAUSAL), *sizes.values())
    manifest, ptx, table = texts_of(ordered.wanted)
    assert ordered.wanted.sizes == (2, 32, 8, 2048, 2048) and len(table) > 100_000, ordered
    program, options, _ = program_of(for_any_sizes(ordered.wanted))
    promised = {
        "program": program,
        "options": options,
        "certificate": json.loads(manifest)["certificate"],
    }
    given = tensors(**sizes)
    made = Kernel(maker_of((manifest, ptx, table)))
    plan = Plan(made._make_kernel(Handle()), 0, sizes, {}, True)
    size, host = aligned(plan.workspace_bytes) + ALIGNMENT, Host(stream=7)
    operands, results = buffers(given, ("u8", (size,), MEMORY + 128))
    order = ("u8", (len(table),), (1 << 51) + 128)

    def ask(stage: int, *more: Any, memory: Any = results[3], **changed: Any) -> Any:
        return host.call(
            HANDLER, stage, [*operands, *more], [*results[:3], memory], GIVEN | promised | changed
        )

    driver.calls()
    assert host.call(HANDLER, INSTANTIATE, [], [], GIVEN | promised) is None and not driver.calls()
    assert ask(INITIALIZE, order) is None and [
        one[0] for one in driver.calls() if one[0] != "allow"
    ] == ["retain", "load"]
    for stream in (7, 0xCA):  # the other one is being captured
        host.stream = stream
        assert ask(EXECUTE, order) is None
        calls = driver.calls()
        assert [one[1] if one[0] == "launch" else one[0] for one in calls] == ENQUEUED[1:], calls
    ask(EXECUTE, order)
    (main,) = [one for one in driver.launches() if one.name == "attention_bwd_main"]
    entries = {entry["name"]: entry for entry in made.manifest["entries"]}
    assert main.values(entries[main.name])["workspace.order"] == order[2]
    words = plan.order_bytes
    for found, said in (
        (ask(EXECUTE), (INVALID, "expected 7 operands and 4 results, found 6 and 4")),
        (
            ask(EXECUTE, ("f32", (len(table),), order[2])),
            (
                INVALID,
                (
                    "the last operand: expected bytes, as u8 of one dimension, found XLA's type 11 "
                    "of 1"
                ),
            ),
        ),
        (
            ask(EXECUTE, ("u8", (len(table) - 1,), order[2])),
            (INVALID, f"order: expected {words} bytes, found {words - 1}"),
        ),
        (
            ask(EXECUTE, ("u8", (len(table),), order[2] + 8)),
            (
                INVALID,
                (
                    "order: expected an address that is a multiple of 16 bytes, found "
                    f"{order[2] + 8:#x}"
                ),
            ),
        ),
        (
            ask(EXECUTE, order, memory=("u8", (1024,), MEMORY)),
            (
                INVALID,
                f"the last result: expected {plan.workspace_bytes + ALIGNMENT} bytes, found 1024",
            ),
        ),
    ):
        assert found == (said[0], f"dash: {said[1]}"), (said, found)
    code, message = ask(INITIALIZE, order, certificate=GIVEN["certificate"])
    assert code == PRECONDITION and message.startswith(
        f"dash: certificate: expected {promised['certificate']}, which dash "
    ), message
    assert not driver.launches()


def sinks() -> None:
    """A sink is an operand behind the LSE, dsink a result behind dv; what is launched is that of
    Kernel.backward."""
    program, options, _ = program_of(
        Wanted(128, 128, "bf16", CAUSAL, "symmetric-shift", has_sink=True)
    )
    made, given = (
        Kernel.compile(program, options, driver=driver),
        tensors(kv_heads=2, q_rows=200, kv_rows=200),
    )
    promised = GIVEN | {"program": program, "options": options, "certificate": made.certificate}
    of_sink = {
        "sink": Tensor(20 << 40, (4,), (1,), "f32"),
        "dsink": Tensor(21 << 40, (2, 4), (4, 1), "f32"),
    }
    plan = Plan(
        Kernel.compile(program, options)._make_kernel(Handle()),
        0,
        dict(zip(SIZES, (2, 4, 2, 200, 200))),
        {},
        False,
    )
    size, host = (
        aligned(plan.workspace_bytes) + aligned(plan.order_bytes) + 2 * ALIGNMENT,
        Host(stream=7),
    )
    operands, (*results, memory) = buffers(given, ("u8", (size,), MEMORY + 128))
    sink, dsink = (("f32", one.shape, one.pointer) for one in of_sink.values())

    def ask(operands: list[Any], results: list[Any]) -> Any:
        return host.call(HANDLER, EXECUTE, operands, results, promised)

    driver.calls()
    assert ask([*operands, sink], [*results, dsink, memory]) is None
    ours = driver.launches()
    made.backward(**given, **of_sink, scale=0.25)
    theirs = driver.launches()[-len(ours) :]
    entries = {entry["name"]: entry for entry in made.manifest["entries"]}
    assert len(ours) == 4
    for one, other in zip(ours, theirs, strict=True):
        assert one.name == other.name
        assert {
            name: value
            for name, value in one.values(entries[one.name]).items()
            if not is_workspace(name)
        } == {
            name: value
            for name, value in other.values(entries[one.name]).items()
            if not is_workspace(name)
        }
    assert ours[-1].values(entries["attention_bwd_convert"])["dsink"] == 21 << 40
    for found, said in (
        (
            ask(operands, [*results, dsink, memory]),
            "expected 7 operands and 5 results, found 6 and 5",
        ),
        (
            ask([*operands, sink], [*results, memory]),
            "expected 7 operands and 5 results, found 7 and 4",
        ),
        (
            ask([*operands, ("f32", (3,), 20 << 40)], [*results, dsink, memory]),
            "sink: expected heads = 4, found 3 in shape (3,) of [heads]",
        ),
        (
            ask([*operands, sink], [*results, ("f32", (4, 2), 21 << 40), memory]),
            "dsink: expected batch = 2, found 4 in shape (4, 2) of [batch, heads]",
        ),
    ):
        assert found == (INVALID, f"dash: {said}"), found
    assert not driver.launches()


def forwards() -> None:
    """A forward's operands are q, k, v and its sink, its results o and the LSE: with formulas and
    with a table, what is launched is that of Kernel.forward."""
    sizes = dict(zip(SIZES, (2, 4, 2, 200, 300)))
    sink = Tensor(20 << 40, (4,), (1,), "f32")
    given = {name: tensors(**sizes)[name] for name in ("q", "k", "v", "o", "lse")}
    for has_sink, is_table, layout in itertools.product((False, True), (False, True), LAYOUTS):
        wanted = Wanted(128, 128, "bf16", CAUSAL, level="row", is_forward=True, softcap=30.0)
        wanted = wanted._replace(has_sink=has_sink, sizes=tuple(sizes.values()) * is_table)
        texts = texts_of(wanted)
        made, planned = Kernel(maker_of(texts), driver), Kernel(maker_of(texts))
        plan = Plan(planned._make_kernel(Handle()), 0, sizes, {}, is_table)
        program, options, _ = program_of(for_any_sizes(wanted))
        promised = {"program": program, "options": options, "certificate": made.certificate}
        size = aligned(plan.workspace_bytes) + ALIGNMENT
        size += 0 if is_table else aligned(plan.order_bytes) + ALIGNMENT
        as_given = given | {"sink": sink} if has_sink else given
        if layout == "bshd":
            for name in ("q", "k", "v", "o"):
                shape = given[name].transposed(1, 2).shape
                turned = replace(given[name], shape=shape, strides=contiguous(shape))
                as_given = as_given | {name: turned}
        found = {name: (one.dtype, one.shape, one.pointer) for name, one in as_given.items()}
        order = [("u8", (len(texts[2]),), 1 << 51)] * is_table
        operands = [found[name] for name in ("q", "k", "v", *["sink"] * has_sink)] + order
        results = [found["o"], found["lse"], ("u8", (size,), MEMORY + 128)]
        attributes = GIVEN | promised | {"layout": layout}
        driver.calls()
        for stage in (INSTANTIATE, INITIALIZE, EXECUTE):
            assert Host(stream=7).call(HANDLER, stage, operands, results, attributes) is None
        ours = driver.launches()
        made.forward(**as_given, scale=0.25, layout=layout)
        theirs = driver.launches()[-len(ours) :]
        entries = {entry["name"]: entry for entry in made.manifest["entries"]}
        assert ours[-1].name == "attention_fwd_main" and ours[-1].stream == 7
        for one, other in zip(ours, theirs, strict=True):
            assert (one.name, one.grid) == (other.name, other.grid)
            one_by_name, other_by_name = (x.values(entries[one.name]) for x in (one, other))
            assert {x: y for x, y in one_by_name.items() if not is_workspace(x)} == {
                x: y for x, y in other_by_name.items() if not is_workspace(x)
            }
        code, message = Host().call(HANDLER, EXECUTE, operands, results[1:], attributes)
        count = 3 + has_sink + is_table
        said = f"expected {count} operands and 3 results, found {count} and 2"
        assert (code, message) == (INVALID, f"dash: {said}"), message


def errors() -> None:
    given, host = tensors(), Host()
    operands, results = buffers(given)
    size, plan = size_of(given), plan_of(given)
    wrong = "0" * 64
    version = library().dashGetVersion
    version.restype = type(library().dashKernelGetName(Handle()))
    for said, found in (
        (
            (INVALID, "attributes: expected a string 'program', found none"),
            call(host, INSTANTIATE, without="program"),
        ),
        (
            (INVALID, "attributes: expected a string 'options', found none"),
            call(host, INSTANTIATE, options=1.0),
        ),
        (
            (INVALID, "attributes: expected a number of f32 'scale', found none"),
            call(host, INSTANTIATE, scale="1"),
        ),
        (
            (INVALID, "layout: expected 'bhsd', 'bshd' or 'thd', found 'sbhd'"),
            call(host, INSTANTIATE, layout="sbhd"),
        ),
        (
            (
                PRECONDITION,
                (
                    f"certificate: expected {kernel.certificate}, which {version().text} makes of"
                    f" this program, found sha256:{wrong}; lower the program again, with the dash"
                    " of this process"
                ),
            ),
            call(host, INSTANTIATE, certificate=f"sha256:{wrong}"),
        ),
        (
            (INVALID, "program: expected one function with an attention, found 2"),
            call(
                host,
                INSTANTIATE,
                program=PROGRAM
                + PROGRAM[PROGRAM.index("func.func") :].replace("@attention_bwd", "@other"),
            ),
        ),
        (
            (INVALID, "expected 6 operands and 4 results, found 5 and 4"),
            host.call(HANDLER, EXECUTE, operands[1:], results, GIVEN),
        ),
        (
            (INVALID, "expected 6 operands and 4 results, found 6 and 3"),
            host.call(HANDLER, EXECUTE, operands, results[:3], GIVEN),
        ),
        (
            (
                INVALID,
                "the last result: expected bytes, as u8 of one dimension, found XLA's type 11 of 2",
            ),
            call(host, EXECUTE, given, memory=("f32", (size, 1), MEMORY)),
        ),
        (
            (
                INVALID,
                (
                    "the last result: expected"
                    f" {plan.workspace_bytes + plan.order_bytes + 2 * ALIGNMENT} bytes, found 1024"
                ),
            ),
            call(host, EXECUTE, given, memory=("u8", (1024,), MEMORY)),
        ),
        (
            (INVALID, "expected buffers of bf16, f16, f32 and i32, found one of XLA's type 12"),
            host.call(HANDLER, EXECUTE, [("f64", *operands[0][1:]), *operands[1:]], results, GIVEN),
        ),
        (
            (INVALID, "expected buffers of at most 4 dimensions, found 5"),
            host.call(
                HANDLER,
                EXECUTE,
                [("bf16", (1, 2, 4, 256, 128), 1 << 20), *operands[1:]],
                results,
                GIVEN,
            ),
        ),
        (
            (INVALID, "k: expected elements of bf16, found f16"),
            call(host, EXECUTE, given | {"k": replace(given["k"], dtype="f16")}),
        ),
        (
            (INVALID, "q: expected an address that is a multiple of 16 bytes, found 0x10000000008"),
            call(host, EXECUTE, given | {"q": replace(given["q"], pointer=(1 << 40) + 8)}),
        ),
        (
            (INVALID, "dq: this output shares memory with o"),
            call(host, EXECUTE, given | {"dq": replace(given["dq"], pointer=given["o"].pointer)}),
        ),
    ):
        assert found == (said[0], f"dash: {said[1]}"), (said, found)
    code, message = call(host, INSTANTIATE, program="func.func @no(")
    assert code == INVALID and message.startswith("dash: ") and "expected" in message, message
    code, message = call(host, INSTANTIATE, options="kind=best")
    assert code == INVALID and "best" in message, message
    # A program's text is data.
    for option in (
        "ptxas=/bin/true",
        "ptxas=auto",
        "costs=/etc/passwd",
        "kind=file path=/etc/passwd",
        "output=here",
    ):
        code, message = call(host, INSTANTIATE, options=option)
        assert (
            code == INVALID
            and "/etc" not in message
            and ("names a" in message or "nothing is written" in message)
        ), message
    # What XLA itself refuses goes back to it as it is.
    assert call(Host(device=None), EXECUTE, given) == (UNIMPLEMENTED, "there is no device")
    assert call(Host(stream=-1), EXECUTE, given) == (UNIMPLEMENTED, "there is no stream")
    program, options, _ = program_of(Wanted(128, 128, "bf16", FULL, "shift"))
    certificate = Kernel.compile(program, options, driver=driver).certificate
    driver.set(multiprocessors=16)
    assert call(
        host, INITIALIZE, given, program=program, options=options, certificate=certificate
    ) == (
        EXHAUSTED,
        (
            "dash: 'attention_bwd_main' needs 132 resident blocks, found room for 16 on a fake GPU:"
            " 1 on each of 16 multiprocessors; compile it with workers=16"
        ),
    )
    driver.set(multiprocessors=None, fail="attention_bwd_main:719")
    code, message = call(host, EXECUTE, given)
    assert code == INTERNAL and "CUDA_ERROR_LAUNCH_FAILED (719)" in message, message
    driver.set(fail=None)
    driver.calls()
    assert call(host, EXECUTE, given) is None and driver.names() == ENQUEUED


def sizes_come_and_go() -> None:
    """Plans of sizes that were not asked for lately go; the code stays, and a call that comes back
    finds what there was."""
    host, many = (
        Host(stream=7),
        [tensors(q_rows=rows, kv_rows=rows) for rows in range(64, 64 + 600, 2)],
    )
    assert call(host, EXECUTE, many[0]) is None
    driver.calls()
    for given in many:
        assert call(host, INITIALIZE, given, memory=("u8", (1 << 30,), MEMORY)) is None
    for given in (many[0], many[-1], many[0]):
        assert call(host, EXECUTE, given) is None
    calls = driver.calls()
    assert [one[0] for one in calls].count("launch") == 12 and not {"load", "unload"} & {
        one[0] for one in calls
    }


def threads() -> None:
    """Four threads, a stream and sizes of their own; no launch has values of another's."""
    failed: list[Any] = []

    def run(thread: int) -> None:
        given = {
            name: replace(tensor, pointer=tensor.pointer + (thread << 30))
            for name, tensor in tensors(q_rows=128 << thread).items()
        }
        host = Host(stream=16 + thread)
        for stage in (INSTANTIATE, INITIALIZE, *[EXECUTE] * 25):
            failed.append(
                call(
                    host,
                    stage,
                    given,
                    memory=("u8", (size_of(given),), MEMORY + (thread << 40)),
                    scale=float(thread + 1),
                )
            )

    driver.calls()
    running = [threading.Thread(target=run, args=(thread,)) for thread in range(4)]
    for one in running:
        one.start()
    for one in running:
        one.join()
    launches = driver.launches()
    assert failed == [None] * 108 and len(launches) == 4 * 25 * 4
    for launch, found in zip(launches, values(launches), strict=True):
        thread = launch.stream - 16
        assert found["q_rows"] == 128 << thread and found.get("scale", thread + 1) == thread + 1, (
            launch,
            found,
        )
        assert found.get("q", (1 << 40) + (thread << 30)) == (1 << 40) + (thread << 30)


for test in (
    stages,
    same_as_kernel,
    other_device,
    tables,
    sinks,
    forwards,
    errors,
    sizes_come_and_go,
    threads,
):
    test()
