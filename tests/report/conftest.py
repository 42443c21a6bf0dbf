"""Figures end with the test that drew them."""

import pytest
from matplotlib import pyplot as plt


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")
