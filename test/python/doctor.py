# RUN: rm -rf %t && mkdir -p %t && %python %s %t
# REQUIRES: python, plain-libdash
"""The doctor: what it says of machines, caches and calls is what libdash says and does; a report
holds nothing private and does the same again."""

from __future__ import annotations

import contextlib
import io
import json
import os
import platform
import re
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from first_calls import first_call  # noqa: E402
from fixtures import SOURCE, refused, write  # noqa: E402
from stub_driver import STUB, StubDriver  # noqa: E402

from dash_attn import doctor  # noqa: E402
from dash_attn.doctor import machine, report  # noqa: E402
from dash_attn.doctor.calls import Call, answer, code_state  # noqa: E402
from dash_attn.doctor.models import calls_of  # noqa: E402
from dash_attn.kernel.coverage import ask  # noqa: E402
from dash_attn.kernel.library import library  # noqa: E402
from dash_attn.kernel.orders import order_for, texts_of  # noqa: E402
from dash_attn.kernel.problem import Wanted  # noqa: E402

TMP = Path(sys.argv[1])
SMALL = {"heads": 2, "kv_heads": 1, "rows": 256, "head_dim": 64}
OPTIONS = ["--heads=2", "--kv-heads=1", "--rows=256", "--head-dim=64"]


def call(*arguments: object, status: int, **environment: str) -> str:
    """What the command prints in a process of its own; errors where there are any."""
    command = [sys.executable, "-m", "dash_attn.doctor", *map(str, arguments)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(SOURCE / "python"), **environment},
    )
    assert done.returncode == status, done
    return done.stdout or done.stderr


def here(*arguments: str) -> tuple[int, str]:
    with (
        contextlib.redirect_stdout(io.StringIO()) as said,
        contextlib.redirect_stderr(io.StringIO()) as wrong,
    ):
        status = doctor.main(list(arguments))
    return status, said.getvalue() + wrong.getvalue()


def machines() -> None:
    found = machine.look("no-such-libcuda.so")
    assert (
        found["dash"]["version"] == library().dashGetVersion().text
        and found["gpus"] == []
        and found["driver"] is None
    )
    assert [said[:27] for said in found["missing"]] == [
        "cannot load the CUDA driver",
        "expected a GPU of compute c",
    ], found["missing"]
    assert "missing      expected a GPU" in machine.text_of(found)
    with mock.patch.object(machine, "PACKAGES", ("no-such-package",)):
        assert [one[:7] for one in machine.look(STUB)["absent"]] == [
            "PyTorch",
            "transfo",
            "JAX, fo",
        ]

    found = machine.look(STUB)
    gpu = found["gpus"][0]
    assert found["gpus"] == [gpu, gpu] and found["driver"]["cuda"].startswith("1"), found
    assert (gpu["capability"], gpu["multiprocessors"], gpu["refused"]) == (
        "9.0",
        132,
        "",
    ) and not found["missing"], found
    StubDriver.set(capability=80)
    found = machine.look(STUB)
    assert found["missing"] == [found["gpus"][0]["refused"]] and "of 8.0" in found["missing"][0], (
        found["missing"]
    )
    StubDriver.set(capability=None)
    with mock.patch.dict(os.environ, {"DASH_LIBRARY": str(TMP / "none.so")}):
        library.cache_clear()
        found = machine.look()
        assert (
            found["dash"] is None
            and "cannot load libdash" in found["missing"][0]
            and machine.text_of(found).startswith("dash         no libdash")
        )
        assert here() == (1, machine.text_of(found) + "\n")
    library.cache_clear()
    with mock.patch.dict(os.environ, {"DASH_PTXAS": "/no/such/ptxas"}):
        assert machine.look()["assemblers"] == [
            {"path": "/no/such/ptxas", "version": "whose version is not known"}
        ]


def cache_folders() -> None:
    """The folder is the one that libdash keeps things in."""
    home = {"DASH_CACHE": "", "XDG_CACHE_HOME": "", "HOME": str(TMP / "home")}
    for number, (change, folder) in enumerate(
        (
            ({"DASH_CACHE": str(TMP / "named")}, TMP / "named"),
            ({"XDG_CACHE_HOME": str(TMP / "xdg")}, TMP / "xdg/dash"),
            ({}, TMP / "home/.cache/dash"),
        )
    ):
        environment = home | change
        with mock.patch.dict(os.environ, environment):
            assert machine.cache_folder() == folder, (machine.cache_folder(), folder)
        assert not folder.exists()
        said = call(*OPTIONS, "--gpu=9.0", status=0, **environment)
        assert "its order was not kept before, and is now" in said and list(
            (folder / "orders").iterdir()
        ), said
        if number == 0:
            said = call(*OPTIONS, "--gpu=9.0", status=0, **environment)
            assert (
                "its order was kept" in said
                and f"orders in {folder}/orders, yours: 3 files" in said
            ), said
    with mock.patch.dict(os.environ, {"DASH_CACHE": "off"}):
        assert machine.cache_folder() is None and machine.caches()[0] == {
            "what": "assembled code",
            "state": "off",
        }
        assert "code is not kept" in code_state("0" * 64)
    with (
        mock.patch.dict(os.environ, {"DASH_CACHE": str(TMP / "named")}),
        mock.patch("os.geteuid", return_value=os.geteuid() + 1),
    ):
        assert machine.caches()[1]["state"].startswith(
            f"of user {os.geteuid() - 1}, who does not run this process"
        ), machine.caches()[1]


def kept_code() -> None:
    """What libdash has kept is found, and nothing else."""
    manifest, cache = write(TMP / "kernel"), TMP / "code"
    first_call(cache, manifest)
    with mock.patch.dict(os.environ, {"DASH_CACHE": str(cache)}):
        assert "its assembled code is kept" in code_state(
            json.loads(manifest.read_text())["ptx"]["sha256"]
        )
        assert "its code is not kept yet" in code_state("0" * 64)
    os.environ["DASH_CACHE"] = "off"


def calls() -> None:
    small = Call(**SMALL)
    found = answer(small, 90)
    wanted = order_for(Wanted(64, 64, "bf16", (-1, 0)), 1, 2, 1, 256, 256).wanted
    manifest = json.loads(texts_of(wanted)[0])
    forward, kernel = found.kernels
    assert forward["wanted"]["is_forward"] and forward["level"] == "row", forward
    assert forward["tiles"] == {"q": 128, "kv": 128} and forward["order"] == "longest-first"
    assert (kernel["certificate"], kernel["ptx"], kernel["order"]) == (
        manifest["certificate"],
        manifest["ptx"]["sha256"],
        manifest["program"]["kind"],
    )
    assert (
        not found.refused
        and not found.by_hand
        and found.launches == 1
        and "served by    attention()" in str(found)
    ), found
    # Each reason is libdash's.
    for change, question in (
        ({"head_dim": 76}, {"head_dim": 76, "head_dim_v": 76}),
        ({"head_dim_v": 36}, {"head_dim": 64, "head_dim_v": 36}),
        ({"dtype": "float32"}, {"element": "f32"}),
        ({"level": "world"}, {"level": "world"}),
        ({"heads": 3, "kv_heads": 2}, {"heads": 3, "kv_heads": 2}),
        ({"rows": 1 << 22}, {"q_rows": 1 << 22}),
        ({"softcap": -1.0}, {"softcap": -1.0}),
        ({"sequences": 70000}, {"sequences": 70000}),
    ):
        found = answer(replace(small, **change), 90)
        assert (
            isinstance(expected := ask(**question), str)
            and found.refused == expected
            and not found.kernels
        ), (change, found)
        assert f"refused      {expected}" in str(found)
    assert answer(small, 80, "old").refused == ask(capability=80, device="old")
    # What only a forward of dash's serves.
    for change in (
        {"softcap": 30.0},
        {"level": "machine"},
        {"kv_rows": 300},
        {"head_dim_v": 32, "softcap": 30.0, "has_sink": True},
        {"softcap": 30.0, "sequences": 2, "has_sink": True},
        {"sequences": 2, "level": "batch"},
    ):
        found = answer(replace(small, **change), 90)
        assert not found.refused and not found.by_hand and len(found.kernels) == 2, found
        for files in found.files:
            program = files["program.mlir"].decode()
            assert f"{change.get('head_dim_v', 64)}x" in program
            assert ("softcap(3.0" in program) == ("softcap" in change), program
            assert ("sequences(<?>)" in program) == ("sequences" in change), program
        assert [one["level"] for one in found.kernels] == ["row", change.get("level", "run")]
    apart = answer(replace(small, head_dim_v=32), 90)
    assert (
        not apart.by_hand
        and apart.kernels[0]["wanted"]["head_dim_v"] == apart.kernels[0]["head_dim_v"] == 32
        and str(apart).count("head dim 64/32, ") == 3
    ), apart
    sliced = answer(Call(head_dim=64, heads=1, kv_heads=1, batch=65536 + 2, rows=1), 90)
    assert sliced.launches == 2 and "launches     2 slices" in str(sliced), sliced


def statuses() -> None:
    assert json.loads(call(*OPTIONS, "--json", "--gpu=9.0", status=0))["calls"][0]["refused"] == ""
    assert "refused      q: expected a head dim" in call("--head-dim=76", "--gpu=9.0", status=1)
    assert "of 8.0" in call(*OPTIONS, "--gpu=8.0", status=1)
    example = str(SOURCE / "dialects/dash/examples/bwd-causal.mlir")
    status, said = here(f"--program={example}", "--options=kind=shift", "--gpu=9.0")
    assert status == 0 and "order shift" in said, said
    for arguments, message in (
        (
            (f"--program={example}", "--heads=2"),
            (
                "--program: expected no options of a call beside it, found heads; the program says"
                " them"
            ),
        ),
        (("--options=kind=shift",), "--options: expected --program beside it, found none"),
        (
            ("--sequences=2", "--batch=2"),
            "--batch: expected none beside --sequences, whose rows are those of all, found 2",
        ),
        (
            (f"--program={TMP / 'none.mlir'}",),
            f"[Errno 2] No such file or directory: '{TMP / 'none.mlir'}'",
        ),
        ((f"--program={example}", "--options=kind=best"), "best"),
    ):
        status, said = here(*arguments)
        assert status == 2 and said.startswith("dash_attn.doctor: error: ") and message in said, (
            arguments,
            said,
        )
    for argument, message in (
        ("--heads=0", "expected a whole number above 0, found '0'"),
        ("--mask=odd", "expected full, causal, or LEFT,RIGHT of a window"),
        ("--gpu=new", "expected a compute capability such as 9.0, found 'new'"),
    ):
        assert message in call(argument, status=2)
    with (
        mock.patch.dict(os.environ, {"DASH_PTXAS": "", "PATH": ""}),
        mock.patch("dash_attn.kernel.assembler.CUDA", "/none"),
    ):
        assert here("--assemble") == (
            2,
            (
                "dash_attn.doctor: error: --assemble: expected a ptxas on PATH or in DASH_PTXAS,"
                " found none\n"
            ),
        )


def config(**fields: Any) -> Path:
    path = TMP / "model/config.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(fields), encoding="utf-8")
    return path


def models() -> None:
    llama = {
        "architectures": ["LlamaForCausalLM"],
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "hidden_size": 4096,
        "num_hidden_layers": 3,
    }
    with mock.patch("importlib.util.find_spec", return_value=None):

        def of(rows: int = 4096, **fields: Any) -> list[tuple[Any, ...]]:
            found, _ = calls_of(str(config(**fields)), Call(rows=rows))
            return [
                (
                    one.layers,
                    one.heads,
                    one.kv_heads,
                    one.head_dim,
                    one.window,
                    one.softcap,
                    one.has_sink,
                )
                for one in found
            ]

        assert of(**llama) == [(3, 32, 8, 128, (-1, 0), 0.0, False)]
        assert of(architectures=["BertForMaskedLM"], n_head=12, n_embd=768) == [
            (1, 12, 12, 64, (-1, -1), 0.0, False)
        ]
        assert (
            of(**llama, sliding_window=1024)
            == [(3, 32, 8, 128, (1023, 0), 0.0, False)]
            != of(**llama, sliding_window=1024, use_sliding_window=False)
        )
        assert of(rows=512, **llama, sliding_window=1024) == [(3, 32, 8, 128, (-1, 0), 0.0, False)]
        mixed = llama | {
            "sliding_window": 128,
            "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
            "head_dim": 64,
        }
        assert of(text_config=mixed, architectures=["XForCausalLM"]) == [
            (2, 32, 8, 64, (127, 0), 0.0, False),
            (1, 32, 8, 64, (-1, 0), 0.0, False),
        ]
        assert of(**llama, attn_logit_softcapping=50.0)[0][5] == 50.0
        index = TMP / "model/model.safetensors.index.json"
        index.write_text(
            json.dumps({"weight_map": {"model.layers.0.self_attn.sinks": "a"}}), encoding="utf-8"
        )
        assert of(**llama)[0][6]
        index.unlink()
        _, notes = calls_of(
            str(
                config(
                    **(
                        llama
                        | {
                            "architectures": None,
                            "layer_types": ["linear_attention", "full_attention"],
                        }
                    )
                )
            ),
            Call(),
        )
        assert (
            len(notes) == 3
            and notes[1].startswith("the file names no architecture")
            and notes[2].startswith("1 layers are linear_attention")
        ), notes
        for fields, message in (
            (
                {**llama, "num_attention_heads": "many"},
                "num_attention_heads: expected a whole number above 0, found 'many'",
            ),
            (
                {"hidden_size": 4},
                "num_attention_heads: expected a whole number above 0, found none",
            ),
            ({**llama, "layer_types": 3}, "layer_types: expected a list of words, found 3"),
        ):
            assert (
                refused(lambda fields=fields: calls_of(str(config(**fields)), Call()), ValueError)
                == f"{TMP / 'model/config.json'}: {message}"
            )
    assert "expected a config.json, a folder" in refused(
        lambda: calls_of("no-one/nothing", Call()), ValueError
    )
    kept = TMP / "hub/models--no-one--something/snapshots/0"
    kept.mkdir(parents=True)
    (kept / "config.json").write_text(json.dumps(llama), encoding="utf-8")
    said = call(
        "--config=no-one/something",
        "--rows=256",
        "--heads=8",
        "--kv-heads=2",
        "--gpu=9.0",
        status=0,
        HF_HUB_CACHE=str(TMP / "hub"),
    )
    assert (
        "1 x 8/2 heads x 256 rows, head dim 128, bfloat16, causal, level run (3 layers)" in said
    ), said


def reports() -> None:
    path, home = TMP / "report.zip", TMP / "zaphod"
    home.mkdir()
    private = {
        "HOME": str(home),
        "USER": "zaphod",
        "LOGNAME": "zaphod",
        "HOSTNAME": "heartofgold",
        "SECRET_TOKEN": "hush-hush",
        "DASH_CACHE": str(home / "magrathea"),
        "DASH_PTXAS": str(home / "krikkit/ptxas"),
        "CUDA_VISIBLE_DEVICES": "0,1",
    }
    place = config(
        architectures=["XForCausalLM"], num_attention_heads=2, head_dim=64, num_hidden_layers=1
    )
    said = call(
        f"--config={place}", "--rows=256", f"--report={path}", "--gpu=9.0", status=0, **private
    )
    assert f"report       {path}" in said and "krikkit" in said and "magrathea" in said, said
    names = [
        word
        for word in (
            "zaphod",
            "heartofgold",
            "hush-hush",
            "SECRET_TOKEN",
            "magrathea",
            "krikkit",
            str(TMP),
            str(SOURCE),
            str(place),
            platform.node(),
        )
    ]
    with zipfile.ZipFile(path) as archive:
        held = {name: archive.read(name).decode() for name in archive.namelist()}
        assert all(info.date_time == report.EPOCH for info in archive.infolist())
    for name, text in held.items():
        (TMP / "report" / name).parent.mkdir(parents=True, exist_ok=True)
        (TMP / "report" / name).write_text(text, encoding="utf-8")
        assert not [
            word
            for word in names
            if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE)
        ], (name, text)
    assert set(held) == {
        "doctor.json",
        "doctor.txt",
        "reproduce.py",
        *(
            f"call0/kernel{i}/{name}"
            for i in range(2)
            for name in ("program.mlir", "manifest.json", "kernel.json")
        ),
    }
    about = json.loads(held["doctor.json"])
    assert set(about["machine"]["environment"]) <= set(machine.VARIABLES)
    assert (
        about["machine"]["environment"]["CUDA_VISIBLE_DEVICES"],
        about["machine"]["environment"]["DASH_CACHE"],
    ) == ("0,1", "is set")
    assert (
        json.loads(held["call0/kernel0/manifest.json"])["certificate"]
        == about["calls"][0]["kernels"][0]["certificate"]
    )
    assert (
        "dash.attention_fwd" in held["call0/kernel0/program.mlir"]
        and "dash.attention_bwd" in held["call0/kernel1/program.mlir"]
        and json.loads(held["call0/kernel0/kernel.json"])["asked"]["rows"] == 256
    )

    def reproduce() -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, TMP / "report/reproduce.py"],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(SOURCE / "python")},
        )
        return done.returncode, done.stdout + done.stderr

    assert reproduce() == (
        0,
        "".join(
            f"call0/kernel{i}: the PTX and the certificate are those of the report\n"
            for i in range(2)
        ),
    ), reproduce()
    kernel = TMP / "report/call0/kernel0/kernel.json"
    kernel.write_text(
        kernel.read_text().replace('"certificate": "sha256:', '"certificate": "sha256:0'),
        encoding="utf-8",
    )
    status, said = reproduce()
    assert status == 1 and "certificate: the report has sha256:0" in said, said
    # Messages name places, too.
    with (
        mock.patch.dict(os.environ, private),
        mock.patch("platform.node", return_value="heartofgold.example.org"),
    ):
        for text in (
            "cannot load '/srv/secret folder/lib.so': no",
            "see ~/notes and /etc/secret.d/x, Zaphod@heartofgold",
            "at heartofgold.example.org: 1/2 of 3 / 4",
        ):
            found = report.without_places(text)
            assert not [
                word
                for word in ("secret", "notes", "zaphod", "heartofgold", "folder")
                if word in found.lower()
            ], found
        assert found == "at HOST: 1/2 of 3 / 4", found


machines()
cache_folders()
kept_code()
calls()
statuses()
models()
reports()
