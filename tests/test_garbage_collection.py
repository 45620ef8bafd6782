"""The garbage collector rests, and is afterwards as it was."""

import gc

import pytest

from accelbench.garbage_collection import no_collection


@pytest.mark.parametrize("was_enabled", [True, False])
def test_nothing_is_collected_meanwhile_and_afterwards_as_before(was_enabled: bool) -> None:
    (gc.enable if was_enabled else gc.disable)()
    try:
        with no_collection():
            assert not gc.isenabled()
        assert gc.isenabled() is was_enabled
    finally:
        gc.enable()
