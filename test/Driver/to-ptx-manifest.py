"""What a compiled program's manifest says of its PTX is so: it follows the schema, and names the
entries and their parameters."""

# RUN: %python %s %dash_src %t
# REQUIRES: python, host-supports-nvptx

import hashlib
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema

# Types of PTX.
TYPES = {
    "u64": {"ptr", "i64"},
    "u32": {"i32"},
    "f32": {"f32"},
    "b64": {"ptr", "i64"},
    "b32": {"i32", "f32"},
}
ENTRY = re.compile(r"^\.visible \.entry (\w+)\((.*?)\)(.*?)^\{", re.M | re.S)
PARAMETER = re.compile(r"\.param \.(\w+)")
CASES = {
    "formulas": ("bwd-causal.mlir", "kind=symmetric-shift workers=132", lambda text: text),
    "unordered": ("bwd-full.mlir", "kind=unordered workers=132", lambda text: text),
    "table": (
        "bwd-full.mlir",
        "kind=synthesized workers=4 sizes=q:512,kv:512,batch:1,heads:2,kv-heads:2",
        lambda text: text,
    ),
    "machine": (
        "bwd-causal.mlir",
        (
            "kind=synthesized level=machine for-workers=2 workers=4"
            " sizes=q:512,kv:512,batch:1,heads:2,kv-heads:2"
        ),
        lambda text: text,
    ),
    # A search finds another order where less waits.
    "apart": (
        "bwd-causal.mlir",
        "kind=synthesized parts=16 apart=parts sizes=q:2048,kv:2048,batch:1,heads:8,kv-heads:1",
        lambda text: text,
    ),
    "small": (
        "bwd-full.mlir",
        "kind=shift workers=132 q-tile=64",
        lambda text: text.replace("x128xbf16", "x64xbf16"),
    ),
    "list": (
        "bwd-causal.mlir",
        "kind=symmetric-shift level=batch workers=132",
        lambda text: text.replace("scale(%scale)", "scale(%scale) sequences(<?>)"),
    ),
    "list-table": (
        "bwd-causal.mlir",
        (
            "kind=synthesized table=true parts=1 workers=4"
            " sizes=q:200+1+65,kv:200+300+65,heads:2,kv-heads:1"
        ),
        lambda text: text,
    ),
    "forward": ("fwd-causal.mlir", "kind=longest-first workers=132", lambda text: text),
    "no-scale": (
        "bwd-causal.mlir",
        "kind=shift workers=4",
        lambda text: text.replace(", %scale: f32", "").replace(" scale(%scale)", ""),
    ),
}
root, scratch = Path(sys.argv[1]), Path(sys.argv[2])
schema = json.loads(
    (root / "dialects/dash/Target/manifest.schema.json").read_text(encoding="utf-8")
)
failures = []


def expect(name, what, expected, found):
    if expected != found:
        failures.append(f"{name}: {what}: expected {expected}, found {found}")


def check(name, options):
    manifest = json.loads((scratch / f"{name}.json").read_text(encoding="utf-8"))
    for error in jsonschema.Draft202012Validator(schema).iter_errors(manifest):
        failures.append(f"{name}: {error.json_path}: {error.message}")
    ptx = (scratch / manifest["ptx"]["file"]).read_text(encoding="utf-8")
    expect(
        name, "hash of the PTX", hashlib.sha256(ptx.encode()).hexdigest(), manifest["ptx"]["sha256"]
    )
    found = {match[1]: (PARAMETER.findall(match[2]), match[3]) for match in ENTRY.finditer(ptx)}
    expect(name, "entries", sorted(found), sorted(entry["name"] for entry in manifest["entries"]))
    for entry in manifest["entries"]:
        types, directives = found.get(entry["name"], ([], ""))
        parameters = entry["parameters"]
        expect(name, f"number of parameters of {entry['name']}", len(types), len(parameters))
        for of_ptx, parameter in zip(types, parameters):
            if parameter["type"] not in TYPES[of_ptx]:
                failures.append(
                    f"{name}: {entry['name']}: {parameter['name']} is {parameter['type']}, in PTX"
                    f" {of_ptx}"
                )
        bound = re.search(r"\.maxntid (\d+)(?:, (\d+), (\d+))?", directives)
        expect(name, f"threads of {entry['name']}", bound and int(bound[1]), entry["block"][0])
    # What a launcher is asked for is there: tensors, sizes, regions.
    known = {size for sizes in (manifest["sizes"], manifest["derived"]) for size in sizes} | {
        "workers",
        "width",
        "scale",
    }
    known |= {f"workspace.{region['name']}" for region in manifest["workspace"]}
    for tensor in manifest["tensors"]:
        known |= {
            tensor["name"],
            *(f"{tensor['name']}.stride.{dim}" for dim in ("batch", "head", "row")),
        }
    used = {parameter["name"] for entry in manifest["entries"] for parameter in entry["parameters"]}
    expect(name, "parameters that nothing gives", set(), used - known)
    expect(name, "a parameter for the scale", name != "no-scale", "scale" in used)
    expect(
        name,
        "source of the order",
        "file" if "synthesized" in options else "entry",
        manifest["order"]["source"],
    )
    if "synthesized" in options:
        table = (scratch / manifest["order"]["file"]).read_bytes()
        expect(
            name,
            "hash of the order",
            hashlib.sha256(table).hexdigest(),
            manifest["order"]["sha256"],
        )
        expect(name, "bytes of the order", len(table), manifest["order"]["bytes"])
        expect(
            name,
            "search",
            "#dash.search<version = 8, budget = 131072, dq_limit = 33554432>",
            manifest["order"]["search"],
        )
        expect(
            name,
            "cost of the search",
            True,
            manifest["order"]["cost"].startswith("#dash.cost<compute = "),
        )
        check_command(name, manifest["order"]["command"], table)
    else:
        expect(
            name,
            "search of an order that was not searched for",
            None,
            manifest["order"].get("search"),
        )


def check_command(name, command, table):
    """The command that a manifest prints makes its order, and that order goes by a file into
    another program."""
    order, words = scratch / f"{name}-again.json", shlex.split(command)
    words = [str(scratch / f"{name}.mlir") if word == "PROGRAM" else word for word in words]
    subprocess.run(
        [*words, f"--dash-report-schedule=format=json output={order}", "-o", "/dev/null"],
        check=True,
    )
    out = scratch / f"{name}-from-file"
    sizes = re.search(r"sizes=\S+", command)[0].rstrip("'")
    subprocess.run(
        [
            "dash-opt",
            str(scratch / f"{name}.mlir"),
            f"--dash-to-ptx=kind=file path={order} {sizes} output={out}",
            "-o",
            "/dev/null",
        ],
        check=True,
    )
    manifest = json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))
    expect(
        name,
        "what is kept apart",
        re.findall(r" apart=(\w+)", command),
        re.findall(r"apart': '(\w+)", str(manifest["program"])),
    )
    expect(name, "order by its command", table, (scratch / manifest["order"]["file"]).read_bytes())
    expect(
        name,
        "a place for the file in its command",
        True,
        "kind=file path=ORDER.json" in manifest["order"]["command"],
    )


shutil.rmtree(scratch, ignore_errors=True)
scratch.mkdir(parents=True)
for name, (example, options, change) in CASES.items():
    source = scratch / f"{name}.mlir"
    source.write_text(
        change((root / "dialects/dash/examples" / example).read_text(encoding="utf-8")),
        encoding="utf-8",
    )
    subprocess.run(
        [
            "dash-opt",
            str(source),
            f"--dash-to-ptx={options} output={scratch / name}",
            "-o",
            "/dev/null",
        ],
        check=True,
    )
    check(name, options)
print("\n".join(failures))
sys.exit(1 if failures else 0)
