"""Trust: data are never run as code, nothing is unpickled, and nothing given from outside leaves its place."""

import ast
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from papermill.translators import PythonTranslator
from typer.testing import CliRunner

import evenspan
from compendium import data as datasets
from compendium import paths, store
from compendium.catalogue import experiment, task_id
from compendium.cli import app
from compendium.errors import RegistryError
from compendium.records import tidy, whole
from evenspan import GroupMoments
from evenspan.core.errors import ResultError

SOURCE = Path(evenspan.__file__).parents[1]
FILES = sorted([*SOURCE.rglob("*.py"), *(paths.root() / "book" / "_ext").glob("*.py")])

#: Modules whose loading runs what the bytes say; calls that run text, and that load or unpack under another name.
UNPICKLERS = {"pickle", "cPickle", "_pickle", "cloudpickle", "joblib", "dill", "shelve", "marshal", "jsonpickle"}
RUNNERS = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "subprocess.getoutput"}
RUNNERS |= {"subprocess.getstatusoutput", "yaml.unsafe_load", "yaml.full_load", "yaml.load_all"}
LOADERS = {"read_pickle", "load_module", "exec_module", "extractall", "extract", "unpack_archive"}


def faults(text: str) -> list[str]:
    """What a source file does that could run data as code."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            found += [m for m in modules if m.partition(".")[0] in UNPICKLERS]
        if isinstance(node, ast.Attribute) and ast.unparse(node).partition(".")[0] in UNPICKLERS:
            found.append(ast.unparse(node))
        if isinstance(node, ast.Call):
            called, given = ast.unparse(node.func), {word.arg: ast.unparse(word.value) for word in node.keywords}
            loads = called.rpartition(".")[2] in LOADERS and not called.endswith(".str.extract")
            plain = called in ("np.load", "numpy.load")
            wrong = called in RUNNERS or loads or given.get("shell", "False") != "False"
            wrong |= (plain or "allow_pickle" in given) and given.get("allow_pickle") != "False"
            wrong |= called == "yaml.load" and given.get("Loader") not in ("yaml.SafeLoader", "yaml.CSafeLoader")
            found += [called] if wrong else []
    return found


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("from joblib import load", "joblib"),
        ("import pickle\npickle.loads(b)", "pickle.loads"),
        ("np.load(path)", "np.load"),
        ("np.lib.format.read_array(f, allow_pickle=yes)", "np.lib.format.read_array"),
        ("yaml.load(text, Loader=yaml.Loader)", "yaml.load"),
        ("yaml.unsafe_load(text)", "yaml.unsafe_load"),
        ("value = eval(text)", "eval"),
        ("subprocess.run(text, shell=True)", "subprocess.run"),
        ("archive.extractall(folder)", "archive.extractall"),
        ("pd.read_pickle(path)", "pd.read_pickle"),
    ],
)
def test_the_search_finds_what_it_should(text, what):
    assert what in faults(text)


def test_no_source_file_runs_data_or_unpickles_or_unpacks_to_disc():
    assert len(FILES) > 50
    found = {path.name: f for path in FILES if (f := faults(path.read_text(encoding="utf-8")))}
    # The cells of the notebooks of this repository, which are code as its modules are; the file of a reader's method.
    assert found == {"own.py": ["spec.loader.exec_module"]}
    # Archives are opened member by member, by name.
    opened = [path.name for path in FILES if "zipfile" in path.read_text(encoding="utf-8")]
    assert "raw.py" in opened
    assert [path.name for path in FILES if "tarfile" in path.read_text(encoding="utf-8")] == []
    # Limits are set by who starts a process, and not on every system.
    library = [*(SOURCE / "evenspan").rglob("*.py")]
    assert len(library) > 50
    assert [
        path.name for path in library if re.search(r"^\s*(import|from) resource", path.read_text("utf-8"), re.M)
    ] == []


def test_every_yaml_file_is_read_by_a_safe_loader(toy_checkout):
    path = toy_checkout / "experiments.yml"
    path.write_text(path.read_text() + "\nevil: !!python/object/apply:pathlib.Path.touch [x]\n")
    with pytest.raises(ResultError, match=r"ConstructorError: .*python/object"):
        experiment("toy-table")


HOSTILE = (
    "$(touch {})",
    "; touch {} #",
    '"""\n__import__("pathlib").Path("{}").touch()\n"""',
    "'; __import__('pathlib').Path('{}').touch() #",
    "../../{}",
    "{{{{7*7}}}}",
    "toy\x00",
    "-rf",
)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "toy-table", "-p", "dataset", "{}"], "parameter 'dataset'"),
        (["run", "toy-table", "-p", "scale", "{}"], "parameter 'scale'"),
        (["run", "{}"], "no experiment"),
        (["run", "toy-table", "--profile", "full", "--task", "{}"], "toy-table has no unit"),
        (["data", "card", "{}"], "no data set"),
    ],
)
def test_hostile_values_and_names_are_refused(toy_checkout, words, said):
    (toy_checkout / "data" / "registry.toml").write_bytes((SOURCE.parent / "data" / "registry.toml").read_bytes())
    for text in HOSTILE:
        ended = CliRunner().invoke(app, [word.replace("{}", text.format(toy_checkout / "touched")) for word in words])
        assert ended.exit_code == 2, text
        assert said in ended.output or (text == "-rf" and "toy-table" not in words), text  # then it is an option
        assert ended.exception is None or isinstance(ended.exception, SystemExit)
        assert not (toy_checkout / "touched").exists()


def test_a_hostile_free_text_reaches_the_notebook_as_that_text(toy_checkout):
    """The one way in is a parameter without limited values: papermill writes it into a cell as a quoted text."""
    listed = toy_checkout / "experiments.yml"
    listed.write_text(listed.read_text().replace("  choices: {dataset: [toy, other]}\n", ""))
    for text in HOSTILE:
        given = text.replace("\x00", "").format(toy_checkout / "touched")
        value = experiment("toy-table").complete({"dataset": given})["dataset"]
        [statement] = ast.parse(PythonTranslator.codify({"dataset": value})).body
        assert ast.literal_eval(statement.value) == given == value


def test_names_of_units_and_of_raw_files_stay_in_their_folder(toy_checkout):
    (toy_checkout / "data" / "registry.toml").write_bytes((SOURCE.parent / "data" / "registry.toml").read_bytes())
    for name in datasets.names():
        entry = datasets.entry(name)
        for file in (entry.folder, *(f"{entry.folder}/{one.name}" for one in entry.files)):
            assert (Path("/data") / file).resolve().is_relative_to("/data"), (name, file)
            assert ".." not in Path(file).parts
    for text in ("../../evil", "/etc/evil", "x\x00y", "C:\\evil", "~/evil", "a\nb", "$(touch x)", "é/../x"):
        assert re.fullmatch(r"[a-z0-9_-][a-z0-9._-]*", task_id({"dataset": text, "k": 2}))
    assert task_id({"fair": True, "tau": 1e-6}) == "fairtrue-tau1e_06"
    with pytest.raises(RegistryError, match="without letters or digits"):
        task_id({"dataset": "..", "k": 2})
    entry, given = experiment("toy-table"), {"dataset": "../../../evil", "method": "PCA"}
    path = store.record_path(entry, given)
    store.save(entry, given, whole(tidy({"%Var": 1.0}, k=3, protocol="released", **given)), path, seconds=0.0)
    assert path.is_file()
    assert path.resolve().is_relative_to((toy_checkout / "data" / "results" / "full" / "toy-table").resolve())


class Touch:
    """Unpickled, it makes a file: the test sees whether anybody unpickled it."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_a_pickled_object_in_a_moments_file_is_refused(tmp_path):
    path, mark = tmp_path / "m.npz", tmp_path / "touched"
    GroupMoments.from_data(np.arange(24.0).reshape(8, 3) ** 1.5, np.arange(8) % 2).save(path)
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    arrays["means"] = np.full(arrays["means"].shape, None)
    arrays["means"][:] = Touch(mark)
    np.savez(path, **arrays)
    (tmp_path / "bare.npz").write_bytes(pickle.dumps(Touch(mark)))
    for name in ("m.npz", "bare.npz"):
        with pytest.raises(ResultError, match=rf"{name} is not a moments file"):
            GroupMoments.load(tmp_path / name)
    assert not mark.exists()
    with np.load(path, allow_pickle=True) as stored:  # elsewhere it would work
        assert stored["means"].dtype == object
    assert mark.exists()


def test_text_in_results_is_only_text(toy_checkout):
    """A stored table may hold what a spreadsheet or a shell would run: it reads back as the same text."""
    entry, task = experiment("toy-table"), {"k": 2, "method": "PCA"}
    frame = whole(tidy({"%Var": 1.0}, dataset="toy", method="PCA", k=2, protocol="released"))
    cells = ['=HYPERLINK("http://x")', "$(touch x)", 'a,b\n"c"', "<script>alert(1)</script>"]
    frame = pd.concat([frame.assign(note=cell, split=number) for number, cell in enumerate(cells)])
    store.save(entry, task, frame, store.record_path(entry, task), seconds=0.0)
    assert set(store.read_results("toy-table")["note"]) == set(cells)
