"""What is read from NVIDIA's driver, and that a machine without one simply has no GPUs."""

from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from harness import nvml


def refuse(*_: Any) -> Any:
    raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Stand in for the driver of two GPUs; the test may change its answers."""
    answers = {
        "nvmlInit": lambda: None,
        "nvmlSystemGetDriverVersion": lambda: "580.65.06",
        "nvmlSystemGetCudaDriverVersion_v2": lambda: 13020,
        "nvmlDeviceGetCount": lambda: 2,
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlDeviceGetName": lambda handle: f"NVIDIA Test {handle}",
        "nvmlDeviceGetUUID": lambda handle: f"GPU-{handle}",
        "nvmlDeviceGetMemoryInfo": lambda _: SimpleNamespace(total=80 * 2**30, free=79 * 2**30),
        "nvmlDeviceGetCurrentClocksEventReasons": lambda _: pynvml.nvmlClocksEventReasonSwPowerCap,
        "nvmlDeviceGetComputeRunningProcesses": lambda _: [SimpleNamespace(pid=7)],
        "nvmlDeviceGetClockInfo": lambda *_: 1980,
        "nvmlDeviceGetApplicationsClock": refuse,
        "nvmlDeviceGetMaxCustomerBoostClock": lambda *_: 1980,
        "nvmlDeviceGetMaxClockInfo": lambda *_: 2100,
        "nvmlDeviceGetTotalEnergyConsumption": refuse,
        "nvmlDeviceGetCudaComputeCapability": lambda _: (9, 0),
        "nvmlDeviceGetTemperature": lambda *_: 41,
        "nvmlDeviceGetPowerUsage": lambda _: 301500,
        "nvmlDeviceGetEnforcedPowerLimit": lambda _: 700000,
        "nvmlDeviceGetUtilizationRates": lambda _: SimpleNamespace(gpu=35, memory=20),
    }
    for name in answers:
        monkeypatch.setattr(pynvml, name, lambda *arguments, name=name: answers[name](*arguments))
    return answers


@pytest.mark.usefixtures("driver")
def test_every_gpu_is_read_with_its_units() -> None:
    first, second = nvml.gpus()
    assert (first.name, second.name) == ("NVIDIA Test 0", "NVIDIA Test 1")
    assert (first.memory_bytes, first.power_w, first.power_limit_w) == (80 * 2**30, 301.5, 700.0)
    assert (first.sm_clock_mhz, first.temperature_c, first.process_ids) == (1980, 41, (7,))
    assert first.compute_capability == "9.0"
    assert first.utilisation == 0.35


@pytest.mark.usefixtures("driver")
def test_throttle_reasons_are_given_in_words() -> None:
    assert nvml.gpus()[0].throttle_reasons == ("power cap",)


def test_clocks_are_asked_without_what_takes_the_driver_long(driver: dict[str, Any]) -> None:
    driver["nvmlDeviceGetComputeRunningProcesses"] = driver["nvmlDeviceGetPowerUsage"] = lambda _: pytest.fail("asked")
    first = nvml.clocks()[0]
    assert (first.sm_clock_mhz, first.utilisation, first.throttle_reasons) == (1980, 0.35, ("power cap",))


def test_an_idle_gpu_is_not_a_throttled_one(driver: dict[str, Any]) -> None:
    driver["nvmlDeviceGetCurrentClocksEventReasons"] = lambda _: pynvml.nvmlClocksEventReasonGpuIdle
    assert nvml.gpus()[0].throttle_reasons == ()


@pytest.mark.usefixtures("driver")
def test_the_driver_tells_its_version_and_its_cuda() -> None:
    assert nvml.driver() == {"driver.nvidia": "580.65.06", "driver.cuda": "13.2"}


def test_what_a_gpu_does_not_support_is_left_open(driver: dict[str, Any]) -> None:
    for name in driver:
        if name.startswith("nvmlDevice") and name not in ("nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex"):
            driver[name] = refuse
    assert nvml.gpus() == [nvml.GpuState(name="unknown GPU")] * 2


def test_a_driver_that_is_older_than_its_library_leaves_open_what_it_does_not_know(driver: dict[str, Any]) -> None:
    def unknown(_: int) -> None:
        raise pynvml.NVMLLibraryMismatchError

    driver["nvmlDeviceGetComputeRunningProcesses"] = unknown
    first = nvml.gpus()[0]
    assert (first.process_ids, first.sm_clock_mhz) == ((), 1980)


def test_a_machine_without_a_driver_has_no_gpus(driver: dict[str, Any]) -> None:
    driver["nvmlInit"] = refuse
    assert nvml.gpus() == []
    assert nvml.driver() == {}


def test_a_driver_that_does_not_answer_says_why(driver: dict[str, Any]) -> None:
    def mismatch() -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH)

    assert nvml.silence() == ""
    driver["nvmlInit"] = mismatch
    assert "version mismatch" in nvml.silence()


def test_energy_is_told_in_joules_where_a_gpu_counts_it(driver: dict[str, Any]) -> None:
    driver["nvmlDeviceGetTotalEnergyConsumption"] = lambda handle: 1500 if handle == 0 else refuse()
    assert nvml.energies_j() == [1.5, None]


def test_the_default_clock_is_the_applications_clock_or_the_highest_that_a_newer_driver_tells(
    driver: dict[str, Any],
) -> None:
    assert nvml.gpus()[0].default_clock_mhz == 1980
    driver["nvmlDeviceGetApplicationsClock"] = lambda *_: 1095
    assert nvml.gpus()[0].default_clock_mhz == 1095


def test_a_board_without_a_limit_of_its_maker_boosts_to_the_highest_clock_of_all(driver: dict[str, Any]) -> None:
    driver["nvmlDeviceGetMaxCustomerBoostClock"] = refuse
    assert nvml.gpus()[0].default_clock_mhz == 2100
