"""A Keras program of a user's own: calls of Model.fit are its iterations, which techniques switch."""

import gc
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import accelbench.techniques  # noqa: F401  fills the catalogue
from accelbench import Arm, KerasProgram, Setting, keras_program
from accelbench.core import apply_all, find_technique
from accelbench.core.verification import relative_error
from accelbench.errors import BadInput, Unavailable
from accelbench.frameworks import load

pytestmark = pytest.mark.isolated_framework("tensorflow")
FILES, SIDE = 20, 16


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of JPEG files whose names begin with their classes."""
    made = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(0)
    for number in range(FILES):
        pixels = rng.integers(256, size=(SIDE, SIDE, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(made / f"{number % 2}-{number:02}.jpg")
    return made


def compiled(layers: Sequence[Any]) -> Any:
    import keras

    model = keras.Sequential([*layers, keras.layers.Dense(2, use_bias=False, dtype="float32")])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model


def on_files(folder: Path, **changes: Any) -> Callable[[], KerasProgram]:
    """Return the builder of a network with augmentation and dropout that learns from shuffled JPEG files."""

    def build() -> KerasProgram:
        """Tell images of noise apart."""
        import keras
        import tensorflow as tf
        from keras import layers

        files = sorted(map(str, folder.iterdir()))
        flip = layers.RandomFlip()

        def decode(file: Any, label: Any) -> tuple[Any, Any]:
            pixels = tf.image.random_brightness(tf.io.decode_jpeg(tf.io.read_file(file)), 0.2)
            return flip(tf.cast(pixels, tf.float32), training=True), label

        labels = [int(Path(file).name[0]) for file in files]
        data = tf.data.Dataset.from_tensor_slices((files, labels)).shuffle(FILES).map(decode).batch(4)
        shape = keras.Input((SIDE, SIDE, 3))
        model = compiled(
            [
                shape,
                layers.RandomFlip("horizontal"),
                layers.Conv2D(4, 3, use_bias=False),
                layers.BatchNormalization(),
                layers.Flatten(),
                layers.Dropout(0.5),
            ]
        )
        return replace(KerasProgram(model=model, data=data, batches=3), **changes)

    return build


def on_arrays(**changes: Any) -> Callable[[], KerasProgram]:
    """Return the builder of a program that learns from NumPy arrays."""

    def build() -> KerasProgram:
        import keras

        rng = np.random.default_rng(0)
        rows = rng.random((50, 6), dtype=np.float32), rng.integers(2, size=50)
        model = compiled([keras.Input((6,)), keras.layers.Dense(8)])
        return replace(KerasProgram(model=model, data=rows, batch_size=8, batches=3), **changes)

    return build


def on_python_batches(
    *, learns: bool = True, workers: int = 1, batches_of: int = 8, batches: int | None = 3
) -> Callable[[], KerasProgram]:
    """Return the builder of a program whose batches of ``batches_of`` rows a ``keras.utils.PyDataset`` makes."""

    def build() -> KerasProgram:
        import keras

        class Rows(keras.utils.PyDataset):
            def __init__(self, data: "Any", size: int, workers: int) -> None:
                super().__init__(workers=workers)
                self.data, self.size = data, size

            def __len__(self) -> int:
                return -(-len(self.data[1]) // self.size) if self.size else 0

            def __getitem__(self, number: int) -> "Any":
                return tuple(part[number * self.size :][: self.size] for part in self.data)

        program = on_arrays(learns=learns)()
        return replace(program, data=Rows(program.data, batches_of, workers), batch_size=None, batches=batches)

    return build


def with_own_step(*, is_called: bool) -> Callable[[], KerasProgram]:
    """Return the builder of two networks that learn in turn by optimizers of their own, as those of a GAN do.

    Their model has no ``call`` unless it ``is_called``.
    """

    def build() -> KerasProgram:
        import keras
        import tensorflow as tf

        class Adversaries(keras.Model):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                rows, dense = keras.Input((6,)), partial(keras.layers.Dense, use_bias=False)
                self.judge = keras.Sequential([rows, dense(8), keras.layers.Dropout(0.5), dense(1)])
                self.maker = keras.Sequential([rows, dense(6)])
                self.seed = keras.random.SeedGenerator(1)
                self.mean = keras.metrics.Mean(name="loss")

            @property
            def metrics(self) -> "list[Any]":
                return [self.mean]

            def compile(self) -> None:
                super().compile()
                self.optimizers = [keras.optimizers.Adam(1e-2), keras.optimizers.Adam(1e-2)]

            def train_step(self, rows: "Any") -> "dict[str, Any]":
                with tf.GradientTape(persistent=True) as tape:
                    made = self.maker(keras.random.normal(keras.ops.shape(rows), seed=self.seed))
                    judged = keras.ops.mean(self.judge(made, training=True))
                    loss = keras.ops.mean(keras.ops.softplus(self.judge(rows, training=True) - judged))
                    losses = loss, -judged
                for optimizer, part, aim in zip(self.optimizers, (self.judge, self.maker), losses, strict=True):
                    optimizer.apply_gradients(
                        zip(tape.gradient(aim, part.trainable_weights), part.trainable_weights, strict=True)
                    )
                self.mean.update_state(loss)
                return {"loss": self.mean.result()}

        class Judging(Adversaries):
            def call(self, rows: "Any") -> "Any":
                return self.judge(rows)

        model = Judging() if is_called else Adversaries()
        model.compile()
        rows = np.random.default_rng(0).random((48, 6), dtype=np.float32)
        return KerasProgram(model=model, data=rows, batch_size=8, batches=3)

    return build


def arm_of(build: Callable[[], Any], setting: Setting | None = None, **options: Any) -> Arm:
    load("tensorflow").seed(0)
    return keras_program(build).build(setting or Setting(), **options)


def output_of(arm: Arm) -> list[np.ndarray]:
    arm.reset()
    return load("tensorflow").to_host(arm.step())


def test_xla_is_refused_for_a_layer_within_a_layer_that_it_cannot_compile() -> None:
    def build() -> KerasProgram:
        import keras

        augment = keras.Sequential([keras.layers.GaussianNoise(0.1)])
        augment.layers[0].supports_jit = False
        made = on_arrays()()
        return replace(made, model=compiled([keras.Input((6,)), augment]))

    with pytest.raises(Unavailable, match="XLA cannot compile a layer of the program's model"):
        arm_of(build, loop="xla")


@pytest.mark.parametrize("is_called", [True, False])
def test_a_model_with_its_own_step_and_optimizers_repeats_itself_after_a_reset(is_called: bool) -> None:
    arm = arm_of(with_own_step(is_called=is_called))
    first = output_of(arm)
    assert (arm.items, arm.ignore_output) == (24, False)
    assert relative_error(load("tensorflow").to_host(arm.step()), first) > 1e-3  # it has learnt
    assert relative_error(output_of(arm), first) == 0


def test_shuffling_augmentation_and_dropout_repeat_after_a_reset(folder: Path) -> None:
    arm = arm_of(on_files(folder))
    first = output_of(arm)
    assert (arm.items, arm.ignore_output) == (12, False)
    assert relative_error(load("tensorflow").to_host(arm.step()), first) > 1e-3  # it has learnt
    assert relative_error(output_of(arm), first) == 0
    assert arm.reseed is not None
    arm.reseed(1)
    assert relative_error(output_of(arm), first) > 1e-3
    arm.reseed(0)
    assert relative_error(output_of(arm), first) == 0


def test_techniques_compute_the_same_with_their_settings(folder: Path) -> None:
    setting = Setting(items=12)
    for build, switched in (
        (on_files(folder), [("steps_per_execution", "8")]),
        (on_arrays(), [("mixed_precision", "mixed_bfloat16"), ("xla", "jit-compile")]),
    ):
        plain = arm_of(build, setting)
        usual = output_of(plain)
        for name, level in switched:
            technique = find_technique("tensorflow", name)
            arm = apply_all([(technique, level)], lambda **options: arm_of(build, setting, **options))  # noqa: B023
            assert arm.items == plain.items
            assert relative_error(output_of(arm), usual) < technique.tolerance_at(level), name


def test_settings_reach_the_model_and_its_data(folder: Path) -> None:
    from accelbench.workloads.tensorflow.model_fit import FittedProgram
    from accelbench.workloads.tensorflow.user_program import FitOptions

    fitted = FittedProgram(
        on_files(folder), seed=0, dtype_policy="mixed_float16", jit_compile=True, steps_per_execution=8
    )
    model = fitted.model
    assert (model.layers[1].compute_dtype, model.jit_compile, model.steps_per_execution) == ("float16", True, 8)
    assert type(model.optimizer).__name__ == "LossScaleOptimizer"
    taken = fitted.take(2, 1, FitOptions(batch_size=6, prefetch=1, data_threads=1, deterministic=False))
    options = taken.data.options()
    assert (taken.steps, taken.items, [len(labels) for _, labels in taken.data]) == (1, 6, [6])
    assert (options.threading.private_threadpool_size, options.deterministic) == (1, False)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"log_interval": 10}, "Model.fit reads the loss by itself"),
        ({"data_location": "round-trip"}, "Model.fit brings the batches from the host's memory"),
        ({"loop": "eager"}, "Model.fit is the loop of a Keras program"),
        ({"prefetch": 1}, "Keras makes the pipeline of the program's arrays by itself: return a tf.data.Dataset to"),
        ({"batch_size": 64}, "an epoch has 50 items here, too few for a batch of 64"),
        ({"batch_size": 8}, "the program has this already"),
        ({"dtype_policy": "float32"}, "the program has this already"),
        ({"loop": "function"}, "the program has this already"),
        ({"steps_per_execution": 1}, "the program has this already"),
    ],
)
def test_an_option_that_changes_nothing_or_cannot_apply_is_unavailable(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Unavailable, match=sentence):
        arm_of(on_arrays(), Setting(only_check=True), **options)


def test_the_programs_own_numbers_are_told_where_options_are_checked() -> None:
    assert arm_of(on_arrays(), Setting(only_check=True)).own_numbers == {"batch_size": 8, "steps_per_execution": 1}


def test_a_model_that_does_not_follow_the_dtype_policy_is_unavailable() -> None:
    program = on_arrays()()
    with pytest.raises(Unavailable, match="has the dtype policy float32 under Keras's global policy mixed_bfloat16"):
        arm_of(lambda: program, dtype_policy="mixed_bfloat16")


def test_a_batch_size_is_written_where_the_program_has_one(folder: Path) -> None:
    known = Setting(items=12)
    sizes = [arm_of(on_arrays(learns=learns), known).recipes["batch_size"]["*"] for learns in (True, False)]
    assert sizes == ["model.fit(x, y, batch_size={level})", "model.predict(x, batch_size={level})"]
    assert arm_of(on_files(folder), known).recipes == {}  # the technique's own is that of a data set


def test_arrays_are_learnt_in_batches_of_another_size_and_predicted() -> None:
    known = Setting(items=24)
    assert [arm_of(on_arrays(), known, batch_size=size).items for size in (4, 32)] == [24, 32]
    arm = arm_of(on_arrays(learns=False), known)
    assert [output.shape for output in output_of(arm)] == [(24, 2)]


@pytest.mark.parametrize(("learns", "numbers_of_workers"), [(True, (1, 2)), (False, (1,))])
def test_batches_that_python_makes_are_learnt_and_predicted(learns: bool, numbers_of_workers: tuple[int, ...]) -> None:
    of_arrays = output_of(arm_of(on_arrays(learns=learns, fit={"shuffle": False}), Setting(items=24)))
    for workers in numbers_of_workers:
        arm = arm_of(on_python_batches(learns=learns, workers=workers))
        assert arm.items == 24  # three batches
        output = output_of(arm)
        assert output[0].shape == ((1,) if learns else (24, 2))
        assert relative_error(output_of(arm), output) < 1e-6
        assert relative_error(output, of_arrays) < 1e-4
        whole = on_python_batches(learns=learns, workers=workers, batches=None)
        assert arm_of(whole, Setting(items=100)).items == 100  # two epochs of 50 items, in batches of 8


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"batch_size": 4}, "the program's PyDataset makes its batches by itself"),
        ({"prefetch": 1}, "Keras makes the pipeline of the program's PyDataset by itself: return a tf.data.Dataset"),
    ],
)
def test_what_python_makes_is_not_changed_by_a_pipeline(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Unavailable, match=sentence):
        arm_of(on_python_batches(), Setting(only_check=True), **options)


def test_a_data_set_without_batches_is_refused_in_a_sentence() -> None:
    with pytest.raises(BadInput, match="the program's PyDataset has no batch; expected at least one"):
        arm_of(on_python_batches(batches_of=0))


@pytest.mark.parametrize("learns", [True, False])
def test_iterators_are_deleted_when_a_block_is_over(learns: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    from accelbench.workloads.tensorflow.iterators import HeldIterators

    made: list[weakref.ref[Any]] = []
    hold = HeldIterators._hold  # noqa: SLF001

    def note(iterators: HeldIterators, iterator: Any) -> None:
        made.append(weakref.ref(iterator))
        hold(iterators, iterator)

    monkeypatch.setattr(HeldIterators, "_hold", note)
    arm = arm_of(on_arrays(learns=learns))
    with arm.enter():
        arm.step()
        gc.collect()
        assert any(iterator() is not None for iterator in made)
    gc.collect()
    assert all(iterator() is None for iterator in made)


def test_later_visits_keep_the_items_of_the_first_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from accelbench.workloads.tensorflow import model_fit

    def take_a_hundredth_for_a_batch(_: object, batches: int, epochs: int, *__: object) -> float:
        return 0.01 * batches * epochs

    monkeypatch.setattr(model_fit.FittedProgram, "_time_s", take_a_hundredth_for_a_batch)
    build = on_arrays(batches=None)
    first = arm_of(build)
    assert first.items % 50 == 0  # whole epochs
    assert arm_of(build, Setting(items=150)).items == 150
    assert arm_of(build, Setting(items=24)).items == 24
    assert arm_of(build, Setting(items=24, compares_outputs=False)).ignore_output


def test_a_program_that_never_repeats_is_not_compared_and_says_so() -> None:
    calls = count()

    def build() -> KerasProgram:
        import keras
        import tensorflow as tf

        def add_noise(inputs):  # other numbers in every call, which no seed brings back
            noise = tf.py_function(lambda: np.full(6, next(calls), np.float32), [], tf.float32)
            return inputs + tf.ensure_shape(noise, (6,))

        layers = [keras.Input((6,)), keras.layers.Lambda(add_noise), keras.layers.Dense(8)]
        return replace(on_arrays()(), model=compiled(layers))

    arm = arm_of(build)
    assert arm.ignore_output
    assert [remark.code for remark in arm.remarks] == ["program-differs"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"model": len}, "the program's model is a builtin_function_or_method; expected a keras.Model"),
        ({"data": 7}, "the program's data are of type int; expected a tf.data.Dataset of batches, a keras.utils"),
        ({"fit": {"epochs": 3}}, "the program's fit has 'epochs'; expected callbacks, class_weight and shuffle"),
        ({"batches": 0}, "the program has batches=0; expected a number above 0, or None"),
    ],
)
def test_what_is_no_program_is_refused_in_a_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        arm_of(on_arrays(**changes))


def test_a_model_that_every_call_returns_is_refused() -> None:
    program, setting = on_arrays()(), Setting(items=12)
    arm_of(lambda: program, setting)
    with pytest.raises(BadInput, match=r"returned the same model twice.*: make the model and its optimizer inside"):
        arm_of(lambda: program, setting)


def test_what_cannot_be_fitted_is_refused_in_a_sentence() -> None:
    import keras
    import tensorflow as tf

    with pytest.raises(BadInput, match="the function returned an int; expected an accelbench"):
        arm_of(lambda: 7)
    with pytest.raises(BadInput, match="the program's model is not compiled"):
        arm_of(on_arrays(model=keras.Sequential([keras.Input((6,))])))
    single = tf.data.Dataset.range(3)
    with pytest.raises(BadInput, match=r"the program's data set yields single items; expected batches"):
        arm_of(on_arrays(data=single, batch_size=None))
    with pytest.raises(BadInput, match="the program's arrays have 3 and 50 items; expected one number above 0"):
        arm_of(on_arrays(data=(np.zeros((50, 6)), np.zeros(3))))
