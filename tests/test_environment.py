"""The fingerprint: one machine has one key, and what can be changed is recorded beside it."""

import getpass
import platform
import re
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from harness import environment, nvml
from harness.nvml import GpuState
from harness.record import Gpu, Identity

IDENTITY = Identity(cpu_model="AMD EPYC", cpu_cores=2, memory_gib=24)
H200 = GpuState(name="NVIDIA H200", uuid="GPU-8a1f", memory_bytes=143771 * 2**20, sm_clock_mhz=1980.0, power_w=301.5)


def have_gpus(monkeypatch: pytest.MonkeyPatch, *gpus: GpuState) -> None:
    monkeypatch.setattr(nvml, "gpus", lambda: list(gpus))


def have_memory(monkeypatch: pytest.MonkeyPatch, gib: float) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(total=int(gib * 2**30), available=2**30))


def test_a_thousand_readings_of_this_machine_give_one_key() -> None:
    assert len({environment.machine_key(environment.identify()) for _ in range(1000)}) == 1


def test_a_new_process_gives_the_same_key() -> None:
    code = "from harness.environment import *; print(machine_key(identify()))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == environment.machine_key(environment.identify())


def test_the_key_says_what_the_machine_is() -> None:
    assert re.fullmatch(r"amd-epyc-2c-24g-[0-9a-f]{6}", environment.machine_key(IDENTITY))


def test_the_key_counts_the_gpus_of_each_kind() -> None:
    gpus = [Gpu(name="NVIDIA H200", memory_gib=140, uuid_hash=digits) for digits in ("a", "b")]
    key = environment.machine_key(replace(IDENTITY, gpus=gpus))
    assert re.fullmatch(r"amd-epyc-2c-24g-nvidia-h200-x2-[0-9a-f]{6}", key)


def test_another_gpu_of_the_same_kind_is_another_machine() -> None:
    keys = {
        environment.machine_key(replace(IDENTITY, gpus=[Gpu(name="NVIDIA H200", memory_gib=140, uuid_hash=digits)]))
        for digits in ("a", "b")
    }
    assert len(keys) == 2


@pytest.mark.parametrize(
    ("model", "slug"),
    [
        ("Intel(R) Xeon(R) Platinum 8480+", "intel-xeon-platinum-8480"),
        ("Intel(R) Xeon(R) CPU @ 2.20GHz", "intel-xeon"),
        ("AMD EPYC 7B12 64-Core Processor", "amd-epyc-7b12"),
        ("AMD Ryzen 7 7840U w/ Radeon 780M Graphics", "amd-ryzen-7-7840u-w-radeon-780m-graphics"),
        ("Apple M2 Pro", "apple-m2-pro"),
        ("../../etc", "etc"),
        ("龍芯", "unknown"),
    ],
)
def test_the_key_is_safe_as_a_folder_whatever_the_processor_is_called(model: str, slug: str) -> None:
    key = environment.machine_key(replace(IDENTITY, cpu_model=model))
    assert key.startswith(f"{slug}-2c-24g-")
    assert re.fullmatch(r"[a-z0-9-]{1,110}", key)


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


def test_a_gpus_serial_identifier_is_never_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    have_gpus(monkeypatch, H200)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", H200.uuid)
    taken = environment.fingerprint()
    assert H200.uuid not in str(taken)
    assert taken.identity.gpus[0].uuid_hash in taken.configuration["env.CUDA_VISIBLE_DEVICES"]


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
