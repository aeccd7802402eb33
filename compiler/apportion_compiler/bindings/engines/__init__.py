"""One module for each engine: the labels, annotations and fields by which it knows a workload's queue, class and gang."""
