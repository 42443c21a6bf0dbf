"""The figure of the joint range shows every method where it is, and the frontier below all of them."""

import numpy as np
from matplotlib import pyplot as plt

from compendium.data import group_moments
from compendium.figures import joint_range, lower_left
from evenspan import JointRange, StandardPCA


def test_points_stand_where_they_are_and_nothing_is_below_the_frontier():
    moments = group_moments("wine_quality").standardised()
    joint = JointRange.from_moments(moments, 3)
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.normal(size=(moments.d, 3)))[0]
    pca = StandardPCA(3).fit_moments(moments).components_.T
    points = {"PCA": tuple(joint.pair(pca)), "random": tuple(joint.pair(V))}
    figure = joint_range(joint, points, labels=("red", "white"))
    whole, near = figure.axes
    for panel in (whole, near):
        drawn = {line.get_label(): line.get_xydata()[0] for line in panel.get_lines() if line.get_label() in points}
        assert set(drawn) == set(points)
        for name, point in points.items():
            np.testing.assert_allclose(drawn[name], point)
    edge = lower_left(joint)
    for point in points.values():
        # No point of the frontier is worse for both groups than an attainable pair.
        assert not ((edge - np.array(point)) > 1e-9 * joint.scale).all(axis=1).any()
    assert (np.diff(edge[:, 0]) >= -1e-9).all()
    assert (np.diff(edge[:, 1]) <= 1e-9).all()
    assert "red" in whole.get_xlabel()
    assert "white" in whole.get_ylabel()
    plt.close(figure)
