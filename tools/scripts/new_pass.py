#!/usr/bin/env python3
"""Starts a pass: new_pass.py Schedule PrintOrder writes its entry in
dialects/dash/Schedule/Passes.td, lib/Schedule/PrintOrder.cpp with a line in the list beside it, and
test/Schedule/print-order{,-invalid}.mlir.

One name in four spellings: class and file PrintOrder, flag --dash-print-order, tests print-order.
What is to be filled in is marked FIXME; it compiles, and its tests run, before that.
"""

import re
import sys
from pathlib import Path

import house

ENTRY = """
def {name} : Pass<"dash-{words}"> {{
  let summary = "FIXME: what {name} does, as a sentence";
  let description = [{{
    FIXME: the purpose, in two lines.

    Needs: FIXME, what must have run. Leaves: FIXME, what stays as it is. Does not: FIXME, what another pass does.

    (* example filepath=test/{stage}/{words}.mlir *)
  }}];
}}
"""

SOURCE = """//===- {name}.cpp - FIXME: what it does {dashes}===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FIXME: what and why, in three to eight lines.
//
//===----------------------------------------------------------------------===//

#include "dash/{stage}/Passes.h"

namespace mlir::dash {{
#define GEN_PASS_DEF_{upper}
#include "dash/{stage}/Passes.h.inc"
}} // namespace mlir::dash

using namespace mlir;

namespace {{

struct {name} : dash::impl::{name}Base<{name}> {{
  void runOnOperation() override {{
    if (getOperation()->hasAttr("dash.fixme")) {{
      getOperation()->emitError("FIXME: expected ..., got ...");
      return signalPassFailure();
    }}
  }}
}};

}} // namespace
"""

TEST = """// FIXME: what this shows, in a line.
// RUN: dash-opt %s --dash-{words} | FileCheck %s

// CHECK-LABEL: func.func @keeps_other_functions
func.func @keeps_other_functions() {{
  return
}}
"""

INVALID = """// RUN: dash-opt %s --dash-{words} -verify-diagnostics -split-input-file

// FIXME: which rule this breaks.
// expected-error @below {{{{FIXME: expected ..., got ...}}}}
module @breaks_the_rule attributes {{dash.fixme}} {{
}}
"""


def refuse(message):
    sys.exit(f"error: {message}")


def edit(path, change):
    before = house.read(path)
    after = change(before)
    path.write_text(after, encoding="utf-8")


def add_entry(text, entry):
    """Puts a .td entry last, in front of the header guard's end if there is one."""
    end = text.rfind("#endif")
    return (
        text.rstrip() + "\n" + entry
        if end < 0
        else text[:end].rstrip() + "\n" + entry + "\n" + text[end:]
    )


def add_source(text, name, stage):
    """Puts Name.cpp into the list of add_dash_library, in alphabetical order."""
    match = re.search(rf"(add_dash_library\(MLIRDash{stage}\n)((?:  \S+\.cpp\n?)*)", text)
    if not match:
        refuse(
            f"expected add_dash_library(MLIRDash{stage} ... in lib/{stage}/CMakeLists.txt, found"
            f" none; add the line {name}.cpp by hand"
        )
    lines = sorted([*match[2].splitlines(), f"  {name}.cpp"])
    tail = text[match.end() :]
    return text[: match.end(1)] + "\n".join(lines) + ("" if tail.startswith(")") else "\n") + tail


def main():
    arguments = house.parse_arguments(
        __doc__, stage={"positional": True}, name={"positional": True}
    )
    root, stage, name = arguments.root, arguments.stage, arguments.name
    if not re.fullmatch(r"(?:[A-Z][a-z0-9]+)+", name):
        refuse(f"expected a verb, or a verb and an object, such as PrintOrder, found '{name}'")
    words = "-".join(word.lower() for word in re.findall(r"[A-Z][a-z0-9]*", name))
    specification = root / "dialects" / "dash" / stage / "Passes.td"
    library = root / "lib" / stage / "CMakeLists.txt"
    for path in (specification, library):
        if not path.is_file():
            refuse(
                f"expected {path.relative_to(root)}, found no such file; is '{stage}' a stage that"
                " has passes?"
            )
    values = {
        "name": name,
        "stage": stage,
        "words": words,
        "upper": name.upper(),
        "dashes": "-" * max(2, 40 - len(name)),
    }
    files = {
        root / "lib" / stage / f"{name}.cpp": SOURCE,
        root / "test" / stage / f"{words}.mlir": TEST,
        root / "test" / stage / f"{words}-invalid.mlir": INVALID,
    }
    for path in files:
        if path.exists():
            refuse(f"expected a new name, found {path.relative_to(root)}")
    if f'"dash-{words}"' in house.read(specification):
        refuse(f"expected a new name, found dash-{words} in {specification.relative_to(root)}")
    edit(library, lambda text: add_source(text, name, stage))
    edit(specification, lambda text: add_entry(text, ENTRY.format(**values)))
    for path, template in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(template.format(**values), encoding="utf-8")
    for path in (specification, library, *files):
        print(Path(path).relative_to(root))


if __name__ == "__main__":
    main()
