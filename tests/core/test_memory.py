"""No method that reduces points to coordinates copies them all to do so."""

import warnings

import numpy as np
import pytest

from .every import TRANSFORMERS, fit, make
from .memory import peak_of
from .samples import draw

S = draw(counts=(120, 60), names=("a", "b"))


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transform_of_single_precision_holds_one_block_of_it(name):
    X = np.tile(S.X, (1, 5)) + np.random.default_rng(0).normal(size=(180, 30))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a quick fit leaves undone
        model = fit(make(name), X, S.groups, np.arange(180) % 2)
    many = np.tile(X, (2000, 1)).astype(np.float32)  # 43 MB, 86 MB in double precision
    peak, T = peak_of(lambda: model.transform(many))
    assert T.shape == (len(many), 2)
    assert peak - T.nbytes < 0.75 * many.nbytes
    np.testing.assert_allclose(T[:180], model.transform(X), atol=1e-4 * np.abs(T).max())
