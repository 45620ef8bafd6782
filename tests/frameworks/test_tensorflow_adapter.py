"""TensorFlow's adapter: outputs come to the host exactly, a lack of memory is told, and nothing is said unasked."""

import os
import signal
import sys
from typing import Any

import numpy as np
import pytest

from accelbench.frameworks import load
from accelbench.measuring.workers.process import Worker, WorkerLostError

isolated = pytest.mark.isolated_framework("tensorflow")


def adapter() -> Any:
    return load("tensorflow")


@isolated
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int64", "bool"])
def test_a_tensor_of_any_type_becomes_float64(dtype: str) -> None:
    import tensorflow as tf

    (array,) = adapter().to_host(tf.ones((2, 3), dtype))
    assert array.dtype == np.float64
    assert np.array_equal(array, np.ones((2, 3)))


@isolated
def test_nested_outputs_come_in_their_order() -> None:
    import keras
    import tensorflow as tf

    output = {"loss": tf.constant(1.5), "rest": (2, [np.arange(2), tf.Variable([3.0]), keras.Variable([4.0])])}
    assert [array.tolist() for array in adapter().to_host(output)] == [1.5, 2, [0, 1], [3], [4]]


@isolated
def test_a_later_step_cannot_change_an_output_already_taken() -> None:
    import tensorflow as tf

    weights = tf.Variable([1.0, 1.0])
    (array,) = adapter().to_host(weights)
    weights.assign([0.0, 0.0])
    assert array.tolist() == [1, 1]


@isolated
def test_ragged_and_sparse_tensors_are_written_out() -> None:
    import tensorflow as tf

    ragged, sparse = tf.ragged.constant([[1.0], [2.0, 3.0]]), tf.sparse.from_dense(tf.constant([[0.0, 4.0]]))
    assert [array.tolist() for array in adapter().to_host((ragged, sparse))] == [[[1, 0], [2, 3]], [[0, 4]]]


@isolated
def test_text_is_compared_as_it_is() -> None:
    import tensorflow as tf

    (text,) = adapter().to_host(tf.constant("text"))
    assert text.item() == b"text"


@isolated
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


@isolated
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BiasGrad requires tensor size <= int32 max", True),
        ("Number of elements was larger than representable by 32-bit output type", True),
        ("Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]", False),
    ],
)
def test_tensors_that_a_kernel_cannot_count_are_recognised(text: str, expected: bool) -> None:
    import tensorflow as tf

    error = tf.errors.InvalidArgumentError(None, None, text)
    assert adapter().is_too_large(error, smaller_ran=True) is expected


@isolated
@pytest.mark.parametrize(("seen", "known"), [(2, {"GPU:0": "8a1f", "GPU:1": "77b0"}), (1, {}), (0, {})])
def test_gpus_are_matched_with_cudas_where_tensorflow_takes_all_of_them(
    seen: int, known: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from accelbench.frameworks import tensorflow as module

    monkeypatch.setattr(module, "_GPUS", ["a GPU"] * seen)
    monkeypatch.setattr(module, "open_gpus", lambda kind: {f"{kind}:0": "8a1f", f"{kind}:1": "77b0"})
    assert adapter().gpu_uuids() == known
    assert adapter().current_accelerator() == ("GPU:0" if seen else None)


@isolated
def test_a_program_that_switches_tf32_is_put_back() -> None:
    import tensorflow as tf

    switch = tf.config.experimental
    before = switch.tensor_float_32_execution_enabled()
    with adapter().precision_restored():
        switch.enable_tensor_float_32_execution(not before)
    assert switch.tensor_float_32_execution_enabled() is before


@isolated
def test_without_a_gpu_there_is_no_allocator_whose_peak_could_be_read() -> None:
    import tensorflow as tf

    framework = adapter()
    framework.reset_peak_memory()
    tf.zeros(10**6)
    assert framework.accelerators() or framework.peak_memory_bytes() is None


@isolated
def test_freeing_drops_a_model_that_is_gone_and_leaves_one_in_use_alone() -> None:
    import weakref

    from accelbench.workloads.tensorflow import models
    from accelbench.workloads.tensorflow.training_step import KerasTrainer, global_policy

    framework = adapter()
    problem = models.dense()
    batch = problem.batch(4, np.random.default_rng(0))
    kept, dropped = (KerasTrainer(problem, seed=0) for _ in "ab")
    first = float(kept.train_on(*batch))
    dropped.train_on(*batch)
    gone = weakref.ref(dropped.model)
    with global_policy("mixed_bfloat16"):
        del dropped
        framework.empty_cache()
        assert framework.describe()["keras.dtype_policy"] == "mixed_bfloat16"
    assert gone() is None
    assert float(kept.train_on(*batch)) < first


@isolated
def test_the_same_seed_draws_the_same_numbers() -> None:
    import tensorflow as tf

    framework = adapter()
    draws = []
    for _ in "ab":
        framework.seed(7)
        draws.append((tf.random.normal((3,)).numpy().tolist(), np.random.random()))  # noqa: NPY002  what is seeded
    assert draws[0] == draws[1]


@isolated
def test_without_a_gpu_there_is_no_accelerator() -> None:
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):
        pytest.skip("there is a GPU")
    framework = adapter()
    framework.synchronize()
    assert framework.accelerators() == framework.devices() == ()


@isolated
def test_the_description_names_what_changes_speed() -> None:
    import keras
    import tensorflow as tf

    facts = adapter().describe()
    assert facts["tensorflow.version"] == tf.__version__
    assert facts["keras.version"] == keras.__version__
    assert {"tensorflow.built_for", "tensorflow.tf32", "tensorflow.intra_op_threads"} <= facts.keys()
    assert all(isinstance(value, str) for value in facts.values())


@isolated
def test_float32_is_full_while_it_is_asked_for_and_says_so() -> None:
    before = adapter().describe()["tensorflow.tf32"]
    with adapter().disable_tf32():
        assert adapter().describe()["tensorflow.tf32"] == "False"
    assert adapter().describe()["tensorflow.tf32"] == before


@pytest.mark.slow
def test_a_worker_that_dies_is_not_quoted_with_what_tensorflow_said_when_it_loaded() -> None:
    is_loaded = "tensorflow" in sys.modules  # by another test of this process
    worker = Worker("tensorflow", {})
    try:
        _, facts, _ = worker.ask("describe")
        assert "tensorflow.version" in facts
        os.kill(worker.pid, signal.SIGKILL)
        with pytest.raises(WorkerLostError) as lost:
            worker.ask("describe")
    finally:
        worker.close()
    assert "\n" not in str(lost.value)
    assert str(lost.value).endswith(("before it took the order", "during 'starting'"))
    assert ("tensorflow" in sys.modules) == is_loaded
