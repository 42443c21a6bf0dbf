"""Every notebook once with a setting that no page shows: it gives a result of its own, and no verdicts."""

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import distributed
import nbformat
import pandas as pd
import pytest

from compendium import paths
from compendium.catalogue import catalogue, experiment
from compendium.papers.lee2023 import scale
from compendium.protocol import cells
from compendium.store import units_of
from evenspan.core.errors import FairError

SETTINGS = {
    "vu2022-tables": {"dataset": "energy", "k": 2, "splits": 1, "rates": "0.1", "penalties": "0, 1"},
    "vu2022-data": {"largest_deviation": 1e9},
    "vu2022-descent": {"datasets": "energy", "k": 2, "restarts": 5, "penalties": "0, 2"},
    "vu2022-pareto": {"dataset": "energy", "k": 1, "seeds": 1},
    "vu2022-components": {"dataset": "ecoli", "splits": 2, "penalty": 5.0},
    "vu2022-toy": {"simulations": 2, "radii": 3, "penalties": "0, 1"},
    "vu2022-theorems": {"times": 0.05},
    "rathore2025-tables": {"dataset": "biodeg", "largest": 2},
    "rathore2025-origin": {"random_bases": 1},
    "rathore2025-factorial": {"dataset": "biodeg", "largest": 2},
    "rathore2025-theorems": {"datasets": "npha", "pairs": 2},
    "rathore2025-times": {"features": "6, 8, 12", "features_programme": "4, 5", "repetitions": 1},
    "zhou2024-table": {"dataset": "made", "seeds": 2},
    "zhou2024-multiple": {"dataset": "made", "seeds": 2, "rounds": 3},
    "zhou2024-tradeoff": {"dataset": "made", "weights": "0, 1", "sweeps": 2, "seeds": 2},
    "zhou2024-kernels": {"dataset": "made"},
    "zhou2024-theorems": {"claims": "Z02, Z04", "seed": 1},
    "lee2023-table": {"dataset": "compas", "k": 3, "directions": "0, 2", "splits": 1},
    "lee2023-learnability": {
        **{"sizes": "32, 100", "runs": 2, "factors": "m", "factor_sizes": "32, 100", "factor_runs": 1},
        "special_runs": 1,
    },
    "lee2023-theorems": {"tables_tried": 5, "features": "4", "runs": 1},
    "lee2023-comparison": {"directions": "2", "size": 500, "blocks": 4, "streams": 2},
    "lee2023-scale": {
        **{"n": "64, 128", "d": "16, 32", "k": "2, 4", "m": "2, 4", "repetitions": 1, "rows": 400, "chunks": 4},
        **{"rounds": 1, "workers": "1"},
    },
    "lee2023-images": {
        "k": 3,
        "full_images": 40,
        "images": 300,
        "size": "20 x 16",
        "first_blocks": "2",
        "parts": "rank",
    },
    "across-methods": {"dataset": "sklearn_diabetes", "sizes": "2", "splits": 1},
    "across-bounds": {"k": 3, "parts": 1, "methods": "PCA, LEACE"},
    "across-classifiers": {"dataset": "sklearn_diabetes", "methods": "Fair PCA", "k": 2, "splits": 1},
    "kleindessner2023-table": {"dataset": "compas", "k": 3, "splits": 2},
    "kleindessner2023-runtime": {"sizes": "200 x 10, 300 x 10", "repetitions": 1},
    "kleindessner2023-rival-times": {"k": 2, "features": "4", "repetitions": 1},
    "kleindessner2023-synthetic": {"n": 100, "draws": 2, "dimensions": "10", "splits": 1},
    "kleindessner2023-illustration": {"draws": 3},
    "kleindessner2023-theorems": {"problems": 6, "points": 500},
    "kleindessner2023-faces": {"k": 20, "splits": 1, "images": 60},
    "kleindessner2023-reductions": {"datasets": "sklearn_diabetes", "size": 150, "runs": 1, "bounds": "0.1"},
    "kleindessner2023-reductions-times": {"dataset": "sklearn_diabetes", "sizes": "100", "runs": 1},
}


def test_every_notebook_has_a_setting_of_its_own():
    assert set(SETTINGS) == set(catalogue())


@contextmanager
def _threads(n_workers):
    options = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(processes=False, protocol="tcp://", **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def small_clusters(monkeypatch):
    """Clusters of threads that reduce tables of two chunks; those of a page are processes (``test_lee2023_scale``)."""
    made = scale.generated
    monkeypatch.setattr(scale, "generated", lambda d, rows, chunks: made(d, rows, min(chunks, 2)))
    monkeypatch.setattr(scale, "cluster", _threads)


@pytest.mark.usefixtures("small_clusters")
@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_that_no_page_shows_gives_a_result_without_verdicts(name, few_portraits):
    entry = experiment(name)
    setting = entry.complete(SETTINGS[name])
    assert entry.execution_for(setting) is None
    with few_portraits():
        space = cells(entry, setting, all_of_it=True)
    results, study = space["results"], space["study"]
    assert isinstance(results, pd.DataFrame)
    assert results["value"].notna().any()
    assert not study.compared
    assert "the setting is another one" in study.note()


def test_no_seed_where_nothing_is_drawn():
    assert not any("seed" in unit.record for unit in units_of("rathore2025-tables").values())


@pytest.mark.parametrize(
    ("name", "setting", "said"),
    [
        ("rathore2025-tables", {"dataset": "nowhere"}, "nowhere"),
        ("rathore2025-tables", {"largest": 99}, "largest=99"),
        ("vu2022-tables", {"dataset": "energy", "k": 99, "splits": 1, "rates": "0.1"}, "99"),
        ("vu2022-components", {"dataset": "biodeg", "groups": "sex"}, "biodeg has its groups and label"),
        ("across-methods", {"dataset": "nowhere"}, "needed is a CSV file or one of default_credit"),
        ("lee2023-comparison", {"generator": "mine"}, "it can be authors"),
    ],
)
def test_an_impossible_setting_is_told(name, setting, said):
    entry = experiment(name)
    with pytest.raises(FairError, match=said):
        cells(entry, entry.complete(setting))


#: One quick notebook of each paper.
QUICK = [
    "kleindessner2023/illustration",
    "lee2023/comparison",
    "rathore2025/tables",
    "vu2022/tables",
    "zhou2024/tradeoff",
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", QUICK)
def test_plain_papermill_gives_the_stored_numbers(name, tmp_path):
    """As a reader runs it: any number of threads, and the routines that OpenBLAS chooses for the processor."""
    chosen = re.compile("OPENBLAS_CORETYPE|MPLBACKEND|.*_(NUM|MAXIMUM)_THREADS")
    environment = {key: value for key, value in os.environ.items() if not chosen.fullmatch(key)}
    command = [Path(sys.executable).with_name("papermill"), "--no-progress-bar", f"notebooks/{name}.ipynb"]
    run = subprocess.run(
        [*command, tmp_path / "out.ipynb"], cwd=paths.root(), env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    code = [cell for cell in nbformat.read(tmp_path / "out.ipynb", as_version=4).cells if cell.cell_type == "code"]
    outputs = [output for cell in code for output in cell.outputs]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    shown = [output.data.get("text/plain", "") for output in outputs if "data" in output]
    (said,) = [text for text in shown if text.startswith("This build computed")]
    assert re.match("This build computed [1-9]", said)
    assert "DIFFER" not in said
