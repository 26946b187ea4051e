#!/usr/bin/env python3
"""Checks that no modules of dash_attn import each other in a circle, and that rooms import what
they are handed.

Imports inside functions count, and those for type checkers: a module that asks for another when it
is called needs it all the same. So do `import_module` and `__import__` of a name that stands there;
of a name that is computed it is unknown what it imports. Whoever imports a module from outside its
package imports the package, too. There are no exceptions.
"""

import ast
from importlib.util import resolve_name
from pathlib import Path

import house

FOLDER, PACKAGE = Path("python"), "dash_attn"
ROOMS = {
    "support": (),
    "kernel": ("support", "reference"),
    # It measures `attention` of the package itself.
    "measure": ("support", "kernel", "reference", PACKAGE),
    "compare": ("support", "kernel", "measure", "reference"),
    "hang": ("support", "kernel", "measure"),
    "jax": ("support", "kernel"),
    "torch": ("support", "kernel", "compare", "heat"),
    "distributed": ("support", "kernel", "torch"),
    "transformers": ("torch", "distributed"),
    "doctor": ("support", "kernel", "measure", PACKAGE),
}
BY_NAME = {"import_module", "__import__"}


def module_of(path):
    """The module's name: a package's for its __init__.py."""
    parts = path.relative_to(FOLDER).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def with_packages(name):
    """The name, and those of the packages that it is in."""
    parts = name.split(".")
    return {".".join(parts[:end]) for end in range(1, len(parts) + 1)}


def names_in(node, package):
    """What a node imports, as whole names, each with that of what it is taken from, which counts
    where the name is no module."""
    try:
        if isinstance(node, ast.Import):
            return [(alias.name, "") for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            return [(f"{base}.{alias.name}", base) for alias in node.names]
        if (
            isinstance(node, ast.Call)
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, str)
        ):
            called = (
                node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            )
            return [(resolve_name(node.args[0].value, package), "")] if called in BY_NAME else []
    except ImportError:  # it leads out of the package, which Python refuses wherever it is run
        pass
    return []


def imports_of(package, tree, modules):
    """The modules that a module of the package imports, each with the first line that does."""
    found = {}
    for node in sorted(
        (node for node in ast.walk(tree) if hasattr(node, "lineno")), key=lambda node: node.lineno
    ):
        for name, base in names_in(node, package):
            target = name if name in modules else base
            for one in sorted(
                modules & ({target} | with_packages(target) - with_packages(package))
            ):
                found.setdefault(one, node.lineno)
    return found


def room_of(module):
    """The folder of the package, or the module of its root; the package's own name for the
    package."""
    return module.split(".")[1] if "." in module else module


def check_rooms(graph, paths, findings):
    for module, imports in graph.items():
        room = room_of(module)
        if room not in ROOMS or len(paths[module].parts) < 4:
            continue
        for other, line in imports.items():
            if room_of(other) not in (room, "errors", *ROOMS[room]):
                handed = " and ".join(["errors", *ROOMS[room]])
                findings.add(
                    paths[module],
                    line,
                    f"expected imports of {room} itself and of {handed}, found '{other}'; move what"
                    " both need to one of these",
                )


def main():
    arguments = house.parse_arguments(__doc__)
    findings = house.Findings("imports")
    paths = {
        module_of(path): path
        for path in house.project_files(arguments.root, ".py")
        if path.parts[:2] == (str(FOLDER), PACKAGE)
    }
    graph = {}
    for module, path in paths.items():
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        graph[module] = imports_of(
            package, ast.parse(house.read(arguments.root / path), str(path)), paths.keys()
        )
    check_rooms(graph, paths, findings)
    while circle := house.circle_in(graph):
        one, other = circle[0], circle[1 % len(circle)]
        findings.add(
            paths[one],
            graph[one].pop(other),
            f"expected imports that go one way, found the circle {' -> '.join([*circle, one])}; "
            "move what they share to a module that imports none of them",
        )
    findings.finish()


if __name__ == "__main__":
    main()
