"""`dash-opt --help` answers at once: a tool that every test and every editor starts must not make
them wait."""

# RUN: %python %s

import resource
import subprocess
import sys

LIMIT = 0.05  # seconds


def run_once():
    """Processor time of one run: unlike the time on the wall, it is the tool's own, however busy
    the machine."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["dash-opt", "--help"], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


best = min(run_once() for _ in range(20))
if best > LIMIT:
    sys.exit(
        f"expected dash-opt --help within {1000 * LIMIT:.0f} ms, found {1000 * best:.0f} ms at best"
        " of 20"
    )
