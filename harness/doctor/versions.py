"""Which driver runs which CUDA, and which build runs on which GPU: NVIDIA's rules of compatibility."""

from __future__ import annotations

import re

from packaging.version import InvalidVersion, Version

# The oldest branch of drivers that runs every release of a major version of CUDA, from the table "Minimum
# Required Driver Version" at https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
OLDEST_DRIVERS = {11: "450", 12: "525", 13: "580"}


def major(version: str) -> int | None:
    """Return the first number of a version such as ``13.0``; None of a text that is no version."""
    try:
        return Version(version).major
    except InvalidVersion:
        return None


def newer(version: str, other: str) -> bool:
    """Say whether the first of two versions is the newer one; no, where either is no version."""
    try:
        return Version(version) > Version(other)
    except InvalidVersion:
        return False


def driver_runs(cuda: str, *, driver: str, driver_cuda: str) -> bool:
    """Say whether a driver runs what was built for that CUDA; yes, where that is not known.

    Within a major version of CUDA every driver runs every build ("minor version compatibility"), and a driver runs
    all that is older. The driver's own word counts before the table, since a forward compatibility package
    (https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html) may lift it.
    """
    wanted = major(cuda)
    if wanted is None:
        return True
    if (able := major(driver_cuda)) is not None:
        return wanted <= able
    oldest = OLDEST_DRIVERS.get(wanted)
    return oldest is None or not newer(oldest, driver)


def newer_driver(cuda: str) -> str:
    """Return which driver that CUDA needs, in words."""
    oldest = OLDEST_DRIVERS.get(major(cuda) or 0)
    return f"driver {oldest} or newer" if oldest else f"driver that runs CUDA {cuda}"


def runs_on(architectures: str, capability: str) -> bool:
    """Say whether a build for these architectures, such as ``sm_80 compute_90``, runs on a GPU of that capability.

    Machine code (``sm``) runs on the same major and an equal or higher minor capability, intermediate code
    (``compute``) on every higher one; a letter at the end binds either to that capability (``a``) or to its family
    (``f``). From the CUDA C++ Programming Guide, chapters on binary and PTX compatibility.
    """
    gpu = _parts(capability.replace(".", ""))
    for name in architectures.split():
        kind, _, number = name.partition("_")
        built = _parts(number)
        if built == gpu or (number.isdecimal() and kind == "compute" and built <= gpu):
            return True
        if built[0] == gpu[0] and built <= gpu and not number.endswith("a"):
            return True
    return not architectures


def _parts(number: str) -> tuple[int, int]:
    """Return major and minor capability of a number such as ``90`` or ``120a``."""
    digits = re.sub(r"\D", "", number) or "0"
    return int(digits[:-1] or 0), int(digits[-1])
