"""What can be switched in TensorFlow and Keras."""

from harness.techniques.tensorflow import computing, tf_data

__all__ = ["computing", "tf_data"]
