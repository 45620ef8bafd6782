"""TensorFlow's adapter: outputs come to the host exactly, a lack of memory is told, and nothing is said unasked."""

import os
import signal
import sys
from typing import Any

import numpy as np
import pytest

from harness.errors import BadInput
from harness.frameworks import load
from harness.measuring.handle import Worker, WorkerLostError

apart = pytest.mark.apart("tensorflow")


def adapter() -> Any:
    return load("tensorflow")


@apart
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int64", "bool"])
def test_a_tensor_of_any_type_becomes_float64(dtype: str) -> None:
    import tensorflow as tf

    (array,) = adapter().to_host(tf.ones((2, 3), dtype))
    assert array.dtype == np.float64
    assert np.array_equal(array, np.ones((2, 3)))


@apart
def test_nested_outputs_come_in_their_order() -> None:
    import keras
    import tensorflow as tf

    output = {"loss": tf.constant(1.5), "rest": (2, [np.arange(2), tf.Variable([3.0]), keras.Variable([4.0])])}
    assert [array.tolist() for array in adapter().to_host(output)] == [1.5, 2, [0, 1], [3], [4]]


@apart
def test_a_later_step_cannot_change_an_output_already_taken() -> None:
    import tensorflow as tf

    weights = tf.Variable([1.0, 1.0])
    (array,) = adapter().to_host(weights)
    weights.assign([0.0, 0.0])
    assert array.tolist() == [1, 1]


@apart
def test_text_is_no_output() -> None:
    import tensorflow as tf

    with pytest.raises(BadInput, match="cannot be checked"):
        adapter().to_host(tf.constant("text"))


@apart
@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("ResourceExhaustedError", "OOM when allocating tensor with shape[1048576,1048576] and type float", True),
        ("ResourceExhaustedError", "Out of memory while trying to allocate 17179869184 bytes.", True),
        ("InternalError", "Failed copying input tensor from CPU:0 to GPU:0: Dst tensor is not initialized.", True),
        ("InternalError", "failed to create cublas handle: CUBLAS_STATUS_ALLOC_FAILED", True),
        ("ResourceExhaustedError", "/tmp/cache.index; No space left on device", False),
        ("ResourceExhaustedError", "/data/1.jpg; Too many open files", False),
        ("InvalidArgumentError", "Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]", False),
    ],
    ids=["allocator", "xla", "copy", "cublas", "disk", "files", "shapes"],
)
def test_out_of_memory_is_told_from_other_errors(kind: str, text: str, expected: bool) -> None:
    import tensorflow as tf

    assert adapter().is_out_of_memory(getattr(tf.errors, kind)(None, None, text)) is expected


@apart
def test_without_a_gpu_there_is_no_allocator_whose_peak_could_be_read() -> None:
    import tensorflow as tf

    framework = adapter()
    framework.reset_peak_memory()
    tf.zeros(10**6)
    assert framework.accelerators() or framework.peak_memory_bytes() is None


@apart
def test_freeing_drops_a_model_that_is_gone_and_leaves_one_in_use_alone() -> None:
    import weakref

    from harness.workloads.tensorflow import models
    from harness.workloads.tensorflow.trainer import KerasTrainer, global_policy

    framework = adapter()
    problem = models.dense()
    batch = problem.batch(4, np.random.default_rng(0))
    kept, dropped = (KerasTrainer(problem, seed=0) for _ in "ab")
    first = float(kept.train_on(*batch))
    dropped.train_on(*batch)
    gone = weakref.ref(dropped.model)
    with global_policy("mixed_bfloat16"):
        del dropped
        framework.free()
        assert framework.describe()["keras.dtype_policy"] == "mixed_bfloat16"
    assert gone() is None
    assert float(kept.train_on(*batch)) < first


@apart
def test_the_same_seed_draws_the_same_numbers() -> None:
    import tensorflow as tf

    framework = adapter()
    draws = []
    for _ in "ab":
        framework.seed(7)
        draws.append((tf.random.normal((3,)).numpy().tolist(), np.random.random()))  # noqa: NPY002  what is seeded
    assert draws[0] == draws[1]


@apart
def test_without_a_gpu_there_is_no_accelerator() -> None:
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):
        pytest.skip("there is a GPU")
    framework = adapter()
    framework.synchronize()
    assert framework.accelerators() == framework.devices() == ()


@apart
def test_the_description_names_what_changes_speed() -> None:
    import keras
    import tensorflow as tf

    facts = adapter().describe()
    assert facts["tensorflow.version"] == tf.__version__
    assert facts["keras.version"] == keras.__version__
    assert {"tensorflow.built_for", "tensorflow.tf32", "tensorflow.intra_op_threads"} <= facts.keys()
    assert all(isinstance(value, str) for value in facts.values())


@apart
def test_float32_is_full_while_it_is_asked_for_and_says_so() -> None:
    before = adapter().describe()["tensorflow.tf32"]
    with adapter().full_float32():
        assert adapter().describe()["tensorflow.tf32"] == "False"
    assert adapter().describe()["tensorflow.tf32"] == before


def test_a_worker_that_dies_is_not_quoted_with_what_tensorflow_said_when_it_loaded() -> None:
    worker = Worker("tensorflow", {})
    try:
        _, facts = worker.ask("describe")
        assert "tensorflow.version" in facts
        os.kill(worker.pid, signal.SIGKILL)
        with pytest.raises(WorkerLostError) as lost:
            worker.ask("describe")
    finally:
        worker.close()
    assert "\n" not in str(lost.value)
    assert str(lost.value).endswith(("before it took the order", "during 'starting'"))
    assert "tensorflow" not in sys.modules
