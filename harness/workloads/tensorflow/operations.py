"""Plain tensor operations in TensorFlow, on data that stays on the device or is sent there and back."""

from __future__ import annotations

from typing import Any

from harness.experiment import Arm, Setting, workload


@workload("tensorflow", unit="operation")
def matmul_tensorflow(
    setting: Setting, *, side: int = 1024, device: str | None = None, data_location: str = "resident"
) -> Arm:
    """Product of two square float32 matrices; throughput counts its 2·side³ additions and multiplications."""
    import numpy as np
    import tensorflow as tf

    from harness.workloads.data.rotation import VARIANTS, Rotation
    from harness.workloads.tensorflow import devices

    place = devices.chosen(device)
    stays = devices.stays(data_location)
    rng = np.random.default_rng(setting.seed)
    pairs: list[Any] = [[rng.standard_normal((side, side), dtype=np.float32) for _ in "ab"] for _ in range(VARIANTS)]

    def resident() -> Any:
        return tf.matmul(*rotation.take())

    def round_trip() -> Any:
        return tf.matmul(*map(tf.constant, rotation.take())).numpy()

    if stays:
        with tf.device(place):
            pairs = [list(map(tf.constant, pair)) for pair in pairs]
    rotation = Rotation(pairs)
    step = resident if stays else round_trip
    return Arm(step=step, items=2 * side**3, reset=rotation.restart).inside(tf.device, place)
