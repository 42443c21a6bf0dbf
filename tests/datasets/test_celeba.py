"""The CelebA reader, on made images in CelebA's layout: pixels, groups, parts, batches, and every mistake by name."""

import numpy as np
import pytest
from PIL import Image

from compendium.data import (
    UnreadableImagesWarning,
    celeba_attributes,
    celeba_batches,
    celeba_stream,
    load_celeba,
)
from evenspan.core.errors import ConfigurationError, DataError, FetchError

ATTRIBUTES = ("Bald", "Eyeglasses", "Smiling")
#: Part (0 train, 1 validation, 2 test) and attributes of eleven images.
PARTS = (0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 2)
GLASSES = (1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0)
PICTURES = np.random.default_rng(0).integers(0, 256, (11, 12, 10, 3), dtype=np.uint8)


@pytest.fixture
def folder(tmp_path):
    """Eleven images of noise, with lists as text. The names end in .jpg, the bytes are PNG, which keeps them."""
    (tmp_path / "img_align_celeba").mkdir()
    lines, parts = [], []
    for i, (part, glasses) in enumerate(zip(PARTS, GLASSES, strict=True)):
        name = f"{i + 1:06d}.jpg"
        Image.fromarray(PICTURES[i]).save(tmp_path / "img_align_celeba" / name, format="png")
        lines.append(f"{name} {-1:2d} {1 if glasses else -1:2d} {1:2d}")
        parts.append(f"{name} {part}")
    header = [str(len(lines)), " ".join(ATTRIBUTES) + " "]
    (tmp_path / "list_attr_celeba.txt").write_text("\n".join(header + lines) + "\n")
    (tmp_path / "list_eval_partition.txt").write_text("\n".join(parts) + "\n")
    return tmp_path


def test_parts_groups_and_pixels(folder):
    levels = [20 + 15 * i for i in range(11)]
    for i, level in enumerate(levels):  # one colour each: what shrinking does not change
        path = folder / "img_align_celeba" / f"{i + 1:06d}.jpg"
        Image.new("RGB", (20, 30), (level, level, level)).save(path, format="jpeg", quality=100)
    for number, partition in enumerate(("train", "validation", "test", "all")):
        data = load_celeba(folder, size=(3, 2), partition=partition)
        wanted = [i for i, part in enumerate(PARTS) if number in (part, 3)]
        assert data.groups.tolist() == data.y.tolist() == [GLASSES[i] for i in wanted]
        np.testing.assert_allclose(data.X * 255, [[levels[i]] * 6 for i in wanted], atol=1.0)
    assert data.feature_names == tuple(f"pixel_{i:02d}_{j:02d}" for i in range(3) for j in range(2))
    picture = np.zeros((30, 20, 3), dtype=np.uint8)
    picture[:15, :, 0] = 255  # the upper half is red: height comes first and colours are kept
    Image.fromarray(picture).save(folder / "img_align_celeba" / "000001.jpg", quality=100, subsampling=0)
    data = load_celeba(folder, size=(2, 1), grey=False, limit=1)
    np.testing.assert_allclose(data.X, [[1, 0, 0, 0, 0, 0]], atol=0.03)
    assert data.feature_names[:3] == ("pixel_00_00_red", "pixel_00_00_green", "pixel_00_00_blue")


def test_csv_lists_and_folders_of_the_distribution_give_the_same(folder):
    wanted = load_celeba(folder, "Eyeglasses", (4, 4)).X
    assert celeba_attributes(folder) == ATTRIBUTES
    heads = {"list_attr_celeba": ("image_id", *ATTRIBUTES), "list_eval_partition": ("image_id", "partition")}
    for name, head in heads.items():
        lines = (folder / f"{name}.txt").read_text().splitlines()[2 if "attr" in name else 0 :]
        rows = [",".join(head), *(",".join(line.split()) for line in lines)]
        (folder / f"{name}.csv").write_text("\n".join(rows) + "\n")
        (folder / f"{name}.txt").unlink()
    np.testing.assert_array_equal(load_celeba(folder, "Eyeglasses", (4, 4)).X, wanted)
    places = {"Img": "img_align_celeba", "Anno": "list_attr_celeba.csv", "Eval": "list_eval_partition.csv"}
    for place, name in places.items():
        (folder / place).mkdir()
        (folder / name).rename(folder / place / name)
    np.testing.assert_array_equal(load_celeba(folder, "Eyeglasses", (4, 4)).X, wanted)
    assert celeba_attributes(folder) == ATTRIBUTES


def test_batches_rows_and_the_stream_are_the_same_images(folder):
    data = load_celeba(folder, size=(3, 3), partition="all")
    batches = list(celeba_batches(folder, size=(3, 3), partition="all", batch_size=4))
    assert [len(X) for X, _ in batches] == [4, 4, 3]
    np.testing.assert_array_equal(np.vstack([X for X, _ in batches]), data.X)
    np.testing.assert_array_equal(np.concatenate([groups for _, groups in batches]), data.groups)
    assert load_celeba(folder, partition="all", limit=5).n == 5
    stream = celeba_stream(folder, batch_size=4)
    assert (stream.n_rows, stream.image_size, stream.n_features) == (6, (12, 10), 360)
    X, groups = (np.concatenate(parts) for parts in zip(*stream, strict=True))
    np.testing.assert_allclose(X, (PICTURES[:6].reshape(6, 360) / 255 - 0.5) / 0.5, atol=1e-6)
    assert (X.dtype, groups.tolist()) == (np.float32, list(GLASSES[:6]))
    data = load_celeba(folder, size=None, grey=False)
    np.testing.assert_allclose(data.X, (X + 1) / 2, atol=1e-7)
    assert (data.d, data.feature_names[0], data.feature_names[-1]) == (360, "pixel_00_00_red", "pixel_11_09_blue")
    small = np.vstack([X for X, _ in celeba_stream(folder, size=(3, 2), grey=True, scale="unit")])
    np.testing.assert_allclose(small, load_celeba(folder, size=(3, 2)).X, atol=1e-7)


def test_what_is_missing_is_said(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    for error, match, call in [
        (FetchError, r"nowhere: it does not exist\. CelebA", lambda: load_celeba(tmp_path / "nowhere")),
        (FetchError, "it has no folder img_align_celeba", lambda: load_celeba(tmp_path / "empty")),
        (ConfigurationError, "attribute='Glasses'; .* Bald, Eyeglasses", lambda: load_celeba(folder, "Glasses")),
        (ConfigurationError, "partition='dev'; .* validation, test", lambda: load_celeba(folder, partition="dev")),
        (ConfigurationError, "limit=0", lambda: load_celeba(folder, limit=0)),
    ]:
        with pytest.raises(error, match=match):
            call()
    (folder / "img_align_celeba" / "000003.jpg").unlink()
    with pytest.raises(DataError, match=r"000003\.jpg .*on_unreadable='skip'"):
        load_celeba(folder)
    with pytest.warns(UnreadableImagesWarning, match=r"1 of 6 images .* left out: 000003\.jpg"):
        assert load_celeba(folder, on_unreadable="skip").groups.tolist() == [1, 0, 1, 0, 0]
    (folder / "list_eval_partition.txt").unlink()
    with pytest.raises(FetchError, match=r"neither list_eval_partition\.txt nor list_eval_partition\.csv"):
        load_celeba(folder)
    assert load_celeba(folder, partition="all", limit=2).n == 2
    (folder / "list_attr_celeba.txt").unlink()
    with pytest.raises(FetchError, match=r"neither list_attr_celeba\.txt"):
        celeba_attributes(folder)


def test_damaged_and_empty_lists_are_refused(folder):
    for name, old, new, said in [
        ("list_attr_celeba.txt", "11\n", "12\n", "announces 12 images and lists 11"),
        ("list_attr_celeba.txt", "11\n", "", "the first line must be the number of images"),
        ("list_attr_celeba.txt", "000001.jpg -1", "000001.jpg", r"000001\.jpg has 2 values for 3 attributes"),
        ("list_attr_celeba.txt", "000001.jpg -1  1", "000001.jpg -1  2", r"attribute of 000001\.jpg is '2'"),
        ("list_eval_partition.txt", "000002.jpg 0", "000002.jpg 3", r"000002\.jpg 3"),
        ("list_eval_partition.txt", "000002.jpg 0\n", "", r"1 image\(s\) .* the first is 000002\.jpg"),
        ("list_eval_partition.txt", None, "\n", "is empty"),
    ]:
        path = folder / name
        text = path.read_text()
        assert old is None or old in text
        path.write_text(new if old is None else text.replace(old, new, 1))
        with pytest.raises(DataError, match=said):
            load_celeba(folder)
        path.write_text(text)
    parts = folder / "list_eval_partition.txt"
    parts.write_text(parts.read_text().replace(" 1\n", " 0\n"))
    with pytest.raises(DataError, match="no image of the part 'validation'"):
        load_celeba(folder, partition="validation")
