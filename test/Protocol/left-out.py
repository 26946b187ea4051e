# RUN: rm -rf %t && mkdir %t
# RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift workers=4' -o /dev/null --mlir-print-ir-before=dash-verify-waits 2> %t/alternating.mlir
# RUN: sed s/x128xbf16/x64xbf16/ %dash_examples/bwd-full.mlir \
# RUN:   | dash-opt --dash-to-ptx='kind=shift workers=4' -o /dev/null --mlir-print-ir-before=dash-verify-waits 2> %t/overlapping.mlir
# RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=shift workers=4 parts=4 sizes=heads:4,kv-heads:1' -o /dev/null --mlir-print-ir-before=dash-verify-waits 2> %t/parts.mlir
# RUN: %python %dash_src/tools/scripts/part_program.py dq 256 %dash_examples/bwd-causal.mlir \
# RUN:   | dash-opt --dash-to-ptx='kind=longest-first workers=4' -o /dev/null --mlir-print-ir-before=dash-verify-waits 2> %t/dq.mlir
# RUN: %python %s --dash-opt %dash_build/bin/dash-opt %t/alternating.mlir %t/overlapping.mlir %t/parts.mlir %t/dq.mlir | FileCheck %s
# REQUIRES: python, host-supports-nvptx
# CHECK: alternating: {{2[0-9][0-9]}} ops, each of which is missed, but for 4 waits for slots that are borrowed once more
# CHECK: overlapping: {{2[0-9][0-9]}} ops, each of which is missed{{$}}
# CHECK: parts: {{2[0-9][0-9]}} ops, each of which is missed{{$}}
# CHECK: dq: {{[0-9]+}} ops, each of which is missed{{$}}
"""Nothing of a kernel's protocol can be left out: without any single wait for a slot or for
products, arrival, proxy fence, copy, turn or meeting of a warpgroup's threads, --dash-verify-waits
or --dash-verify-protocol refuses the kernel.

What is borrowed once more, between two results that leave through the same slots, is waited for
once more, though it is still empty.
"""

import argparse
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

OPS = re.compile(
    r"^\s*(dash\.(mbarrier_\w+|store_fragment|copy_in|copy_out|write_indices|sync_warpgroup|bulk_add|bulk_store|acquire_turn|release_turn"
    r"|take_tensor_core|give_tensor_core)|nvvm\.(fence|cp)[.\w]*) ?"
)
PRODUCTS = re.compile(r"^\s*(%\w+)(?::\d+)? = dash\.wgmma_wait ([^:]*?) (?:factors|pending)")
BORROWED = re.compile(r"\s*dash\.mbarrier_wait %(\w+) empty\[(%\w+)\].* borrows")

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--dash-opt", required=True)
parser.add_argument("kernels", nargs="+", type=Path)
args = parser.parse_args()


def is_refused(lines):
    command = [
        args.dash_opt,
        "-",
        "--dash-verify-waits",
        "--dash-verify-protocol",
        "-o",
        "/dev/null",
    ]
    done = subprocess.run(
        command, input="\n".join(lines), capture_output=True, text=True, check=False
    )
    if done.returncode and not re.search(
        r"error: (?!'|use of|expected|custom op|redefinition|operation )", done.stderr
    ):
        sys.exit(f"expected an error of a pass, found: {done.stderr}")
    return done.returncode != 0


def without(lines, place):
    """Without an op: a use of products that were waited for uses them in flight."""
    found = PRODUCTS.match(lines[place])
    before, behind = lines[:place], lines[place + 1 :]
    if not found:
        return before + behind
    inputs = [one.strip() for one in found[2].split(",")]
    indent = len(lines[place]) - len(lines[place].lstrip())
    end = next(i for i, line in enumerate(behind) if len(line) - len(line.lstrip()) < indent)
    names = (
        {found[1]: inputs[0]}
        if len(inputs) == 1
        else {f"{found[1]}#{i}": one for i, one in enumerate(inputs)}
    )
    pattern = re.compile("|".join(re.escape(name) + r"(?![\w#])" for name in names))
    return (
        before
        + [pattern.sub(lambda one: names[one[0]], line) for line in behind[:end]]
        + behind[end:]
    )


for kernel in args.kernels:
    lines = kernel.read_text(encoding="utf-8").split("\n")
    if is_refused(lines):
        sys.exit(f"expected {kernel} to be right")
    places = [i for i, line in enumerate(lines) if OPS.match(line) or PRODUCTS.match(line)]
    with ThreadPoolExecutor(2) as pool:
        refused = list(pool.map(lambda i, lines=lines: is_refused(without(lines, i)), places))
    accepted = [lines[i] for i, wrong in zip(places, refused) if not wrong]
    borrowed = Counter(found.groups() for line in lines if (found := BORROWED.match(line)))
    for line in accepted:
        found = BORROWED.match(line)
        if not found or borrowed[found.groups()] < 2:
            sys.exit(f"{kernel.stem}: no proof misses {line.strip()}")
    print(
        f"{kernel.stem}: {len(places)} ops, each of which is missed"
        + (
            f", but for {len(accepted)} waits for slots that are borrowed once more"
            if accepted
            else ""
        )
    )
