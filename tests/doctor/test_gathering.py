"""The facts of this machine: asked in processes of their own, each of which may die of it."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from harness.doctor import gathering
from harness.doctor.gathering import frameworks, shown, warnings_in

SCRIPT = """
import contextlib, json, sys
from harness.cli import main
with contextlib.suppress(SystemExit):
    main(["doctor", "--json"])
heavy = {"torch", "tensorflow", "cupy", "keras", "transformers", "pytest", "pandas"}
print(json.dumps(sorted(heavy & set(sys.modules))))
"""
UUIDS = ["GPU-8a1f22", "GPU-77b0"]


@pytest.fixture(scope="module")
def told() -> tuple[dict[str, Any], list[str]]:
    """What the command says of this machine, and which heavy modules its own process holds then."""
    asked = subprocess.run([sys.executable, "-W", "error", "-c", SCRIPT], capture_output=True, text=True, check=True)
    document, _, loaded = asked.stdout.strip().rpartition("\n")
    return json.loads(document), json.loads(loaded)


def test_the_process_of_the_command_imports_no_framework(told: tuple[dict[str, Any], list[str]]) -> None:
    assert told[1] == []


@pytest.mark.parametrize("name", ["torch", "tensorflow", "cupy", "numpy"])
def test_every_framework_is_asked_for_its_version(told: tuple[dict[str, Any], list[str]], name: str) -> None:
    facts = told[0]["facts"]
    (found,) = (framework for framework in facts["frameworks"] if framework["name"] == name)
    if found["installed"]:
        assert found["failure"] == ""
        assert found["description"][f"{name}.version"] in {version("numpy"), *facts["packages"].values()}


def test_a_framework_that_is_not_installed_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "find_spec", lambda _: None)
    (found,) = frameworks(["cupy"], patience_s=1)
    assert (found.installed, found.failure) == (False, "")


def broken(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Let a package that does this stand for PyTorch."""
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text(text)
    monkeypatch.syspath_prepend(folder)


def test_a_framework_that_cannot_be_imported_costs_nothing_but_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(tmp_path, monkeypatch, "raise OSError('libcublas.so.13: cannot open shared object file')\n")
    torch, numpy = frameworks(["torch", "numpy"], patience_s=60)
    assert torch.installed
    assert torch.failure.endswith("OSError: libcublas.so.13: cannot open shared object file")
    assert (numpy.failure, numpy.version) == ("", version("numpy"))


def test_a_framework_that_lacks_a_package_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(tmp_path, monkeypatch, "import a_package_that_is_not_there\n")
    (torch,) = frameworks(["torch"], patience_s=60)
    assert "a_package_that_is_not_there is not installed" in torch.failure


def test_a_framework_that_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(tmp_path, monkeypatch, "import time; time.sleep(600)\n")
    (torch,) = frameworks(["torch"], patience_s=1)
    assert "no sign of life for 1 s" in torch.failure


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (None, 2),
        ("", 0),
        ("-1", 0),
        ("NoDevFiles", 0),
        ("0", 1),
        ("1, 0", 2),
        ("0,-1,1", 1),
        ("2", 0),
        ("GPU-8a1f", 1),
        ("GPU-0000", 0),
        ("MIG-8a1f/1/0", 1),
    ],
)
def test_the_gpus_that_a_variable_leaves_visible_are_counted_as_cuda_does(value: str | None, count: int) -> None:
    assert shown(value, UUIDS) == count


@pytest.mark.parametrize(
    ("line", "warning"),
    [
        (
            "/x/cuda.py:182: UserWarning: CUDA initialization: The driver is old. (Triggered internally at /x.)",
            "CUDA initialization: The driver is old.",
        ),
        (
            "W0000 00:00:1758000000.123456   10684 gpu_device.cc:2342] Cannot dlopen some GPU libraries.",
            "Cannot dlopen some GPU libraries.",
        ),
        (
            "2026-02-24 16:46:53.207277: W tensorflow/core/gpu_device.cc:2342] Cannot dlopen some GPU libraries.",
            "Cannot dlopen some GPU libraries.",
        ),
    ],
)
def test_a_warning_is_kept_without_where_it_came_from(line: str, warning: str) -> None:
    assert warnings_in([line, "I0000 00:00:1.2 10 port.cc:153] oneDNN custom operations are on.", line]) == (warning,)


def test_a_gpu_on_the_bus_is_counted_whoever_serves_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    devices = {"gpu": ("0x10de", "0x030200"), "its-sound": ("0x10de", "0x040300"), "other": ("0x8086", "0x030000")}
    for name, (vendor, kind) in devices.items():
        device = tmp_path / "bus/pci/devices" / name
        device.mkdir(parents=True)
        (device / "vendor").write_text(f"{vendor}\n")
        (device / "class").write_text(f"{kind}\n")
    monkeypatch.setattr(gathering, "_SYSTEM", tmp_path)
    monkeypatch.setattr(gathering, "FRAMEWORKS", ())
    assert gathering.gather().pci_gpus == 1


def test_a_containers_limit_is_the_memory_that_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fs/cgroup").mkdir(parents=True)
    (tmp_path / "fs/cgroup/memory.max").write_text(f"{2**28}\n")
    monkeypatch.setattr(gathering, "_SYSTEM", tmp_path)
    monkeypatch.setattr(gathering, "FRAMEWORKS", ())
    facts = gathering.gather()
    assert (facts.memory_bytes, facts.free_memory_bytes) == (2**28, 2**28)


def test_cudas_compiler_is_asked_for_its_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "nvcc"
    compiler.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 12.4, V12.4.131'\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(gathering, "FRAMEWORKS", ())
    assert gathering.gather().nvcc == "12.4"
