"""How lit finds, prepares and skips the tests of dash. test/README.md says how to write one."""

import os
import shutil
import subprocess
from pathlib import Path

import lit.formats

config.name = "dash"
config.suffixes = [".mlir", ".py", ".test"]
# Inputs of tests, and modules that tests import.
config.excludes = ["Inputs", "lib", "lit.cfg.py", "lit.site.cfg.py", "__pycache__"]
config.test_source_root = os.path.join(config.dash_src_root, "test")
config.test_exec_root = os.path.join(config.dash_obj_root, "test")
# A .py file without a RUN line is a script that tests call. (A .mlir file without one stays, and is
# reported.) lit leaves out names, whatever their folder: modules in folders that it does not look
# into must not take a test's name along.
for source in Path(config.test_source_root).rglob("*.py"):
    folders = source.relative_to(config.test_source_root).parts
    if not {"Inputs", "lib"} & set(folders) and "RUN:" not in source.read_text(encoding="utf-8"):
        config.excludes.append(source.name)
config.test_format = lit.formats.ShTest(execute_external=False)

bin_dir = os.path.join(config.dash_obj_root, "bin")
plugin = os.path.join(config.dash_obj_root, "lib", "DashPlugin.so")

# ---- Environment ---------------------------------------------------------------------------------

# dash-opt is found first, then FileCheck, not, count, split-file and mlir-opt of the LLVM we build
# on.
config.environment["PATH"] = os.pathsep.join([bin_dir, config.llvm_tools_dir, os.environ["PATH"]])
# The library of this build, for dash_attn.
config.environment["DASH_LIBRARY"] = os.path.join(config.dash_obj_root, "lib", "libdash.so")
config.environment["DASH_CACHE"] = "off"
# A name captured in one function must not match in the next; a prefix without a use is a mistake.
config.environment["FILECHECK_OPTS"] = "-enable-var-scope --allow-unused-prefixes=false"
# Tests leave nothing behind in the source tree. Bytecode is kept in the build folder: PyTorch and
# JAX are installed without any, and compiling their modules takes longer than importing them.
config.environment["PYTHONPYCACHEPREFIX"] = os.path.join(config.test_exec_root, "pycache")
# lit runs as many tests as there are processors, so each computes with one thread.
config.environment["OMP_NUM_THREADS"] = "1"
# Containers and allocators are shared with a libMLIR that is not instrumented: it does not keep
# their red zones, and keeps its own memory to the end.
config.environment["ASAN_OPTIONS"] = (
    "detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0"
)
for name in ("CUDA_VISIBLE_DEVICES", "CCACHE_DIR", "HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

# ---- Substitutions -------------------------------------------------------------------------------

examples = os.path.join(config.dash_src_root, "dialects", "dash", "examples")
# Longer names first: lit replaces text, so %dash_src must not eat the head of another.
config.substitutions += [
    ("%dash_examples", examples),
    ("%dash_plugin", plugin),
    ("%dash_src", config.dash_src_root),
    ("%dash_build", config.dash_obj_root),
    ("%mlir_dir", config.mlir_dir),
    ("%mlir_lib", config.llvm_lib_dir),
    ("%python", config.python),
    ("%cmake", config.cmake),
    ("%cxx", config.cxx),
    ("%launcher", config.launcher),
]
if os.environ.get("DASH_CHECK_ROUNDTRIP") == "1":
    # Every test of the suite becomes a test that what it parses survives printing and bytecode. One
    # that leaves values out when it prints cannot: it says UNSUPPORTED: roundtrip.
    config.substitutions.append((r"(?<![-/.\w])dash-opt(?![-/.\w])", "dash-opt --verify-roundtrip"))
    config.available_features.add("roundtrip")

# ---- Features: a missing one makes a test UNSUPPORTED, never passed ------------------------------


def python_imports(*modules):
    command = [config.python, "-c", "import " + ", ".join(modules)]
    return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0


def has_tool(name):
    return os.access(os.path.join(config.llvm_tools_dir, name), os.X_OK)


def has_gpu():
    """A device that the driver knows, and a python3 whose PyTorch can use it; not the Python of the
    other tests."""
    command = ["python3", "-c", "import sys, torch; sys.exit(not torch.cuda.is_available())"]
    return (
        shutil.which("nvidia-smi") is not None
        and subprocess.run(command, capture_output=True, check=False).returncode == 0
    )


if has_gpu():
    config.available_features.add("host-supports-nvidia")
if python_imports("numpy", "jsonschema"):
    config.available_features.add("python")
if python_imports("z3"):
    config.available_features.add("z3")
# Environments with the frameworks, made by tools/check --frameworks.
for name, folder in (
    ("torch", os.environ.get("DASH_FRAMEWORKS")),
    ("jax", os.environ.get("DASH_JAX")),
):
    if folder:
        config.available_features.add(name)
        config.substitutions.append((f"%{name}_python", os.path.join(folder, "bin", "python")))
if "NVPTX" in config.llvm_targets.split(";"):
    config.available_features.add("host-supports-nvptx")
if config.dash_assertions.upper() in ("ON", "1", "TRUE", "YES"):
    config.available_features.add("asserts")
sanitizers = config.dash_sanitize.split(";")
if "Address" in sanitizers:
    config.available_features.add("asan")
if "Thread" in sanitizers:
    config.available_features.add("tsan")
if not config.dash_sanitize:
    config.available_features.add("plain-libdash")
if config.dash_has_libfuzzer == "1":
    config.available_features.add("libfuzzer")
for tool in ("clang-format", "mlir-opt", "mlir-runner"):
    if has_tool(tool):
        config.available_features.add(tool)
ruff = Path(os.environ.get("DASH_FORMATTER", "/nonexistent")) / "bin" / "ruff"
if ruff.is_file():
    config.available_features.add("ruff")
    config.environment["DASH_FORMATTER"] = os.environ["DASH_FORMATTER"]
if shutil.which("spin") and shutil.which("gcc"):
    config.available_features.add("spin")
if config.ptxas and not config.ptxas.endswith("-NOTFOUND"):
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", config.ptxas))
