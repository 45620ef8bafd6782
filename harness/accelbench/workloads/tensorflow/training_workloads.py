"""The Keras training workloads: what each of them trains, on which data, and in batches of which size.

``training_loop`` trains them all, with the options that techniques set. Two workloads without training stand here as
well: image loading and the forward pass of the Inception block.

A pipeline over image files begins every epoch with a new iterator, and ends it when the iterator's threads have ended.
So a pipeline that tunes itself starts afresh in each epoch, and may have to wait at the end until its tuner wakes,
which it does 10, 20, 40 … ms apart: ``iterator_start_share`` and ``iterator_end_share`` say what this costs. tf.data's
rewrites, which parallelise and prefetch unasked, are off unless they are compared. Files come from the page cache,
since they are read while the arm is built; ``page_cache_share`` says how much of them lies there. No timed epoch is
the first one, so ``first_epoch_s`` says what a cache costs to fill.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from accelbench.core import Arm, Setting, workload
from accelbench.core.arm import nothing
from accelbench.errors import Unavailable
from accelbench.workloads import networks
from accelbench.workloads.tensorflow.stages import Stages
from accelbench.workloads.tensorflow.training_loop import (
    KerasTraining,
    KerasTrainingLoop,
    KerasTrainOptions,
    train,
    train_epochs,
    train_in_turn,
)

INCEPTION_CLASSES = 10
LOGGED_STEPS = 100
LOGGED_ROWS = 32  # so few that a step stays well below a millisecond


@workload("tensorflow", unit="row", shared=KerasTrainOptions)
def dense_train_keras(setting: Setting, options: KerasTrainOptions) -> Arm:
    """Training step of the Keras classifier 64-64-10 with Adam."""
    from accelbench.workloads.tensorflow import models

    return train_in_turn(setting, options, models.dense(), setting.choose(small=256, full=1024))


@workload("tensorflow", unit="row", shared=KerasTrainOptions)
def mish_train_keras(setting: Setting, options: KerasTrainOptions) -> Arm:
    """Training step of four normalised Keras layers of 64 units, activated by Mish: mostly elementwise operations."""
    from accelbench.workloads.tensorflow import models

    return train_in_turn(setting, options, models.mish(), setting.choose(small=1024, full=16384))


@workload("tensorflow", unit="image", shared=KerasTrainOptions)
def cnn_train_keras(setting: Setting, options: KerasTrainOptions) -> Arm:
    """Training step of a small Keras CNN, convolutions 3-16-32 and two linear layers, on 32×32 images."""
    from accelbench.workloads.tensorflow import models

    return train_in_turn(setting, options, models.cnn(), setting.choose(small=32, full=256))


@workload("tensorflow", unit="image", shared=KerasTrainOptions)
def resnet50_train_keras(setting: Setting, options: KerasTrainOptions, *, side: int | None = None) -> Arm:
    """Training step of ResNet-50 as in keras.applications, on 64×64 images, 224×224 at full size."""
    from accelbench.workloads.tensorflow import models

    problem = models.resnet50(side=side or setting.choose(small=64, full=224), classes=1000)
    return train_in_turn(setting, options, problem, setting.choose(small=4, full=128))


@workload("tensorflow", unit="row", shared=KerasTrainOptions)
def dense_epoch_keras(setting: Setting, options: KerasTrainOptions, *, steps: int | None = None) -> Arm:
    """An epoch of training the Keras classifier 64-64-10 with Adam: 10 steps, 100 at full size, over data in memory."""
    from accelbench.workloads.tensorflow import models

    count = steps or setting.choose(small=10, full=100)  # few, since without a graph a step takes twenty times as long
    return train_epochs(setting, options, models.dense(), setting.choose(small=32, full=256), count)


@workload("tensorflow", unit="image", shared=KerasTrainOptions)
def cnn_epoch_keras(setting: Setting, options: KerasTrainOptions, *, steps: int | None = None) -> Arm:
    """An epoch of training the small Keras CNN: 4 steps, 100 at full size, over data in memory."""
    from accelbench.workloads.tensorflow import models

    count = steps or setting.choose(small=4, full=100)
    return train_epochs(setting, options, models.cnn(), setting.choose(small=32, full=256), count)


@workload("tensorflow", unit="step", shared=KerasTrainOptions)
def logged_training_keras(setting: Setting, options: KerasTrainOptions) -> Arm:
    """A run of 100 small training steps of the Keras classifier 64-64-10 on resident data, whose loss is read.

    Each step is one traced graph. The loss is read by ``float(loss)`` in every ``log_interval``-th step, or in none.
    """
    from accelbench.workloads.tensorflow import models

    facts = {"log_interval": 1, "counts_steps": True}
    return train_in_turn(setting, options, models.dense(), LOGGED_ROWS, steps=LOGGED_STEPS, **facts)


@workload("tensorflow", unit="image", shared=KerasTrainOptions)
def ladder_training_keras(setting: Setting, options: KerasTrainOptions) -> Arm:
    """An epoch of training the small Keras CNN on images that lie on the device.

    It begins as a naive program does: one image at a time, in Python, the loss read by ``float(loss)`` in every step.
    """
    from accelbench.workloads.tensorflow import models

    images = setting.choose(small=8, full=256)
    count = max(1, images // (options.batch_size or 1))
    facts = {"loop": "eager", "log_interval": 1, "most": images}
    return train_in_turn(setting, options, models.cnn(), 1, steps=count, variants=count, **facts)


@workload("tensorflow", unit="training", shared=KerasTrainOptions)
def digits_training_keras(setting: Setting, options: KerasTrainOptions, *, trainings: int = 1) -> Arm:
    """Training the Keras classifier 64-64-10 on handwritten digits until it recognises 95 % of unseen ones.

    A step has several ``trainings``, each with first weights and an order of the images of its own.
    """
    import tensorflow as tf

    from accelbench.workloads.data import tables
    from accelbench.workloads.tensorflow import models
    from accelbench.workloads.tensorflow.training_step import KerasBatches

    split = tables.split_digits()
    held: dict[str, Any] = {}

    def data(size: int) -> KerasBatches:
        held["arrays"] = [
            tf.constant(part) for part in (split.pixels, split.labels, split.test_pixels, split.test_labels)
        ]
        pixels, labels, *_ = held["arrays"]
        count = split.epoch(size) // size
        batches = [
            (pixels[start : start + size], labels[start : start + size]) for start in range(0, count * size, size)
        ]
        return KerasBatches(batches, per_step=count)

    problem = models.dense()
    loop = KerasTrainingLoop(
        setting, options, KerasTraining(problem=problem, data=data, batch_size=tables.BATCH, most=len(split.pixels))
    )
    if options.data_location == "round-trip":
        raise Unavailable("the digits stay on the device, where every epoch puts them into another order")
    if setting.only_check:
        return Arm(step=nothing)

    def reset(number: int) -> None:
        loop.trainer.reset()
        loop.trainer.model.set_weights(first_weights[number])

    def learn(rows: Any) -> None:
        pixels, labels, *_ = held["arrays"]
        loop.train_on(zip(*(tf.unstack(tf.gather(part, rows)) for part in (pixels, labels)), strict=True))

    def test() -> float:
        return float(in_graph())  # a training must know whether to go on

    def accuracy() -> Any:
        *_, pixels, labels = held["arrays"]
        recognised = tf.argmax(loop.trainer.model(pixels, training=False), axis=1) == labels
        return tf.reduce_mean(tf.cast(recognised, tf.float32))

    in_graph = tf.function(accuracy)
    first_weights = [
        models.first_weights(problem, setting.seed + number) for number in range(max(trainings, tables.OBSERVED))
    ]
    facts = tables.training_facts(
        split,
        seed=setting.seed,
        batch_size=loop.batch_size,
        reset=reset,
        learn=learn,
        wait=lambda: loop.trainer.wait(),
        test=test,
        trainings=trainings,
        learns_otherwise=loop.learns_otherwise,
    )
    arm = loop.arm(**facts, reset=nothing, inputs=tuple, feed=None, checked_steps=1)
    # Each training takes an epoch at least.
    return replace(arm, work=loop.work(trainings * split.epoch(loop.batch_size)))


@workload("tensorflow", unit="image", shared=Stages)
def tf_image_loading(setting: Setting, stages: Stages, *, images: int | None = None, batch_size: int = 8) -> Arm:
    """An epoch of decoding image files through tf.data, with nothing to feed."""
    from accelbench.workloads.tensorflow.pipeline import EpochContents

    if setting.only_check:
        return Arm(step=nothing)
    side = setting.choose(small=96, full=224)
    drawn = _draw_images(setting, images or setting.choose(small=64, full=256))
    pipeline = _pipeline(setting, stages, drawn, side=side, batch_size=batch_size)
    contents = EpochContents(side=side, classes=drawn.classes, seed=setting.seed)
    return Arm(
        step=lambda: contents.of(pipeline),
        items=len(drawn.paths),
        observe=pipeline.facts,
        close=pipeline.close,
        device="cpu",  # what decoding takes depends on the files, so no work is stated
    )


@dataclass(frozen=True, kw_only=True)
class ImageTrainOptions(KerasTrainOptions, Stages):
    """The options of a training on image files: those of the loop, and the stages of its pipeline."""

    interleave: str = "serial"


@workload("tensorflow", unit="image", shared=ImageTrainOptions)
def tf_image_training(setting: Setting, options: ImageTrainOptions, *, images: int | None = None) -> Arm:
    """An epoch of training a small CNN on image files that tf.data decodes, in the same order at every level."""
    from accelbench.workloads.tensorflow import models

    if options.interleave == "off" or options.shuffle_buffer:
        raise Unavailable(
            "shuffled images, and shards read one after another, bring another order, and training depends on the order"
        )
    side = setting.choose(small=48, full=224)
    drawn = _draw_images(setting, images or setting.choose(small=48, full=256))
    training = KerasTraining(
        problem=models.cnn(side=side, classes=max(2, drawn.classes)),
        data=lambda size: _pipeline(setting, options, drawn, side=side, batch_size=size),
        batch_size=setting.choose(small=8, full=32),
        has_dataset=True,
        # The loss is read, otherwise an accelerator's work would be counted as waiting for the next batch.
        observe=lambda trainer, pipeline: pipeline.facts(lambda *batch: trainer.train_on(*batch).numpy()),
    )
    return train(setting, options, training)


def _draw_images(setting: Setting, count: int) -> Any:
    """Return the run's images that an epoch decodes."""
    from accelbench.workloads.data import images
    from accelbench.workloads.tensorflow.pipeline import draw

    return draw(images.image_folder(setting), count, setting.seed)


def _pipeline(setting: Setting, stages: Stages, drawn: Any, *, side: int, batch_size: int) -> Any:
    """Return the pipeline over images."""
    from accelbench.workloads.tensorflow.pipeline import ImagePipeline

    files = setting.choose(small=4, full=16)
    return ImagePipeline(
        drawn, stages, side=side, batch_size=batch_size, files=files, cores=setting.cores, seed=setting.seed
    )


@workload("tensorflow", unit="image")
def inception_inference_keras(
    setting: Setting, *, batch_size: int | None = None, device: str | None = None, branches: str = "serial"
) -> Arm:
    """Forward pass of GoogLeNet's Inception block 3a, or of one 3×3 convolution of about its cost, on 28×28 images."""
    import tensorflow as tf

    from accelbench.workloads.data.rotation import Rotation
    from accelbench.workloads.tensorflow import devices
    from accelbench.workloads.tensorflow.inception import KerasInceptionBlock

    place = devices.choose(device)
    batches = _inception_batches(setting, batch_size, place)
    rotation = Rotation([images for images, _ in batches])
    items = len(batches[0][1])
    with tf.device(place):
        block = KerasInceptionBlock(branches, seed=setting.seed)
        forward = tf.function(block.forward)

    arm = Arm(
        step=lambda: forward(rotation.take()),
        items=items,
        reset=rotation.restart,
        device=devices.label(place),
        inputs=rotation.inputs,
        parameters=lambda: block.weights,
        feed=rotation.feed,
        work=networks.inception(fused=branches == "fused").answering(items),
    )
    return arm.inside(tf.device, place)


@workload("tensorflow", unit="image", shared=KerasTrainOptions)
def inception_train_keras(setting: Setting, options: KerasTrainOptions, *, branches: str = "serial") -> Arm:
    """Training step of GoogLeNet's Inception block 3a, or of one 3×3 convolution of about its cost, under a small head.

    At once, branches run on TensorFlow's inter-op threads; a GPU has one stream for all of them.
    """
    import tensorflow as tf

    from accelbench.workloads.data.rotation import Rotation
    from accelbench.workloads.tensorflow import devices
    from accelbench.workloads.tensorflow.inception import BlockTrainer

    usual = KerasTrainOptions(loop="function")
    for option in fields(KerasTrainOptions):
        value = getattr(options, option.name)
        if option.name not in ("batch_size", "device") and value not in (None, getattr(usual, option.name)):
            raise Unavailable(
                f"the order of the branches is written into a training step of its own, a traced graph in float32 that "
                f"reads no loss: {option.name} {value} does not apply to it"
            )
    place = devices.choose(options.device)
    batches = _inception_batches(setting, options.batch_size, place)
    rotation = Rotation(batches)
    items = len(batches[0][1])
    with tf.device(place):
        trainer = BlockTrainer(branches, classes=INCEPTION_CLASSES, seed=setting.seed)

    def reset() -> None:
        trainer.reset()
        rotation.restart()

    # Gradients end at the weights, since nothing below the block learns.
    network = networks.inception(fused=branches == "fused", classes=INCEPTION_CLASSES, learns_below=False)
    arm = Arm(
        step=lambda: trainer.train_on(*rotation.take()),
        items=items,
        reset=reset,
        checked_steps=2,  # the second step's output shows what the first one learnt
        device=devices.label(place),
        inputs=rotation.inputs,
        parameters=trainer.parameters,
        feed=rotation.feed,
        work=network.learning(items),
    )
    return arm.inside(tf.device, place)


def _inception_batches(setting: Setting, batch_size: int | None, place: str) -> list[tuple[Any, Any]]:
    """Return batches of images and labels on the device."""
    import tensorflow as tf

    from accelbench.workloads.data.rotation import VARIANTS

    side, channels = networks.INCEPTION_SIDE, networks.INCEPTION_CHANNELS
    size = batch_size or setting.choose(small=2, full=32)
    rng = np.random.default_rng(setting.seed)

    def batch() -> tuple[Any, Any]:
        images = rng.standard_normal((size, side, side, channels), dtype=np.float32)
        return tf.constant(images), tf.constant(rng.integers(INCEPTION_CLASSES, size=size, dtype=np.int32))

    with tf.device(place):
        return [batch() for _ in range(VARIANTS)]
