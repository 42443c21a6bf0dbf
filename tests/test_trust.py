"""Trust: data are never run as code, nothing is unpickled, and nothing given from outside leaves its place."""

import ast
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from papermill.translators import PythonTranslator
from typer.testing import CliRunner

import evenspan
from compendium import data as datasets
from compendium import paths, store
from compendium.catalogue import experiment, task_id
from compendium.cli import app
from compendium.records import tidy, whole
from evenspan import GroupMoments
from evenspan.core.errors import RegistryError, ResultError

SOURCE = Path(evenspan.__file__).parents[1]
EXTENSIONS = paths.root() / "book" / "_ext"
FILES = sorted([*SOURCE.rglob("*.py"), *EXTENSIONS.glob("*.py")])

#: Modules whose loading runs what the bytes say.
UNPICKLERS = {"pickle", "cPickle", "_pickle", "cloudpickle", "joblib", "dill", "shelve", "marshal", "jsonpickle"}
#: Calls that run text, and calls that load such formats under another name.
RUNNERS = {"eval", "exec", "compile", "__import__"}
SHELLS = {"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"}
LOADERS = {"read_pickle", "load_module", "exec_module", "extractall", "extract", "unpack_archive"}


def faults(text: str) -> list[str]:
    """What a source file does that could run data as code."""
    tree = ast.parse(text)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            found += [m for m in modules if m.partition(".")[0] in UNPICKLERS]
        if isinstance(node, ast.Attribute) and ast.unparse(node).partition(".")[0] in UNPICKLERS:
            found.append(ast.unparse(node))
        if isinstance(node, ast.Call):
            found += in_call(node)
    return found


def in_call(node: ast.Call) -> list[str]:
    called, given = ast.unparse(node.func), {word.arg: ast.unparse(word.value) for word in node.keywords}
    last = called.rpartition(".")[2]
    if called in RUNNERS or called in SHELLS or (last in LOADERS and not called.endswith(".str.extract")):
        return [called]
    if called in ("np.load", "numpy.load") and given.get("allow_pickle") != "False":
        return [f"{called} without allow_pickle=False"]
    if "allow_pickle" in given and given["allow_pickle"] != "False":
        return [f"{called} with allow_pickle"]
    if called == "yaml.load" and given.get("Loader") not in ("yaml.SafeLoader", "yaml.CSafeLoader"):
        return ["yaml.load without a safe loader"]
    if called in ("yaml.unsafe_load", "yaml.full_load", "yaml.load_all"):
        return [called]
    return ["a shell"] if given.get("shell", "False") != "False" else []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("import pickle", "pickle"),
        ("from joblib import load", "joblib"),
        ("import pickle\npickle.loads(b)", "pickle.loads"),
        ("np.load(path)", "np.load without allow_pickle=False"),
        ("np.load(path, allow_pickle=True)", "np.load without allow_pickle=False"),
        ("np.lib.format.read_array(f, allow_pickle=yes)", "np.lib.format.read_array with allow_pickle"),
        ("yaml.load(text, Loader=yaml.Loader)", "yaml.load without a safe loader"),
        ("yaml.load(text, Loader=yaml.CLoader)", "yaml.load without a safe loader"),
        ("yaml.unsafe_load(text)", "yaml.unsafe_load"),
        ("value = eval(text)", "eval"),
        ("os.system(text)", "os.system"),
        ("subprocess.run(text, shell=True)", "a shell"),
        ("archive.extractall(folder)", "archive.extractall"),
        ("pd.read_pickle(path)", "pd.read_pickle"),
    ],
)
def test_the_search_finds_what_it_should(text, what):
    assert what in faults(text)


def test_no_source_file_runs_data_or_unpickles():
    assert len(FILES) > 50
    found = {path.name: f for path in FILES if (f := faults(path.read_text(encoding="utf-8")))}
    # The cells of the notebooks of this repository, which are code as its modules are; the file of a reader's method.
    assert found == {"protocol.py": ["exec", "compile"], "own.py": ["spec.loader.exec_module"]}


def test_every_yaml_file_is_read_by_a_safe_loader(toy_checkout):
    path = toy_checkout / "experiments.yml"
    path.write_text(path.read_text() + "\nevil: !!python/object/apply:pathlib.Path.touch [x]\n")
    with pytest.raises(yaml.YAMLError, match="python/object"):
        experiment("toy-table")


# ---- what is given on the command line ----

HOSTILE = (
    "$(touch {})",
    "`touch {}`",
    "; touch {} #",
    "| touch {}",
    "__import__('pathlib').Path('{}').touch()",
    '"""\n__import__("pathlib").Path("{}").touch()\n"""',
    "'; __import__('pathlib').Path('{}').touch() #",
    "toy\n__import__('pathlib').Path('{}').touch()",
    "../../{}",
    "{{{{7*7}}}}",
    "toy\x00",
    "-rf",
)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        *(
            (["run", "toy-table", "-p", name, "{}"], f"parameter '{name}'")
            for name in ("dataset", "k", "scale", "quick")
        ),
        (["run", "{}"], "no experiment"),
        (["run", "toy-table", "--profile", "full", "--task", "{}"], "toy-table has no unit"),
        (["data", "card", "{}"], "no data set"),
    ],
)
def test_hostile_values_and_names_are_refused(toy_checkout, words, said):
    (toy_checkout / "data" / "registry.toml").write_bytes((SOURCE.parent / "data" / "registry.toml").read_bytes())
    mark = toy_checkout / "touched"
    for text in HOSTILE:
        ended = CliRunner().invoke(app, [word.replace("{}", text.format(mark)) for word in words])
        assert ended.exit_code == 2, text
        assert said in ended.output or (text == "-rf" and "toy-table" not in words), text  # then it is an option
        assert ended.exception is None or isinstance(ended.exception, SystemExit)
        assert not mark.exists()


def test_a_hostile_free_text_reaches_the_notebook_as_that_text(toy_checkout):
    """The one way in is a parameter without limited values: papermill writes it into a cell as a quoted text."""
    listed = toy_checkout / "experiments.yml"
    listed.write_text(listed.read_text().replace("  choices: {dataset: [toy, other]}\n", ""))
    for text in HOSTILE:
        given = text.replace("\x00", "").format(toy_checkout / "touched")
        value = experiment("toy-table").complete({"dataset": given})["dataset"]
        assert value == given
        [statement] = ast.parse(PythonTranslator.codify({"dataset": value})).body
        assert ast.literal_eval(statement.value) == given


def test_names_of_units_stay_in_their_folder(toy_checkout):
    (toy_checkout / "data" / "registry.toml").write_bytes((SOURCE.parent / "data" / "registry.toml").read_bytes())
    texts = ["../../evil", "/etc/evil", "a/../../b", "x\x00y", "C:\\evil", "~/evil", "a\nb", "$(touch x)", "é/../x"]
    for text in texts:
        assert re.fullmatch(r"[a-z0-9_-][a-z0-9._-]*", task_id({"dataset": text, "k": 2}))
    assert task_id({"fair": True, "tau": 1e-6}) == "fairtrue-tau1e_06"
    for text in ("..", "((("):
        with pytest.raises(RegistryError, match="without letters or digits"):
            task_id({"dataset": text, "k": 2})
    entry, given = experiment("toy-table"), {"dataset": "../../../evil", "method": "PCA"}
    rows = whole(tidy({"%Var": 1.0}, k=3, protocol="released", **given))
    path = store.home(entry, given)
    store.save(entry, given, rows, path, seconds=0.0)
    assert path.is_file()
    assert path.resolve().is_relative_to((toy_checkout / "data" / "results" / "full" / "toy-table").resolve())


# ---- archives and files ----


def test_nothing_in_the_package_unpacks_to_disc():
    """``faults`` looks for extractall, extract and unpack_archive; archives are opened member by member, by name."""
    opened = [path.name for path in FILES if "zipfile" in path.read_text(encoding="utf-8")]
    assert {"raw.py", "files.py"} <= set(opened)
    assert [path.name for path in FILES if "tarfile" in path.read_text(encoding="utf-8")] == []


def test_names_of_raw_files_stay_in_the_folder_of_their_data():
    for name in datasets.names():
        entry = datasets.entry(name)
        for file in entry.files:
            folder = Path("/data") / entry.folder
            assert (folder / file.name).resolve().is_relative_to("/data"), (name, file.name)
            assert ".." not in Path(file.name).parts
        assert ".." not in Path(entry.folder).parts


# ---- pickled objects in place of numbers ----


class Touch:
    """Unpickled, it makes a file: the test sees whether anybody unpickled it."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def hostile(path: Path, mark: Path) -> None:
    """A file of moments whose means are pickled objects."""
    moments = GroupMoments.from_data(np.arange(24.0).reshape(8, 3) ** 1.5, np.arange(8) % 2)
    moments.save(path)
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    means = np.empty(arrays["means"].shape, dtype=object)
    means[:] = Touch(mark)
    np.savez(path, **(arrays | {"means": means}))


def test_a_pickled_object_in_a_moments_file_is_refused(tmp_path):
    hostile(tmp_path / "m.npz", tmp_path / "touched")
    with pytest.raises(ResultError, match=r"m.npz is not a moments file .*allow_pickle=False.*Make it again"):
        GroupMoments.load(tmp_path / "m.npz")
    (tmp_path / "bare.npz").write_bytes(pickle.dumps(Touch(tmp_path / "touched")))
    with pytest.raises(ResultError, match=r"bare.npz is not a moments file"):
        GroupMoments.load(tmp_path / "bare.npz")
    assert not (tmp_path / "touched").exists()
    with np.load(tmp_path / "m.npz", allow_pickle=True) as stored:  # elsewhere it would work
        assert stored["means"].dtype == object
    assert (tmp_path / "touched").exists()


def test_text_in_results_is_only_text(toy_checkout):
    """A stored table may hold what a spreadsheet or a shell would run: it reads back as the same text."""
    entry = experiment("toy-table")
    frame = whole(tidy({"%Var": 1.0, "MMD^2": 2.0}, dataset="toy", method="PCA", k=2, protocol="released"))
    cells = ['=HYPERLINK("http://x")', "$(touch x)", 'a,b\n"c"', "<script>alert(1)</script>"]
    frame = pd.concat([frame.assign(note=cell, split=number) for number, cell in enumerate(cells)]).drop_duplicates(
        ["metric", "protocol", "split"]
    )
    task = {"k": 2, "method": "PCA"}
    store.save(entry, task, frame, store.home(entry, task), seconds=0.0)
    back = store.read_results("toy-table")
    assert set(back["note"]) == set(cells)
