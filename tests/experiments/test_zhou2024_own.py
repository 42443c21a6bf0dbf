"""Every notebook on clusterings with a CSV file of one's own, with a column of classes and without one."""

import shutil

import numpy as np
import pandas as pd
import pytest

from compendium import paths
from compendium.catalogue import experiment
from compendium.papers.zhou2024 import protocol as zhou2024
from compendium.protocol import asked, cells
from evenspan.core.errors import ConfigurationError

SETTINGS = {
    "table": {"seeds": 1},
    "multiple": {"seeds": 1, "rounds": 2},
    "tradeoff": {"weights": "0, 2", "sweeps": 2, "seeds": 1},
    "kernels": {"blocks": 10},
}


def computed(entry, setting) -> list[str]:
    """The units of a full run that are not stored yet."""
    study, unit, seed = asked(entry, setting)
    return study.compute(unit, seed=seed)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A file with the made set: numbers, words for groups, and the classes; a function that changes its columns."""

    def own(**columns):
        made, path = zhou2024.made_set(), tmp_path_factory.mktemp("own") / "my.csv"
        frame = pd.DataFrame(made.X, columns=["width", "height"]).assign(who=made.groups, kind=made.y)
        frame["who"] = frame["who"].map({0: "f", 1: "m"})
        frame.assign(**columns).to_csv(path, index=False)
        return str(path)

    return own


@pytest.mark.parametrize("name", SETTINGS)
def test_a_table_of_ones_own_is_clustered_and_without_classes_their_metrics_are_unknown(name, own):
    entry, with_classes, without = experiment(f"zhou2024-{name}"), own(), own(kind=0.0)
    found = {}
    for path, more in ((with_classes, {"classes": "kind"}), (without, {"classes": "", "clusters": 3})):
        setting = entry.complete({"dataset": path, "groups": "who"} | SETTINGS[name] | more)
        space = cells(entry, setting, all_of_it=True)
        rows, note = space["results"], space["study"].note()
        assert "the setting is another one" in note
        assert "Missing" not in note
        assert (rows["dataset"] == path).all()
        keys = [key for key in ("method", "protocol", "variant", "weight", "split", "metric") if key in rows]
        found[more["classes"]] = rows.set_index(keys)
    known, unknown = found["kind"]["value"], found[""]["value"]
    of_classes = unknown.index.get_level_values("metric").isin(["ACC", "NMI"])
    assert known.notna().all()
    assert unknown[of_classes].isna().all()
    rest = unknown[~of_classes].dropna()
    assert set(found[""].loc[found[""]["value"].isna(), "reason"]) == {zhou2024.UNKNOWN["ACC"]}
    # The column of classes takes no part: a constant one is a column of zeros, and all else is the same.
    both = pd.concat([rest, known], axis=1, join="inner", keys=["without", "with"])
    both = both[~both.index.get_level_values("metric").isin(["seconds", "objective"])]
    assert len(both) > 40
    np.testing.assert_allclose(both["without"], both["with"], rtol=1e-9, atol=1e-9)


def test_units_of_a_file_that_changed_are_computed_again(own, monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "build", tmp_path.joinpath)
    entry, path = experiment("zhou2024-kernels"), own()
    setting = entry.complete({"dataset": path, "groups": "who", "classes": "kind"} | SETTINGS["kernels"])
    first, again = computed(entry, setting), computed(entry, setting)
    shutil.copy(own(width=range(156)), path)
    assert (len(first), len(again), len(computed(entry, setting))) == (1, 0, 1)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"groups": "sex"}, "groups='sex'.*has the columns width, height, who, kind. Name one"),
        ({"dataset": "nowhere.csv"}, "'nowhere.csv' cannot be read"),
        ({"dataset": "nowhere"}, "needed is a CSV file or one of jaffe, "),
        ({"dataset": "made"}, "for a CSV file of your own"),
        ({"classes": ""}, "clusters=0; of 156 rows 2 to 156 .*without a column of classes"),
        ({"dataset": "empty.csv"}, "has no rows"),
        ({"width": "wide"}, "column width is not numeric"),
        ({"who": "f"}, "has the groups f; needed are two"),
    ],
)
def test_what_is_no_table_to_cluster_is_told(own, setting, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.csv").write_text("width,height,who,kind\n")
    columns = {name: setting.pop(name) for name in ("width", "who") if name in setting}
    with pytest.raises(ConfigurationError, match=said):
        zhou2024.problem(**{"dataset": own(**columns), "groups": "who", "classes": "kind"} | setting)
