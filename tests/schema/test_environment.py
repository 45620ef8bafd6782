"""The fingerprint: one machine has one key, and what can be changed is recorded beside it."""

import getpass
import platform
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from accelbench.schema import environment, nvml
from accelbench.schema.machine_id import machine_key
from accelbench.schema.nvml import GpuState

H200 = GpuState(name="NVIDIA H200", uuid="GPU-8a1f", memory_bytes=143771 * 2**20, sm_clock_mhz=1980.0, power_w=301.5)


def have_gpus(monkeypatch: pytest.MonkeyPatch, *gpus: GpuState) -> None:
    monkeypatch.setattr(nvml, "gpus", lambda: list(gpus))


def have_memory(monkeypatch: pytest.MonkeyPatch, gib: float) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(total=int(gib * 2**30), available=2**30))


def test_a_thousand_readings_of_this_machine_give_one_key() -> None:
    assert len({machine_key(environment.identify()) for _ in range(1000)}) == 1


def test_a_new_process_gives_the_same_key() -> None:
    code = (
        "from accelbench.schema.environment import *; from accelbench.schema.machine_id import *; "
        "print(machine_key(identify()))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == machine_key(environment.identify())


@pytest.mark.parametrize(
    ("read_gib", "stands_for"), [(23.54, 24), (23.45, 24), (125.6, 128), (0.97, 1), (1007.2, 1024)]
)
def test_what_a_kernel_keeps_back_of_the_memory_does_not_matter(
    monkeypatch: pytest.MonkeyPatch, read_gib: float, stands_for: int
) -> None:
    have_memory(monkeypatch, read_gib)
    assert environment.identify().memory_gib == stands_for


def test_clocks_power_and_order_of_the_gpus_are_not_their_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(H200, uuid="GPU-77")
    have_gpus(monkeypatch, H200, other)
    first = environment.identify()
    have_gpus(monkeypatch, other, replace(H200, sm_clock_mhz=345.0, power_w=75.0, temperature_c=80.0))
    assert environment.identify() == first


@pytest.mark.parametrize(
    ("told", "name", "signature", "instructions"),
    [
        (
            "model name : AMD EPYC\ncpu family : 25\nmodel : 17\nstepping : 1\nflags : avx2 avx512f fma\n\nmodel : 1\n",
            *("AMD EPYC", "25-17-1", "avx2, fma, avx512f"),
        ),
        (
            "processor : 0\nFeatures : fp asimd sve\nCPU implementer : 0x41\nCPU variant : 0x1\nCPU part : 0xd40\n",
            *("Neoverse-V1", "0x41-0xd40-0x1", "asimd, sve"),
        ),
        ("", "Neoverse-V1", "", "avx2, f16c"),
    ],
    ids=["x86", "arm", "another system"],
)
def test_the_processor_is_what_the_kernel_says_or_else_py_cpuinfo(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, told: str, name: str, signature: str, instructions: str
) -> None:
    kernels_word = tmp_path / "cpuinfo"
    kernels_word.write_text(told)
    asked = {"brand_raw": "Neoverse-V1", "flags": ["avx2", "f16c"]}
    monkeypatch.setattr(environment, "_CPUINFO", kernels_word)
    monkeypatch.setattr(environment.cpuinfo, "get_cpu_info", lambda: asked)
    environment.processor.cache_clear()
    try:
        identity = environment.identify()
        assert (identity.cpu_model, identity.cpu_signature) == (name, signature)
        assert environment.configuration()["cpu.instructions"] == instructions
    finally:
        environment.processor.cache_clear()


def test_a_gpus_serial_identifier_is_never_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    have_gpus(monkeypatch, H200)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", H200.uuid)
    taken = environment.fingerprint()
    assert H200.uuid not in str(taken)
    assert taken.identity.gpus[0].uuid_hash in taken.configuration["env.CUDA_VISIBLE_DEVICES"]


def test_of_a_divided_gpu_only_the_slice_that_cuda_shows_belongs_to_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small, large = (
        replace(H200, uuid=uuid, board_uuid=H200.uuid, memory_bytes=gib * 2**30, multiprocessors=count)
        for uuid, gib, count in (("MIG-5c1e", 18, 16), ("MIG-fa4e", 70, 60))
    )
    have_gpus(monkeypatch, small, large)
    (first,) = environment.identify().gpus
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-fa4e")
    (named,) = environment.identify().gpus
    assert [(gpu.memory_gib, gpu.multiprocessors) for gpu in (first, named)] == [(18, 16), (70, 60)]
    have_gpus(monkeypatch, H200)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    (whole,) = environment.identify().gpus
    assert whole.uuid_hash == first.uuid_hash == named.uuid_hash


def test_power_limit_is_configuration_and_clock_is_a_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    have_gpus(monkeypatch, replace(H200, power_limit_w=700.0))
    assert environment.configuration()["gpu0.power_limit_w"] == "700"
    readings = environment.readings()
    assert (readings["gpu0.sm_clock_mhz"], readings["gpu0.throttle_reasons"]) == ("1980", "none")


def test_two_looks_at_the_configuration_agree() -> None:
    assert environment.configuration() == environment.configuration()


def test_all_values_are_strings_that_say_something() -> None:
    taken = environment.fingerprint()
    for facts in (taken.configuration, taken.readings):
        assert all(isinstance(value, str) and value for value in facts.values())
    assert {"python", "kernel", "numpy.version", "cpu.available_cores"} <= taken.configuration.keys()
    assert {"time_utc", "memory.available_bytes"} <= taken.readings.keys()


def test_threads_set_from_outside_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert environment.configuration()["env.OMP_NUM_THREADS"] == "3"
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert "env.OMP_NUM_THREADS" not in environment.configuration()


def test_neither_the_host_nor_the_user_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((socket, "gethostname"), (platform, "node"), (getpass, "getuser")):
        monkeypatch.setattr(module, name, lambda: "secretive-name")
    assert "secretive-name" not in str(environment.fingerprint())


def test_a_system_that_tells_nothing_still_has_a_fingerprint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("not here")

    monkeypatch.setattr(environment, "_SYSTEM", tmp_path)
    for name in ("cpu_freq", "sensors_temperatures"):
        monkeypatch.setattr(psutil, name, refuse, raising=False)
    monkeypatch.setattr("os.getloadavg", refuse, raising=False)
    taken = environment.fingerprint()
    assert "cpu.governor" not in taken.configuration
    assert "load.1min" not in taken.readings


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu.max": "150000 100000"}, "1.5"),
        ({"cpu.max": "max 100000"}, "unlimited"),
        ({"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000"}, "2"),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, "unlimited"),
    ],
    ids=["v2", "v2-unlimited", "v1", "v1-unlimited"],
)
def test_a_containers_share_of_the_cores_is_recorded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, files: dict[str, str], cores: str
) -> None:
    for name, text in files.items():
        file = tmp_path / "fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    monkeypatch.setattr(environment, "_SYSTEM", tmp_path)
    assert environment.configuration()["cpu.quota_cores"] == cores
