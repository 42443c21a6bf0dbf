"""Scalings of features before clustering: rows of unit length, columns of mean 0 and deviation 1, weights of terms."""

import numpy as np
from scipy import sparse

from evenspan.core.errors import DataError

__all__ = ["min_max", "standardised", "tf_idf", "unit_rows"]


def unit_rows(X):
    """Every row divided by its length; a row of zeros stays one."""
    if sparse.issparse(X):
        lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        return sparse.csr_matrix(sparse.diags(1.0 / np.where(lengths > 0.0, lengths, 1.0)) @ X)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(lengths > 0.0, lengths, 1.0)


def standardised(X: np.ndarray) -> np.ndarray:
    """Every column with mean 0 and standard deviation 1; a constant column becomes 0."""
    deviations = X.std(axis=0)
    constant = deviations <= np.abs(X).max(axis=0) * len(X) * np.finfo(float).eps
    return np.where(constant, 0.0, (X - X.mean(axis=0)) / np.where(constant, 1.0, deviations))


def min_max(X: np.ndarray) -> np.ndarray:
    """Every column between 0 and 1; a constant column becomes 0."""
    low, spread = X.min(axis=0), np.ptp(X, axis=0)
    return (X - low) / np.where(spread > 0.0, spread, 1.0)


def tf_idf(counts: sparse.csr_matrix) -> sparse.csr_matrix:
    """Counts times ``1 + log((1 + n) / (1 + df))``, with df the number of rows that have the term."""
    if counts.nnz and counts.data.min() < 0:
        raise DataError(f"there is a count of {counts.data.min():g}; counts of terms cannot be negative.")
    n = counts.shape[0]
    documents = np.bincount(counts.indices[counts.data > 0], minlength=counts.shape[1])
    return sparse.csr_matrix(counts @ sparse.diags(1.0 + np.log((1.0 + n) / (1.0 + documents))))
