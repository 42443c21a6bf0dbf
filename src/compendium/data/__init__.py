"""Data: the registry of sources, verified raw files, loaders, group moments, data cards and synthetic generators."""

from .cards import card, card_index
from .clustering import ClusterData, clusterings, load_clustering
from .clustering_files import load_daily_sports, load_har
from .fetch import at_hand, fetch, present, verify
from .moments import group_moments, make_moments, moments_of, parts_of, split_moments
from .raw import ship
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
from .tables import Dataset, load, loadable, of_two_groups, own_table, table

__all__ = [
    "ClusterData",
    "Dataset",
    "Entry",
    "GaussianPair",
    "RawFile",
    "at_hand",
    "authors_pair",
    "card",
    "card_index",
    "checksum",
    "clusterings",
    "entry",
    "equal_moments",
    "fetch",
    "gap_controlled_pair",
    "group_moments",
    "load",
    "load_clustering",
    "load_daily_sports",
    "load_har",
    "load_split",
    "loadable",
    "make_moments",
    "moments_of",
    "names",
    "of_two_groups",
    "own_split",
    "own_table",
    "paired_splits",
    "parts_of",
    "present",
    "ship",
    "split_moments",
    "splits",
    "stretched_group",
    "table",
    "two_latent_groups",
    "verify",
]
