"""The list of experiments: ``experiments.yml`` read, checked and typed.

Every name and value a user can give on the command line is checked here, so that an error can say which
experiments, executions, parameters and values there are before anything runs.
"""

import importlib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType, ModuleType

import yaml

from ..errors import ConfigurationError, RegistryError
from ..paths import root

PROFILES = ("embedded", "full")
Scalar = bool | int | float | str

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_TYPE_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


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
        Protocol module below ``evenspan.experiments``; a name with a dot is imported as it stands.
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
    published : str or None
        Published table it is judged against (a file of ``data/paper``).
    published_datasets : mapping of str to str
        Our name of a data set -> its name in the published table.
    published_protocols : mapping of str to str
        The table's ``split`` column -> our protocol.
    sources : tuple of str
        Files, or patterns of files, whose change makes a new run necessary.
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
    published: str | None
    published_datasets: Mapping[str, str]
    published_protocols: Mapping[str, str]
    sources: tuple[str, ...]

    def convert(self, name: str, text: str) -> Scalar:
        """The value that ``-p name text`` means: the type is that of the default; the text is never evaluated."""
        self._known(name)
        kind = type(self.parameters[name])
        try:
            value = _parse(kind, text)
        except ValueError:
            raise ConfigurationError(
                f"{self.id}: parameter {name!r} needs {_TYPE_NAMES[kind]}{self._offer(name)}, but got {text!r}."
            ) from None
        return self._checked(name, value)

    def arguments(
        self, execution: str | None = None, profile: str = "embedded", given: Iterable[tuple[str, str]] = ()
    ) -> dict[str, Scalar]:
        """Parameters of one run of the notebook, ``profile`` among them.

        Later sources win: defaults, what the profile changes, the execution, and what was ``given`` as text.
        """
        if profile not in PROFILES:
            raise ConfigurationError(f"There is no profile {profile!r}; the profiles are {_listed(PROFILES)}.")
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
                f"{self.id} has no execution {name!r}; its executions are {_listed(self.executions)}. "
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
        name = self.module if "." in self.module else f"evenspan.experiments.{self.module}"
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
            raise RegistryError(f"{self.id}: its module {name} must offer {_listed(missing)}(); add it there.")
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
            found[name] = dict(task)
        return found

    def source_files(self) -> tuple[Path, ...]:
        """The files of ``sources``, sorted; a pattern that matches nothing is an error."""
        found = set()
        for pattern in self.sources:
            matches = [path for path in root().glob(pattern) if path.is_file()]
            if not matches:
                raise RegistryError(
                    f"{self.id}: no file matches {pattern!r} of 'sources' in experiments.yml; correct it."
                )
            found.update(matches)
        return tuple(sorted(found))

    def _known(self, name: str) -> None:
        if name not in self.parameters:
            raise RegistryError(
                f"{self.id} has no parameter {name!r}; its parameters are "
                + ", ".join(f"{key} (default {value})" for key, value in self.parameters.items())
                + "."
            )

    def _checked(self, name: str, value: object) -> Scalar:
        """``value`` if the parameter may have it; a whole number serves where a number is needed."""
        self._known(name)
        kind = type(self.parameters[name])
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise ConfigurationError(
                f"{self.id}: parameter {name!r} needs {_TYPE_NAMES[kind]}{self._offer(name)}, but got {value!r}."
            )
        if name in self.choices and value not in self.choices[name]:
            raise ConfigurationError(
                f"{self.id}: parameter {name!r} cannot be {value!r}; it can be {_listed(self.choices[name])}."
            )
        return value

    def _offer(self, name: str) -> str:
        return f" ({_listed(self.choices[name])})" if name in self.choices else ""


def catalogue() -> dict[str, Experiment]:
    """All experiments, in the order of ``experiments.yml``."""
    path = root() / "experiments.yml"
    try:
        entries = yaml.load(path.read_text(encoding="utf-8"), Loader=_StrictLoader)
    except yaml.YAMLError as error:
        raise RegistryError(f"{path.name} is not valid YAML: {error}. Correct it.") from error
    if not isinstance(entries, dict) or not entries:
        raise RegistryError(f"{path.name} must be a mapping of experiment names to entries, but holds {entries!r}.")
    return {str(name): _read(str(name), entry) for name, entry in entries.items()}


def experiment(name: str) -> Experiment:
    """One experiment by its name."""
    known = catalogue()
    if name not in known:
        raise RegistryError(f"There is no experiment {name!r}; the experiments are {_listed(known)}.")
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


def task_ids(name: str) -> list[str]:
    """Names of all tasks of an experiment's full profile."""
    return list(experiment(name).tasks())


class _StrictLoader(yaml.SafeLoader):
    """YAML in which a key given twice is an error: the parser would silently keep the last."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=deep)
            if key in seen:
                raise RegistryError(f"experiments.yml: {key!r} is given twice (line {key_node.start_mark.line + 1}).")
            seen.add(key)
        return super().construct_mapping(node, deep)


_REQUIRED = ("title", "paper", "module", "notebook", "parameters", "executions", "profiles", "sources")
_OPTIONAL = {
    "choices": {},
    "published": None,
    "published_datasets": {},
    "published_protocols": {"": "released"},
}


def _read(name: str, entry: object) -> Experiment:
    """One entry, checked field by field."""

    def fault(field: str, saw: object, needed: str) -> RegistryError:
        return RegistryError(f"experiments.yml, {name}, {field}: needs {needed}, but holds {saw!r}. Correct it there.")

    if not _NAME.fullmatch(name):
        raise RegistryError(f"experiments.yml: {name!r} cannot name an experiment; use letters, digits, '.', '_', '-'.")
    if not isinstance(entry, dict):
        raise fault("the entry", entry, "a mapping")
    unknown = [key for key in entry if key not in _REQUIRED and key not in _OPTIONAL]
    if unknown:
        valid = [field.name for field in fields(Experiment) if field.name != "id"]
        raise RegistryError(
            f"experiments.yml, {name}: unknown field {_listed(unknown)}; the fields are {_listed(valid)}."
        )
    missing = [key for key in _REQUIRED if key not in entry]
    if missing:
        raise RegistryError(f"experiments.yml, {name}: the field {_listed(missing)} is missing. Add it there.")
    values = _OPTIONAL | entry

    for field in ("title", "paper", "module", "notebook"):
        if not isinstance(values[field], str) or not values[field]:
            raise fault(field, values[field], "a text")
    if values["published"] is not None and not isinstance(values["published"], str):
        raise fault("published", values["published"], "the name of a published table or null")
    for field in ("parameters", "choices", "executions", "profiles", "published_datasets", "published_protocols"):
        if not isinstance(values[field], dict) or not all(isinstance(key, str) for key in values[field]):
            raise fault(field, values[field], "a mapping with names as keys")
    for field in ("published_datasets", "published_protocols"):
        if not all(isinstance(value, str) for value in values[field].values()):
            raise fault(field, values[field], "a mapping of text to text")
    sources = values["sources"]
    if not isinstance(sources, list) or not sources or not all(isinstance(source, str) for source in sources):
        raise fault("sources", sources, "a list of files or patterns")
    for key, value in values["parameters"].items():
        if not _NAME.fullmatch(key) or key == "profile" or type(value) not in _TYPE_NAMES:
            raise fault(
                "parameters", {key: value}, "plain names (not 'profile') with a text, number, true or false each"
            )
    for key, value in values["choices"].items():
        if key not in values["parameters"] or not isinstance(value, list) or not value:
            raise fault("choices", {key: value}, "a list of values for a name in 'parameters'")
    if set(values["profiles"]) != set(PROFILES):
        raise fault("profiles", list(values["profiles"]), f"exactly {_listed(PROFILES)}")
    if not values["executions"]:
        raise fault("executions", values["executions"], "at least one execution")

    draft = Experiment(
        id=name,
        **{field: values[field] for field in ("title", "paper", "module", "notebook", "published")},
        parameters=MappingProxyType(dict(values["parameters"])),
        choices=MappingProxyType({key: tuple(value) for key, value in values["choices"].items()}),
        executions={},
        profiles={},
        published_datasets=MappingProxyType(dict(values["published_datasets"])),
        published_protocols=MappingProxyType(dict(values["published_protocols"])),
        sources=tuple(sources),
    )

    def settled(field: str, key: str, given: object) -> Mapping[str, Scalar]:
        if not isinstance(given, dict):
            raise fault(field, {key: given}, "a mapping of parameters")
        try:
            return {parameter: draft._checked(parameter, value) for parameter, value in given.items()}
        except (RegistryError, ConfigurationError) as error:
            raise type(error)(f"experiments.yml, {field}, {key}: {error}") from None

    settled("parameters", "defaults", values["parameters"])
    executions = {}
    for key, given in values["executions"].items():
        if not _NAME.fullmatch(key):
            raise fault("executions", key, "names of letters, digits, '.', '_', '-'")
        executions[key] = MappingProxyType(settled("executions", key, given))
    twins = {}
    for key, given in executions.items():
        complete = values["parameters"] | dict(given)
        twin = twins.setdefault(tuple(sorted(complete.items())), key)
        if twin != key:
            raise fault("executions", [twin, key], "different parameters in each execution")
    profiles = {key: MappingProxyType(settled("profiles", key, given)) for key, given in values["profiles"].items()}
    object.__setattr__(draft, "executions", MappingProxyType(executions))
    object.__setattr__(draft, "profiles", MappingProxyType(profiles))
    return draft


def _parse(kind: type, text: str) -> Scalar:
    if kind is bool:
        return {"true": True, "false": False}[text.lower()] if text.lower() in ("true", "false") else _refuse()
    if kind is int:
        return int(text) if re.fullmatch(r"[+-]?\d+", text) else _refuse()
    if kind is float:
        value = float(text)
        return value if math.isfinite(value) else _refuse()
    return text


def _refuse():
    raise ValueError


def _listed(names: Iterable) -> str:
    return ", ".join(str(name) for name in names)
