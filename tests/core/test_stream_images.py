"""Folders of images as streams: pixels, scales, sizes, images left out, and every mistake by name."""

import builtins
import os
import tracemalloc
import warnings
import zlib

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from evenspan import GroupMoments
from evenspan.core.errors import ConfigurationError, DataError, GroupError
from evenspan.core.stream_images import ImageFolderStream, UnreadableImagesWarning

SHAPE = (5, 4)


@pytest.fixture
def images() -> np.ndarray:
    """Thirteen coloured images of 5 x 4 pixels, as bytes."""
    return np.random.default_rng(0).integers(0, 256, (13, *SHAPE, 3), dtype=np.uint8)


@pytest.fixture
def groups() -> dict[str, str]:
    """A name and a group for each, not in the order of the names; the first two images lie in a folder of their own."""
    names = [f"{'old/' if i < 2 else ''}{(7 * i) % 13:02d}.png" for i in range(13)]
    return {name: "glasses" if i % 3 == 0 else "none" for i, name in enumerate(names)}


@pytest.fixture
def folder(tmp_path, images, groups):
    """Where they are, as PNG, which keeps every byte."""
    (tmp_path / "faces" / "old").mkdir(parents=True)
    for image, name in zip(images, groups, strict=True):
        Image.fromarray(image).save(tmp_path / "faces" / name)
    return tmp_path / "faces"


def damage(path, how: str) -> None:
    if how == "missing":
        path.unlink()
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "no image":
        path.write_bytes(b"not an image")
    else:
        noise = np.random.default_rng(1).integers(0, 256, (*SHAPE, 3), dtype=np.uint8)
        Image.fromarray(noise).save(path)
        path.write_bytes(path.read_bytes()[:-30])


@pytest.mark.parametrize("container", [dict, pd.Series])
@pytest.mark.parametrize("scale", ["unit", "signed"])
def test_pixels_and_groups_in_the_order_of_the_mapping(folder, images, groups, container, scale):
    stream = ImageFolderStream(folder, container(groups), scale=scale, batch_size=5)
    assert (stream.n_rows, stream.n_features, stream.image_size, stream.one_shot) == (13, 60, SHAPE, False)
    expected = images.reshape(13, 60) / 255.0
    expected = expected if scale == "unit" else (expected - 0.5) / 0.5
    for _ in range(2):
        batches = list(stream)
        assert [len(X) for X, _ in batches] == [5, 5, 3]
        assert {X.dtype for X, _ in batches} == {np.dtype(np.float32)}
        np.testing.assert_allclose(np.vstack([X for X, _ in batches]), expected, atol=2e-7)
        assert np.concatenate([labels for _, labels in batches]).tolist() == list(groups.values())
    moments, whole = GroupMoments.from_batches(stream), GroupMoments.from_data(expected, list(groups.values()))
    assert moments.labels.tolist() == stream.labels.tolist() == ["glasses", "none"]
    np.testing.assert_allclose(moments.means, whole.means, atol=1e-6)
    np.testing.assert_allclose(moments.scatters, whole.scatters, atol=1e-5)


def test_the_ends_of_the_scale_are_exact(tmp_path):
    Image.fromarray(np.array([[[0, 255, 0]]], dtype=np.uint8)).save(tmp_path / "a.png")
    for scale, ends in {"unit": [0, 1, 0], "signed": [-1, 1, -1]}.items():
        ((X, groups),) = ImageFolderStream(tmp_path, {"a.png": 1}, scale=scale)
        assert X.tolist() == [ends]
        assert groups.tolist() == [1]


def test_grey_and_size(folder, images, groups):
    stream = ImageFolderStream(folder, groups, grey=True, size=(1, 2))
    assert (stream.n_features, stream.image_size) == (2, (1, 2))
    ((X, _),) = stream
    exact = images @ [0.299, 0.587, 0.114] / 255
    halves = np.stack([np.mean(exact[:, :, :2], axis=(1, 2)), np.mean(exact[:, :, 2:], axis=(1, 2))], axis=1)
    np.testing.assert_allclose(X, halves, atol=1.5 / 255)


@pytest.mark.parametrize("on_unreadable", ["error", "skip"])
def test_a_pass_from_any_row(folder, groups, on_unreadable):
    stream = ImageFolderStream(folder, groups, batch_size=4, on_unreadable=on_unreadable)
    whole = np.vstack([X for X, _ in stream])
    for start in (0, 1, 4, 6, 12):
        parts = list(stream.from_row(start))
        np.testing.assert_array_equal(np.vstack([X for X, _ in parts]), whole[start:])
        assert np.concatenate([labels for _, labels in parts]).tolist() == list(groups.values())[start:]
    assert list(stream.from_row(13)) == []
    with pytest.raises(DataError, match="has 13 rows; row 14 was asked for"):
        list(stream.from_row(14))


def test_images_before_the_start_are_not_read(folder, groups):
    damage(folder / list(groups)[1], "no image")
    stream = ImageFolderStream(folder, groups, batch_size=4)
    assert sum(len(X) for X, _ in stream.from_row(2)) == 11
    with pytest.raises(DataError, match=r"07\.png cannot be read"):
        list(stream)


@pytest.mark.parametrize("how", ["missing", "empty", "no image", "truncated"])
@pytest.mark.parametrize("place", [0, 6, 12])
def test_an_unreadable_image_is_named_or_left_out_and_counted(folder, images, groups, how, place):
    name = list(groups)[place]
    damage(folder / name, how)
    with pytest.raises(DataError, match=rf"{name} .*on_unreadable='skip'") as caught:
        list(ImageFolderStream(folder, groups))
    assert type(caught.value) is DataError
    stream = ImageFolderStream(folder, groups, batch_size=4, on_unreadable="skip")
    assert stream.n_rows is stream.labels is None
    kept = np.arange(13) != place
    for _ in range(2):
        with pytest.warns(UnreadableImagesWarning, match=f"1 of 13 images in .* left out: {name}"):
            batches = list(stream)
        np.testing.assert_allclose(np.vstack([X for X, _ in batches]), images.reshape(13, 60)[kept] / 255, atol=1e-7)
        assert np.concatenate([labels for _, labels in batches]).tolist() == np.array([*groups.values()])[kept].tolist()
        assert (stream.n_unreadable, stream.n_rows) == (1, 12)
    with pytest.warns(UnreadableImagesWarning):
        parts = list(stream.from_row(7))
    np.testing.assert_array_equal(np.vstack([X for X, _ in parts]), np.vstack([X for X, _ in batches])[7:])


def test_a_batch_without_a_readable_image_is_no_batch(folder, groups):
    for name in list(groups)[4:8]:
        damage(folder / name, "truncated")
    stream = ImageFolderStream(folder, groups, batch_size=4, on_unreadable="skip")
    with pytest.warns(UnreadableImagesWarning, match="4 of 13"):
        assert [len(X) for X, _ in stream] == [4, 4, 1]


def test_whole_images_give_no_warning(folder, groups):
    stream = ImageFolderStream(folder, groups, on_unreadable="skip")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(stream)
    assert (stream.n_unreadable, stream.n_rows) == (0, 13)


@pytest.mark.parametrize("how", ["missing", "truncated"])
def test_nothing_readable_is_an_error(folder, groups, how):
    for name in groups:
        damage(folder / name, how)
    with pytest.raises(DataError, match=r"none of 13 image\(s\) in .* can be read, the first is old/00\.png"):
        list(ImageFolderStream(folder, groups, on_unreadable="skip"))


def test_images_of_several_sizes_need_a_size(folder, groups):
    name = list(groups)[8]
    Image.new("RGB", (4, 6)).save(folder / name)
    for on_unreadable in ("error", "skip"):
        with pytest.raises(DataError, match=rf"{name} is 6 x 4 pixels, the first image 5 x 4\. .*size="):
            list(ImageFolderStream(folder, groups, on_unreadable=on_unreadable))
    assert sum(len(X) for X, _ in ImageFolderStream(folder, groups, size=SHAPE)) == 13


def test_memory_is_that_of_a_batch(tmp_path):
    rng = np.random.default_rng(0)
    for i in range(60):
        Image.fromarray(rng.integers(0, 256, (64, 48, 3), dtype=np.uint8)).save(tmp_path / f"{i}.png", compress_level=0)
    stream = ImageFolderStream(tmp_path, {f"{i}.png": i % 2 for i in range(60)}, batch_size=4)
    batch = 4 * stream.n_features * 4
    list(stream.from_row(59))
    tracemalloc.start()
    rows = sum(len(X) for X, _ in stream)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert rows == 60
    assert peak < 4 * batch < 60 * stream.n_features * 4 / 3


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"size": (0, 3)}, ConfigurationError, "a height and a width"),
        ({"size": (3,)}, ConfigurationError, "a height and a width"),
        ({"scale": "bytes"}, ConfigurationError, "scale='bytes'; needed is 'unit'"),
        ({"on_unreadable": "ignore"}, ConfigurationError, "on_unreadable='ignore'"),
        ({"batch_size": 0}, ConfigurationError, "batch_size=0"),
        ({"groups": {}}, GroupError, "groups is empty"),
        ({"groups": ["a.png"]}, GroupError, "groups is a list; needed is a mapping"),
        ({"groups": {"a.png": "x", "b.png": None, "c.png": np.nan}}, GroupError, r"2 of 3 images .* first is b\.png"),
        ({"folder": "nowhere"}, DataError, "nowhere is no folder"),
    ],
)
def test_wrong_arguments_are_refused(folder, groups, options, error, said):
    arguments = {"folder": folder, "groups": groups} | options
    with pytest.raises(error, match=said):
        ImageFolderStream(arguments.pop("folder"), arguments.pop("groups"), **arguments)


def test_without_pillow_it_says_what_to_install(folder, groups, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "PIL":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigurationError, match=r"needs Pillow.*evenspan\[experiments\]"):
        ImageFolderStream(folder, groups)


def hostile(path, how: str) -> None:
    path.unlink()
    if how == "bomb":
        Image.new("L", (50, 50)).save(path)
    elif how == "bomb in its head":
        Image.new("L", (5, 4)).save(path)
        content = path.read_bytes()
        head = b"IHDR" + (2**30).to_bytes(4, "big") * 2 + content[24:29]
        path.write_bytes(content[:12] + head + zlib.crc32(head).to_bytes(4, "big") + content[33:])
    elif how == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()


@pytest.mark.parametrize("how", ["bomb", "bomb in its head", "pipe", "folder"])
@pytest.mark.parametrize("first", [True, False])
def test_hostile_images_are_named_or_left_out(how, first, folder, groups, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)  # more than twice as many are not opened
    name = list(groups)[0 if first else 5]
    hostile(folder / name, how)
    with pytest.raises(DataError, match=rf"{name} cannot be read \(.*on_unreadable='skip'"):
        list(ImageFolderStream(folder, groups))
    stream = ImageFolderStream(folder, groups, on_unreadable="skip")
    with pytest.warns(UnreadableImagesWarning, match=rf"1 of 13 images .* left out: {name}\."):
        assert sum(len(X) for X, _ in stream) == 12
