"""What can be switched in TensorFlow and Keras, and in a tf.data pipeline."""

from __future__ import annotations

from typing import Any

from accelbench.core import Arm, Build, technique
from accelbench.techniques.shared import devices_on, threads_here


# A user's program may compute in TF32, which keeps three bits more than bfloat16 and so an eighth of its error.
@technique(
    "tensorflow",
    group="device",
    aliases=("GPU", "CUDA", "tf.device"),
    kind="device",
    levels=devices_on,
    tolerance={"*": 1e-2},
    snippet={"*": 'with tf.device("{level}"):'},
)
def device(build: Build, level: str) -> Arm:
    """The CPU or a GPU."""
    if level == "accelerator":
        from accelbench.workloads.tensorflow import devices  # here, because pytest's own process imports no framework

        level = devices.accelerator()
    return build(device=level)


# Measured on a Xeon with AMX, at small and usual sizes of the training workloads, ten seeds each, two of ResNet-50: at
# most 2.0e-2 in bfloat16 and 1.1e-2 in float16. Training amplifies rounding, so that the eight steps of one image each
# in ladder-training-keras reach 8.7e-2 and 3.4e-2. A batch that is left out of an epoch costs at least 1.5e-1. Two
# cases may exceed the tolerance: the bias of two classes in tf-image-training, which nearly cancels (1.5e-1 and
# 4.9e-2), and ResNet-50 in float16, whose first steps overflow and teach it nothing.
@technique(
    "tensorflow",
    often_pays=True,
    group="precision",
    aliases=("autocast", "half precision", "dtype policy", "set_global_policy", "bfloat16"),
    levels=("float32", "mixed_bfloat16", "mixed_float16"),
    tolerance={"mixed_bfloat16": 1e-1, "mixed_float16": 5e-2},
    snippet={"*": 'keras.mixed_precision.set_global_policy("{level}")'},
)
def mixed_precision(build: Build, level: str) -> Arm:
    """Keras's dtype policies: layers compute in 16 bits and keep their weights in 32, and float16 scales the loss."""
    return build(dtype_policy=level)


# Measured on a CPU after eight steps, ten seeds: at most 1e-6, but 1.1e-4 where XLA's rounding carried one unit across
# the threshold of a ReLU. A batch that is left out costs 2e-1.
@technique(
    "tensorflow",
    often_pays=True,
    group="compilation",
    aliases=("tf.function", "Model.fit", "graph mode"),
    levels=("eager", "function", "xla", "fit"),
    tolerance={"*": 1e-3},
    snippet={
        "function": "@tf.function  # on the training step",
        "xla": "@tf.function(jit_compile=True)  # on the training step",
        "fit": "model.compile(optimizer, loss); model.fit(dataset)",
    },
    compiles=("xla",),
)
def loop(build: Build, level: str) -> Arm:
    """What runs a training step: Python, a traced graph, a graph compiled by XLA, or Keras's Model.fit."""
    return build(loop=level)


# The arms of `loop` that are graphs, and so its tolerance.
@technique(
    "tensorflow",
    often_pays=True,
    group="compilation",
    aliases=("jit_compile", "XLA compiler", "JIT"),
    levels=("off", "jit-compile"),
    tolerance={"*": 1e-3},
    snippet={"jit-compile": "model.compile(optimizer, loss, jit_compile=True)"},
    compiles=("jit-compile",),
)
def xla(build: Build, level: str) -> Arm:
    """A training step as TensorFlow's graph, or that graph compiled by XLA, which joins operations in kernels."""
    return build(loop="xla" if level == "jit-compile" else "function")


@technique(
    "tensorflow",
    often_pays=True,
    group="compilation",
    kind="sweep",
    levels=("1", "8", "32"),
    snippet={"*": "model.compile(optimizer, loss, steps_per_execution={level})  # callbacks: every {level} batches"},
)
def steps_per_execution(build: Build, level: str) -> Arm:
    """How many batches Model.fit learns from in one call of its graph, before callbacks run again."""
    return build(steps_per_execution=int(level))


@technique(
    "tensorflow",
    group="input pipeline",
    aliases=("tf.data", "TFRecordDataset"),
    levels=("jpeg", "tfrecord"),
    snippet={"tfrecord": "tf.data.TFRecordDataset(files)"},
)
def source(build: Build, level: str) -> Arm:
    """A file per image, or the same bytes in a few TFRecord files."""
    return build(source=level)


@technique(
    "tensorflow",
    group="input pipeline",
    aliases=("tf.data", "num_parallel_calls"),
    levels=("off", "serial", "parallel"),
    snippet={
        "serial": "dataset_of_names.interleave(tf.data.TFRecordDataset)",
        "parallel": "dataset_of_names.interleave(tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE)",
    },
)
def interleave(build: Build, level: str) -> Arm:
    """TFRecord files read one after another, in turn by one thread, or all at once."""
    return build(interleave=level)


@technique(
    "tensorflow",
    group="input pipeline",
    aliases=("tf.data", "num_parallel_calls", "dataset.map"),
    levels=("sequential", "2", "autotune"),
    snippet={
        "2": "dataset.map(decode, num_parallel_calls=2)",
        "autotune": "dataset.map(decode, num_parallel_calls=tf.data.AUTOTUNE)",
    },
)
def parallel_map(build: Build, level: str) -> Arm:
    """Images decoded one by one, two at once, or as many as tf.data finds best."""
    return build(parallel_calls=1 if level == "sequential" else _amount(level))


@technique(
    "tensorflow",
    group="input pipeline",
    aliases=("tf.data", "dataset.shuffle"),
    levels=("off", "32", "whole"),
    not_recommended={"*": "images are shuffled for the sake of learning, not of speed"},
)
def shuffle_buffer(build: Build, level: str) -> Arm:
    """How many undecoded images wait to be drawn at random: none, 32, or the whole epoch."""
    return build(shuffle_buffer=0 if level == "off" else _amount(level))


@technique(
    "tensorflow",
    group="input pipeline",
    aliases=("tf.data", "dataset.cache"),
    levels=("off", "memory", "file"),
    snippet={"memory": "dataset.cache()  # after decoding", "file": "dataset.cache(path)  # after decoding"},
)
def cache(build: Build, level: str) -> Arm:
    """Decoded images kept after the first epoch, which is not timed: its cost is the observed first epoch."""
    return build(cache=level)


@technique(
    "tensorflow",
    group="input pipeline",
    aliases=("tf.data", "vectorized map"),
    levels=("off", "on"),
    snippet={"on": "dataset.batch(size).map(normalise)"},
)
def vectorised_map(build: Build, level: str) -> Arm:
    """Normalising whole batches instead of single images; decoding goes image by image either way."""
    return build(vectorised=level == "on")


@technique(
    "tensorflow",
    group="input pipeline",
    aliases=("tf.data", "dataset.prefetch"),
    levels=("off", "1", "autotune"),
    snippet={"1": "dataset.prefetch(1)", "autotune": "dataset.prefetch(tf.data.AUTOTUNE)"},
)
def prefetch(build: Build, level: str) -> Arm:
    """Batches prepared while the one before is used: none, one, or as many as tf.data finds best."""
    return build(prefetch=0 if level == "off" else _amount(level))


@technique(
    "tensorflow",
    group="input pipeline",
    aliases=("tf.data", "tf.data.Options"),
    levels=("off", "on"),
    snippet={"on": "# nothing: tf.data does so unless its options forbid it"},
)
def default_optimizations(build: Build, level: str) -> Arm:
    """What tf.data does unasked: it makes maps parallel, appends a prefetch, and tunes both."""
    return build(default_optimizations=level == "on")


@technique(
    "tensorflow",
    group="input pipeline",
    levels=("shared", "1", "all"),
    snippet={
        "shared": "options.threading.private_threadpool_size = 0  # dataset.with_options(options)",
        "1": "options.threading.private_threadpool_size = 1  # dataset.with_options(options)",
        "all": "options.threading.private_threadpool_size = os.cpu_count()  # dataset.with_options(options)",
    },
)
def data_threads(build: Build, level: str) -> Arm:
    """The threads of a tf.data pipeline: TensorFlow's own pool, which the model uses as well, or a private one."""
    return build(data_threads=0 if level == "shared" else threads_here(level))


@technique(
    "tensorflow",
    group="input pipeline",
    levels=("in-order", "any-order"),
    same_output=False,
    snippet={
        "in-order": "options.deterministic = True  # dataset.with_options(options)",
        "any-order": "options.deterministic = False  # dataset.with_options(options)",
    },
)
def data_order(build: Build, level: str) -> Arm:
    """Whether parallel calls of a tf.data pipeline yield their items in order, or whichever is ready first."""
    return build(deterministic=level == "in-order")


# What each level adds to those before it, in the order of https://www.tensorflow.org/guide/data_performance. Amounts
# are fixed, so that a level adds one thing; leaving them to tf.data comes last.
_STACK: dict[str, dict[str, Any]] = {
    "naive": {},
    "+prefetch": {"prefetch": 1},
    "+interleave": {"interleave": "parallel"},
    "+parallel-map": {"parallel_calls": "cores"},
    "+cache": {"cache": "memory"},
    "+vectorised": {"vectorised": True},
    "+autotune": {"prefetch": "autotune", "parallel_calls": "autotune"},
}


@technique("tensorflow", group="several together", aliases=("tf.data", "input pipeline"), levels=tuple(_STACK))
def pipeline(build: Build, level: str) -> Arm:
    """A tf.data pipeline over TFRecord files that gains one technique after another.

    A ``+`` says that a level adds to the one before it: a report draws such levels as a ladder.
    """
    options: dict[str, Any] = {}
    for name, added in _STACK.items():
        options |= added
        if name == level:
            break
    return build(**options)


def _amount(level: str) -> int | str:
    return int(level) if level.isdigit() else level
