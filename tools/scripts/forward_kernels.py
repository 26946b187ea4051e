"""Which kernels of forwards a bundle for machines with a GPU has: what golden.json holds, and
builds that must have the same bits.

At level `row` bits follow neither from the q tile, nor from the heads that it folds, nor from the
order, its workers, the structure or the packing. So each build that differs in one of these is held
by the hashes of its plain kernel. A kernel that writes O unrounded, too, has hashes of its own: its
exponentials are beside each row's largest score.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import house
from device_kernels import DEBUG_OPTIONS, SOFTCAP, TARGETS_OWN, DeviceKernel

sys.path.insert(0, str(house.ROOT / "python"))
from dash_attn.kernel.unrounded import NAME, SLACK, type_of  # noqa: E402
from dash_attn.reference import Mask  # noqa: E402

OF_EXAMPLE = "x128x"  # the example's head dim; and types of tensors where that of v is apart
APART = {"!kv, %o: !q": "!v, %o: !v", "!kv, !kv)": "!kv, !v)", "%lse : !q": "%lse : !v"}
CUT = 256  # two kv tiles, or more
FOLD = 2  # heads of a q tile: the groups of golden_values.py have no more
OF_UNROUNDED = f"slack={SLACK}"
# The batch of golden_values.py that a table is made for.
TABLE = "table=true sizes=q:1024,kv:1024,batch:2,heads:12,kv-heads:12"
# Builds with the bits of the kernel that they are builds of, and what differs: FORWARD_BUILDS of
# the package, and builds for tests. A list has the batch's sequences.
BUILDS = {
    "list-fold2": "",
    "q64-fold2": "q-tile=64",
    "fold2": "",
    "q64": "q-tile=64",
    "q128": "q-tile=128",
    "ascending": "kind=ascending",
    "alternating": "structure=alternating",
    "workers7": "workers=7",
    "table": TABLE,
    "list": "",
    "delays": "delays=true",
    "tickets": "tickets=true",
    "threads": DEBUG_OPTIONS["threads"],
    "list-threads": DEBUG_OPTIONS["threads"],
}
# Head dims of q and of v, mask: what is changed in each of its kernels, with builds of that kernel.
KERNELS: dict[tuple[int, int, str], dict[str, tuple[str, ...]]] = {
    (64, 64, "full"): {"": ("q128", "fold2"), "f16": ()},
    # ptxas has too few registers for pieces of 192 rows
    (64, 64, "causal"): {
        "": ("q64", "q128", "list", "q64-fold2", "list-fold2"),
        "sink": (),
        "softcap": (),
        "q128-cut": ("list", "fold2"),
        "unrounded": ("list", "fold2"),
    },
    (96, 96, "causal"): {"": ("q128", "list", "fold2"), "unrounded": ()},
    (128, 128, "full"): {"": ("q64", "fold2"), "cut": (), "unrounded": ()},
    (128, 128, "causal"): {
        "": tuple(build for build in BUILDS if build != "q128"),
        "f16": ("fold2",),
        "softcap": (),
        "sink": ("list",),
        "cut": ("q64", "list", "fold2", "list-fold2"),
        "softcap-sink-cut": ("fold2",),
        "unrounded": ("q64", "list", "fold2", "list-fold2"),
        "f16-unrounded": (),
        "softcap-sink-unrounded": ("fold2",),
    },
    (128, 128, "window-512-0"): {"": (), "softcap-sink": ("fold2",), "unrounded": ()},
    (128, 128, "window-100-40"): {"": ("q64", "list", "fold2")},
    (128, 128, "union-4-100-all-all-0"): {"": ("q64",)},
    (192, 128, "causal"): {"": ("q64", "list", "fold2"), "unrounded": ("fold2",)},
    (192, 192, "full"): {"": ()},
    (192, 192, "causal"): {"": ("q64",)},
    (256, 256, "full"): {"": ()},
    (256, 256, "causal"): {
        "": ("q64", "list", "fold2"),
        "softcap": (),
        "cut": ("fold2",),
        "unrounded": ("fold2",),
    },
}


@dataclass(frozen=True)
class ForwardKernel(DeviceKernel):
    head_dim_v: int = 0
    cut: int = 0  # rows of a piece of keys; 0 is no cut
    fold: int = 1  # query heads of a q tile
    is_unrounded: bool = False  # it writes o in f32, too

    @property
    def example(self) -> str:
        return "fwd-causal.mlir"

    def program(self, text: str) -> str:
        clauses = "scale(%scale)"
        if self.has_lengths:
            clauses += " sequences(<?>)"
        if "sink" in self.scores:
            clauses += " sink(%sink : memref<?xf32>)"
            text = text.replace("%scale: f32)", "%scale: f32, %sink: memref<?xf32>)")
        if "softcap" in self.scores:
            clauses += f" softcap({SOFTCAP})"
        if self.cut:
            clauses += f" cut({self.cut})"
        text = text.replace("<causal>", f"<{Mask.named(self.mask).text}>")
        of_v = ""
        if self.head_dim_v != self.head_dim:
            for one, other in APART.items():
                text = text.replace(one, other)
            kv = next(line for line in text.splitlines() if line.startswith("!kv = "))
            of_v = kv.replace("!kv", "!v").replace(OF_EXAMPLE, f"x{self.head_dim_v}x") + "\n"
        text = of_v + text.replace(OF_EXAMPLE, f"x{self.head_dim}x")
        if self.is_unrounded:
            output = f"%{NAME} : {type_of(self.head_dim_v)}"
            clauses += f" unrounded({output})"
            text = text.replace("%scale: f32", f"%scale: f32, {output.replace(' :', ':')}")
        if self.fold > 1:
            clauses += f" fold({self.fold})"
        return text.replace("scale(%scale)", clauses).replace("bf16", self.element)


def forward_kernels(workers: int = TARGETS_OWN) -> list[ForwardKernel]:
    kernels = []
    for (head_dim, head_dim_v, mask), changed in KERNELS.items():
        dims = f"d{head_dim}" if head_dim_v == head_dim else f"d{head_dim}-{head_dim_v}"
        for change, builds in changed.items():
            words = change.split("-")
            for build in ("", *builds):
                options = " ".join(BUILDS.get(word, "") for word in (*words, build))
                options += f" {OF_UNROUNDED}" * ("unrounded" in words)
                for name, value in (("kind", "longest-first"), ("workers", workers)):
                    options += f" {name}={value}" * (f"{name}=" not in options)
                kernels.append(
                    ForwardKernel(
                        "-".join(filter(None, (dims, mask, "forward", change, build))),
                        head_dim,
                        mask,
                        " ".join(options.split()),
                        element="f16" if "f16" in words else "bf16",
                        has_lengths=build.startswith("list"),
                        scores=tuple(word for word in words if word in ("softcap", "sink")),
                        head_dim_v=head_dim_v,
                        cut=CUT * ("cut" in words),
                        fold=FOLD if build.endswith("fold2") else 1,
                        is_unrounded="unrounded" in words,
                    )
                )
    return kernels
