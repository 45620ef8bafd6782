"""A GPU's clock that falls in mid-trial and recovers before its end: no reading at either end shows it."""

from random import Random

import numpy as np
import pytest

from harness import nvml
from harness.experiment import Arm, Plan, Setting, Trial, workload
from harness.frameworks.fake import FakeClock, FakeDevice
from harness.measuring.conduct import Conduct
from harness.measuring.telemetry import GpuReading, Snapshot
from harness.measuring.windows import Windows

clock = FakeClock()
device = FakeDevice(clock)


@workload("fake", unit="row")
def steady_table(_: Setting) -> Arm:
    """A table that takes a millisecond."""

    def step() -> np.ndarray:
        device.launch(1e-3)
        return np.arange(1.0, 4.0)

    return Arm(step=step)


def test_a_clock_that_falls_in_mid_trial_is_a_remark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "gpus", lambda: [nvml.GpuState(name="NVIDIA Test", boost_clock_mhz=1980.0)])
    clocks_mhz = iter([1980.0, 1188.0])  # when the timing begins, and when it ends

    def glance() -> Snapshot:
        gpu = GpuReading(sm_clock_mhz=next(clocks_mhz, 1980.0), utilisation=1.0)
        return Snapshot(at_s=clock(), cores=1, own_cpu_s=0.0, busy_cpu_s=0.0, gpus=(gpu,))

    trial = Trial(framework="fake", workload="steady-table", arms=({},), plan=Plan(budget_s=4.0))
    measured = Conduct(trial, device, clock=clock, coin=Random(1), windows=Windows(clock, glance)).run()
    assert measured.disturbance["gpu0_lowest_clock_share"] == pytest.approx(0.6)
    assert "the clock of GPU 0 fell to 60 % of its 1,980 MHz while this was measured" in measured.remarks
