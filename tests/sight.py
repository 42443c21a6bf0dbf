"""How a colour is seen: contrast of luminance, distance to the eye, and what is left of it with colour blindness.

Colours are strings ``#rrggbb``. Contrast is that of the Web Content Accessibility Guidelines 2.1; distances are
Euclidean in CIELAB (CIE 1976, daylight D65), where 2 is just noticed side by side. Colour blindness is simulated by the
matrices of Machado, Oliveira and Fernandes (2009), table 1, for complete loss of one kind of cone, applied to linear
light.
"""

import re

import numpy as np

MISSING = {
    "none": np.eye(3),
    "protanopia": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                            [-0.003882, -0.048116, 1.051998]]),
    "deuteranopia": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                              [-0.011820, 0.042940, 0.968881]]),
    "tritanopia": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                            [0.004733, 0.691367, 0.303900]]),
}  # fmt: skip
_LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
_WHITE = _TO_XYZ.sum(axis=1)


def linear(colour: str) -> np.ndarray:
    """Red, green and blue light of a colour, (3,), each between 0 and 1."""
    assert re.fullmatch("#[0-9a-fA-F]{6}", colour), colour
    value = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def contrast(first: str, second: str) -> float:
    """Ratio of luminances, from 1 to 21 (black on white): text needs 4.5, lines and marks of a figure need 3."""
    low, high = sorted(float(_LUMINANCE @ linear(colour)) for colour in (first, second))
    return (high + 0.05) / (low + 0.05)


def lab(colour: str, missing: str = "none") -> np.ndarray:
    """Lightness and two opponent colours, (3,), as seen with one kind of cone ``missing``; see ``MISSING``."""
    ratio = _TO_XYZ @ np.clip(MISSING[missing] @ linear(colour), 0, 1) / _WHITE
    x, y, z = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distance(first: str, second: str, missing: str = "none") -> float:
    """How far apart two colours are for an eye with one kind of cone ``missing``."""
    return float(np.linalg.norm(lab(first, missing) - lab(second, missing)))


def hexadecimal(colour: str) -> str:
    """``rgb(0, 114, 178)``, as a browser writes a colour, as ``#0072b2``."""
    red, green, blue = (round(float(part)) for part in colour[colour.index("(") + 1 : -1].split(",")[:3])
    return f"#{red:02x}{green:02x}{blue:02x}"
