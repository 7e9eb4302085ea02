"""A stand-in for Isaac Lab: its published calls, and errors where they are used wrongly."""
