"""Stands in for test/Device/run_group.py: five tests, of which number 1 hangs and number 3 ends the
process."""

import json
import sys
import time

KERNELS = ("shift", "descending", "descending", "ascending", "shift")
after = next(
    int(argument.removeprefix("--after="))
    for argument in sys.argv
    if argument.startswith("--after=")
)
without = [
    argument.removeprefix("--without=")
    for argument in sys.argv
    if argument.startswith("--without=")
]


def say(**line: object) -> None:
    print(json.dumps(line), flush=True)


print("a library's greeting")
say(tests=[f"test {number}" for number in range(5)])
for number in range(after, 5):
    if KERNELS[number] in without:
        say(
            number=number,
            name=f"test {number}",
            status="failed",
            message=f"not run: {KERNELS[number]} hung before",
        )
        continue
    say(start=f"test {number}", number=number, kernel=KERNELS[number])
    if number == 1:
        time.sleep(100)
    if number == 3:
        sys.exit("the GPU fell off the bus")
    say(number=number, name=f"test {number}", status="passed")
