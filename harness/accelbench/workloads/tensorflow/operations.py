"""Plain tensor operations in TensorFlow, on data that stays on the device or is sent there and back."""

from __future__ import annotations

from typing import Any

from accelbench.core import Arm, Setting, Work, workload


@workload("tensorflow", unit="operation")
def matmul_tensorflow(
    setting: Setting, *, side: int = 1024, device: str | None = None, data_location: str = "resident"
) -> Arm:
    """Product of two square float32 matrices; throughput counts its 2·side³ additions and multiplications."""
    import numpy as np
    import tensorflow as tf

    from accelbench.workloads.data.rotation import VARIANTS, Rotation
    from accelbench.workloads.tensorflow import devices

    place = devices.choose(device)
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
    matrix_bytes = 4 * side**2
    sent_bytes = 0 if stays or place.startswith("CPU") else matrix_bytes
    arm = Arm(
        step=resident if stays else round_trip,
        items=2 * side**3,
        reset=rotation.restart,
        device=devices.label(place),
        inputs=rotation.inputs,
        feed=rotation.feed,
        work=Work(
            operations=2 * side**3,
            memory_bytes=3 * matrix_bytes,
            to_device_bytes=2 * sent_bytes,
            from_device_bytes=sent_bytes,
            precision="fp32",
        ),
    )
    return arm.inside(tf.device, place)
