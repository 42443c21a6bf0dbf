"""The CelebA reader, on made images in CelebA's layout: pixels, groups, parts, batches, and every mistake by name."""

import builtins
import warnings

import numpy as np
import pytest
from PIL import Image

from compendium.data.celeba import (
    UnreadableImagesWarning,
    celeba_attributes,
    celeba_batches,
    celeba_stream,
    load_celeba,
)
from evenspan import FairPCA, GroupMoments
from evenspan.core.errors import ConfigurationError, DataError, FetchError

ATTRIBUTES = ("Bald", "Eyeglasses", "Smiling")
#: Part (0 train, 1 validation, 2 test) and attributes of eleven images.
PARTS = (0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 2)
GLASSES = (1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0)


def grey_level(i: int) -> int:
    return 20 + 15 * i


@pytest.fixture
def folder(tmp_path):
    """Eleven images of one colour each (JPEG keeps those to a grey level), with lists as text."""
    (tmp_path / "img_align_celeba").mkdir()
    lines, parts = [], []
    for i, (part, glasses) in enumerate(zip(PARTS, GLASSES, strict=True)):
        name = f"{i + 1:06d}.jpg"
        level = grey_level(i)
        Image.new("RGB", (20, 30), (level, level, level)).save(tmp_path / "img_align_celeba" / name, quality=100)
        lines.append(f"{name} {-1:2d} {1 if glasses else -1:2d} {1:2d}")
        parts.append(f"{name} {part}")
    header = [str(len(lines)), " ".join(ATTRIBUTES) + " "]
    (tmp_path / "list_attr_celeba.txt").write_text("\n".join(header + lines) + "\n")
    (tmp_path / "list_eval_partition.txt").write_text("\n".join(parts) + "\n")
    return tmp_path


def as_csv(folder):
    """The same lists as the CSV copies have them."""
    lines = (folder / "list_attr_celeba.txt").read_text().splitlines()
    rows = [",".join(line.split()) for line in lines[2:]]
    (folder / "list_attr_celeba.csv").write_text("\n".join([",".join(("image_id", *ATTRIBUTES)), *rows]) + "\n")
    rows = [",".join(line.split()) for line in (folder / "list_eval_partition.txt").read_text().splitlines()]
    (folder / "list_eval_partition.csv").write_text("\n".join(["image_id,partition", *rows]) + "\n")
    for name in ("list_attr_celeba.txt", "list_eval_partition.txt"):
        (folder / name).unlink()


@pytest.mark.parametrize("partition", ["train", "validation", "test", "all"])
def test_parts_groups_and_pixels(folder, partition):
    data = load_celeba(folder, size=(3, 2), partition=partition)
    wanted = [i for i, p in enumerate(PARTS) if partition == "all" or ("train", "validation", "test")[p] == partition]
    assert data.groups.tolist() == [GLASSES[i] for i in wanted]
    assert data.y.tolist() == data.groups.tolist()
    assert data.X.shape == (len(wanted), 6)
    np.testing.assert_allclose(data.X * 255, [[grey_level(i)] * 6 for i in wanted], atol=1.0)
    assert data.feature_names == (
        *("pixel_00_00", "pixel_00_01", "pixel_01_00", "pixel_01_01", "pixel_02_00", "pixel_02_01"),
    )


def test_height_comes_first_and_colours_are_kept(folder):
    picture = np.zeros((30, 20, 3), dtype=np.uint8)
    picture[:15, :, 0] = 255  # the upper half is red
    Image.fromarray(picture).save(folder / "img_align_celeba" / "000001.jpg", quality=100, subsampling=0)
    data = load_celeba(folder, size=(2, 1), grey=False, limit=1)
    np.testing.assert_allclose(data.X, [[1, 0, 0, 0, 0, 0]], atol=0.03)
    assert data.feature_names[:3] == ("pixel_00_00_red", "pixel_00_00_green", "pixel_00_00_blue")


def test_csv_lists_and_folders_of_the_distribution_give_the_same(folder):
    wanted = load_celeba(folder, "Eyeglasses", (4, 4)).X
    assert celeba_attributes(folder) == ATTRIBUTES
    as_csv(folder)
    np.testing.assert_array_equal(load_celeba(folder, "Eyeglasses", (4, 4)).X, wanted)
    for place, names in {"Img": ["img_align_celeba"], "Anno": ["list_attr_celeba.csv"],
                         "Eval": ["list_eval_partition.csv"]}.items():  # fmt: skip
        (folder / place).mkdir()
        for name in names:
            (folder / name).rename(folder / place / name)
    np.testing.assert_array_equal(load_celeba(folder, "Eyeglasses", (4, 4)).X, wanted)
    assert celeba_attributes(folder) == ATTRIBUTES


def test_a_stream_gives_the_moments_of_the_whole(folder):
    rng = np.random.default_rng(0)
    for path in (folder / "img_align_celeba").iterdir():
        Image.fromarray(rng.integers(0, 255, (30, 20, 3), dtype=np.uint8)).save(path)
    data = load_celeba(folder, size=(3, 3), partition="all")
    streamed = GroupMoments.from_batches(celeba_batches(folder, size=(3, 3), partition="all", batch_size=4))
    whole = GroupMoments.from_data(data.X, data.groups)
    np.testing.assert_allclose(streamed.means, whole.means, rtol=1e-12)
    np.testing.assert_allclose(streamed.scatters, whole.scatters, atol=1e-12)
    assert [len(X) for X, _ in celeba_batches(folder, partition="all", batch_size=4)] == [4, 4, 3]
    assert load_celeba(folder, partition="all", limit=5).n == 5
    fitted = FairPCA(3).fit_moments(streamed)
    gap = np.diff(whole.means @ fitted.components_.T, axis=0)
    assert np.abs(gap).max() < 1e-12 < np.abs(np.diff(whole.means, axis=0)).max()


def test_the_stream_of_the_original_images(folder):
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (11, 12, 10, 3), dtype=np.uint8)
    for i, picture in enumerate(pictures):
        # The name ends in .jpg, the bytes are PNG, which keeps them as they are.
        Image.fromarray(picture).save(folder / "img_align_celeba" / f"{i + 1:06d}.jpg", format="png")
    stream = celeba_stream(folder, batch_size=4)
    assert (stream.n_rows, stream.image_size, stream.n_features) == (6, (12, 10), 360)
    for _ in range(2):
        batches = list(stream)
        assert [len(X) for X, _ in batches] == [4, 2]
        X = np.vstack([X for X, _ in batches])
        assert X.dtype == np.float32
        np.testing.assert_allclose(X, (pictures[:6].reshape(6, 360) / 255 - 0.5) / 0.5, atol=1e-6)
        assert np.concatenate([groups for _, groups in batches]).tolist() == list(GLASSES[:6])
    rest = list(stream.from_row(5))
    np.testing.assert_array_equal(rest[0][0], X[5:])
    assert celeba_stream(folder, partition="validation", limit=1).n_rows == 1
    data = load_celeba(folder, size=None, grey=False)
    np.testing.assert_allclose(data.X, (X + 1) / 2, atol=1e-7)
    assert (data.d, data.feature_names[0], data.feature_names[-1]) == (360, "pixel_00_00_red", "pixel_11_09_blue")
    small = np.vstack([X for X, _ in celeba_stream(folder, size=(3, 2), grey=True, scale="unit")])
    np.testing.assert_allclose(small, load_celeba(folder, size=(3, 2)).X, atol=1e-7)
    assert [X.shape for X, _ in celeba_batches(folder, size=None, batch_size=4)] == [(4, 120), (2, 120)]


def test_truncated_images_of_the_stream_are_left_out_in_every_pass(folder):
    path = folder / "img_align_celeba" / "000002.jpg"
    noise = np.random.default_rng(0).integers(0, 255, (30, 20, 3), dtype=np.uint8)
    Image.fromarray(noise).save(path)
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(DataError, match=r"000002\.jpg cannot be read"):
        list(celeba_stream(folder))
    stream = celeba_stream(folder, on_unreadable="skip", batch_size=2)
    for _ in range(2):
        with pytest.warns(UnreadableImagesWarning, match=r"1 of 6 images .* left out: 000002\.jpg"):
            groups = np.concatenate([groups for _, groups in stream])
        assert groups.tolist() == [1, 0, 1, 0, 0]
        assert (stream.n_rows, stream.n_unreadable) == (5, 1)


@pytest.mark.parametrize("damage", ["truncated", "no image", "missing"])
def test_an_unreadable_image_is_named_and_counted(folder, damage):
    path = folder / "img_align_celeba" / "000003.jpg"
    if damage == "missing":
        path.unlink()
    else:
        noise = np.random.default_rng(0).integers(0, 255, (60, 60, 3), dtype=np.uint8)
        Image.fromarray(noise).save(path)
        path.write_bytes(path.read_bytes()[:1200] if damage == "truncated" else b"not an image")
    with pytest.raises(DataError, match=r"000003\.jpg .*on_unreadable='skip'"):
        load_celeba(folder, size=(4, 4))
    with pytest.warns(UnreadableImagesWarning, match=r"1 of 6 images .* left out: 000003\.jpg"):
        data = load_celeba(folder, size=(4, 4), on_unreadable="skip")
    assert data.groups.tolist() == [1, 0, 1, 0, 0]


def test_nothing_readable_is_an_error(folder):
    for path in (folder / "img_align_celeba").iterdir():
        path.write_bytes(b"")
    with pytest.raises(DataError, match=r"none of 6 image\(s\)"):
        load_celeba(folder, on_unreadable="skip")


def test_what_is_missing_is_said(folder, tmp_path):
    with pytest.raises(FetchError, match=r"nowhere: it does not exist\. CelebA is handed out by its authors"):
        load_celeba(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FetchError, match=r"empty: it has no folder img_align_celeba"):
        load_celeba(tmp_path / "empty")
    with pytest.raises(ConfigurationError, match=r"attribute='Glasses'; the list has Bald, Eyeglasses, Smiling"):
        load_celeba(folder, "Glasses")
    (folder / "list_eval_partition.txt").unlink()
    with pytest.raises(FetchError, match=r"neither list_eval_partition\.txt nor list_eval_partition\.csv"):
        load_celeba(folder)
    assert load_celeba(folder, partition="all").n == 11
    (folder / "list_attr_celeba.txt").unlink()
    with pytest.raises(FetchError, match=r"neither list_attr_celeba\.txt"):
        celeba_attributes(folder)


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("list_attr_celeba.txt", "11\n", "12\n", "announces 12 images and lists 11"),
        ("list_attr_celeba.txt", "11\n", "", "the first line must be the number of images"),
        ("list_attr_celeba.txt", "000001.jpg -1", "000001.jpg", r"000001\.jpg has 2 values for 3 attributes"),
        ("list_attr_celeba.txt", "000001.jpg -1  1", "000001.jpg -1  2", r"attribute of 000001\.jpg is '2'"),
        ("list_eval_partition.txt", "000002.jpg 0", "000002.jpg 3", r"000002\.jpg 3"),
        ("list_eval_partition.txt", "000002.jpg 0\n", "", r"1 image\(s\) .* the first is 000002\.jpg"),
    ],
)
def test_damaged_lists_are_refused(folder, name, old, new, said):
    path = folder / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(DataError, match=said):
        load_celeba(folder)


def test_empty_lists_and_parts_are_refused(folder):
    parts = folder / "list_eval_partition.txt"
    parts.write_text(parts.read_text().replace(" 1\n", " 0\n"))
    with pytest.raises(DataError, match="no image of the part 'validation'"):
        load_celeba(folder, partition="validation")
    parts.write_text("\n")
    with pytest.raises(DataError, match="is empty"):
        load_celeba(folder)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"partition": "dev"}, "partition='dev'; needed is one of train, validation, test, all"),
        ({"size": (0, 3)}, "a height and a width"),
        ({"limit": 0}, "limit=0"),
        ({"on_unreadable": "ignore"}, "on_unreadable='ignore'"),
    ],
)
def test_wrong_options_are_refused(folder, options, said):
    with pytest.raises(ConfigurationError, match=said):
        load_celeba(folder, **options)
    with pytest.raises(ConfigurationError, match="batch_size=0"):
        next(celeba_batches(folder, batch_size=0))


def test_without_pillow_it_says_what_to_install(folder, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "PIL":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigurationError, match=r"needs Pillow.*evenspan\[experiments\]"):
        load_celeba(folder)


def test_whole_images_give_no_warning(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_celeba(folder, on_unreadable="skip")
