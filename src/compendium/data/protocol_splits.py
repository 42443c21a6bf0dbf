"""The random splits of Vu et al. (2022): 30 / 70 within each group with folds inside, and halves.

The paper fixes shares, folds and numbers of repetitions. How the rows are drawn, with which seeds, and how the folds
are cut stands in the program that its authors published (github.com/hieuvt29/distributionally_robust_fair_pca), and
is done here in the same way, so that the splits and folds of this module are theirs.
"""

from collections.abc import Mapping

import numpy as np
from sklearn.model_selection import KFold

from evenspan.core.errors import ConfigurationError, GroupError

SEEDS = range(10)
HALF_SEEDS = range(5)
TRAIN_SHARE = 0.3
HALF = 0.5
FOLDS = 3
#: Two folds for the faces, as the paper says.
OTHER_FOLDS: Mapping[str, int] = {"lfw_24x24": 2}


def split_rows(groups: np.ndarray, seed: int, *, share: float = TRAIN_SHARE, folds: int = FOLDS) -> dict:
    """Row numbers of the parts of one split.

    Parameters
    ----------
    groups : ndarray of shape (n,)
        Value of the sensitive attribute of every row.
    seed : int
        Of ``numpy.random.default_rng``, which permutes the rows of one group after the other (in the order of their
        labels), then the training rows of all groups together; and of scikit-learn's ``KFold``, which shuffles these
        once more before it cuts them.
    share : float
        Share of the training part within each group, rounded down.
    folds : int
        Equal parts of the training rows, the first ones larger by one where needed; folds are not stratified. 1 gives
        one part called ``train``.

    Returns
    -------
    dict of str to ndarray
        ``fold0``, ``fold1``, ... (or ``train``) and ``test``, each sorted.
    """
    if not 0 < share < 1 or folds < 1:
        raise ConfigurationError(f"share={share}, folds={folds}; needed are a share between 0 and 1 and a whole fold.")
    rng = np.random.default_rng(seed)
    train, test = [], []
    for label in np.unique(groups):
        order = rng.permutation(np.flatnonzero(groups == label))
        cut = int(np.floor(np.round(share * len(order), 9)))  # 0.3 * 690 must not fall below 207
        train.append(order[:cut])
        test.append(order[cut:])
    rows, order = {}, rng.permutation(np.concatenate(train))
    if folds == 1:
        rows["train"] = np.sort(order)
    else:
        for i, (_, held_out) in enumerate(KFold(folds, shuffle=True, random_state=seed).split(order)):
            rows[f"fold{i}"] = np.sort(order[held_out])
    rows["test"] = np.sort(np.concatenate(test))
    for name, part in rows.items():
        if missing := set(np.unique(groups).tolist()) - set(np.unique(groups[part]).tolist()):
            raise GroupError(
                f"part {name} of split {seed} has no row of group {', '.join(map(repr, sorted(missing)))}; every part "
                "needs all groups. Use fewer folds or another seed."
            )
    return rows


def fold_rows(name: str, groups: np.ndarray, seed: int) -> dict:
    """Row numbers ``fold0``, ``fold1``, ..., ``test`` of the cross-validation protocol for a data set."""
    return split_rows(groups, seed, folds=OTHER_FOLDS.get(name, FOLDS))


def half_rows(groups: np.ndarray, seed: int) -> dict:
    """Row numbers ``train`` and ``test`` of a 50 / 50 split within each group."""
    return split_rows(groups, seed, share=HALF, folds=1)
