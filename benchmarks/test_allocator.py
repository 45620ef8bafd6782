"""What does it cost that the C library returns large temporary arrays to the kernel, and pays for them again?"""

import pytest

from accelbench import toggles

# Arrays of 36 MB: below 32 MiB, whether glibc returns memory at all depends on the largest array freed before.
ELEMENTS = 9_000_000


@pytest.mark.slow
@toggles("numpy", "malloc")
def test_allocator(measure):
    measure("vector-add", elements=ELEMENTS)
