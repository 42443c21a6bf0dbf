"""Clusters of new rows: the nearest centre in the feature space, beside distances written out."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from evenspan import FairKernelKMeans

from .clustering_samples import crossed

SAMPLE, NEW = crossed(), crossed(seed=8)


def features(X, reference, kernel):
    """Points whose inner products are the kernel: an explicit feature map."""
    both = np.vstack([reference, X])
    values, vectors = np.linalg.eigh(rbf_kernel(both, gamma=0.05))
    Z = both if kernel == "linear" else vectors * np.sqrt(np.maximum(values, 0.0))
    return Z[: len(reference)], Z[len(reference) :]


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_the_nearest_centre_in_the_feature_space(kernel):
    model = FairKernelKMeans(3, 2.0, max_iter=100, kernel=kernel, gamma=0.05)
    model.fit(SAMPLE.X, sensitive_features=SAMPLE.groups)
    old, new = features(NEW.X, SAMPLE.X, kernel)
    centres = np.array([old[model.labels_ == k].mean(axis=0) for k in range(3)])
    expected = np.linalg.norm(new[:, None] - centres, axis=2).argmin(axis=1)
    found = model.predict(NEW.X)
    np.testing.assert_array_equal(found, expected)
    assert len(np.unique(found)) == 3
    far = 1e6 * np.ones(4)
    model.fit(SAMPLE.X + far, sensitive_features=SAMPLE.groups)
    np.testing.assert_array_equal(model.predict(NEW.X + far), expected)
