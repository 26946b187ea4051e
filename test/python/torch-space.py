# RUN: rm -rf %t && mkdir -p %t
# RUN: env TRITON_INTERPRET=1 %torch_python %s %t
# REQUIRES: torch, plain-libdash
"""Where runs differ in space: planted faults are named by head and rows, and in dash's attention by
the tasks and workers that add there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
from fixtures import SOURCE, refused  # noqa: E402
from on_cpu import reference  # noqa: E402

from dash_attn import attention, audit  # noqa: E402
from dash_attn.audit import Run, compare, locate  # noqa: E402
from dash_attn.compare.runs import BLOCK  # noqa: E402
from dash_attn.compare.space import order_of  # noqa: E402
from dash_attn.torch.hashing import hash_blocks, hash_words  # noqa: E402

TMP = Path(sys.argv[1])
BATCH, HEADS, KV_HEADS, ROWS, HEAD_DIM = 2, 4, 2, 300, 64
CALL = {
    "q": (BATCH, HEADS, ROWS, HEAD_DIM),
    "k": (BATCH, KV_HEADS, ROWS, HEAD_DIM),
    "v": (BATCH, KV_HEADS, ROWS, HEAD_DIM),
    "window": (-1, 0),
    "element": "bf16",
}
Fault = Callable[[dict[str, Any]], None]


def run(
    fault: Fault = lambda found: None,
    space: bool = True,
    packed: bool = False,
    layout: str = "bhsd",
) -> Run:
    torch.manual_seed(3)
    q, k, v = (
        torch.randn(BATCH, heads, ROWS, HEAD_DIM).bfloat16().requires_grad_()
        for heads in (HEADS, KV_HEADS, KV_HEADS)
    )
    backward = reference.backward

    def faulty(*given: Any, **options: Any) -> Any:
        found = backward(*given, **options)
        fault(found)
        return found

    with mock.patch.object(reference, "backward", faulty), audit.record(space=space) as found:
        if packed:
            offsets = torch.tensor([0, ROWS], dtype=torch.int32)
            attention(
                *(one[0].transpose(0, 1) for one in (q, k, v)),
                causal=True,
                cu_seqlens_q=offsets,
                max_seqlen_q=ROWS,
            ).float().square().sum().backward()
        else:
            attention(q, k, v, causal=True).float().square().sum().backward()
    return found


def at(**places: tuple[int, ...]) -> Fault:
    """Adds 1 to an element of each of these gradients."""

    def fault(found: dict[str, Any]) -> None:
        for name, place in places.items():
            found[name][place] += 1

    return fault


def hashes() -> None:
    x = torch.randn(3, 2, 130, 8).bfloat16()
    found = hash_blocks(x, 2, BLOCK)
    assert found.shape == (3, 2, 3)
    changed = x.clone()
    changed[1, 0, 64, 3] += 1
    assert (hash_blocks(changed, 2, BLOCK) != found).nonzero().tolist() == [[1, 0, 1]]
    swapped = x.clone()
    swapped[2, 1, [128, 129]] = x[2, 1, [129, 128]]
    assert (hash_blocks(swapped, 2, BLOCK) != found).nonzero().tolist() == [[2, 1, 2]]
    assert torch.equal(hash_blocks(x.transpose(1, 2), 1, BLOCK), found)  # whatever its strides
    for dtype in (torch.float64, torch.cfloat, torch.bool, torch.int16):
        assert hash_blocks(x.to(dtype), 2, BLOCK).shape == (3, 2, 3)
    assert hash_blocks(x.view(torch.int16)[:, 0, :BLOCK], 1, BLOCK)[0, 0] == hash_words(
        x[0, 0, :BLOCK].reshape(-1).view(torch.int16)
    )


def tasks() -> None:
    order = order_of(CALL)
    assert order is not None
    owners = {
        (item["sequence"], head, q, item["kv"]): item["worker"]
        for item in order["items"]
        for head, q in item["visit"]
    }
    turns = {
        (chain["sequence"], chain["head"], chain["q"], kv): turn
        for chain in order["chains"]
        for turn, (kv, _) in enumerate(chain["order"])
    }
    one = run()
    assert locate(one, run()) == []
    # One task: what it adds to dQ and to dK differs.
    other = run(at(dq=(1, 3, 130, 5), dk=(1, 1, 10, 0)))
    said = locate(one, other)
    total, of_kv = BATCH * HEADS * 5, BATCH * KV_HEADS * 5
    assert said == [
        (
            f"dq: 1 of {total} blocks of 64 rows differ, in 1 head; the first is batch 1, head 3,"
            " rows 128 to 191"
        ),
        (
            f"dk: 1 of {of_kv} blocks of 64 rows differ, in 1 head; the first is batch 1, head 1,"
            " rows 0 to 63"
        ),
        (
            f"1 of {len(owners)} tasks add to tiles of dq and of dk or dv that differ: kv tile 0, q"
            f" tile 2 of head 3 in sequence 1 (turn {turns[1, 3, 2, 0]}, worker"
            f" {owners[1, 3, 2, 0]})"
        ),
    ], said
    found = compare(one, other)
    assert (
        found is not None
        and found.entry.name == "dash.attention_backward.default"
        and found.entry.output == 0
    )
    # dQ alone: its chain, in turns; dK alone: the workers of its tile.
    said = locate(one, run(at(dq=(0, 1, 299, 0))))
    assert said[0].endswith("batch 0, head 1, rows 256 to 299") and said[1].startswith(
        "dk and dv are equal: a contribution to a tile of dq"
    ), said
    chain = sorted(
        (turn, kv)
        for (sequence, head, q, kv), turn in turns.items()
        if (sequence, head, q) == (0, 1, 4)
    )
    places = [
        said[1].index(
            f"kv tile {kv}, q tile 4 of head 1 in sequence 0 (turn {turn}, worker"
            f" {owners[0, 1, 4, kv]})"
        )
        for turn, kv in chain
    ]
    assert len(chain) == 3 and places == sorted(places), said
    said = locate(one, run(at(dv=(1, 0, 256, 0))))
    workers = dict.fromkeys(
        item["worker"]
        for item in order["items"]
        if (item["sequence"], item["kvHead"], item["kv"]) == (1, 0, 2) and item["visit"]
    )
    assert said[0].startswith("dv: 1 of ") and said[
        1
    ] == "dq is equal: sums of dk or dv of 1 kv tile, " + "; ".join(
        f"kv tile 2 of kv head 0 in sequence 1 of worker {worker}" for worker in workers
    ), said
    # No task adds to q tile 0 and kv tile 2 of a causal mask.
    assert (
        "that no task adds to both of"
        in locate(one, run(at(dq=(0, 0, 0, 0), dk=(0, 0, 290, 0))))[-1]
    )
    assert order_of(CALL | {"q": (70000, 1, 64, 64), "k": (70000, 1, 64, 64)}) is None
    of_v = order_of(CALL | {"v": (BATCH, KV_HEADS, ROWS, 2 * HEAD_DIM)})
    assert of_v is not None and len(of_v["items"]) == len(order["items"])
    # Packed ones have rows in front; their order is made on the device, so no task is named.
    said = locate(run(packed=True), run(at(dq=(0, 2, 70, 0)), packed=True))
    assert said == [
        f"output 0: 1 of {HEADS * 5} blocks of 64 rows (dimension 0) differ; the first is [2], rows"
        " 64 to 127"
    ], said
    assert locate(run(space=False), run(at(dq=(0, 0, 0, 0)), space=False)) == []


def files() -> None:
    one, other = run(), run(at(dq=(1, 3, 130, 5)))
    for name, found in (("one", one), ("other", other)):
        found.save(TMP / name)
        loaded = Run.load(TMP / name)
        assert (
            loaded == found
            and loaded.spaces
            and json.loads((TMP / name).read_text(encoding="utf-8").splitlines()[0])["dash_audit"]
            == 3
        )
    done = subprocess.run(
        [sys.executable, "-m", "dash_attn.audit", TMP / "one", TMP / "other"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(SOURCE / "python")},
    )
    assert (done.returncode, done.stdout) == (
        1,
        "\n".join([str(compare(one, other)), *locate(one, other)]) + "\n",
    ), done
    *lines, last = (TMP / "one").read_text(encoding="utf-8").splitlines()
    for change, message in (
        ({"hashes": "0"}, "hashes: expected text that matches [0-9a-f]{"),
        ({"axis": 3}, "axis: expected a whole number from 0 to "),
        ({"shape": [1]}, "shape: expected "),
        ({"entry": 10**6}, "entry: expected a whole number from 0 to "),
        ({"call": {"q": [1]}}, "call.q: expected 4 whole numbers"),
        ({"call": CALL | {"v": [1]}}, "call.v: expected 4 whole numbers"),
        ({"call": CALL | {"element": "bf16>"}}, "call.element: expected one of 'bf16', 'f16'"),
    ):
        (TMP / "bad").write_text(
            "\n".join([*lines, json.dumps(json.loads(last) | change)]), encoding="utf-8"
        )
        assert (
            f"line {len(lines) + 1}" in (said := refused(lambda: Run.load(TMP / "bad"), ValueError))
            or message in said
        ), said
        assert message in said, said


hashes()
tasks()
files()
