"""The list of experiments: ``experiments.yml`` read, checked and typed.

Every name and value a user can give on the command line is checked here, so that an error can say which
experiments, executions, parameters and values there are before anything runs.
"""

import importlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType

import yaml

from evenspan.core.errors import ConfigurationError, RegistryError

from ..paths import root
from . import schema

PROFILES = schema.PROFILES
Scalar = schema.Scalar


@dataclass(frozen=True)
class Experiment:
    """One entry of ``experiments.yml``.

    Attributes
    ----------
    id : str
        Name on the command line and in every path.
    title, paper : str
        What it shows and the key of the paper it reruns.
    module : str
        Protocol module below ``compendium.experiments``; a name with a dot is imported as it stands.
    notebook : str
        Path of the notebook from the root of the checkout.
    parameters : mapping of str to scalar
        Parameters of the notebook with their defaults; a default fixes the type.
    choices : mapping of str to tuple
        Values a parameter may take, where they are limited.
    executions : mapping of str to mapping
        Pages of the book: one run of the notebook each, as the parameters that differ from the defaults.
    profiles : mapping of str to mapping
        Parameters that a profile changes.
    published : tuple of str
        Published tables it is judged against (files of ``data/paper``).
    published_datasets : mapping of str to tuple of str
        Our name of a data set -> its names in the published tables.
    published_protocols : mapping of str to str
        The table's ``split`` column -> our protocol.
    stand_ins : mapping of str to str
        Data sets that only stand in for those of the paper, with what is missing; their numbers are shown, not judged.
    splits : str
        Whose splits or starts its means are over: ``authors`` or ``own``; blank if each number comes once.
    repetitions : int or None
        Over how many of them the paper took its means; None if it does not say.
    evidence : tuple of mapping of str to str
        Numbers that are no free evidence: ``kind``, ``reason``, and which by ``dataset``, ``method`` or ``metric``.
    files : str
        Parameter of the tasks whose values have files of their own, where one for an execution would be too large.
    """

    id: str
    title: str
    paper: str
    module: str
    notebook: str
    parameters: Mapping[str, Scalar]
    choices: Mapping[str, tuple]
    executions: Mapping[str, Mapping[str, Scalar]]
    profiles: Mapping[str, Mapping[str, Scalar]]
    published: tuple[str, ...]
    published_datasets: Mapping[str, tuple[str, ...]]
    published_protocols: Mapping[str, str]
    stand_ins: Mapping[str, str]
    splits: str
    repetitions: int | None
    evidence: tuple[Mapping[str, str], ...]
    files: str

    def convert(self, name: str, text: str) -> Scalar:
        """The value that ``-p name text`` means: the type is that of the default; the text is never evaluated."""
        return schema.parse(self.id, self.parameters, self.choices, name, text)

    def arguments(
        self, execution: str | None = None, profile: str = "embedded", given: Iterable[tuple[str, str]] = ()
    ) -> dict[str, Scalar]:
        """Parameters of one run of the notebook, ``profile`` among them.

        Later sources win: defaults, what the profile changes, the execution, and what was ``given`` as text.
        """
        if profile not in PROFILES:
            raise ConfigurationError(f"There is no profile {profile!r}; the profiles are {schema.listed(PROFILES)}.")
        values = dict(self.parameters) | dict(self.profiles[profile])
        if execution is not None:
            self.execution(execution)
            values |= self.executions[execution]
        values |= self.converted(given)
        return values | {"profile": profile}

    def converted(self, given: Iterable[tuple[str, str]]) -> dict[str, Scalar]:
        """The parameters given as pairs of text, typed; naming one twice is an error."""
        values: dict[str, Scalar] = {}
        for name, text in given:
            if name in values:
                raise ConfigurationError(f"{self.id}: parameter {name!r} is given twice; give it once.")
            values[name] = self.convert(name, text)
        return values

    def execution(self, name: str) -> dict[str, Scalar]:
        """The complete parameters of one execution."""
        if name not in self.executions:
            raise RegistryError(
                f"{self.id} has no execution {name!r}; its executions are {schema.listed(self.executions)}. "
                "Other settings are given with -p NAME VALUE."
            )
        return dict(self.parameters) | dict(self.executions[name])

    def execution_for(self, values: Mapping[str, object]) -> str | None:
        """The execution that agrees with ``values`` in all of its parameters, or None."""
        for name in self.executions:
            if all(key in values and values[key] == value for key, value in self.execution(name).items()):
                return name
        return None

    def protocol(self) -> ModuleType:
        """The protocol module."""
        name = self.module if "." in self.module else f"compendium.experiments.{self.module}"
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not (name == error.name or name.startswith(error.name + ".")):
                raise
            raise RegistryError(
                f"{self.id}: its module {name} does not exist; correct 'module' in experiments.yml or add the file."
            ) from error
        missing = [function for function in ("tasks", "run_task") if not callable(getattr(module, function, None))]
        if missing:
            raise RegistryError(f"{self.id}: its module {name} must offer {schema.listed(missing)}(); add it there.")
        return module

    def tasks(self) -> dict[str, dict[str, Scalar]]:
        """Tasks of the full profile by their names, in the order of the protocol."""
        found: dict[str, dict[str, Scalar]] = {}
        for task in self.protocol().tasks():
            name = task_id(task)
            if name in found:
                raise RegistryError(
                    f"{self.id}: {found[name]} and {dict(task)} have the same name {name!r}; rename one."
                )
            if self.files and self.files not in task:
                raise RegistryError(
                    f"{self.id}: its results are kept apart by {self.files!r} (files), but the task {name} has the "
                    f"parameters {', '.join(task)}. Name one that every task has."
                )
            found[name] = dict(task)
        return found


def catalogue() -> dict[str, Experiment]:
    """All experiments, in the order of ``experiments.yml``."""
    path = root() / "experiments.yml"
    return dict(_catalogue(path.name, path.read_text(encoding="utf-8")))


@lru_cache(maxsize=4)
def _catalogue(name: str, text: str) -> Mapping[str, Experiment]:
    try:
        entries = yaml.load(text, Loader=schema.StrictLoader)
    except yaml.YAMLError as error:
        raise RegistryError(f"{name} is not valid YAML: {error}. Correct it.") from error
    if not isinstance(entries, dict) or not entries:
        raise RegistryError(f"{name} must be a mapping of experiment names to entries, but holds {entries!r}.")
    return {
        str(name): Experiment(id=str(name), **schema.fields_of(str(name), entry)) for name, entry in entries.items()
    }


def experiment(name: str) -> Experiment:
    """One experiment by its name."""
    known = catalogue()
    if name not in known:
        raise RegistryError(f"There is no experiment {name!r}; the experiments are {schema.listed(known)}.")
    return known[name]


def task_id(task: Mapping[str, object]) -> str:
    """A stable file name for the parameters of a task: ``adult-k10-fair_pca``.

    Texts stand alone, everything else with its name, in the order in which the task gives them.

    >>> task_id({"dataset": "adult", "k": 10, "method": "Fair PCA-S (0.85)"})
    'adult-k10-fair_pca_s_0.85'
    """
    words = [str(value) if isinstance(value, str) else f"{name}{value}" for name, value in task.items()]
    slugs = [re.sub(r"[^a-z0-9.]+", "_", word.lower()).strip("_.") for word in words]
    if not slugs or not all(slugs):
        raise RegistryError(f"The task {dict(task)} has a parameter without letters or digits; a file cannot be named.")
    return "-".join(slugs)
