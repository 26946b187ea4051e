# RUN: %python %s
"""What plans reach, predicted: balance, and the layer over its leaves shared out evenly, for 8 to
2048 ranks and three distributions."""

from __future__ import annotations

import re
import subprocess
import sys

ROWS = []


def main() -> None:
    missed = []
    for distribution in ("lognormal", "pareto", "mixed"):
        for ranks, most in ((8, 1.05), (64, 1.05), (512, 1.05), (2048, 1.07)):
            text = subprocess.run(
                ["dash-plan", "--world", f"--documents={distribution}:1", f"--ranks={ranks}"],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            backward = text[text.index("  backward") :]
            layer, hidden, balance, of_leaves, of_uncut, into, network = (
                float(re.search(pattern, backward)[1])
                for pattern in (
                    r"layer ([\d.]+) ms",
                    r"of which ([\d.]+) is hidden",
                    r"balance ([\d.]+)",
                    r"([\d.]+) of leaves",
                    r"([\d.]+) of documents uncut",
                    r"([\d.]+) MB into",
                    r"([\d.]+) of it across",
                )
            )
            print(
                f"| {ranks} | {distribution} | {balance:.3f} | {into:.0f} | {network:.0f} |"
                f" {hidden:.2f} | {layer:.1f} | {of_leaves:.3f} | {of_uncut:.3f} |"
            )
            if balance < 0.95 or of_leaves > most:
                missed.append((distribution, ranks, balance, of_leaves))
    sys.exit(f"missed: {missed}" if missed else 0)


if __name__ == "__main__":
    main()
