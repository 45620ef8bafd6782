"""What can be switched in TensorFlow and Keras about what computes, and what runs the loop around it."""

from __future__ import annotations

from harness.experiment import Arm, Build, Host, technique


def _devices(host: Host) -> tuple[str, ...]:
    return ("cpu", *(host.accelerators or ("accelerator",)))


# A user's program may compute in TF32, which keeps three bits more than bfloat16 and so an eighth of its error.
@technique("tensorflow", levels=_devices, tolerance={"*": 1e-2}, recipe={"*": 'with tf.device("{level}"):'})
def device(build: Build, level: str) -> Arm:
    """The CPU or a GPU."""
    if level == "accelerator":
        from harness.workloads.tensorflow import devices  # here, because pytest's own process imports no framework

        level = devices.accelerator()
    return build(device=level)


def _powers_of_four(host: Host) -> tuple[str, ...]:
    # Fewer than PyTorch's doublings, since every size is traced anew.
    return tuple(str(4**power) for power in range((host.max_batch.bit_length() + 1) // 2))


@technique("tensorflow", levels=_powers_of_four, same_output=False, grows=True, recipe={"*": "dataset.batch({level})"})
def batch_size(build: Build, level: str) -> Arm:
    """How many items one step takes together."""
    return build(batch_size=int(level))


# Measured on a CPU after two steps of every training workload at small size, ten seeds each, and two at full: at most
# 5.0e-3 in bfloat16 and 3.5e-3 in float16. A threefold margin covers other sizes, seeds and devices.
@technique(
    "tensorflow",
    levels=("float32", "mixed_bfloat16", "mixed_float16"),
    tolerance={"mixed_bfloat16": 1.5e-2, "mixed_float16": 1e-2},
    recipe={"*": 'keras.mixed_precision.set_global_policy("{level}")'},
)
def mixed_precision(build: Build, level: str) -> Arm:
    """Keras's dtype policies: layers compute in 16 bits and keep their weights in 32, and float16 scales the loss."""
    return build(dtype_policy=level)


# Measured on a CPU after eight steps, ten seeds: at most 1e-6, but 1.1e-4 where XLA's rounding carried one unit across
# the threshold of a ReLU. A batch that is left out costs 2e-1.
@technique(
    "tensorflow",
    levels=("eager", "function", "xla", "fit"),
    tolerance={"*": 1e-3},
    recipe={
        "function": "@tf.function  # on the training step",
        "xla": "@tf.function(jit_compile=True)  # on the training step",
        "fit": "model.compile(optimizer, loss); model.fit(dataset)",
    },
    slow_start=("xla",),
)
def loop(build: Build, level: str) -> Arm:
    """What runs a training step: Python, a traced graph, a graph compiled by XLA, or Keras's Model.fit."""
    return build(loop=level)


# The arms of `loop` that are graphs, and so its tolerance.
@technique(
    "tensorflow",
    levels=("off", "jit-compile"),
    tolerance={"*": 1e-3},
    recipe={"jit-compile": "model.compile(optimizer, loss, jit_compile=True)"},
    slow_start=("jit-compile",),
)
def xla(build: Build, level: str) -> Arm:
    """A training step as TensorFlow's graph, or that graph compiled by XLA, which joins operations in kernels."""
    return build(loop="xla" if level == "jit-compile" else "function")


_INTERVALS = {"never": None, "every-100": 100, "every-10": 10, "every-step": 1}


@technique(
    "tensorflow",
    levels=tuple(_INTERVALS),
    unadvised={"*": "its baseline reads no loss; read it as seldom as you can"},
)
def log_interval(build: Build, level: str) -> Arm:
    """How often the training loop reads its loss, which makes the host wait for the device."""
    return build(log_interval=_INTERVALS[level])


@technique(
    "tensorflow",
    levels=("serial", "parallel", "fused"),
    same_output=("parallel",),
    unadvised={"*": "it is a choice of the model, not of how it is computed"},
)
def branches(build: Build, level: str) -> Arm:
    """A block's branches one after another, at once, or one convolution of about their cost in their place."""
    return build(branches=level)
