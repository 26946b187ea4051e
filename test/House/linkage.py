"""One libMLIR and one libLLVM in a process: a static copy beside them would split type ids and
options in two."""

# RUN: %python %s %dash_build/bin/dash-opt %dash_build/bin/dash-lsp-server %dash_build/lib/DashPlugin.so
# RUN: not %python %s %python 2>&1 | FileCheck %s
# CHECK: expected libMLIR and libLLVM among its libraries

import subprocess
import sys


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


for path in sys.argv[1:]:
    needed = output_of("readelf", "-d", path)
    if "libMLIR.so" not in needed or "libLLVM.so" not in needed:
        sys.exit(f"{path}: expected libMLIR and libLLVM among its libraries, found:\n{needed}")
    # A context is made by libMLIR only: whoever links it statically defines this symbol itself.
    defined = [
        line
        for line in output_of("nm", "-C", path).splitlines()
        if "mlir::MLIRContext::MLIRContext(" in line
    ]
    if any(" U " not in line for line in defined):
        sys.exit(
            f"{path}: expected MLIRContext to come from libMLIR, found a copy of its own:\n"
            + "\n".join(defined)
        )
