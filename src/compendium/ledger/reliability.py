"""How reliable the compendium was found to be: tables of ``data/results/reliability`` for the book.

The numbers are made by ``benchmarks/reliability.py``; a file that is not the one its record describes is refused.
"""

import html
import io

import pandas as pd
from IPython.display import HTML

from .. import paths, records
from ..book import tables

#: Which part of the measurement made a table.
PARTS = {
    "places": "places",
    "kills": "kills",
    "killed-runs": "kills",
    "writing": "writing",
    "writing-runs": "writing",
    "alterations": "alterations",
}
#: Who may notice an altered byte, in the order of the columns.
ASKED = ("python -m compendium verify --files", "the ledger computed again", "reading")


def record(part: str) -> dict:
    """The record of one part of the measurement: command, seed, commit, machine class, seconds."""
    return records.read(paths.data("results", "reliability", f"{part}.json"))


def read(name: str) -> pd.DataFrame:
    """One measured table, a name of ``PARTS``; a file that differs from the digest in its record is an error."""
    folder, part = paths.data("results", "reliability"), PARTS[name]
    command = f"python benchmarks/reliability.py {part} --work FOLDER"
    content = records.described(folder / f"{name}.csv", folder / f"{part}.json", command)
    return pd.read_csv(io.BytesIO(content), keep_default_na=False, na_values=[""], encoding="utf-8")


def killed(kills: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Kills by who was killed and in which experiment, with the outcome of the resumed runs."""
    by = ["killed", "experiment"]
    made = kills.groupby(by, sort=False).agg(kills=("sound", "size"), sound=("sound", "sum"))
    ended = runs.assign(runs=1).groupby(by, sort=False)
    return made.join(ended[["runs", "tasks", "same_csv", "same_record", "other_files", "again"]].sum()).reset_index()


def caught(kills: pd.DataFrame) -> pd.DataFrame:
    """Where kills left tasks that were not finished, counted once for each kill and task."""
    words = kills["states"].str.split("; ").explode().str.partition(" ")
    counted = words[0].astype(int).groupby([kills["killed"].reindex(words.index), words[2]]).sum()
    wide = counted.unstack(0, fill_value=0)
    return wide.drop(index="CSV + record", errors="ignore").rename_axis(index="left behind", columns=None).reset_index()


def noticed(alterations: pd.DataFrame) -> pd.DataFrame:
    """Altered bytes by kind of file: how many each of those asked noticed, and how many it named."""
    rows = []
    for kind, some in alterations.groupby("kind", sort=False):
        row = {"kind": kind, "altered": len(some)}
        for asked in ASKED:
            put = some[some[asked] != "not asked"]
            told = put[put[asked] != "unseen"]
            row[asked] = f"{len(told)} of {len(put)}, {told[f'{asked}: named'].sum()} by name" if len(put) else "–"
        rows.append(row | {"noticed by one of them": int(_seen(some).sum())})
    return pd.DataFrame(rows)


def _seen(alterations: pd.DataFrame) -> pd.Series:
    """Which alterations one of those asked noticed."""
    return alterations[list(ASKED)].isin(["told", "crashed"]).any(axis=1)


def agreement(places: pd.DataFrame) -> pd.DataFrame:
    """By place and kind of run: how much is equal to the first place, and to what the repository holds."""
    rows = []
    runs = places[places["what"].isin(["full run", "notebook"])]
    for (place, what), some in runs.groupby(["place", "what"], sort=False):
        full, pages = what == "full run", (some["same_notebook"].astype(str) == "True").sum()
        total = some[["tasks", "same_csv", "same_record"]].sum().astype(int)
        row = {"place": place, "what": what, "experiments": len(some), "results": total["tasks"]}
        row |= {"same bytes": total["same_csv"], "same record": total["same_record"]}
        row["same page"] = "–" if full else str(pages)
        row["as committed"] = str(int(some["same_as_committed"].sum())) if full else "–"
        row["within tolerance"] = str(int(some["within_tolerance"].sum())) if full else "–"
        rows.append(row)
    return pd.DataFrame(rows)


def all_kills() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Every kill, and every run that was completed after kills."""
    return tuple(
        pd.concat([read(name) for name in names], ignore_index=True)
        for names in (("kills", "writing"), ("killed-runs", "writing-runs"))
    )


def kills_table() -> HTML:
    """Kills and what the resumed runs gave."""
    names = {"sound": "nothing half-made taken for a result", "runs": "runs completed", "tasks": "results"}
    names |= {"same_csv": "same bytes", "same_record": "same record", "other_files": "files left over"}
    shown = killed(*all_kills()).rename(columns=names | {"again": "computed by another run"})
    return tables.table(shown, caption="Killed runs, resumed, against the run that was left alone")


def caught_table() -> HTML:
    """What kills left behind."""
    shown = caught(all_kills()[0])
    return tables.table(shown, caption="Files of unfinished tasks after a kill: tasks, by who was killed")


def places_table() -> HTML:
    """The same runs elsewhere."""
    return tables.table(agreement(read("places")), caption="The same runs in other places, against the first place")


def alterations_table() -> HTML:
    """Altered bytes and who noticed."""
    return tables.table(noticed(read("alterations")), caption="One byte altered: noticed, and named")


def kills_summary() -> HTML:
    """How many kills, how many of them harmless, and how long the longest of those left took to end."""
    kills, _ = all_kills()
    alone = kills[kills["killed"] == "scheduler only"]
    workers = kills[kills["killed"] == "workers only"]
    later = (kills["finished"] > 0).groupby(kills["killed"], sort=False).agg(["sum", "size"])
    found = ", ".join(f"{row['sum']} of {row['size']} ({who})" for who, row in later.iterrows())
    return tables.sentence(
        f"{len(kills)} kills of {kills['processes'].sum()} processes; after {kills['sound'].sum()} of them everything "
        f"that counted as a result was whole. Kills that came when some tasks were finished already: {found}. "
        f"Of {len(workers)} schedulers whose workers were killed, "
        f"{workers['told'].sum()} said that signal 9 had ended them. Of {len(alone)} killed schedulers, the slowest "
        f"worker outlived its own by {alone['seconds_to_end'].max():.2g} seconds."
    )


def own_commit_summary() -> HTML:
    """What became of results that are not those of the repository to the last bit."""
    places = read("places")
    again = places[places["place"] == "commit of its record"]
    if again.empty:
        return tables.sentence("Every result is, to the last bit, the one that the repository holds.")
    first = places[(places["place"] == "first") & (places["what"] == "full run")]
    outside = (first["tasks"] - first["within_tolerance"]).groupby(first["experiment"]).sum()
    named = ", ".join(f"{name} ({int(count)})" for name, count in outside.items() if count)
    return tables.sentence(
        f"{len(again)} results of the first place are not, to the last bit, those of the repository, which earlier "
        f"code had made. Computed again at the commit that the committed record names, "
        f"{int(again['same_as_committed'].sum())} of {len(again)} are. By the code of the measured commit, "
        f"{int(outside.sum())} are outside of the tolerance{f': {named}' if named else ''}."
    )


def alterations_summary() -> HTML:
    """How many altered bytes were noticed at all, and named by the seals."""
    rows, seals = read("alterations"), ASKED[0]
    seen, sealed, named = _seen(rows).sum(), (rows[seals] != "unseen").sum(), rows[f"{seals}: named"].sum()
    crashed = (rows[list(ASKED)] == "crashed").any(axis=1).sum()
    return tables.sentence(
        f"{seen} of {len(rows)} alterations were noticed, {sealed} by {seals}, which named the file in {named} cases. "
        f"In {crashed} cases one of those asked broke off with an error that is not in the package's own words."
    )


def conditions(*parts: str) -> HTML:
    """How parts of the measurement were made: commands, commit, machine class, cores and date."""
    lines = (
        f"<p>Measured by <code>{html.escape(one['command'])}</code> at commit <code>{one['commit'][:10]}</code>, "
        f"{html.escape(one['machine'])}, {one['cores']} cores, {one['finished'][:10]}.</p>"
        for one in map(record, parts)
    )
    return HTML("".join(lines))
