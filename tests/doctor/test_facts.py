"""The facts about this machine; each framework reports its own in a process that may die of it."""

import json
import platform
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from environments import make_environment, pretend_installed

from accelbench.doctor import facts
from accelbench.doctor.facts import ask_frameworks, find_warnings
from accelbench.measuring.workers import interpreter
from accelbench.schema import environment

SCRIPT = """
import contextlib, json, sys
from accelbench.cli import main
with contextlib.suppress(SystemExit):
    main(["doctor", "--json"])
heavy = {"torch", "tensorflow", "cupy", "keras", "transformers", "pytest", "pandas"}
print(json.dumps(sorted(heavy & set(sys.modules))))
"""


@pytest.fixture(scope="module")
def report() -> tuple[dict[str, Any], list[str]]:
    """What the command reports about this machine, and which heavy modules its own process has imported."""
    asked = subprocess.run([sys.executable, "-W", "error", "-c", SCRIPT], capture_output=True, text=True, check=True)
    document, _, loaded = asked.stdout.strip().rpartition("\n")
    return json.loads(document), json.loads(loaded)


def test_the_process_of_the_command_imports_no_framework(report: tuple[dict[str, Any], list[str]]) -> None:
    assert report[1] == []


@pytest.mark.parametrize("name", ["torch", "tensorflow", "cupy", "numpy"])
def test_every_framework_is_asked_for_its_version(report: tuple[dict[str, Any], list[str]], name: str) -> None:
    collected = report[0]["facts"]
    (found,) = (framework for framework in collected["frameworks"] if framework["name"] == name)
    if found["installed"]:
        assert found["failure"] == ""
        assert found["description"][f"{name}.version"] in {version("numpy"), *collected["packages"].values()}


def test_a_framework_that_is_not_installed_has_not_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "find_spec", lambda _: None)
    (found,) = ask_frameworks(["cupy"], timeout_s=1)
    assert (found.installed, found.failure) == (False, "")


def replace_torch(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Put a package with this code in the place of PyTorch."""
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text(text)
    monkeypatch.syspath_prepend(folder)


def test_a_framework_that_cannot_be_imported_costs_nothing_but_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_torch(tmp_path, monkeypatch, "raise OSError('libcublas.so.13: cannot open shared object file')\n")
    torch, numpy = ask_frameworks(["torch", "numpy"], timeout_s=60)
    assert torch.installed
    assert torch.failure.endswith("OSError: libcublas.so.13: cannot open shared object file")
    assert (numpy.failure, numpy.version) == ("", version("numpy"))


def test_a_framework_that_lacks_a_package_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_torch(tmp_path, monkeypatch, "import a_package_that_is_not_there\n")
    (torch,) = ask_frameworks(["torch"], timeout_s=60)
    assert "a_package_that_is_not_there is not installed" in torch.failure


@pytest.mark.slow
def test_an_interpreter_that_is_named_for_a_framework_is_asked_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = make_environment(tmp_path / "second", without="torch")
    pretend_installed(python, "cupy_cuda12x", "13.6.0")
    for framework in ("TORCH", "NUMPY"):
        monkeypatch.setenv(f"ACCELBENCH_PYTHON_{framework}", str(python))
    torch, numpy = ask_frameworks(["torch", "numpy"], timeout_s=60)
    assert (torch.installed, torch.own_interpreter, torch.failure) == (False, True, "")
    assert (numpy.version, numpy.get("python")) == (version("numpy"), f"CPython {platform.python_version()}")
    assert numpy.packages["cupy-cuda12x"] == "13.6.0"
    assert "torch" not in numpy.packages


def test_an_interpreter_that_cannot_serve_is_a_failure_of_its_framework(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELBENCH_PYTHON_TORCH", "/nowhere/python")
    (torch,) = ask_frameworks(["torch"], timeout_s=60)
    assert torch.failure.startswith("ACCELBENCH_PYTHON_TORCH='/nowhere/python': no such program")


@pytest.mark.slow
def test_a_framework_that_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_torch(tmp_path, monkeypatch, "import time; time.sleep(600)\n")
    (torch,) = ask_frameworks(["torch"], timeout_s=1)
    assert "no sign of life for 1 s" in torch.failure


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
    assert find_warnings([line, "I0000 00:00:1.2 10 port.cc:153] oneDNN custom operations are on.", line]) == (warning,)


def test_a_gpu_on_the_bus_is_counted_whoever_serves_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    devices = {"gpu": ("0x10de", "0x030200"), "its-sound": ("0x10de", "0x040300"), "other": ("0x8086", "0x030000")}
    for name, (vendor, kind) in devices.items():
        device = tmp_path / "bus/pci/devices" / name
        device.mkdir(parents=True)
        (device / "vendor").write_text(f"{vendor}\n")
        (device / "class").write_text(f"{kind}\n")
    monkeypatch.setattr(facts, "_SYSTEM", tmp_path)
    monkeypatch.setattr(facts, "FRAMEWORKS", ())
    assert facts.collect().pci_gpus == 1


def test_a_containers_limit_is_the_memory_that_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fs/cgroup").mkdir(parents=True)
    (tmp_path / "fs/cgroup/memory.max").write_text(f"{2**28}\n")
    monkeypatch.setattr(facts, "_SYSTEM", tmp_path)
    monkeypatch.setattr(facts, "FRAMEWORKS", ())
    collected = facts.collect()
    assert (collected.memory_bytes, collected.free_memory_bytes) == (2**28, 2**28)


def test_cudas_compiler_is_asked_for_its_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "nvcc"
    compiler.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 12.4, V12.4.131'\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(facts, "FRAMEWORKS", ())
    assert facts.collect().nvcc == "12.4"


def test_the_room_in_shared_memory_is_read_where_there_is_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "FRAMEWORKS", ())
    monkeypatch.setattr(facts, "_SHARED_MEMORY", tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=2**26) if place == tmp_path else 0)
    assert facts.collect().free_shared_memory_bytes == 2**26
    monkeypatch.undo()
    monkeypatch.setattr(facts, "FRAMEWORKS", ())
    monkeypatch.setattr(facts, "_SHARED_MEMORY", tmp_path / "absent")
    assert facts.collect().free_shared_memory_bytes is None


def test_the_latency_between_cores_is_held_against_the_best_that_was_read_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCELBENCH_CACHE", str(tmp_path))
    readings_s = [2.2e-7, 4.4e-7, None, 2.0e-7, 2.1e-7]
    monkeypatch.setattr(facts.CoreLatency, "read_s", lambda _: readings_s.pop(0))
    identity = environment.identify()
    assert [facts.read_core_latency(identity) for _ in range(5)] == [
        (2.2e-7, None), (4.4e-7, 2.2e-7), (None, 2.2e-7), (2.0e-7, 2.2e-7), (2.1e-7, 2.0e-7),
    ]  # fmt: skip


def test_the_doctor_reads_it_before_the_frameworks_take_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    monkeypatch.setattr(facts, "read_core_latency", lambda _: (events.append("read"), (2.2e-7, 2e-7))[1])
    monkeypatch.setattr(facts, "ask_frameworks", lambda *_, **__: (events.append("asked"), ())[1])
    collected = facts.collect()
    assert (collected.core_latency_s, collected.best_core_latency_s) == (2.2e-7, 2e-7)
    assert events == ["read", "asked"]


@pytest.mark.parametrize("cores", [[], [0]])
def test_one_core_alone_has_no_latency(cores: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "cores_of_this_process", lambda: cores)
    assert facts.read_core_latency(environment.identify())[0] is None
