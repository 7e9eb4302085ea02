"""Random generator states of the process, captured at a boundary and put back on resume.

Only generators of libraries that are already imported are touched: a framework that never
came in has drawn nothing.
"""

import random
import sys
from collections.abc import Mapping

import numpy as np

_PYTHON = "python"
_NUMPY = "numpy"
_TORCH = "torch"
_CUDA = "torch_cuda"


def seed_all(seed: int, threads: int) -> None:
    """Seed Python, NumPy and, when imported, Torch; fix Torch's thread count."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)
        torch.set_num_threads(threads)


def capture() -> dict[str, np.ndarray]:
    """Return the state of every generator as arrays."""
    version, internal, gauss = random.getstate()
    state = {
        _PYTHON: np.array([version, *internal], dtype=np.uint64),
        f"{_PYTHON}_gauss": np.array([] if gauss is None else [gauss], dtype=np.float64),
    }
    _, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    state[_NUMPY] = np.array([*keys, position, has_gauss], dtype=np.uint64)
    state[f"{_NUMPY}_gauss"] = np.array([cached], dtype=np.float64)
    torch = sys.modules.get("torch")
    if torch is not None:
        state[_TORCH] = torch.get_rng_state().numpy()
        if torch.cuda.is_available():
            state[_CUDA] = np.stack([item.numpy() for item in torch.cuda.get_rng_state_all()])
    return state


def restore(state: Mapping[str, np.ndarray]) -> None:
    """Put back what `capture` returned; Torch's part only where Torch is imported."""
    version, *internal = (int(word) for word in state[_PYTHON])
    gauss = state[f"{_PYTHON}_gauss"]
    random.setstate((version, tuple(internal), float(gauss[0]) if gauss.size else None))
    words = state[_NUMPY]
    keys, position, has_gauss = words[:-2].astype(np.uint32), int(words[-2]), int(words[-1])
    cached = float(state[f"{_NUMPY}_gauss"][0])
    np.random.set_state(("MT19937", keys, position, has_gauss, cached))
    torch = sys.modules.get("torch")
    if torch is not None and _TORCH in state:
        torch.set_rng_state(torch.from_numpy(np.array(state[_TORCH], dtype=np.uint8)))
        if _CUDA in state and torch.cuda.is_available():
            torch.cuda.set_rng_state_all([torch.from_numpy(row.copy()) for row in state[_CUDA]])
