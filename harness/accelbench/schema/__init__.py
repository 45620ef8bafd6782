"""What a result file holds: the record of a run, its environment, machine identity, and their JSON."""
