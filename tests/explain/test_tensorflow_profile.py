"""TensorFlow's own trace of a Keras program: its operators, and the time for which it waits for a batch."""

import time

import numpy as np
import pytest

from accelbench import KerasProgram
from accelbench.core import Setting

pytestmark = pytest.mark.isolated_framework("tensorflow")
WAITED: list[float] = []


def build(wait_s: float = 0.0) -> KerasProgram:
    import keras
    import tensorflow as tf

    def wait(inputs, labels):
        WAITED.append(wait_s)
        time.sleep(wait_s)
        return inputs, labels

    inputs, labels = np.ones((64, 16), np.float32), np.arange(64) % 2
    data = tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(16)
    if wait_s:
        data = data.map(lambda *batch: tf.numpy_function(wait, batch, [tf.float32, tf.int64]))
        data = data.map(lambda inputs, labels: (tf.ensure_shape(inputs, (16, 16)), tf.ensure_shape(labels, (16,))))
    model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(2)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return KerasProgram(model=model, data=data, batches=4)


def build_slowly() -> KerasProgram:
    return build(wait_s=0.05)


def test_operators_are_counted_by_their_types_in_a_step_that_repeats_itself():
    from accelbench.explain.tensorflow_profile import profile_keras_program

    found = profile_keras_program(build, Setting(cores=2), {})
    products = [each for each in found.operators if "MatMul" in each.name]
    assert products
    assert all(each.calls % 4 == 0 for each in products)  # the step has four batches
    assert (found.items, found.batches, found.batch_size, found.most) == (64, 4, 16, 64)
    assert found.loading is not None
    assert found.outside is not None
    assert found.repeats


def test_a_slow_input_pipeline_shows_as_waiting_and_is_named():
    from accelbench.explain.tensorflow_profile import profile_keras_program

    found = profile_keras_program(build_slowly, Setting(cores=2), {})
    assert found.pipeline == ("map",)
    assert found.seconds > 4 * 0.05
    assert found.loading is not None
    assert found.loading.share > 0.5


def test_a_program_without_its_pipeline_learns_the_same():
    from accelbench.explain.parts import build_keras_without
    from accelbench.workloads.tensorflow.user_program import FitOptions

    losses, waits = [], []
    for taken_off in ("none", "input"):
        arm = build_keras_without(build_slowly, Setting(cores=2), FitOptions(), taken_off=taken_off)
        with arm.enter():
            arm.reset()
            WAITED.clear()
            losses.append(arm.step())
            waits.append(len(WAITED))
        arm.close()
    assert waits == [4, 0]
    np.testing.assert_allclose(*losses, rtol=1e-4)


@pytest.mark.parametrize(("taken_off", "learns"), [("none", True), ("update", False), ("backward+update", False)])
@pytest.mark.parametrize("eagerly", [False, True])
def test_a_program_without_its_phases_runs_and_learns_nothing(taken_off: str, learns: bool, eagerly: bool):
    from accelbench.explain.parts import build_keras_without
    from accelbench.workloads.tensorflow.user_program import FitOptions

    def build_for_debugging() -> KerasProgram:
        program = build()
        program.model.run_eagerly = eagerly
        return program

    arm = build_keras_without(build_for_debugging, Setting(cores=2), FitOptions(), taken_off=taken_off)
    with arm.enter():
        arm.reset()
        before = [np.array(each) for each in arm.parameters()]
        loss = arm.step()
        after = [np.array(each) for each in arm.parameters()]
    arm.close()
    assert loss > 0
    assert arm.ignore_output is not learns
    assert any((old != new).any() for old, new in zip(before, after, strict=True)) is learns


def count_products(taken_off: str) -> int:
    """Return the matrix products of an iteration of four batches."""
    from accelbench.explain.parts import build_keras_without
    from accelbench.explain.tensorflow_profile import _profile_step
    from accelbench.workloads.tensorflow.user_program import FitOptions

    arm = build_keras_without(build, Setting(cores=2), FitOptions(), taken_off=taken_off)
    with arm.enter():
        arm.step()
        calls = _profile_step(arm).calls
    arm.close()
    return sum(times for name, times in calls.items() if "MatMul" in name)


def test_without_the_update_a_graph_still_makes_the_gradients():
    forward, backward = 2, 3  # of two layers; the inputs need no gradient
    assert count_products("update") == count_products("none") == 4 * (forward + backward)
    assert count_products("backward+update") == 4 * forward


def build_adversaries(*, computes_with_gradients: bool = False, assigns: bool = False) -> KerasProgram:
    """Return two models that learn against each other, each with an optimizer of its own."""
    import keras
    import tensorflow as tf

    class Adversaries(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = keras.layers.Dense(4), keras.layers.Dense(1)
            self.first.build((None, 4))
            self.second.build((None, 4))

        def compile(self) -> None:
            super().compile()
            self.optimizers_of_parts = [keras.optimizers.Adam(0.1), keras.optimizers.SGD(0.1)]

        def train_step(self, data):
            for part, optimizer in zip((self.first, self.second), self.optimizers_of_parts, strict=True):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(tf.square(self.second(self.first(data))))
                gradients = tape.gradient(loss, part.trainable_weights)
                if computes_with_gradients:
                    gradients = [2 * each for each in gradients]
                optimizer.apply_gradients(zip(gradients, part.trainable_weights, strict=True))
            if assigns:
                self.first.kernel.assign_add(tf.ones_like(self.first.kernel))
            return {"loss": loss}

    model = Adversaries()
    model.compile()
    data = tf.data.Dataset.from_tensor_slices(np.ones((32, 4), np.float32)).batch(8)
    return KerasProgram(model=model, data=data, batches=4)


def build_scaled_gradients() -> KerasProgram:
    return build_adversaries(computes_with_gradients=True)


def build_assigning() -> KerasProgram:
    return build_adversaries(assigns=True)


@pytest.mark.parametrize("taken_off", ["none", "update", "backward+update"])
def test_no_optimizer_of_a_model_learns_without_the_update(taken_off: str):
    from accelbench.explain.parts import build_keras_without
    from accelbench.workloads.tensorflow.user_program import FitOptions

    arm = build_keras_without(build_adversaries, Setting(cores=2), FitOptions(), taken_off=taken_off)
    with arm.enter():
        arm.reset()
        before = [np.array(each) for each in arm.parameters()]
        arm.step()
        after = [np.array(each) for each in arm.parameters()]
    arm.close()
    assert len(before) == 4
    assert any((old != new).any() for old, new in zip(before, after, strict=True)) is (taken_off == "none")


@pytest.mark.parametrize(
    ("build_program", "taken_off", "why"),
    [
        (build_scaled_gradients, "backward+update", "train_step computes with its gradients: TypeError|ValueError"),
        (build_assigning, "update", "changes weights by other means than the optimizers"),
    ],
)
def test_a_phase_that_cannot_be_taken_off_a_train_step_says_so(build_program, taken_off: str, why: str):
    from accelbench.errors import Unavailable
    from accelbench.explain.parts import build_keras_without
    from accelbench.workloads.tensorflow.user_program import FitOptions

    arm = build_keras_without(build_program, Setting(cores=2), FitOptions(), taken_off=taken_off)
    with arm.enter(), pytest.raises(Unavailable, match=why):
        arm.step()
    arm.close()


def build_in_parallel() -> KerasProgram:
    import tensorflow as tf

    program = build()
    data = program.data.map(lambda *batch: batch, num_parallel_calls=tf.data.AUTOTUNE).prefetch(2)
    return KerasProgram(model=program.model, data=data, batches=4)


def build_of_arrays() -> KerasProgram:
    return KerasProgram(model=build().model, data=(np.ones((64, 16), np.float32), np.arange(64) % 2), batches=4)


@pytest.mark.parametrize(
    ("build_program", "pipeline"),
    [(build_in_parallel, ("parallel map", "prefetch")), (build_of_arrays, None)],
)
def test_a_profile_has_what_the_data_set_does(build_program, pipeline):
    from accelbench.explain.tensorflow_profile import profile_keras_program

    assert profile_keras_program(build_program, Setting(cores=2), {}).pipeline == pipeline


def build_from_a_generator():
    """Learn from numbers that a generator draws without a seed."""
    import tensorflow as tf

    def batches():
        rng = np.random.default_rng()
        while True:
            yield 100 * rng.random() * rng.random((16, 16), np.float32), np.arange(16) % 2

    types = (tf.TensorSpec((16, 16), tf.float64), tf.TensorSpec((16,), tf.int64))
    data = tf.data.Dataset.from_generator(batches, output_signature=types)
    return KerasProgram(model=build().model, data=data, batches=2)


def test_a_profile_says_that_a_program_does_not_repeat_itself():
    from accelbench.explain.tensorflow_profile import profile_keras_program

    assert not profile_keras_program(build_from_a_generator, Setting(), {}).repeats
