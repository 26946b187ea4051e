# RUN: %python %s %dash_src/python
# REQUIRES: python
"""What is public says what it is: names are in __all__, have a docstring, and types that editors
see."""

from __future__ import annotations

import ast
import sys
from importlib.util import resolve_name
from pathlib import Path

ROOT = Path(sys.argv[1])
# What stands in them is public by a module of the root.
ROOMS = ("compare", "kernel", "measure", "support")
found: list[str] = []


def path_of(module: str) -> Path | None:
    path = ROOT.joinpath(*module.split("."))
    return next(
        (one for one in (path / "__init__.py", path.with_suffix(".py")) if one.is_file()), None
    )


def definition_of(module: str, name: str) -> tuple[str, ast.stmt] | None:
    """Where a name of a module is made, followed through imports; None where another package makes
    it."""
    path = path_of(module)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    made = [
        node
        for node in tree.body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name
    ]
    if made:
        *overloads, whole = made
        for one in overloads:
            compare(f"{module}.{name}", one, whole)
        return module, whole
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and name in [
            one.asname or one.name for one in node.names
        ]:
            source = (
                resolve_name("." * node.level + (node.module or ""), package)
                if node.level
                else node.module
            )
            original = next(one.name for one in node.names if (one.asname or one.name) == name)
            return definition_of(source, original) if path_of(source) else None
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign)
            else []
        )
        if any(
            isinstance(one, ast.Name) and one.id == name
            for target in targets
            for one in ast.walk(target)
        ):
            return module, node
    found.append(
        f"{module}: expected {name} of __all__ to be made in it, or imported, found neither"
    )
    return None


def parameters(node: ast.FunctionDef, but: str = "") -> dict[str, tuple[str, str]]:
    """By name the type and the default of each."""
    given = node.args.posonlyargs + node.args.args
    defaults = [
        *[None] * (len(given) - len(node.args.defaults)),
        *node.args.defaults,
        *node.args.kw_defaults,
    ]
    return {
        one.arg: (
            ast.unparse(one.annotation) if one.annotation else "",
            ast.unparse(default) if default else "",
        )
        for one, default in zip(given + node.args.kwonlyargs, defaults)
        if one.arg != but
    }


def compare(where: str, one: ast.FunctionDef, whole: ast.FunctionDef) -> None:
    """An overload takes what the function takes; return_lse decides what it returns."""
    if parameters(one, "return_lse") != parameters(whole, "return_lse"):
        found.append(
            f"{where}: expected overloads with the parameters of the function, found"
            f" {parameters(one)}, not {parameters(whole)}"
        )


def look_at(where: str, node: ast.stmt) -> None:
    """A function or a class; a constant says by its value what it is."""
    if isinstance(node, ast.ClassDef):
        if not ast.get_docstring(node):
            found.append(f"{where}: expected a docstring, found none")
        for one in node.body:
            if isinstance(one, ast.FunctionDef) and not one.name.startswith("_"):
                look_at(f"{where}.{one.name}", one)
    if isinstance(node, ast.FunctionDef):
        if not ast.get_docstring(node) and "property" not in [
            ast.unparse(one) for one in node.decorator_list
        ]:
            found.append(f"{where}: expected a docstring, found none")
        if node.returns is None:
            found.append(f"{where}: expected the type of what it returns, found none")
        for one in (
            *node.args.posonlyargs,
            *node.args.args,
            *node.args.kwonlyargs,
            node.args.vararg,
            node.args.kwarg,
        ):
            if one is not None and one.annotation is None and one.arg not in ("self", "cls"):
                found.append(f"{where}: expected a type of {one.arg}, found none")


def public(module: str) -> list[str]:
    for node in ast.parse(path_of(module).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return ast.literal_eval(node.value)
    found.append(f"{module}: expected __all__, found none")
    return []


modules = [
    "dash_attn",
    *(
        f"dash_attn.{path.stem if path.is_file() else path.name}"
        for path in sorted((ROOT / "dash_attn").iterdir())
        if path.name not in (*ROOMS, "__init__.py", "__pycache__")
        and (path.suffix == ".py" or path.is_dir())
    ),
]
assert {
    "dash_attn.audit",
    "dash_attn.torch",
    "dash_attn.jax",
    "dash_attn.distributed",
    "dash_attn.errors",
} <= set(modules), modules
for module in modules:
    for name in public(module):
        if (made := definition_of(module, name)) is not None:
            look_at(f"{made[0]}.{name}", made[1])
assert (ROOT / "dash_attn/py.typed").is_file(), (
    "expected dash_attn/py.typed, by which type checkers look at its types"
)
print("\n".join(dict.fromkeys(found)))
sys.exit(len(found) > 0)
