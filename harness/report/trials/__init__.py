"""Each trial's section: how it was measured, when it pays, and how to run it again."""
