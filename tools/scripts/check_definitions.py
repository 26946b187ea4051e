#!/usr/bin/env python3
"""Checks that a type of a namespace is defined once in all of C++.

The linker keeps one of two inline functions with the same name, such as the constructors of two
structs. If two files define different structs of one name, either may get the functions of the
other, and memory is overwritten. No compiler reports this. Types in an anonymous namespace, in
another type or in a function belong to their file, and may share a name.
"""

import re
from collections import defaultdict

import house

# What a brace may belong to. Literals and comments have no braces that count.
SKIPPED = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'""", re.DOTALL
)
BRACES = re.compile(
    r"namespace(?P<namespace>\s+[\w:]+)?\s*\{|"
    r"\b(?:struct|class|union|enum(?:\s+class)?)\s+(?P<type>\w+)(?:\s+final)?(?:\s*:[^;{()]*)?\s*\{|[{}]"
)


def definitions(text):
    """The types that a file defines in namespaces: (line, qualified name)."""
    text = SKIPPED.sub(lambda skipped: "\n" * skipped[0].count("\n"), text)
    scopes = []  # the name of a namespace; None for every other scope
    for found in BRACES.finditer(text):
        if found[0] == "}":
            if scopes:
                scopes.pop()
        elif found[0].startswith("namespace"):
            scopes.append(found["namespace"].strip() if found["namespace"] else None)
        else:
            if found["type"] and scopes and None not in scopes:
                yield text.count("\n", 0, found.start()) + 1, "::".join([*scopes, found["type"]])
            scopes.append(None)


def main():
    arguments = house.parse_arguments(__doc__)
    findings = house.Findings("definitions")
    places = defaultdict(list)
    for path in house.project_files(arguments.root, ".cpp", ".h"):
        for line, name in definitions(house.read(arguments.root / path)):
            places[name].append((path, line))
    for name, (first, *others) in places.items():
        for path, line in others:
            findings.add(
                path,
                line,
                f"expected one definition of '{name}', found another in {first[0]}:{first[1]}; "
                "rename one, or put it into an anonymous namespace",
            )
    findings.finish()


if __name__ == "__main__":
    main()
