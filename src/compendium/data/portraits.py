"""Made portraits, some with glasses: image-shaped rows of any size, drawn as they are asked for and never all held.

A **substitute** for CelebA, whose licence keeps it out of this project. Nobody is pictured: every image is composed of
soft shapes (background, hair, face, eyes, brows, nose, mouth, clothes) whose colours, light, pose and noise are drawn.
Glasses of three kinds are painted on a share of the images, at a strength and a place that vary, so that the wearers
differ from the others in the mean and in the covariance, and in nothing else.
"""

from collections.abc import Iterator
from functools import lru_cache
from numbers import Integral

import numpy as np

from evenspan.core.errors import ConfigurationError
from evenspan.core.options import whole
from evenspan.core.streams import Stream

#: Height and width of CelebA's aligned images, its training images, and its share of images with eyeglasses.
CELEBA_SIZE, CELEBA_TRAIN, CELEBA_SHARE = (218, 178), 162_770, 0.065
#: Rows that are always drawn together, from a seed of their own: a pass may start at any of them.
CHUNK = 32
#: The face lies up to this share of the height off its place, the glasses up to this share off the eyes.
SHIFT, SLIP = 0.03, 0.012
NOISE = 0.08
FRAMES = ("round", "square", "dark")


class PortraitStream(Stream):
    """Batches of made portraits, the same in every pass; an image is a row of pixels between -1 and 1, by its colours.

    Group 1 has glasses, with probability ``share``; ``glasses`` "none" or "all" draws the same images so for all."""

    def __init__(self, n_rows, *, size=CELEBA_SIZE, share=CELEBA_SHARE, seed=0, batch_size=256, glasses="drawn"):
        _check(size, share, glasses)
        self.n_rows, self.batch_size = whole(1).require("n_rows", n_rows), whole(1).require("batch_size", batch_size)
        self.size, self.share, self.seed, self.glasses = tuple(size), share, seed, glasses
        self.n_features = 3 * size[0] * size[1]
        self.labels = np.array([0, 1])  # known before the first pair of glasses is met

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """A new pass over the batches."""
        same = {"size": self.size, "share": self.share, "seed": self.seed, "glasses": self.glasses}
        starts = range(0, self.n_rows, self.batch_size)
        return self._checked(portraits(a, min(a + self.batch_size, self.n_rows), **same) for a in starts)


def portraits(
    start: int, stop: int, *, size=CELEBA_SIZE, share: float = CELEBA_SHARE, seed: int = 0, glasses: str = "drawn"
) -> tuple[np.ndarray, np.ndarray]:
    """Images ``start`` to ``stop - 1`` of the sequence of a seed, in float32, and their groups (``PortraitStream``).

    A row is the same in whatever range."""
    X = np.empty((stop - start, 3 * size[0] * size[1]), dtype=np.float32)
    groups = np.empty(stop - start, dtype=np.int64)
    for chunk in range(start // CHUNK, -(-stop // CHUNK)):
        first = chunk * CHUNK
        rows = range(max(start, first), min(stop, first + CHUNK))
        _draw(chunk, rows, X[rows.start - start : rows.stop - start], groups[rows.start - start : rows.stop - start],
              tuple(size), share, seed, glasses)  # fmt: skip
    return X, groups


def _draw(chunk, rows, X, groups, size, share, seed, glasses) -> None:
    """Fill X and groups with some rows of one chunk; what is drawn does not depend on which rows these are."""
    height, width = size
    scene = _scene(size)
    rng = np.random.default_rng((seed, chunk))
    wears = rng.random(CHUNK) < share
    colours, light = _colours(rng)
    shift = rng.integers(0, 2 * scene.shift + 1, size=(CHUNK, 2))
    slip = rng.integers(-scene.slip, scene.slip + 1, size=(CHUNK, 2))
    kind, strength, shade = rng.integers(0, len(FRAMES), CHUNK), rng.uniform(0.6, 1.0, CHUNK), rng.random((CHUNK, 3))
    levels = rng.bit_generator.random_raw(-(-CHUNK * X.shape[1] // 8)).view(np.uint8)
    levels = levels[: CHUNK * X.shape[1]].reshape(CHUNK, height, width, 3)
    coefficients = np.hstack([colours.reshape(CHUNK, -1), light]).astype(np.float32)
    canvases = (coefficients @ scene.basis).reshape(CHUNK, *scene.canvas, 3)
    painted = {"drawn": wears, "none": np.zeros(CHUNK, dtype=bool), "all": np.ones(CHUNK, dtype=bool)}[glasses]
    for row in rows:
        i, (y, x) = row % CHUNK, shift[row % CHUNK]
        if painted[i]:
            _paint(canvases[i], scene.frames[kind[i]], slip[i], strength[i], 0.25 * shade[i] - 1.0)
        image = X[row - rows.start].reshape(height, width, 3)
        np.multiply(levels[i], np.float32(2 * NOISE / 255), out=image, casting="unsafe")
        image += canvases[i, y : y + height, x : x + width]
    X -= np.float32(NOISE)
    np.clip(X, -1.0, 1.0, out=X)
    groups[:] = wears[[row % CHUNK for row in rows]]


def _paint(canvas: np.ndarray, frame: np.ndarray, slip, strength: float, shade: np.ndarray) -> None:
    """Glasses over a face: the frame covers, its lenses tint."""
    cover = np.float32(strength) * np.roll(frame, tuple(slip), axis=(0, 1))[..., None]
    canvas += cover * (shade.astype(np.float32) - canvas)


# -- shapes -----------------------------------------------------------------------------------------------------------


class _Scene:
    """The soft shapes of one size of image, on a canvas that is larger by the reach of the pose."""

    def __init__(self, size: tuple[int, int]):
        height, width = size
        self.shift, self.slip = max(1, round(SHIFT * height)), max(1, round(SLIP * height))
        self.canvas = (height + 2 * self.shift, width + 2 * self.shift)
        y, x = np.mgrid[0 : self.canvas[0], 0 : self.canvas[1]].astype(float)
        y, x = (y - self.shift + 0.5) / height, (x - self.shift + 0.5) / width - 0.5
        soft = 1.5 / height
        masks = np.array([mask.ravel() for mask in _layers(y, x, soft)])
        waves = np.array([np.cos(np.pi * a * y) * np.cos(np.pi * b * (x + 0.5))
                          for a, b in ((0, 1), (1, 0), (1, 1), (0, 2), (2, 0), (2, 2))])  # fmt: skip
        basis = np.zeros((3 * len(masks) + len(waves), masks.shape[1], 3))
        for m, mask in enumerate(masks):
            for channel in range(3):
                basis[3 * m + channel, :, channel] = 2.0 * mask
        basis[3 * len(masks) :] = waves.reshape(len(waves), -1, 1)
        self.basis = np.ascontiguousarray(basis.reshape(len(basis), -1), dtype=np.float32)
        self.frames = [frame.astype(np.float32) for frame in _frames(y, x, soft)]


@lru_cache(maxsize=4)
def _scene(size: tuple[int, int]) -> _Scene:
    return _Scene(size)


def _oval(y, x, centre, radii, soft) -> np.ndarray:
    distance = np.hypot((y - centre[0]) / radii[0], (x - centre[1]) / radii[1])
    return _step((1.0 - distance) * min(radii), soft)


def _step(s: np.ndarray, soft: float) -> np.ndarray:
    return 0.5 * (1.0 + np.tanh(s / soft))


#: Layers from back to front; those of the same name but for a suffix share a colour that changes across the picture.
LAYERS = ("ground", "ground across", "ground down", "long hair", "long hair across", "long hair down", "hair",
          "hair across", "clothes", "neck", "face", "face across", "face down", "fringe", "fringe across", "beard",
          "cheeks", "nose", "brows", "eyes", "irises", "lips", "smile", "teeth")  # fmt: skip


def _layers(y, x, soft) -> list[np.ndarray]:
    """Weights of ``LAYERS`` in every pixel: where a shape lies, less what lies before it. Ovals add up to one."""
    both = [sum(_oval(y, x, (0.515, s * 0.115), r, soft) for s in (-1, 1)) for r in ((0.022, 0.048), (0.02, 0.02))]
    brows = sum(_oval(y, x, (0.455, s * 0.12), (0.012, 0.065), soft) for s in (-1, 1))
    cheeks = sum(_oval(y, x, (0.62, s * 0.14), (0.055, 0.055), 14 * soft) for s in (-1, 1))
    smile = _oval(y, x, (0.70, 0.0), (0.035, 0.115), soft) * _step(y - 0.705 + 0.9 * (x**2 - 0.004), soft)
    face = _oval(y, x, (0.56, 0.0), (0.275, 0.255), soft)
    shapes = {
        "long hair": _oval(y, x, (0.62, 0.0), (0.44, 0.385), soft) * _step(y - 0.35, 10 * soft),
        "hair": _oval(y, x, (0.43, 0.0), (0.31, 0.325), soft) * _step(0.72 - y, 12 * soft),
        "clothes": _oval(y, x, (1.12, 0.0), (0.22, 0.55), soft),
        "neck": _oval(y, x, (0.86, 0.0), (0.16, 0.14), soft),
        "face": face,
        "fringe": face * _oval(y, x, (0.30, 0.0), (0.115, 0.24), 3 * soft),
        "beard": face * _step(y - 0.735, 5 * soft),
        "cheeks": np.clip(cheeks, 0, 1),
        "nose": 0.7 * _oval(y, x, (0.595, 0.0), (0.055, 0.028), 4 * soft),
        "brows": np.clip(brows, 0, 1),
        "eyes": np.clip(both[0], 0, 1),
        "irises": np.clip(both[1] * both[0], 0, 1),
        "lips": _oval(y, x, (0.715, 0.0), (0.022, 0.085), soft),
        "smile": smile,
        "teeth": _oval(y, x, (0.713, 0.0), (0.011, 0.07), soft),
    }
    weights, left = {}, np.ones_like(y)
    for name in reversed(shapes):
        weights[name] = left * shapes[name]
        left = left * (1.0 - shapes[name])
    weights["ground"] = left
    for name, coordinate in ((" across", x), (" down", y - 0.5)):
        weights |= {whole + name: weights[whole] * coordinate for whole in [*shapes, "ground"]}
    return [weights[name] for name in LAYERS]


def _frames(y, x, soft) -> list[np.ndarray]:
    """How much each kind of glasses covers: frames wholly, clear lenses hardly, dark ones nearly."""
    bridge = _step(0.008 - abs(y - 0.505), soft) * _step(0.06 - abs(x), soft)
    arms = _step(0.008 - abs(y - 0.495), soft) * _step(abs(x) - 0.2, soft) * _step(0.27 - abs(x), soft)
    found = []
    for radii, power, tint, rim in (((0.058, 0.075), 2, 0.12, 0.22), ((0.05, 0.085), 6, 0.15, 0.26),
                                    ((0.062, 0.09), 3, 0.9, 0.12)):  # fmt: skip
        cover = np.maximum(bridge, arms)
        for side in (-1, 1):
            reach = (abs((y - 0.52) / radii[0]) ** power + abs((x - side * 0.12) / radii[1]) ** power) ** (1 / power)
            outer, inner = (_step((r - reach) * radii[0], soft) for r in (1.0 + rim / 2, 1.0 - rim / 2))
            cover = np.maximum(cover, np.maximum(outer - inner, tint * outer))
        found.append(np.clip(cover, 0, 1))
    return found


# -- colours ----------------------------------------------------------------------------------------------------------


def _colours(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Colours (CHUNK, layers, 3) of one chunk, and amplitudes of the smooth light (CHUNK, waves)."""
    z, u = rng.standard_normal((CHUNK, 24, 1)), rng.random((CHUNK, 9, 1))
    tint = rng.standard_normal((CHUNK, 5, 3))
    tone = u[:, 0]
    skin = (1 - tone) * [0.93, 0.74, 0.62] + tone * [0.45, 0.29, 0.21] + 0.02 * tint[:, 0]
    dark = u[:, 1] ** 0.6
    hair = (1 - dark) * [0.78, 0.62, 0.38] + dark * [0.12, 0.08, 0.06] + 0.02 * tint[:, 1]
    ground, clothes = 0.5 + 0.18 * z[:, 0] + 0.08 * tint[:, 2], 0.42 + 0.2 * z[:, 1] + 0.12 * tint[:, 3]
    lips = skin * [0.92, 0.55, 0.55] + 0.03 * tint[:, 4]

    def mix(share, one, other):
        return share * one + (1 - share) * other

    some = {name: np.clip(4 * u[:, j] - low, 0, 1) for name, j, low in
            (("long", 2, 2.0), ("fringe", 3, 2.2), ("beard", 4, 3.0), ("smile", 5, 1.5), ("open", 6, 2.0))}  # fmt: skip
    across, down, side = 0.25 * z[:, 2], 0.2 * z[:, 3], 0.28 * z[:, 4]
    colour = {
        "ground": ground, "ground across": across, "ground down": down,
        "long hair": mix(some["long"], 0.9 * hair, ground), "hair": hair, "hair across": 0.5 * side,
        "long hair across": (1 - some["long"]) * across, "long hair down": (1 - some["long"]) * down,
        "clothes": clothes, "neck": 0.82 * skin, "face": skin, "face across": side, "face down": 0.1 * z[:, 5],
        "fringe": mix(some["fringe"], hair, skin), "fringe across": side,
        "beard": mix(0.8 * some["beard"], hair, skin), "cheeks": skin * [1.04, 0.95, 0.94],
        "nose": 0.93 * skin + 0.01 * z[:, 6], "brows": 0.6 * hair + 0.15 * skin,
        "eyes": 0.86 + 0.03 * z[:, 7], "irises": mix(u[:, 7], [0.3, 0.42, 0.5], [0.16, 0.1, 0.07]),
        "lips": mix(some["smile"], skin, lips), "smile": mix(some["smile"], lips, skin),
        "teeth": mix(some["open"] * u[:, 8], 0.85, mix(some["smile"], 0.9 * lips, lips)),
    }  # fmt: skip
    stacked = np.stack([np.broadcast_to(colour[name], (CHUNK, 3)) for name in LAYERS], axis=1)
    stacked = stacked * np.exp(0.12 * z[:, 8])[:, None]
    # Layers partition the picture, so shifting every plain one by a half maps colours to between -1 and 1.
    plain = np.array([not name.endswith((" across", " down")) for name in LAYERS])
    stacked[:, plain] -= 0.5
    return stacked, 0.06 * z[:, 9:15, 0]


def _check(size, share, glasses) -> None:
    if len(size) != 2 or not all(isinstance(side, Integral) and side >= 16 for side in size):
        raise ConfigurationError(f"size={size!r}; needed are a height and a width of at least 16 pixels.")
    if not 0.0 < share < 1.0:
        raise ConfigurationError(f"share={share!r}; needed is a probability strictly between 0 and 1.")
    if glasses not in ("drawn", "none", "all"):
        raise ConfigurationError(f"glasses={glasses!r}; needed is 'drawn', 'none' or 'all'.")
