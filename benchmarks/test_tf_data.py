"""Which parts of a tf.data pipeline pay, each by itself, and stacked in the order that its guide advises?

A step is a whole drained epoch over JPEG files, or over the same bytes in TFRecord files: the loader alone for one
technique at a time, and the stack feeding a small CNN, which then says in which share of the time it waited for data.
The baseline decodes one image after another, prepares nothing ahead and keeps nothing; normalising is compared over
cached images, where no decoding hides it. Files come from the page cache, and the arms say which share of them.

A cache is judged by its later epochs; what the first one costs stands beside them. Every epoch makes its iterator
anew, so a pipeline that tunes itself starts afresh in each, which weighs the more the shorter an epoch is.
"""

import pytest

from accelbench import toggles


@toggles("tensorflow", "source")
def test_source(measure):
    measure("tf-image-loading")


@toggles("tensorflow", "parallel_map")
def test_parallel_map(measure):
    measure("tf-image-loading")


@toggles("tensorflow", "default_optimizations")
def test_default_optimizations(measure):
    measure("tf-image-loading")


@toggles("tensorflow", "prefetch")
def test_prefetch(measure):
    measure("tf-image-loading")


@toggles("tensorflow", "cache")
def test_cache(measure):
    measure("tf-image-loading")


@toggles("tensorflow", "interleave")
def test_interleave(measure):
    measure("tf-image-loading", source="tfrecord")


@toggles("tensorflow", "vectorised_map")
def test_vectorised_map(measure):
    measure("tf-image-loading", cache="memory")


@pytest.mark.slow
@toggles("tensorflow", "shuffle_buffer")
def test_shuffle_buffer(measure):
    measure("tf-image-loading", source="tfrecord")


@pytest.mark.slow
@toggles("tensorflow", "pipeline")
def test_pipeline_into_training(measure):
    measure("tf-image-training", source="tfrecord")
