#!/usr/bin/env python3
"""Checks that Python calls nothing that runs or writes whatever data says: eval, pickles, a shell,
an archive's own paths, names that can be guessed.

What is needed all the same says why, behind its code of flake8-bandit:
`eval(text)  # noqa: S307 - names and numbers only`.
"""

import ast
import re

import house

REASON = re.compile(r"#\s*noqa: S\d+ - \S")
NAMES = {"eval", "exec"}
ANYWHERE = {
    "extractall": "write files one by one, as bundle.py does",
    "unpack_archive": "write files one by one, as bundle.py does",
    "mktemp": "take mkstemp, mkdtemp or dash_attn.support.files.appears",
}
OF_MODULES = {
    ("os", "system"),
    ("os", "popen"),
    ("torch", "load"),
    ("subprocess", "getoutput"),
    ("subprocess", "getstatusoutput"),
}
MODULES = {"pickle", "marshal", "shelve", "dill", "joblib", "yaml"}
KEYWORDS = {("shell", True), ("allow_pickle", True), ("weights_only", False)}
PLAIN = "take JSON, arrays without objects, and commands as lists"


def found_in(node):
    """What a node calls or imports, and what to do instead; None if nothing of these."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        names = (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
        )
        module = next((name for name in names if name.partition(".")[0] in MODULES), None)
        return (module, PLAIN) if module else None
    if not isinstance(node, ast.Call):
        return None
    for keyword in node.keywords:
        if (
            isinstance(keyword.value, ast.Constant)
            and (keyword.arg, keyword.value.value) in KEYWORDS
        ):
            return f"{keyword.arg}={keyword.value.value}", PLAIN
    called = node.func
    name = (
        called.id
        if isinstance(called, ast.Name)
        else called.attr
        if isinstance(called, ast.Attribute)
        else ""
    )
    if name in ANYWHERE:
        return name, ANYWHERE[name]
    if isinstance(called, ast.Name) and name in NAMES:
        return name, PLAIN
    if (
        isinstance(called, ast.Attribute)
        and isinstance(called.value, ast.Name)
        and (called.value.id, name) in OF_MODULES
    ):
        return f"{called.value.id}.{name}", PLAIN
    return None


def main():
    arguments = house.parse_arguments(__doc__)
    findings = house.Findings("calls")
    for path in house.files_in(arguments.root, "python"):
        text = house.read(arguments.root / path)
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text, str(path))):
            if (found := found_in(node)) and not REASON.search(lines[node.lineno - 1]):
                findings.add(
                    path,
                    node.lineno,
                    f"expected nothing that runs or writes what data says, found '{found[0]}';"
                    f" {found[1]}",
                )
    findings.finish()


if __name__ == "__main__":
    main()
