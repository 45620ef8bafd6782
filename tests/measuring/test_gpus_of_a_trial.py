"""Only the GPUs of a trial count, whichever others the machine has: woken, read, and their energy added up."""

from collections.abc import Callable, Collection
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from fake_device import FakeClock, FakeDevice, OnDevice

from accelbench.core import Arm, Build, Plan, Setting, Trial, technique, workload
from accelbench.frameworks.host import ArrayInfo
from accelbench.measuring.checks.placement import gpu_uuids
from accelbench.measuring.interference import InterferenceMonitor, Snapshot
from accelbench.measuring.trial_result import TrialResult
from accelbench.measuring.trial_run import TrialRun
from accelbench.schema import nvml
from accelbench.schema.nvml import GpuState
from accelbench.schema.result import Placement

POWER_W = 300.0
STEP_S = 20e-3
clock = FakeClock()


class TwoGpus(FakeDevice):
    """Two GPUs, both of which the process has opened; work that names none runs on the second one."""

    def __init__(self) -> None:
        super().__init__(clock)
        self.woken: list[str] = []

    def warm_up(self, devices: Collection[str] = ()) -> None:
        self.woken += sorted(devices)

    def accelerators(self) -> tuple[str, ...]:
        return ("fake:0", "fake:1")

    def current_accelerator(self) -> str:
        return "fake:1"

    def gpu_uuids(self) -> dict[str, str]:
        return {"fake:0": "8a1f", "fake:1": "77b0"}

    def array_info(self, array: object) -> ArrayInfo | None:
        info = super().array_info(array)
        return replace(info, device="fake:1") if info and isinstance(array, OnDevice) else info


gpus = TwoGpus()


@workload("fake", unit="row")
def row_on_one_of_two_gpus(_: Setting, *, on: str = "fake:1") -> Arm:
    """A row that lies on the second GPU, or on the host."""

    def step() -> np.ndarray:
        gpus.launch(STEP_S)
        return np.ones(3) if on == "cpu" else gpus.array(np.ones(3))

    return Arm(step=step)


@technique("fake", kind="device", levels=("cpu", "fake:1"))
def gpu_of_two(build: Build, level: str) -> Arm:
    """Where the row lies."""
    return build(on=level)


@pytest.fixture(autouse=True)
def states(monkeypatch: pytest.MonkeyPatch) -> dict[str, GpuState]:
    """The driver's GPUs by UUID, on all of which neighbours work; every GPU takes 300 W."""
    gpus.woken.clear()
    states = {
        uuid: GpuState(name="NVIDIA Test", index=index, uuid=f"GPU-{uuid}", process_ids=(1,))
        for index, uuid in enumerate(("8a1f", "77b0", "5c1e"))
    }

    def chosen(uuids: Collection[str] | None = None) -> list[GpuState]:
        return [state for uuid, state in states.items() if uuids is None or uuid in uuids]

    monkeypatch.setattr(nvml, "gpus", chosen)
    monkeypatch.setattr(nvml, "energy_j", lambda _: POWER_W * 0.02 * (clock() // 0.02))
    return states


def measure(*arms: dict[str, str], glance: Callable[[Collection[str]], Snapshot] | None = None) -> TrialResult:
    trial = Trial(
        framework="fake", workload="row-on-one-of-two-gpus", arms=arms or ({},), plan=Plan(budget_s=0.5, builds=1)
    )
    windows = InterferenceMonitor(clock, glance) if glance else None
    return TrialRun(trial, gpus, clock=clock, coin=Random(3), windows=windows).run()


@pytest.mark.parametrize(
    ("arms", "woken"),
    [
        ([{}], ["fake:1"]),
        ([{"gpu_of_two": "cpu"}], []),
        ([{"gpu_of_two": "cpu"}, {"gpu_of_two": "fake:1"}], ["fake:1"]),
    ],
    ids=["no-device-named", "the-cpu-alone", "one-of-them"],
)
def test_only_the_accelerators_of_the_arms_are_woken(arms: list[dict[str, str]], woken: list[str]) -> None:
    measure(*arms)
    assert gpus.woken == woken


def test_the_energy_is_that_of_the_gpu_on_which_the_arrays_lie() -> None:
    (arm,) = measure().arms
    assert arm.price is not None
    assert arm.price.energy_j_per_item == pytest.approx(POWER_W * STEP_S, rel=0.1)
    assert arm.price.energy_of == "GPU"


def test_only_the_gpu_of_the_trial_is_read_while_it_is_timed_and_only_its_neighbours_are_reported() -> None:
    asked: set[frozenset[str]] = set()

    def glance(uuids: Collection[str]) -> Snapshot:
        asked.add(frozenset(uuids))
        return Snapshot(at_s=clock(), cores=1, own_cpu_s=0.0, busy_cpu_s=0.0)

    shared = [remark for remark in measure(glance=glance).remarks if remark.code == "gpu-shared"]
    assert asked == {frozenset({"77b0"})}
    assert [remark.values["gpu"] for remark in shared] == [1]


def test_a_trial_of_the_cpu_has_no_neighbours_on_gpus() -> None:
    assert not [remark for remark in measure({"gpu_of_two": "cpu"}).remarks if remark.code.startswith("gpu-")]


def test_a_slice_of_a_gpu_is_said_to_have_neither_energy_nor_utilisation(
    states: dict[str, GpuState], monkeypatch: pytest.MonkeyPatch
) -> None:
    states["77b0"] = replace(states["77b0"], board_uuid="GPU-0000", process_ids=())
    monkeypatch.setattr(nvml, "energy_j", lambda _: None)
    measured = measure()
    assert measured.arms[0].price is not None
    assert measured.arms[0].price.energy_j_per_item is None
    (remark,) = (remark for remark in measured.remarks if remark.code == "gpu-slice")
    assert str(remark).startswith("energy and utilisation of a slice of GPU 1 (MIG) are not measured")


@pytest.mark.parametrize(
    ("label", "outputs", "used"),
    [
        ("fake:0", ["cpu"], {"8a1f"}),
        (None, ["fake:1"], {"77b0"}),
        (None, ["fake:0", "fake:1"], {"8a1f", "77b0"}),
        (None, ["cpu"], {"8a1f", "77b0"}),  # what was fetched to the host may come from any GPU that is open
        ("cpu", ["cpu"], set()),
        (None, ["xpu:0"], set()),
    ],
)
def test_the_gpus_of_an_arm_are_those_of_its_label_and_its_arrays(
    label: str | None, outputs: list[str], used: set[str]
) -> None:
    placement = Placement(inputs=[], parameters=[], outputs=outputs)
    assert gpu_uuids(label, placement, gpus) == used
