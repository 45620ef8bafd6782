"""Where TensorFlow's workloads run."""

from __future__ import annotations

import tensorflow as tf

from accelbench.errors import Unavailable, check_choice
from accelbench.schema.reasons import reason

LOCATIONS = ("resident", "round-trip")


def choose(name: str | None) -> str:
    """Return the device of that name; without one the first GPU, or the CPU where there is none.

    Raises:
        Unavailable: there is no such device. TensorFlow itself would put the work on another one and say nothing.
    """
    found = [device.name.removeprefix("/device:") for device in tf.config.list_logical_devices()]
    if name is None:
        return next((device for device in found if device.startswith("GPU")), "CPU:0")
    wanted = "CPU:0" if name == "cpu" else name
    if wanted not in found:
        raise Unavailable(f"tensorflow {tf.__version__} sees no {wanted}; it sees {', '.join(found)}")
    return wanted


def label(place: str) -> str:
    """Return what a device is called in results: ``"cpu"``, or TensorFlow's own word, such as ``"GPU:0"``."""
    return "cpu" if place.startswith("CPU") else place


def accelerator() -> str:
    """Return the first GPU.

    Raises:
        Unavailable: there is none.
    """
    if not tf.config.list_logical_devices("GPU"):
        raise Unavailable(reason("no-accelerator", library="tensorflow", version=tf.__version__, device="GPU"))
    return "GPU:0"


def stays(data_location: str) -> bool:
    """Say whether data stays on the device, or else is sent there and back in every step."""
    check_choice(data_location, LOCATIONS, "data location")
    return data_location == "resident"
