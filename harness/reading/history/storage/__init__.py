"""What many result files hold, read once: where they lie, in which order they were made, what is odd about them."""
