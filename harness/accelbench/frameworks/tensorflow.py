"""The adapter of TensorFlow and Keras, on the CPU and every GPU that TensorFlow finds."""

from __future__ import annotations

import gc
import math
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import numpy as np

from accelbench.errors import LazyOutput, Unavailable
from accelbench.frameworks import host
from accelbench.frameworks.cuda_driver import open_gpus
from accelbench.frameworks.host import ArrayInfo, Index
from accelbench.frameworks.protocol import Device, Framework, Switch

# Set before the first import: TensorFlow's C++ code logs errors only, and Keras computes with TensorFlow.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import tensorflow as tf

_ARRAYS = (tf.Tensor, tf.Variable, keras.Variable)
tf.get_logger().setLevel("ERROR")  # else it warns of every arm that is rebuilt, and so traced again
_GPUS = tf.config.list_physical_devices("GPU")
for _gpu in _GPUS:
    with suppress(RuntimeError):  # a user's own process may have initialised the GPU already
        tf.config.experimental.set_memory_growth(_gpu, True)  # else the first arm takes all memory, and peaks are wrong

# Errors that mean memory: of the allocators and XLA, the CUDA driver, cuBLAS and cuDNN when they make their handles,
# and of a copy to a full GPU (tensorflow/tensorflow#7025). The exception's type is not enough: a full disk and too many
# open files are "resource exhausted" too.
_OUT_OF_MEMORY = (
    "oom when allocating",
    "out of memory",
    "cuda_error_out_of_memory",
    "cublas_status_alloc_failed",
    "cudnn_status_alloc_failed",
    "dst tensor is not initialized",
)

# Errors of kernels that count elements with 32 bits: of a bias (tensorflow/tensorflow#8471), of the size of a tensor
# (tensorflow/tensorflow#23107).
_TOO_LARGE = ("tensor size <= int32 max", "larger than representable by 32-bit output type")


@contextmanager
def tensor_float_32_restored() -> Iterator[None]:
    """Allow or forbid TF32 at the end of the context as before it."""
    before = tf.config.experimental.tensor_float_32_execution_enabled()
    try:
        yield
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(before)


@contextmanager
def tensor_float_32(enabled: bool) -> Iterator[None]:
    """Allow TF32 for products and convolutions of float32, or forbid it, within the context."""
    with tensor_float_32_restored():
        tf.config.experimental.enable_tensor_float_32_execution(enabled)
        yield


class TensorFlow(Framework):
    """TensorFlow on the CPU and every GPU.

    It shows no events on its streams, does not count over all functions how often it traced them, and its profiler
    writes files, which nothing here reads.
    """

    name = "tensorflow"

    def synchronize(self) -> None:
        """Wait for every device; TensorFlow itself opens every GPU that it sees."""
        tf.test.experimental.sync_devices()

    def to_host(self, output: Any) -> list[np.ndarray]:
        """Return the tensors, variables, arrays and values in ``output`` on the host, numbers in float64."""
        return host.arrays(output, _to_numpy, own=(*_ARRAYS, tf.RaggedTensor, tf.SparseTensor))

    def array_info(self, array: Any) -> ArrayInfo | None:
        """Describe a tensor, a variable, or a NumPy array."""
        if not isinstance(array, _ARRAYS):
            return host.array_info(array)
        tensor = tf.convert_to_tensor(array)
        device = tensor.device.rpartition("device:")[2]
        nbytes = tensor.dtype.size * math.prod(tensor.shape)
        dtype = tensor.dtype.name
        return ArrayInfo(
            device="cpu" if device.startswith("CPU") else device, dtype=dtype, shape=tuple(tensor.shape), nbytes=nbytes
        )

    def item(self, array: Any, index: Index) -> Any:
        """Return a copy of one item."""
        if not isinstance(array, _ARRAYS):
            return host.item(array, index)
        return tf.identity(tf.convert_to_tensor(array)[index])

    def put(self, array: Any, index: Index, values: Any) -> Any:
        """Write an item in place, or into a copy of a tensor, which cannot be changed."""
        if not isinstance(array, _ARRAYS):
            return host.put(array, index, values)
        changed = values
        if index != ():
            changed = tf.tensor_scatter_nd_update(tf.convert_to_tensor(array), [[index]], [values])
        if isinstance(array, tf.Tensor):
            return changed
        array.assign(changed)
        return array

    def roll(self, array: Any, shift: int, axis: int) -> Any:
        """Return a copy of a tensor, a variable or an array whose elements are moved along an axis."""
        if not isinstance(array, _ARRAYS):
            return super().roll(array, shift, axis)
        return tf.roll(tf.convert_to_tensor(array), shift, axis)

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Return whether the host's or a GPU's allocator ran out of memory."""
        if isinstance(error, MemoryError):
            return True
        return isinstance(error, tf.errors.OpError) and any(text in str(error).lower() for text in _OUT_OF_MEMORY)

    def is_too_large(self, error: BaseException, *, smaller_ran: bool) -> bool:  # noqa: ARG002  no message is ambiguous
        """Return whether a kernel cannot count the elements of a tensor."""
        return isinstance(error, tf.errors.OpError) and any(text in str(error) for text in _TOO_LARGE)

    def reset_peak_memory(self) -> None:
        """Start a new peak on every GPU."""
        for device in self.accelerators():
            if _peak_bytes(device) is not None:
                tf.config.experimental.reset_memory_stats(device)

    def peak_memory_bytes(self) -> int | None:
        """Return the sum of the GPUs' peaks; None if nothing was put on any."""
        return sum(_peak_bytes(device) or 0 for device in self.accelerators()) or None

    def empty_cache(self) -> None:
        """Drop unreachable cycles, such as models and traced functions."""
        # Keras's clear_session frees no more, and would reset the global policy of models that are still in use.
        gc.collect()

    def cache_flush(self) -> Callable[[], object]:
        """Return a function that does nothing without a GPU; TensorFlow does not show the size of a GPU's cache."""
        if _GPUS:
            raise Unavailable("the cache of a GPU cannot be flushed in TensorFlow, which does not tell how large it is")
        return lambda: None

    def warm_up(self, devices: Collection[str]) -> None:
        """Multiply and convolve on these GPUs, which initialises cuBLAS and cuDNN."""
        for device in devices:
            with tf.device(device):
                square = tf.ones((4, 4))
                tf.nn.conv2d((square @ square)[None, ..., None], square[..., None, None], 1, "SAME")

    def seed(self, seed: int) -> None:
        """Seed the generators of Python, NumPy, TensorFlow and Keras."""
        keras.utils.set_random_seed(seed)

    def disable_tf32(self) -> AbstractContextManager[None]:
        """Forbid TF32, which TensorFlow uses by default."""
        return tensor_float_32(False)

    def precision_restored(self) -> AbstractContextManager[None]:
        """Put the switch of TF32 back."""
        return tensor_float_32_restored()

    def switches(self) -> Mapping[str, Switch]:
        """Return the settings of precision, placement and compilation that hold for the whole process."""
        return _SWITCHES

    def namespaces(self) -> Mapping[str, Any]:
        """Return the modules and classes of which most models consist."""
        return {"tf": tf, "tf.linalg": tf.linalg, "tf.math": tf.math, "tf.nn": tf.nn, "keras.Model": keras.Model}

    def accelerators(self) -> tuple[str, ...]:
        """Return the GPUs that TensorFlow can use, such as ``("GPU:0",)``."""
        return tuple(f"GPU:{index}" for index in range(len(_GPUS)))

    def gpu_uuids(self) -> Mapping[str, str]:
        """Return the UUIDs of the GPUs; none if TensorFlow leaves out a GPU that CUDA shows, such as a slow one."""
        opened = open_gpus("GPU") if _GPUS else {}
        return opened if opened.keys() == {*self.accelerators()} else {}

    def devices(self) -> tuple[Device, ...]:
        """Return the GPUs with their names; TensorFlow does not show the size of their memory."""
        names = [tf.config.experimental.get_device_details(gpu).get("device_name", gpu.name) for gpu in _GPUS]
        return tuple(Device(label=label, name=name) for label, name in zip(self.accelerators(), names, strict=True))

    def describe(self) -> dict[str, str]:
        """Return versions, the platform TensorFlow was built for, threads, and the settings of precision."""
        build = tf.sysconfig.get_build_info()
        return {
            "tensorflow.version": tf.__version__,
            "tensorflow.built_for": _build_target(build),
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


def _build_target(build: Mapping[str, Any]) -> str:
    if build.get("is_cuda_build"):
        return f"CUDA {build.get('cuda_version')}"
    return "ROCm" if build.get("is_rocm_build") else "CPU"


def _peak_bytes(device: str) -> int | None:
    try:
        return int(tf.config.experimental.get_memory_info(device)["peak"])
    except ValueError:  # an allocator that keeps no statistics
        return None


def _to_numpy(leaf: Any) -> np.ndarray:
    if isinstance(leaf, tf.RaggedTensor):
        leaf = leaf.to_tensor()
    elif isinstance(leaf, tf.SparseTensor):
        leaf = tf.sparse.to_dense(leaf)
    elif not isinstance(leaf, tf.Tensor):
        leaf = tf.convert_to_tensor(leaf)
    if tf.is_symbolic_tensor(leaf):
        raise LazyOutput("the step returned a symbolic tensor, which has no values: nothing was computed")
    # NumPy has no bfloat16.
    return np.asarray((tf.cast(leaf, tf.float64) if leaf.dtype.is_floating else leaf).numpy())


_SWITCHES = {
    "tf.config.experimental.tensor_float_32_execution_enabled()": Switch(
        read=tf.config.experimental.tensor_float_32_execution_enabled,
        write=tf.config.experimental.enable_tensor_float_32_execution,
    ),
    "tf.config.functions_run_eagerly()": Switch(
        read=tf.config.functions_run_eagerly, write=tf.config.run_functions_eagerly
    ),
    "tf.config.get_soft_device_placement()": Switch(
        read=tf.config.get_soft_device_placement, write=tf.config.set_soft_device_placement
    ),
    "tf.config.optimizer.get_jit()": Switch(
        read=tf.config.optimizer.get_jit, write=lambda wanted: tf.config.optimizer.set_jit(wanted or False)
    ),
    "tf.config.optimizer.get_experimental_options()": Switch(
        read=tf.config.optimizer.get_experimental_options, write=tf.config.optimizer.set_experimental_options
    ),
    "keras.config.floatx()": Switch(read=keras.config.floatx, write=keras.config.set_floatx),
    "keras.config.image_data_format()": Switch(
        read=keras.config.image_data_format, write=keras.config.set_image_data_format
    ),
    "keras.config.dtype_policy()": Switch(
        read=lambda: keras.config.dtype_policy().name, write=keras.config.set_dtype_policy
    ),
}
framework = TensorFlow()
