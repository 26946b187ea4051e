"""Where two runs of a training step differ first: by module path and operator.

    with audit.record(model) as one:            # as always; tensors are hashed on their device
        train_step()
    ...                                         # again, from equal weights, data and seeds: other
    print(audit.compare(one, other))            # None, or the first operator that differs
    print(audit.locate(one, other))             # of record(model, space=True): where in it

    one.save("one.audit"); python3 -m dash_attn.audit one.audit other.audit
    python3 -m dash_attn.audit --certificates one.json other.json

    json.dump(audit.certificate(model), file)   # beside a checkpoint; and when it is loaded:
    print(audit.check(json.load(file), model))  # [], or why the run may go on with other bits

What is hashed: what each operator writes, once, in the order of the program; tensors that come
from outside, when they are first used; arguments of the model; parameters, at the beginning and
behind each step of an optimizer, which is one entry and not looked into. So where everything
before an entry is equal, the inputs of its operator are. Operators that compute each element by
itself, or move it, are left out, as they have no order to lose; `record(model, every=True)`
hashes them, too, which takes longer. For eager programs: compiled ones are one operator or none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .compare import certificates
from .compare.runs import Divergence, Entry, Run, compare
from .compare.space import locate
from .kernel.commands import DIFFERS, GOOD, parser_of, run
from .support.records import Record, read

__all__ = [
    "Divergence",
    "Entry",
    "Run",
    "certificate",
    "check",
    "compare",
    "compare_sites",
    "locate",
    "record",
]


def record(model: Any = None, every: bool = False, space: bool = False) -> Any:
    """Records the run inside `with`, and gives a `Run`, which is filled at its end. model: names
    modules and parameters. every: also hashes results of operators that compute each element
    separately. space: also hashes blocks of 64 rows, for `locate`, which takes several times as
    long."""
    from .torch.recording import record as of_torch

    return of_torch(model, every, space)


def certificate(model: Any = None, run: Run | None = None) -> dict[str, Any]:
    """What the bits of this process depend on, as JSON data to keep beside a checkpoint:
    versions, machine, switches, the used kernels with their orders and levels; hashes of the
    model's weights, and of a run."""
    from .torch.certificate import certificate as of_torch

    return of_torch(model, run)


def check(expected: dict[str, Any], model: Any = None) -> list[str]:
    """The reasons why a run that continues here, with this model, may have other bits than where
    the certificate was made; one line each. Raises ValueError for an invalid certificate, or for
    one with unknown kernels. It is treated as data: it never becomes an option, a file or a
    program."""
    from .torch.certificate import check as of_torch

    return of_torch(expected, model)


def compare_sites(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Certificates of two sites in words: a line for each difference, and what follows. Raises
    ValueError for what is none."""
    return certificates.compare(one, other)


def _sites(one: Path, other: Path) -> list[str]:
    found = []
    for path in (one, other):
        try:
            found.append(read(path))
            Record(found[-1]).word("dash_certificate", (certificates.VERSION,))
        except ValueError as error:
            raise ValueError(
                f"{path}: expected a certificate of audit.certificate: {error}"
            ) from error
    return compare_sites(*found)


def main(argv: list[str] | None = None) -> int:
    """0: equal, 1: they differ, 2: trouble."""
    parser = parser_of(
        "audit",
        "Where two runs differ first. The status is 0 where they are equal, 1 where they differ, 2"
        " where they cannot be compared.",
    )
    parser.add_argument(
        "--certificates", action="store_true", help="the files are certificates, of two sites"
    )
    parser.add_argument(
        "one", type=Path, metavar="ONE", help="a file of Run.save, or a certificate"
    )
    parser.add_argument("other", type=Path, metavar="OTHER", help="another")
    arguments = parser.parse_args(argv)

    def tell() -> int:
        if arguments.certificates:
            said = _sites(arguments.one, arguments.other)
            print("\n".join(said), flush=True)
            return GOOD if said == [certificates.SAME] else DIFFERS
        runs = [*map(Run.load, (arguments.one, arguments.other))]
        found = compare(*runs)
        print("\n".join(["equal"] if found is None else [str(found), *locate(*runs)]), flush=True)
        return GOOD if found is None else DIFFERS

    return run("audit", tell)


if __name__ == "__main__":
    raise SystemExit(main())
