"""Reads and checks NAME.json. Every mistake is a ManifestError that names the place in the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .errors import ManifestError
from .expressions import Expression
from .manifest import Constraint, Entry, Manifest, Order, Parameter, Program, Region, Size, TensorSpec

VERSION = 1
PARAMETER_TYPES = ("ptr", "i32", "i64", "f32")
LARGEST = 2**31 - 1  # sizes are i32 in the kernels
ALIGNMENTS = tuple(2**i for i in range(9))  # of regions; the workspace itself has the last
# The schema is part of the compiler's specification: there in its source tree, or beside this file in a bundle.
SCHEMAS = (Path(__file__).with_name("manifest.schema.json"),
           Path(__file__).parents[2] / "dialects" / "dash" / "Target" / "manifest.schema.json")


def load_manifest(path: str | Path) -> Manifest:
    """Reads and checks a manifest. Raises ManifestError; reads neither the PTX nor the order's file."""
    path = Path(path)
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ManifestError(f"{path}: cannot read the manifest: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"{path}: not a manifest: {error}") from error
    manifest = parse_manifest(raw, path)
    check_schema(raw, path)
    return manifest


def check_schema(raw: Any, path: Path) -> bool:
    """Validates against the JSON schema; False where the schema or jsonschema is missing."""
    schema = next((schema for schema in SCHEMAS if schema.is_file()), None)
    if schema is None:
        return False
    try:
        import jsonschema
    except ImportError:
        return False
    try:
        jsonschema.validate(raw, json.loads(schema.read_text(encoding="utf-8")))
    except jsonschema.ValidationError as error:
        place = ".".join(str(part) for part in error.absolute_path)
        raise ManifestError(f"{path}: {place or 'manifest'}: {error.message}") from None
    return True


class _Reader:
    """A JSON object whose members are asked for by name and type; the place is part of each message."""

    def __init__(self, value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise ManifestError(f"{place}: expected an object, found {type(value).__name__}")
        self.value, self.place = value, place

    def get(self, name: str, kind: Any, *default: Any) -> Any:
        if name not in self.value:
            if default:
                return default[0]
            raise ManifestError(f"{self.place}: has no '{name}'")
        found = self.value[name]
        if not isinstance(found, kind) or (kind is not bool and isinstance(found, bool)):
            expected = getattr(kind, "__name__", "a number")
            raise ManifestError(f"{self.place}.{name}: expected {expected}, found {found!r}")
        return found

    def choice(self, name: str, *choices: str) -> str:
        found = self.get(name, str)
        if found not in choices:
            raise ManifestError(f"{self.place}.{name}: expected one of {', '.join(choices)}, found '{found}'")
        return found

    def count(self, name: str, least: int = 1) -> int:
        found = self.get(name, int)
        if not least <= found <= LARGEST:
            raise ManifestError(f"{self.place}.{name}: expected {least} to {LARGEST}, found {found}")
        return found

    def file(self, name: str) -> str:
        """A name in the manifest's folder: no path leaves it."""
        found = self.get(name, str)
        if not found.isprintable() or found in ("", ".", "..") or set(found) & set("/\\:"):
            raise ManifestError(f"{self.place}.{name}: expected the name of a file beside the manifest, found {found!r}")
        return found

    def object(self, name: str) -> _Reader:
        return _Reader(self.get(name, dict), f"{self.place}.{name}")

    def objects(self, name: str) -> list[_Reader]:
        return [_Reader(item, f"{self.place}.{name}[{i}]") for i, item in enumerate(self.get(name, list))]

    def expression(self, name: str) -> Expression:
        return _expression(self.value.get(name), f"{self.place}.{name}")

    def triple(self, name: str) -> tuple[Any, Any, Any]:
        found = self.get(name, list)
        if len(found) != 3:
            raise ManifestError(f"{self.place}.{name}: expected 3 numbers, found {len(found)}")
        return tuple(found)

    def numbers(self, name: str) -> tuple[int, int, int]:
        found = self.triple(name)
        if not all(type(number) is int and 0 < number <= LARGEST for number in found):
            raise ManifestError(f"{self.place}.{name}: expected 3 positive numbers, found {list(found)}")
        return found


def _expression(value: Any, place: str) -> Expression:
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        raise ManifestError(f"{place}: expected an expression, found {value!r}")
    return Expression(value, place)


def parse_manifest(raw: Any, path: Path) -> Manifest:
    """path: the manifest's file; files that it names lie beside it."""
    root = _Reader(raw, str(path))
    version = root.get("version", int)
    if version != VERSION:
        raise ManifestError(f"{path}: expected manifest version {VERSION}, found {version}; "
                            "use the dash_attn that came with the compiler")
    ptx = root.object("ptx")
    manifest = Manifest(
        path=path, name=root.get("name", str), ptx_file=ptx.file("file"), ptx_sha256=ptx.get("sha256", str),
        isa=ptx.get("isa", str), target=ptx.get("target", str), certificate=root.get("certificate", str),
        program=_program(root.object("program")),
        sizes={name: _size(name, root.object("sizes").object(name)) for name in root.get("sizes", dict)},
        constraints=tuple(Constraint(item.expression("expression"), item.get("equals", int), item.get("message", str))
                          for item in root.objects("constraints")),
        derived={name: root.object("derived").expression(name) for name in root.get("derived", dict)},
        tensors={item.get("name", str): _tensor(item) for item in root.objects("tensors")},
        workspace={item.get("name", str): _region(item) for item in root.objects("workspace")},
        order=_order(root.object("order")),
        entries=tuple(_entry(item) for item in root.objects("entries")),
        raw=raw)
    _check_names(manifest)
    return manifest


def _program(program: _Reader) -> Program:
    tiles = program.object("tiles")
    return Program(
        element=program.choice("element", "bf16", "f16"), head_dim=program.count("head_dim"),
        head_dim_v=program.count("head_dim_v"), mask=program.get("mask", str), q_tile=tiles.count("q"),
        kv_tile=tiles.count("kv"), kind=program.get("kind", str), level=program.get("level", str),
        is_deterministic=program.get("deterministic", bool), parts=program.count("parts"),
        workers=program.count("workers"), width=program.count("width"),
        min_workers=program.count("min_workers"))


def _size(name: str, size: _Reader) -> Size:
    if "value" in size.value:
        value = size.count("value", 0)
        return Size(name, value, value)
    return Size(name, size.count("min", 0) if "min" in size.value else 1, size.count("max") if "max" in size.value else LARGEST)


def _tensor(tensor: _Reader) -> TensorSpec:
    shape = tuple(_expression(item, f"{tensor.place}.shape[{i}]") for i, item in enumerate(tensor.get("shape", list)))
    return TensorSpec(tensor.get("name", str), tensor.choice("element", "bf16", "f16", "f32"),
                      tensor.choice("access", "read", "write", "read-write"), shape,
                      tensor.count("alignment"), tensor.count("stride_multiple"))


def _region(region: _Reader) -> Region:
    if region.count("alignment") not in ALIGNMENTS:
        raise ManifestError(f"{region.place}.alignment: expected a power of two up to {ALIGNMENTS[-1]}, found "
                            f"{region.value['alignment']}")
    return Region(region.get("name", str), region.expression("bytes"), region.count("alignment"),
                  region.choice("initial", "any", "zero", "entry", "file"), region.get("after", str, "any"))


def _order(order: _Reader) -> Order:
    if order.choice("source", "entry", "file") == "entry":
        return Order("entry")
    return Order("file", order.file("file"), order.count("bytes"), order.get("sha256", str),
                 order.get("command", str, ""))


def _entry(entry: _Reader) -> Entry:
    grid = tuple(_expression(item, f"{entry.place}.grid[{i}]") for i, item in enumerate(entry.triple("grid")))
    parameters = tuple(Parameter(item.get("name", str), item.choice("type", *PARAMETER_TYPES))
                       for item in entry.objects("parameters"))
    return Entry(entry.get("name", str), entry.get("role", str), entry.choice("when", "always", "sizes-change"), grid,
                 entry.numbers("block"), entry.numbers("cluster"), entry.count("shared_bytes", 0),
                 entry.get("cooperative", bool), entry.get("registers", (int, type(None)), None), parameters)


def _check_names(manifest: Manifest) -> None:
    """Every parameter has a value that a launcher can derive, every expression only names that have one."""
    path, sizes = manifest.path, set(manifest.sizes)
    known = sizes | {"workers", "width"}
    for name, expression in manifest.derived.items():
        _check_known(expression, known)
        known.add(name)
    for expression in [*(region.bytes for region in manifest.workspace.values()),
                       *(item.expression for item in manifest.constraints),
                       *(item for entry in manifest.entries for item in entry.grid),
                       *(item for tensor in manifest.tensors.values() for item in tensor.shape)]:
        _check_known(expression, known)
    shaped = {str(item.text) for tensor in manifest.tensors.values() for item in tensor.shape}
    for name in sorted(sizes - shaped):
        raise ManifestError(f"{path}: no tensor's shape has the size '{name}'")
    if not manifest.entries:
        raise ManifestError(f"{path}: has no entries")
    for entry in manifest.entries:
        for parameter in entry.parameters:
            expected = parameter_type(manifest, parameter.name)
            if expected != parameter.type:
                found = "is none that a launcher knows" if expected is None else f"is {expected}"
                raise ManifestError(f"{path}: entry '{entry.name}': parameter '{parameter.name}' of type "
                                    f"{parameter.type} {found}")


def _check_known(expression: Expression, known: set[str]) -> None:
    for name in sorted(expression.names - known):
        raise ManifestError(f"{expression.place}: '{expression.text}' uses '{name}', known are "
                            f"{', '.join(sorted(known))}")


def parameter_type(manifest: Manifest, name: str) -> str | None:
    """The type of the value that `name` stands for; None if it stands for none."""
    if name in manifest.tensors or (name.startswith("workspace.") and name[10:] in manifest.workspace):
        return "ptr"
    if name in manifest.sizes or name in manifest.derived or name in ("workers", "width"):
        return "i32"
    if name == "scale":
        return "f32"
    tensor, _, dimension = name.partition(".stride.")
    if tensor in manifest.tensors and dimension in stride_names(len(manifest.tensors[tensor].shape)):
        return "i64"
    return None


def stride_names(rank: int) -> tuple[str, ...]:
    """Dimensions whose stride is a parameter: all but the innermost, which is contiguous."""
    return ("batch", "head", "row")[: rank - 1]
