"""Which parts of a tf.data pipeline pay, each by itself, and stacked in the order that its guide advises?

A step is a whole drained epoch over JPEG files, or over the same bytes in TFRecord files: the loader alone for one
technique at a time, and the stack feeding a small CNN, which then says in which share of the time it waited for data.
The baseline decodes one image after another, prepares nothing ahead and keeps nothing; normalising is compared over
cached images, where no decoding hides it. Files come from the page cache, and the arms say which share of them.

A cache is judged by its later epochs; what the first one costs stands beside them. Every epoch makes its iterator
anew, so a pipeline that tunes itself starts afresh in each, which weighs the more the shorter an epoch is.
"""

import pytest

from harness import toggles


@toggles("tensorflow", "source")
def test_source(measure, source):
    measure("tf-image-loading", source=source)


@toggles("tensorflow", "parallel_map")
def test_parallel_map(measure, parallel_map):
    measure("tf-image-loading", parallel_map=parallel_map)


@toggles("tensorflow", "default_optimizations")
def test_default_optimizations(measure, default_optimizations):
    measure("tf-image-loading", default_optimizations=default_optimizations)


@toggles("tensorflow", "prefetch")
def test_prefetch(measure, prefetch):
    measure("tf-image-loading", prefetch=prefetch)


@toggles("tensorflow", "cache")
def test_cache(measure, cache):
    measure("tf-image-loading", cache=cache)


@toggles("tensorflow", "interleave")
def test_interleave(measure, interleave):
    measure("tf-image-loading", source="tfrecord", interleave=interleave)


@toggles("tensorflow", "vectorised_map")
def test_vectorised_map(measure, vectorised_map):
    measure("tf-image-loading", cache="memory", vectorised_map=vectorised_map)


@pytest.mark.slow
@toggles("tensorflow", "shuffle_buffer")
def test_shuffle_buffer(measure, shuffle_buffer):
    measure("tf-image-loading", source="tfrecord", shuffle_buffer=shuffle_buffer)


@pytest.mark.slow
@toggles("tensorflow", "pipeline")
def test_pipeline_into_training(measure, pipeline):
    measure("tf-image-training", source="tfrecord", pipeline=pipeline)
