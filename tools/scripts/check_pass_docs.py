#!/usr/bin/env python3
"""Checks that every op, attribute and pass in dialects/ says what it is, with an example, under a
flag of its own."""

import re

import house
import specification

# A fenced block, a marker that lit_to_doc.py fills in, or a short example in the line.
EXAMPLE = re.compile(r"^\s*```|\(\* example filepath=|\*\*Example\*\*:?\s+`", re.M)
OP_HEADINGS = ["Preconditions", "Postconditions", "Example", "Errors"]


def missing_of(one):
    """What an entry does not say, each with what to do."""
    if not one.summary:
        yield "expected a summary (one sentence), found none; add `let summary`"
    if not one.description.strip():
        yield "expected a description, found none; add `let description`"
        return
    if not EXAMPLE.search(one.description):
        yield (
            "expected an example in the description, found none; add one from a test: "
            "`(* example filepath=test/... *)`"
        )
    if one.kind == "op":
        for heading in OP_HEADINGS:
            if f"**{heading}**" not in one.description:
                yield f"expected a paragraph **{heading}** in the description, found none"
    if one.kind == "pass":
        if not one.name.startswith("dash-"):
            yield f"expected a flag that starts with dash-, found '{one.name}'"
        for option, description in one.options:
            if not description.strip():
                yield f"expected a description of option '{option}', found none"


def main():
    arguments = house.parse_arguments(__doc__)
    findings = house.Findings("documentation")
    flags, summaries = {}, {}
    for one in specification.entries(arguments.root):
        for message in missing_of(one):
            findings.add(one.path, one.line, f"{one.kind} '{one.name}': {message}")
        if one.kind == "pass":
            for what, value, seen in (
                ("flag", one.name, flags),
                ("summary", one.summary, summaries),
            ):
                if value and value in seen:
                    findings.add(
                        one.path,
                        one.line,
                        f"pass '{one.record}': expected a {what} of its own, found that "
                        f"of '{seen[value]}': {value}",
                    )
                seen.setdefault(value, one.record)
    findings.finish()


if __name__ == "__main__":
    main()
