"""Copies to the device and back bring what was sent, raw and through a loader."""

from typing import Any

import pytest
import torch

import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Setting, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import Unavailable
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
framework = load("torch")
COPIES = ("host-to-device-copy", "device-to-host-copy")


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_counts_bytes_and_its_sources_vary(name: str) -> None:
    arm = find_workload(name).build(Setting(), mebibytes=1, device="cpu")
    assert arm.items == 2**20
    first, second = framework.to_host(arm.step()), framework.to_host(arm.step())
    assert relative_error(first, second) > 1
    arm.reset()
    assert relative_error(framework.to_host(arm.step()), first) == 0


def test_both_ways_bring_the_same() -> None:
    there, back = (
        check.output_of(find_workload(name).build(Setting(), mebibytes=1, device="cpu"), framework) for name in COPIES
    )
    assert relative_error(back, there) == 0


@pytest.mark.skipif(torch.accelerator.is_available(), reason="there is an accelerator")
@pytest.mark.parametrize("name", COPIES)
def test_without_an_accelerator_there_is_nowhere_to_copy(name: str) -> None:
    with pytest.raises(Unavailable, match=r"torch .* sees no accelerator"):
        find_workload(name).build(Setting(), mebibytes=1)


@pytest.mark.parametrize("options", [{"workers": 0}, {"workers": 1, "non_blocking": True}], ids=["plain", "beside"])
def test_a_loader_trains_the_same_however_it_copies(options: Any) -> None:
    declared = find_workload("loader-train")
    arms = [declared.build(Setting(), device="cpu", batch_size=16, **how) for how in ({"workers": 0}, options)]
    plain, other = (check.output_of(arm, framework) for arm in arms)
    for arm in arms:
        arm.close()
    assert relative_error(other, plain) == 0
    assert arms[0].items == 8 * 16
