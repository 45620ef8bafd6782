"""An arm that raises: what becomes of it, and of what it held."""

import weakref
from collections.abc import Callable
from typing import NoReturn

import pytest

from harness.experiment import Arm
from harness.frameworks.fake import FakeClock, FakeDevice
from harness.measuring.entrant import Entrant
from harness.measuring.stopped import StoppedError


class Array:
    """What takes memory."""


class Device(FakeDevice):
    """A device that looks, when memory is to be given back, whether an array is still held."""

    def __init__(self) -> None:
        super().__init__(FakeClock())
        self.array: Callable[[], Array | None] = lambda: None
        self.held: bool | None = None

    def free(self) -> None:
        self.held = self.array() is not None


def entrant(device: Device) -> Entrant:
    """Return an arm that makes an array and finds no room for more."""

    def step() -> NoReturn:
        array = Array()
        device.array = weakref.ref(array)
        raise MemoryError("no room")

    arm = Arm(step=step)
    return Entrant(levels={}, build=lambda: arm, tolerance=0.0, computes=tuple, arm=arm)


@pytest.mark.parametrize("by_way_of_the_referee", [False, True])
def test_what_ran_out_of_memory_holds_none_when_it_is_given_back(by_way_of_the_referee: bool) -> None:
    device = Device()
    failing = entrant(device)

    def raised() -> None:
        try:
            with StoppedError.naming(0):
                failing.built.step()
        except StoppedError as stopped:
            with failing.withdrawing(device):
                raise stopped.error from None

    if by_way_of_the_referee:
        raised()
    else:
        with failing.withdrawing(device):
            failing.built.step()
    assert (failing.outcome, failing.reason) == ("out-of-memory", "MemoryError: no room")
    assert device.held is False
