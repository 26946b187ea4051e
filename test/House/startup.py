"""`dash-opt --help` answers at once: a tool that every test and every editor starts must not make
them wait. What the dynamic loader must do is counted, since it takes most of a start and is the
same however slow the machine is; tools/bench measures the time."""

# RUN: %python %s

import os
import re
import subprocess
import sys

# Symbols that the loader looks up. LLVM's and MLIR's libraries have 47,000 of them; a dependency of
# their size beside them would pass the limit.
LIMIT = 60_000

run = subprocess.run(
    ["dash-opt", "--help"],
    env=os.environ | {"LD_DEBUG": "statistics"},
    stdout=subprocess.DEVNULL,
    stderr=subprocess.PIPE,
    text=True,
    check=True,
)
found = int(re.search(r"final number of relocations: (\d+)", run.stderr)[1])
if not 0 < found <= LIMIT:
    sys.exit(f"expected at most {LIMIT} symbols looked up for dash-opt --help, found {found}")
opened = re.findall(r"number of relocations: (\d+)", run.stderr)
if len(opened) != 2:  # one report when main starts, one at the end; a third is of a later library
    sys.exit("expected no library to be opened while dash-opt runs, found one")
