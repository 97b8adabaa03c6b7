"""For pipelines: the command ``lime-guarantee``."""
