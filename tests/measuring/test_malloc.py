"""The memory allocator's state."""

import platform
import subprocess
import sys

import pytest

COUNT = """
from accelbench.measuring import malloc

def faults():
    before = malloc.page_faults()
    for _ in range(10):
        arrays = [bytearray(b"x") * 2_000_000 for _ in range(8)]
        del arrays
    return (malloc.page_faults() - before) / 10

fresh = faults()
malloc.raise_thresholds()
faults()
print(fresh, faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the thresholds are glibc's")
def test_a_fresh_process_asks_for_memory_again_and_again_until_the_thresholds_are_raised() -> None:
    run = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=True)
    fresh, raised = map(float, run.stdout.split())
    assert fresh > 1000
    assert raised < 10
