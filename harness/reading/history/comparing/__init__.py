"""Two sets of runs against each other: machine, workload and technique shifts."""
