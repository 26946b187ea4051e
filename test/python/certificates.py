# RUN: rm -rf %t && mkdir -p %t && %python %s %t
# REQUIRES: python, plain-libdash
"""Certificates of two sites in words: each field that differs has its line, and what follows from
it for dash's own bits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import SOURCE, refused  # noqa: E402

from dash_attn.compare.certificates import NAMED, SAME, compare  # noqa: E402

TMP = Path(sys.argv[1])
KERNEL = {
    "head_dim": 128,
    "head_dim_v": 128,
    "element": "bf16",
    "window": [-1, 0],
    "mask": "causal",
    "sizes": [1, 8, 8, 512, 512],
    "order": "shift",
    "level": "run",
    "workers": 132,
    "tiles": {"q": 64, "kv": 128},
    "parts": 1,
    "apart": "",
    "certificate": "sha256:1",
    "is_list": False,
    "has_sink": False,
    "takes_delta": False,
}
FORWARD = KERNEL | {
    "level": "row",
    "is_forward": True,
    "q_tile": 128,
    "gradients": "",
    "softcap": 30.0,
    "certificate": "sha256:3",
}
SITE: dict[str, Any] = {
    "dash_certificate": 9,
    "versions": {"torch": "2.11", "python": "3.12.1"},
    "machine": {"gpu": "H100", "multiprocessors": 132},
    "switches": {"deterministic": True, "environment": {}},
    "kernels": [KERNEL],
    "weights": {"a": "1", "b": "2"},
    "run": {"entries": 3, "steps": 1, "sha256": "x"},
}
OWN = "gradients of dash's attention may have other bits"
BESIDE = (
    "kernels of dash are the same, and with the same inputs their gradients; what differs is beside"
    " them"
)


def changed(*path: Any, to: Any) -> dict[str, Any]:
    site: Any = deepcopy(SITE)
    place = site
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = to
    return site


def words() -> None:
    assert compare(SITE, deepcopy(SITE)) == [SAME]
    forwards = [changed("kernels", to=[FORWARD | {"certificate": one}]) for one in "ab"]
    assert compare(*forwards)[0].endswith(
        ", forward, q tile 128, softcap 30.0: other certificates: the same order of two versions of"
        " dash, or costs"
    )
    asked = "kernel of causal mask, bf16, head dim 128, 1 x 8 x 8 x 512 x 512"
    for other, line, end in (
        (
            changed("versions", "torch", to="2.15"),
            (
                "torch: 2.11 at the first, 2.15 at the second: operators beside dash's kernels may"
                " be other ones"
            ),
            BESIDE,
        ),
        (
            changed("machine", "gpu", to=None),
            (
                "gpu: H100 at the first, none at the second: libraries may choose other kernels for"
                " it; those of dash are the same where their certificates are"
            ),
            BESIDE,
        ),
        (
            changed("switches", "deterministic", to=False),
            (
                "switch deterministic: True at the first, False at the second: other kernels may be"
                " chosen"
            ),
            BESIDE,
        ),
        (
            changed("switches", "environment", to={"NCCL_ALGO": "Ring"}),
            (
                "switch environment.NCCL_ALGO: none at the first, Ring at the second: other kernels"
                " may be chosen"
            ),
            BESIDE,
        ),
        (changed("kernels", to=[]), f"{asked}: only the first has used it", OWN),
        (
            changed(
                "kernels", to=[KERNEL, KERNEL | {"head_dim_v": 64, "is_list": True, "sizes": []}]
            ),
            (
                "kernel of causal mask, bf16, head dim 128/64, any sizes, packed: only the second"
                " has used it"
            ),
            OWN,
        ),
        (
            changed(
                "kernels",
                0,
                to=KERNEL | {"certificate": "sha256:2", "order": "descending", "parts": 2},
            ),
            (
                f"{asked}: other certificates, so sums are added in another order: order shift and"
                " descending, parts 1 and 2"
            ),
            OWN,
        ),
        (
            changed("kernels", 0, to=KERNEL | {"certificate": "sha256:2"}),
            (
                f"{asked}: other certificates, so sums are added in another order: the same order"
                " of two versions of dash, or costs"
            ),
            OWN,
        ),
        (
            changed("kernels", to=[KERNEL, FORWARD]),
            f"{asked}, forward, q tile 128, softcap 30.0: only the second has used it",
            OWN,
        ),
        (changed("weights", "b", to="3"), "weights: 1 of 2 have other bits: b", BESIDE),
        (
            changed("weights", to={"a": "1", **{f"c{i}": "0" for i in range(NAMED + 1)}}),
            "weights: 7 are in one model only: b, c0, c1, c2, c3, ...",
            BESIDE,
        ),
        (
            changed("worlds", to=["w"]),
            "worlds: other ones, so leaves and sums over ranks may be other ones",
            BESIDE,
        ),
        (
            changed("run", "sha256", to="y"),
            "run: the same number of entries, and other hashes; compare the files of Run.save",
            BESIDE,
        ),
        (
            changed("run", "entries", to=5),
            "run: 3 entries and 5: other programs, or other steps; compare the files of Run.save",
            BESIDE,
        ),
    ):
        assert compare(SITE, other) == [line, end], compare(SITE, other)
    without = {name: value for name, value in SITE.items() if name not in ("weights", "run")}
    assert compare(SITE, without) == [SAME]  # what one of them does not say is not compared
    for wrong, message in (
        (3, "the second: expected an object, found 3"),
        ({}, "the second.dash_certificate: expected one of 9, found nothing"),
        (changed("machine", to=7), "the second.machine: expected an object, found 7"),
        (changed("kernels", to=[1]), "the second.kernels[0]: expected an object, found 1"),
    ):
        assert refused(lambda wrong=wrong: compare(SITE, wrong), ValueError) == message


def command() -> None:
    for name, site in (
        ("one", SITE),
        ("other", changed("versions", "torch", to="2.15")),
        ("bad", {"dash_certificate": 2}),
    ):
        (TMP / name).write_text(json.dumps(site), encoding="utf-8")
    for names, status, said in (
        (("one", "one"), 0, f"{SAME}\n"),
        (
            ("one", "other"),
            1,
            "\n".join(compare(SITE, changed("versions", "torch", to="2.15"))) + "\n",
        ),
        (("one", "bad"), 2, ""),
        (("one", "none"), 2, ""),
    ):
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "dash_attn.audit",
                "--certificates",
                *(TMP / name for name in names),
            ],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PYTHONPATH": str(SOURCE / "python")},
        )
        assert (done.returncode, done.stdout) == (status, said), done
    assert f"{TMP / 'none'}" in done.stderr


words()
command()
