"""What is read from NVIDIA's driver, and that a machine without one simply has no GPUs."""

from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from accelbench.schema import nvml


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
        "nvmlDeviceGetMigMode": refuse,
        "nvmlDeviceGetMaxMigDeviceCount": refuse,
        "nvmlDeviceGetMigDeviceHandleByIndex": refuse,
        "nvmlDeviceGetAttributes": refuse,
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
def test_only_the_gpus_that_are_asked_for_are_read_with_or_without_the_prefix_of_their_uuids() -> None:
    assert [gpu.index for gpu in nvml.gpus({"1"})] == [gpu.index for gpu in nvml.clocks({"GPU-1"})] == [1]
    assert nvml.gpus(()) == nvml.clocks({"2"}) == []


@pytest.mark.usefixtures("driver")
def test_throttle_reasons_are_given_in_words() -> None:
    assert nvml.gpus()[0].throttle_reasons == ("power cap",)


def test_clocks_are_asked_without_what_takes_the_driver_long(driver: dict[str, Any]) -> None:
    driver["nvmlDeviceGetComputeRunningProcesses"] = driver["nvmlDeviceGetPowerUsage"] = lambda _: pytest.fail("asked")
    (first,) = nvml.clocks({"0"})
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
    assert nvml.gpus() == [nvml.GpuState(name="unknown GPU", index=index) for index in (0, 1)]


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
    assert [nvml.energy_j(uuid) for uuid in ("0", "GPU-1", "2")] == [1.5, None, None]


def test_the_default_clock_is_the_applications_clock_or_the_highest_that_a_newer_driver_tells(
    driver: dict[str, Any],
) -> None:
    assert nvml.gpus()[0].default_clock_mhz == 1980
    driver["nvmlDeviceGetApplicationsClock"] = lambda *_: 1095
    assert nvml.gpus()[0].default_clock_mhz == 1095


def test_a_board_without_a_limit_of_its_maker_boosts_to_the_highest_clock_of_all(driver: dict[str, Any]) -> None:
    driver["nvmlDeviceGetMaxCustomerBoostClock"] = refuse
    assert nvml.gpus()[0].default_clock_mhz == 2100


SLICES = {"MIG-5c1e": 14, "MIG-77b0": 42}  # their multiprocessors


@pytest.fixture
def divided(driver: dict[str, Any]) -> dict[str, Any]:
    """Divide the second GPU into two slices, of which the driver tells less than of a whole one."""

    def of_whole(answer: Any) -> Any:
        return lambda handle, *rest: refuse() if handle in SLICES else answer(handle, *rest)

    for name in [name for name in driver if name.startswith("nvmlDeviceGet") and "Handle" not in name]:
        if name not in ("nvmlDeviceGetCount", "nvmlDeviceGetComputeRunningProcesses"):
            driver[name] = of_whole(driver[name])
    driver["nvmlDeviceGetTotalEnergyConsumption"] = lambda _: 1500
    driver["nvmlDeviceGetUUID"] = lambda handle: handle if handle in SLICES else f"GPU-{handle}"
    driver["nvmlDeviceGetMigMode"] = lambda handle: [handle, handle]
    driver["nvmlDeviceGetMaxMigDeviceCount"] = lambda _: 7
    driver["nvmlDeviceGetMigDeviceHandleByIndex"] = lambda _, place: [*SLICES][place] if place < 2 else refuse()
    driver["nvmlDeviceGetAttributes"] = lambda handle: SimpleNamespace(multiprocessorCount=SLICES[handle])
    driver["nvmlDeviceGetMemoryInfo"] = lambda _: SimpleNamespace(total=10 * 2**30, free=9 * 2**30)
    return driver


@pytest.mark.usefixtures("divided")
def test_the_slices_of_a_gpu_stand_in_its_place_with_their_own_memory_and_multiprocessors() -> None:
    whole, first, second = nvml.gpus()
    assert (whole.uuid, whole.is_slice, whole.multiprocessors) == ("GPU-0", False, None)
    assert [(each.index, each.uuid, each.board_uuid) for each in (first, second)] == [
        (1, "MIG-5c1e", "GPU-1"),
        (1, "MIG-77b0", "GPU-1"),
    ]
    assert (first.memory_bytes, first.multiprocessors, second.multiprocessors) == (10 * 2**30, 14, 42)


@pytest.mark.usefixtures("divided")
def test_a_slice_has_the_clock_of_its_gpu_but_no_utilisation_power_or_energy() -> None:
    (found,) = nvml.gpus({"5c1e"})
    assert (found.name, found.sm_clock_mhz, found.throttle_reasons) == ("NVIDIA Test 1", 1980, ("power cap",))
    assert (found.utilisation, found.power_w, nvml.energy_j("5c1e")) == (None, None, None)
    assert nvml.energy_j("GPU-0") == 1.5


WHOLE = [nvml.GpuState(name="NVIDIA Test", uuid=uuid) for uuid in ("GPU-8a1f22", "GPU-77b0")]
DIVIDED = [nvml.GpuState(name="NVIDIA Test", uuid=uuid, board_uuid="GPU-8a1f22") for uuid in ("MIG-5c1e", "MIG-fa4e")]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ["GPU-8a1f22", "GPU-77b0"]),
        ("", []),
        ("-1", []),
        ("NoDevFiles", []),
        ("0", ["GPU-8a1f22"]),
        ("1, 0", ["GPU-77b0", "GPU-8a1f22"]),
        ("0,-1,1", ["GPU-8a1f22"]),
        ("2", []),
        ("GPU-77", ["GPU-77b0"]),
        ("GPU-0000", []),
    ],
)
def test_the_gpus_that_a_variable_leaves_visible_are_those_that_cuda_shows(value: str | None, shown: list[str]) -> None:
    assert [gpu.uuid for gpu in nvml.visible(value, WHOLE)] == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "MIG-5c1e"),
        ("1", "MIG-fa4e"),
        ("MIG-fa4e", "MIG-fa4e"),
        ("MIG-fa4e,MIG-5c1e", "MIG-fa4e"),
        ("MIG-GPU-8a1f22/1/0", "MIG-5c1e"),
        ("GPU-8a1f22", "MIG-5c1e"),
    ],
)
def test_a_process_sees_one_slice(value: str | None, shown: str) -> None:
    assert [gpu.uuid for gpu in nvml.visible(value, DIVIDED)] == [shown]
