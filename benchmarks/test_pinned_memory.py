"""Does page-locked memory pay, does copying without waiting, or do they only together?"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize("mebibytes", [1, 64])
@toggles("torch", "pin_memory")
@toggles("torch", "non_blocking")
def test_pinned_copy(measure, mebibytes):
    measure("host-to-device-copy", mebibytes=mebibytes)


@toggles("torch", "pin_memory")
@toggles("torch", "non_blocking")
def test_pinned_loader(measure):
    measure("loader-train")
