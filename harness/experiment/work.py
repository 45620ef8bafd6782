"""The work of an iteration: what a speed is held against before it is believed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Work:
    """The least that one iteration must do, whatever the technique; 0 where nothing is claimed.

    ``operations`` are floating-point additions and multiplications, as the textbook's algorithm does them; a known
    algorithm may do with ``saving`` times fewer, as Winograd's does for a 3×3 convolution, 4 at most (Lavin and Gray
    2015, arXiv 1509.09308). ``memory_bytes`` pass between the processor and its memory: every input read once, every
    output written once. ``to_device_bytes`` and ``from_device_bytes`` pass between host and accelerator,
    ``disk_bytes`` between memory and a disk.

    ``precision`` is that of the operations, such as ``"fp32"`` or ``"bf16"``; where it is empty, they are held against
    the fastest one.
    """

    operations: float = 0
    saving: float = 1
    memory_bytes: float = 0
    to_device_bytes: float = 0
    from_device_bytes: float = 0
    disk_bytes: float = 0
    precision: str = ""
