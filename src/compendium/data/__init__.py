"""Data: the registry of sources, verified raw files, loaders, shipped moments, data cards and synthetic generators."""

from evenspan.core.stream_images import UnreadableImagesWarning

from .cards import card, card_index
from .celeba import celeba_attributes, celeba_batches, celeba_stream, load_celeba
from .clustering import ClusterData, clusterings, load_clustering
from .clustering_files import load_daily_sports, load_har
from .fetch import Status, fetch, status, verify
from .moments import WITH_FOLDS, fold_moments, group_moments, half_moments, make_moments, shipped_moments, whole_moments
from .registry import Entry, RawFile, checksum, entry, names
from .splits import load_split, own_split, paired_splits, splits
from .synthetic import (
    GaussianPair,
    authors_pair,
    equal_moments,
    gap_controlled_pair,
    stretched_group,
    two_latent_groups,
)
from .tables import Dataset, batches, load, loadable, own_table

__all__ = [
    "WITH_FOLDS",
    "ClusterData",
    "Dataset",
    "Entry",
    "GaussianPair",
    "RawFile",
    "Status",
    "UnreadableImagesWarning",
    "authors_pair",
    "batches",
    "card",
    "card_index",
    "celeba_attributes",
    "celeba_batches",
    "celeba_stream",
    "checksum",
    "clusterings",
    "entry",
    "equal_moments",
    "fetch",
    "fold_moments",
    "gap_controlled_pair",
    "group_moments",
    "half_moments",
    "load",
    "load_celeba",
    "load_clustering",
    "load_daily_sports",
    "load_har",
    "load_split",
    "loadable",
    "make_moments",
    "names",
    "own_split",
    "own_table",
    "paired_splits",
    "shipped_moments",
    "splits",
    "status",
    "stretched_group",
    "two_latent_groups",
    "verify",
    "whole_moments",
]
