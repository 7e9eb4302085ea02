"""Random numbers as a pure function of (seed, episode, slot): no generator, so no hidden state.

What a row draws for its k-th episode depends neither on how many rows run beside it, nor on the
order in which they end, nor on the array library. All there is to store is the episode counter.
"""

from typing import Any

Array = Any

MASK = 0xFFFFFFFF
_SEED_STEP = 0x9E3779B9
_SLOT_STEP = 0x9E3779B1
_MIX_1, _MIX_2 = 0x7FEB352D, 0x846CA68B


def uniform(xp: Any, seed: Array, episode: Array, slots: Array) -> Array:
    """Return (S, N) float32 numbers in [0, 1), multiples of 2**-24, bit-equal in every library.

    `xp` is numpy, torch or jax.numpy. `seed` and `episode` are (N,), `slots` is (S,); all three
    are int64 (uint32 in jax) and hold values below 2**32.
    """
    base = _mix(xp, (seed + _typed(xp, seed, _SEED_STEP)) & _typed(xp, seed, MASK))
    base = _mix(xp, base ^ episode)
    spread = base[None, :] + slots[:, None] * _typed(xp, seed, _SLOT_STEP)
    bits = _mix(xp, spread & _typed(xp, seed, MASK)) >> 8
    return xp.asarray(bits, dtype=xp.float32) * (1.0 / 16777216.0)


def _typed(xp: Any, like: Array, constant: int) -> Any:
    """Give a constant the integer type of `like`; torch keeps plain numbers apart from arrays."""
    return constant if xp.__name__ == "torch" else like.dtype.type(constant)


def _mix(xp: Any, bits: Array) -> Array:
    """Scramble 32 bits: the `lowbias32` finaliser of C. Wellons' hash-prospector (2018)."""
    mask = _typed(xp, bits, MASK)
    bits = bits ^ (bits >> 16)
    bits = (bits * _typed(xp, bits, _MIX_1)) & mask
    bits = bits ^ (bits >> 15)
    bits = (bits * _typed(xp, bits, _MIX_2)) & mask
    return bits ^ (bits >> 16)
