"""Pictures of several rows side by side in one."""

import math
from collections.abc import Sequence

import numpy as np
from PIL import Image

WIDEST = 1920
"""Pixels that a grid may be wide before its pictures are made smaller."""
_GAP = 4
_SHADE = 40


def tiled(pictures: Sequence[np.ndarray]) -> np.ndarray:
    """Lay equal pictures, uint8 (height, width, 3), out in rows; one stays as it is."""
    if len(pictures) == 1:
        return pictures[0]
    columns = math.ceil(math.sqrt(len(pictures)))
    factor = math.ceil(columns * pictures[0].shape[1] / WIDEST)
    small = [_reduced(picture, factor) for picture in pictures]
    height, width = (size + _GAP for size in small[0].shape[:2])
    lines = math.ceil(len(small) / columns)
    sheet = np.full((lines * height - _GAP, columns * width - _GAP, 3), _SHADE, dtype=np.uint8)
    for place, picture in enumerate(small):
        line, column = divmod(place, columns)
        put(sheet, picture, line * height, column * width)
    return sheet


def fitted(picture: np.ndarray, aspect: float) -> np.ndarray:
    """Add margins until width / height is `aspect`, so that nothing is stretched."""
    height, width = picture.shape[:2]
    wide, high = max(width, round(height * aspect)), max(height, round(width / aspect))
    if (wide, high) == (width, height):
        return picture
    sheet = np.full((high, wide, 3), _SHADE, dtype=np.uint8)
    put(sheet, picture, (high - height) // 2, (wide - width) // 2)
    return sheet


def put(sheet: np.ndarray, picture: np.ndarray, top: int, left: int) -> None:
    """Copy a picture onto a sheet, its upper left corner at (`top`, `left`)."""
    sheet[top : top + picture.shape[0], left : left + picture.shape[1]] = picture


def _reduced(picture: np.ndarray, factor: int) -> np.ndarray:
    if factor <= 1:
        return picture
    return np.asarray(Image.fromarray(picture).reduce(factor))
