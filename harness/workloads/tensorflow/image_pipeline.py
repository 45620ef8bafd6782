"""Image files from disk through tf.data: the loader alone, and feeding a training step. A step is a drained epoch.

Every epoch begins with a new iterator, and ends when its threads have. So a pipeline that tunes itself starts afresh in
each, and may have to wait at the end until its tuner wakes, which it does 10, 20, 40 … ms apart:
``iterator_start_share`` and ``iterator_end_share`` say what this costs. tf.data's rewrites, which parallelise and
prefetch unasked, are off unless they are what is compared.

Files come from the page cache, since they are read while the arm is built; ``page_cache_share`` says how much of them
lies there. No epoch that is timed is the first one, so what a cache costs to fill stands in ``first_epoch_s``.
"""

from __future__ import annotations

from typing import Any

from harness.errors import Unavailable
from harness.experiment import Arm, Setting, workload


@workload("tensorflow", unit="image")
def tf_image_loading(
    setting: Setting,
    *,
    images: int | None = None,
    batch_size: int = 8,
    source: str = "jpeg",
    interleave: str = "off",
    parallel_calls: int | str = 1,
    shuffle_buffer: int | str = 0,
    cache: str = "off",
    vectorised: bool = False,
    prefetch: int | str = 0,
    default_optimizations: bool = False,
) -> Arm:
    """An epoch of decoding image files through tf.data, with nothing to feed."""
    from harness.workloads.tensorflow.epoch_contents import EpochContents
    from harness.workloads.tensorflow.pipeline import Stages

    stages = Stages(
        source=source,
        interleave=interleave,
        parallel_calls=parallel_calls,
        shuffle_buffer=shuffle_buffer,
        cache=cache,
        vectorised=vectorised,
        prefetch=prefetch,
        default_optimizations=default_optimizations,
    )
    side = setting.choose(small=96, full=224)
    count = images or setting.choose(small=64, full=256)
    pipeline, drawn = _pipeline(setting, stages, count=count, side=side, batch_size=batch_size)
    contents = EpochContents(side=side, classes=drawn.classes, seed=setting.seed)
    return Arm(
        step=lambda: contents.of(pipeline),
        items=len(drawn.paths),
        observe=pipeline.facts,
        close=pipeline.close,
        device="cpu",  # what decoding takes depends on the files, so no work is stated
    )


@workload("tensorflow", unit="image")
def tf_image_training(
    setting: Setting,
    *,
    images: int | None = None,
    batch_size: int | None = None,
    device: str | None = None,
    source: str = "jpeg",
    interleave: str = "serial",
    parallel_calls: int | str = 1,
    cache: str = "off",
    vectorised: bool = False,
    prefetch: int | str = 0,
    default_optimizations: bool = False,
) -> Arm:
    """An epoch of training a small CNN on image files that tf.data decodes, in the same order at every level."""
    import tensorflow as tf

    from harness.workloads.tensorflow import devices, models
    from harness.workloads.tensorflow.pipeline import Stages
    from harness.workloads.tensorflow.trainer import KerasTrainer

    if interleave == "off":
        raise Unavailable("shards read one after another bring another order, and training depends on the order")
    stages = Stages(
        source=source,
        interleave=interleave,
        parallel_calls=parallel_calls,
        cache=cache,
        vectorised=vectorised,
        prefetch=prefetch,
        default_optimizations=default_optimizations,
    )
    side = setting.choose(small=48, full=224)
    count = images or setting.choose(small=48, full=256)
    size = batch_size or setting.choose(small=8, full=32)
    pipeline, drawn = _pipeline(setting, stages, count=count, side=side, batch_size=size)
    place = devices.chosen(device)
    problem = models.cnn(side=side, classes=max(2, drawn.classes))
    with tf.device(place):
        trainer = KerasTrainer(problem, seed=setting.seed)
    items = len(drawn.paths)
    return trainer.arm(
        lambda: (trainer.epoch(pipeline), *trainer.learnt),
        problem.network,
        items,
        place,
        sent_bytes=items * problem.item_bytes,
        # The loss is read, otherwise an accelerator's work would be counted as waiting for the next batch.
        observe=lambda: pipeline.facts(lambda *batch: trainer.train_on(*batch).numpy()),
        close=pipeline.close,
    )


def _pipeline(setting: Setting, stages: Any, *, count: int, side: int, batch_size: int) -> tuple[Any, Any]:
    """Return the pipeline over the run's images, and the images."""
    from harness.workloads.data import photographs
    from harness.workloads.tensorflow.pipeline import ImagePipeline
    from harness.workloads.tensorflow.tfrecords import draw

    drawn = draw(photographs.folder(setting), count, setting.seed)
    files = setting.choose(small=4, full=16)
    pipeline = ImagePipeline(
        drawn, stages, side=side, batch_size=batch_size, files=files, cores=setting.cores, seed=setting.seed
    )
    return pipeline, drawn
