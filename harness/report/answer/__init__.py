"""The answer, in sentences: what pays, what does not, what is open, and what could not be measured."""
