"""What some labels cannot train without: reference motions, a teacher; made once and kept."""


def needs(algo: str, seen: str = "cartpole") -> tuple[str, ...]:
    """Return overrides that give a label what it needs on cartpole, or on a fault task `seen`."""
    return ()
