#!/usr/bin/env python3
"""Prints the makespan of reported schedules beside the lower bound: compare_costs.py
REPORT.json..."""

import json
import sys


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: compare_costs.py REPORT.json...")
    print(f"  {'kind':<16} {'makespan':>10} {'lower bound':>12} {'over it':>9}  min. workers")
    for path in sys.argv[1:]:
        try:
            with open(path, encoding="utf-8") as file:
                schedules = json.load(file)["schedules"]
            for one in schedules:
                makespan, bound = one["makespan"], one["lowerBound"]
                over = f"{100 * (makespan / bound - 1):8.1f}%" if bound else "        -"
                print(
                    f"  {one['kind']:<16} {makespan:10.1f} {bound:12.1f} {over} "
                    f" {one['minWorkers']}"
                )
        except (OSError, ValueError, KeyError) as error:
            sys.exit(
                f"error: expected a report of dash-report-schedule in {path}, found: {error!r}"
            )


if __name__ == "__main__":
    main()
