"""Does page-locked memory pay, does copying without waiting, or do they only together?"""

import pytest

from harness import toggles


@pytest.mark.parametrize("mebibytes", [1, 64])
@toggles("torch", "pin_memory")
@toggles("torch", "non_blocking")
def test_pinned_copy(measure, mebibytes, pin_memory, non_blocking):
    measure("host-to-device-copy", mebibytes=mebibytes, pin_memory=pin_memory, non_blocking=non_blocking)


@toggles("torch", "pin_memory")
@toggles("torch", "non_blocking")
def test_pinned_loader(measure, pin_memory, non_blocking):
    measure("loader-train", pin_memory=pin_memory, non_blocking=non_blocking)
