"""Train any RL algorithm of any framework on any task, and leave a run that can be trusted."""

__version__ = "0.1.0"
