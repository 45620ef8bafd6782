"""Score the detectors of changes beside others on simulated histories whose truth is known."""
