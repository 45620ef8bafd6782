"""The adapter of TensorFlow and Keras, on the CPU and every GPU that TensorFlow finds."""

from __future__ import annotations

import gc
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from harness.errors import LazyOutput, Unavailable
from harness.frameworks import host
from harness.frameworks.protocol import Device, DeviceSpan, Index, Leaf

# Before the first import: TensorFlow's C++ half says nothing but errors, and Keras computes with nothing else.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import tensorflow as tf

_ARRAYS = (tf.Tensor, tf.Variable, keras.Variable)
tf.get_logger().setLevel("ERROR")  # else it warns of every arm that is built afresh, and so traced again
_GPUS = tf.config.list_physical_devices("GPU")
for _gpu in _GPUS:
    tf.config.experimental.set_memory_growth(_gpu, True)  # else the first arm takes all memory and prices lie

# Of TensorFlow's errors these mean memory: the allocators' and XLA's own, the CUDA driver's, those of cuBLAS and cuDNN
# for their handles, and a copy to a GPU that found no room (tensorflow/tensorflow#7025). The kind alone does not tell:
# a full disk and too many open files are "resource exhausted" too.
_OUT_OF_MEMORY = (
    "oom when allocating",
    "out of memory",
    "cuda_error_out_of_memory",
    "cublas_status_alloc_failed",
    "cudnn_status_alloc_failed",
    "dst tensor is not initialized",
)


@contextmanager
def tensor_float_32(enabled: bool) -> Iterator[None]:
    """Let products and convolutions of float32 be computed in TF32, or forbid it, and put the setting back."""
    before = tf.config.experimental.tensor_float_32_execution_enabled()
    tf.config.experimental.enable_tensor_float_32_execution(enabled)
    try:
        yield
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(before)


class TensorFlow:
    """TensorFlow on the CPU and every GPU."""

    name = "tensorflow"

    def synchronize(self) -> None:
        """Wait for every device."""
        tf.test.experimental.sync_devices()

    def to_host(self, output: Any) -> list[np.ndarray]:
        """Return the tensors, variables and arrays in ``output`` on the host in float64."""
        return host.arrays(output, _to_numpy, own=_ARRAYS)

    def leaf(self, array: Any) -> Leaf | None:
        """Describe a tensor, a variable, or an array of NumPy's."""
        if not isinstance(array, _ARRAYS):
            return host.leaf(array)
        tensor = tf.convert_to_tensor(array)
        device = tensor.device.rpartition("device:")[2]
        nbytes = tensor.dtype.size * math.prod(tensor.shape)
        dtype = tensor.dtype.name
        return Leaf(
            device="cpu" if device.startswith("CPU") else device, dtype=dtype, shape=tuple(tensor.shape), nbytes=nbytes
        )

    def item(self, array: Any, index: Index) -> Any:
        """Return a copy of one item."""
        if not isinstance(array, _ARRAYS):
            return host.item(array, index)
        return tf.identity(tf.convert_to_tensor(array)[index])

    def put(self, array: Any, index: Index, values: Any) -> Any:
        """Write an item of a variable or an array in place, of a tensor into a copy."""
        if not isinstance(array, _ARRAYS):
            return host.put(array, index, values)
        changed = values
        if index != ():
            changed = tf.tensor_scatter_nd_update(tf.convert_to_tensor(array), [[index]], [values])
        if isinstance(array, tf.Tensor):
            return changed
        array.assign(changed)
        return array

    def kernels(self, run: Callable[[], object]) -> int | None:  # noqa: ARG002  nothing to count
        """Return 0 where there is no GPU; TensorFlow's profiler writes files, which nothing here reads."""
        return None if _GPUS else 0

    def device_span(self, run: Callable[[], object], *, device: str, held_s: float) -> DeviceSpan | None:  # noqa: ARG002
        """Return None: TensorFlow shows no events on its streams."""
        return None

    def compilations(self) -> int:
        """Return 0: TensorFlow tells of each function, but not over all of them, how often it was traced."""
        return 0

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Say whether the host's or a GPU's allocator ran out of memory."""
        if isinstance(error, MemoryError):
            return True
        return isinstance(error, tf.errors.OpError) and any(text in str(error).lower() for text in _OUT_OF_MEMORY)

    def reset_peak_memory(self) -> None:
        """Start a new peak on every GPU."""
        for device in self.accelerators():
            if _peak_bytes(device) is not None:
                tf.config.experimental.reset_memory_stats(device)

    def peak_memory_bytes(self) -> int | None:
        """Return the GPUs' peak; None where nothing was put on any, since the CPU counts large tensors only."""
        return sum(_peak_bytes(device) or 0 for device in self.accelerators()) or None

    def free(self) -> None:
        """Drop what only reference cycles keep alive, such as models and traced functions."""
        # Keras's clear_session would free no more, and reset the global policy under models that are still in use.
        gc.collect()

    def cache_flush(self) -> Callable[[], object]:
        """Return what does nothing where there is no GPU; of one, TensorFlow does not tell how large its cache is."""
        if _GPUS:
            raise Unavailable("the cache of a GPU cannot be flushed in TensorFlow, which does not tell how large it is")
        return lambda: None

    def wake(self) -> None:
        """Multiply and convolve on every GPU, which starts cuBLAS and cuDNN."""
        for device in self.accelerators():
            with tf.device(device):
                square = tf.ones((4, 4))
                tf.nn.conv2d((square @ square)[None, ..., None], square[..., None, None], 1, "SAME")

    def seed(self, seed: int) -> None:
        """Seed the generators of Python, NumPy, TensorFlow and Keras."""
        keras.utils.set_random_seed(seed)

    def full_float32(self) -> AbstractContextManager[None]:
        """Forbid TF32, which TensorFlow takes by default."""
        return tensor_float_32(False)

    def accelerators(self) -> tuple[str, ...]:
        """Return the GPUs that TensorFlow can use, such as ``("GPU:0",)``."""
        return tuple(f"GPU:{index}" for index in range(len(_GPUS)))

    def devices(self) -> tuple[Device, ...]:
        """Return the GPUs with their names; TensorFlow does not tell how much memory they have."""
        names = [tf.config.experimental.get_device_details(gpu).get("device_name", gpu.name) for gpu in _GPUS]
        return tuple(Device(label=label, name=name) for label, name in zip(self.accelerators(), names, strict=True))

    def describe(self) -> dict[str, str]:
        """Return versions, what TensorFlow was built for, threads, and what changes its precision."""
        build = tf.sysconfig.get_build_info()
        return {
            "tensorflow.version": tf.__version__,
            "tensorflow.built_for": _built_for(build),
            "tensorflow.cudnn": str(build.get("cudnn_version")),
            "tensorflow.architectures": " ".join(build.get("cuda_compute_capabilities", ())),
            "tensorflow.intra_op_threads": str(tf.config.threading.get_intra_op_parallelism_threads() or "default"),
            "tensorflow.inter_op_threads": str(tf.config.threading.get_inter_op_parallelism_threads() or "default"),
            "tensorflow.tf32": str(tf.config.experimental.tensor_float_32_execution_enabled()),
            "tensorflow.onednn": os.environ.get("TF_ENABLE_ONEDNN_OPTS", "default"),
            "tensorflow.xla_flags": os.environ.get("TF_XLA_FLAGS", ""),
            "keras.version": keras.__version__,
            "keras.dtype_policy": keras.config.dtype_policy().name,
        }


def _built_for(build: Mapping[str, Any]) -> str:
    if build.get("is_cuda_build"):
        return f"CUDA {build.get('cuda_version')}"
    return "ROCm" if build.get("is_rocm_build") else "CPU"


def _peak_bytes(device: str) -> int | None:
    try:
        return int(tf.config.experimental.get_memory_info(device)["peak"])
    except ValueError:  # an allocator that keeps no statistics
        return None


def _to_numpy(leaf: Any) -> np.ndarray:
    if not isinstance(leaf, tf.Tensor):
        leaf = tf.convert_to_tensor(leaf)
    if tf.is_symbolic_tensor(leaf):
        raise LazyOutput("the step returned a symbolic tensor, which has no values: nothing was computed")
    # NumPy has no bfloat16.
    return np.asarray((tf.cast(leaf, tf.float64) if leaf.dtype.is_floating else leaf).numpy())


framework = TensorFlow()
