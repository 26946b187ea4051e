"""Certificates of two sites, compared in words: what a run's bits depend on, where it is another
thing there, and whether that matters to dash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..kernel.problem import head_dims
from ..support.records import Record
from .runs import differences

VERSION = 9
NAMED = 5  # of many alike
SAME = "the certificates promise the same bits"
# What follows from a field that differs.
MATTERS = {
    "torch": "operators beside dash's kernels may be other ones",
    "cuda": "its libraries may choose other kernels",
    "cudnn": "forward passes of cuDNN may have other bits",
    "python": "bits do not follow from it",
    "gpu": (
        "libraries may choose other kernels for it; those of dash are the same where their"
        " certificates are"
    ),
    "multiprocessors": (
        "libraries may split sums otherwise; orders of dash are made for the workers that their"
        " certificates name"
    ),
    "devices": "sums over devices may be other ones",
}
OF_KERNEL = ("order", "level", "workers", "tiles", "parts", "apart", "sizes")


def compare(one: Any, other: Any) -> list[str]:
    """A line for each difference that bits may follow from, the last one what follows from all;
    that alone where there is none. Raises ValueError for what is no certificate."""
    records = [Record(value, place) for value, place in ((one, "the first"), (other, "the second"))]
    for record in records:
        record.word("dash_certificate", (VERSION,))
        for name in ("versions", "machine", "switches"):
            record.object(name)
    said = [*_versions(one, other), *_kernels(*records), *_weights(one, other), *_rest(one, other)]
    if not said:
        return [SAME]
    own = any(line.startswith("kernel") for line in said)
    return [
        *said,
        (
            "gradients of dash's attention may have other bits"
            if own
            else (
                "kernels of dash are the same, and with the same inputs their gradients; what"
                " differs is beside them"
            )
        ),
    ]


def _versions(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    for group in ("versions", "machine"):
        for name in dict.fromkeys((*one[group], *other[group])):
            here, there = one[group].get(name), other[group].get(name)
            if here != there:
                yield (
                    f"{name}: {_word(here)} at the first, {_word(there)} at the second:"
                    f" {MATTERS.get(name, 'bits may follow from it')}"
                )
    for place in differences(one["switches"], other["switches"]):
        name, _, values = place.partition(": expected ")
        here, _, there = values.partition(", found ")
        yield (
            f"switch {name}: {_word(here)} at the first, {_word(there)} at the second: other"
            " kernels may be chosen"
        )


def _word(value: Any) -> str:
    return "none" if value in (None, "None") else str(value)


def _kernels(one: Record, other: Record) -> Iterator[str]:
    """By what was asked for: the order, and what follows from it, is what may differ."""
    known = []
    for record in (one, other):
        found = [kernel.fields for kernel in record.objects("kernels")]
        known.append({_asked(kernel): kernel for kernel in found})
    for asked in dict.fromkeys((*known[0], *known[1])):
        kernels = [of_site.get(asked) for of_site in known]
        if None in kernels:
            site = "second" if kernels[0] is None else "first"
            yield f"kernel of {asked}: only the {site} has used it"
        elif kernels[0].get("certificate") != kernels[1].get("certificate"):
            words = [
                f"{name} {kernels[0].get(name)} and {kernels[1].get(name)}"
                for name in OF_KERNEL
                if kernels[0].get(name) != kernels[1].get(name)
            ]
            why = ", ".join(words) or "the same order of two versions of dash, or costs"
            # a forward adds each row's numbers by itself
            of_sums = "" if kernels[0].get("is_forward") else ", so sums are added in another order"
            yield f"kernel of {asked}: other certificates{of_sums}: {why}"


def _asked(kernel: Mapping[str, Any]) -> str:
    sizes = " x ".join(map(str, kernel.get("sizes") or ())) or "any sizes"
    more = (
        ", forward" * bool(kernel.get("is_forward"))
        + f", q tile {kernel.get('q_tile')}" * bool(kernel.get("q_tile"))
        + f", {kernel.get('fold')} heads in a q tile" * bool(kernel.get("fold", 1) != 1)
        + f", softcap {kernel.get('softcap')}" * bool(kernel.get("softcap"))
        + ", packed" * bool(kernel.get("is_list"))
        + ", sink" * bool(kernel.get("has_sink"))
        + ", of delta" * bool(kernel.get("takes_delta"))
        + ", unrounded o" * bool(kernel.get("is_unrounded"))
    )
    return (
        f"{kernel.get('mask')} mask, {kernel.get('element')}, head dim"
        f" {head_dims(kernel.get('head_dim'), kernel.get('head_dim_v'))}, {sizes}{more}"
    )


def _weights(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    here, there = one.get("weights"), other.get("weights")
    if not isinstance(here, Mapping) or not isinstance(there, Mapping):
        return
    if lacking := [
        name for name in dict.fromkeys((*here, *there)) if (name in here) != (name in there)
    ]:
        yield f"weights: {len(lacking)} are in one model only: {_some(lacking)}"
    if changed := [name for name in here if name in there and here[name] != there[name]]:
        yield f"weights: {len(changed)} of {len(here)} have other bits: {_some(changed)}"


def _some(names: list[str]) -> str:
    return ", ".join(names[:NAMED]) + ", ..." * (len(names) > NAMED)


def _rest(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    if one.get("worlds", []) != other.get("worlds", []):
        yield "worlds: other ones, so leaves and sums over ranks may be other ones"
    here, there = one.get("run"), other.get("run")
    if isinstance(here, Mapping) and isinstance(there, Mapping) and here != there:
        what = (
            "the same number of entries, and other hashes"
            if here.get("entries") == there.get("entries")
            else (
                f"{here.get('entries')} entries and {there.get('entries')}: other programs, or"
                " other steps"
            )
        )
        yield f"run: {what}; compare the files of Run.save"
