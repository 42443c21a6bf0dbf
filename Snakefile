# How everything is made. 'make book' and 'make full' call this; on a cluster call Snakemake yourself (book/rerun.md).
#
#   snakemake book    execute notebooks (embedded profile) and text chapters, then build the strict book
#   snakemake once    what many pages show: 'make book' asks for it first, as pages are made again only if it changed
#   snakemake full    the papers' whole protocols, one job an execution; finished units are kept

import json
import sys

from compendium import paths, records
from compendium.catalogue import catalogue
from compendium.book import execute, made_of, stage, warm
from compendium.book.once import COMPUTED

ROOT = paths.root()
workdir: str(ROOT)

PYTHON = sys.executable
EXPERIMENTS = catalogue()
CHAPTERS = stage.chapters()
ONCE = [f"_build/once/{name}.json" for name in COMPUTED]
EXECUTED = [f"_build/executed/experiments/{i}/{e}.ipynb" for i, x in EXPERIMENTS.items() for e in x.executions]
TEXTS = [f"_build/executed/chapters/{name}.ipynb" for name in CHAPTERS]


def files(*patterns):
    """Files that match the patterns, relative to the checkout; a pattern without a match is a mistake."""
    found = []
    for pattern in patterns:
        matches = [p for p in sorted(ROOT.glob(pattern)) if p.is_file() and "__pycache__" not in p.parts]
        if not matches:
            raise WorkflowError(f"No file matches {pattern!r}.")
        found += [str(p.relative_to(ROOT)) for p in matches]
    return list(dict.fromkeys(found))


wildcard_constraints:
    id="[A-Za-z0-9_-]+",
    execution="[A-Za-z0-9_-]+",
    name="(" + "|".join(COMPUTED) + ")",
    page="(" + "|".join(CHAPTERS or ["none"]) + ")",


localrules:
    book,
    once,
    full,


onstart:
    print(f"{len(EXECUTED)} executions, {len(TEXTS)} text chapters; what is up to date is kept.", flush=True)
    # Snakemake would look through all jobs that wait once a second, for each one that has ended: a quarter of a core.
    workflow.scheduler.job_rate_limiter = None
    warm.start(execute.environment() | {records.ONCE: str(paths.build("once"))})  # it ends with this process


onerror:
    print("Not everything was made: what failed is said above, what succeeded is kept.", flush=True)
    if (ROOT / "_build" / "html" / "index.html").is_file():
        print("The book in _build/html is that of an earlier build.", flush=True)


rule book:
    # Not the book alone: Snakemake does not miss what lies between its sources and a finished book.
    input:
        "_build/html/index.html",
        EXECUTED,
        TEXTS,


rule once:
    input:
        ONCE,


# The ledger, the claims and what else many pages show. These and the pages are made again when their key changes: when
# something that they imported or read is not what it was (compendium.book.made_of).
rule computed:
    output:
        "_build/once/{name}.json",
    params:
        key=lambda w: made_of.key(paths.build("once", f"{w.name}.json")),
        python=PYTHON,
    shell:
        "{params.python} -m compendium.book.warm {wildcards.name} {output} --key {params.key:q}"


rule experiment:
    input:
        notebook=lambda w: EXPERIMENTS[w.id].notebook,
        once=ancient(ONCE),
    output:
        "_build/executed/experiments/{id}/{execution}.ipynb",
    params:
        given=lambda w: json.dumps(EXPERIMENTS[w.id].arguments(w.execution), sort_keys=True),
        key=lambda w: made_of.key(paths.build("executed", "experiments", w.id, f"{w.execution}.ipynb")),
        python=PYTHON,
    shell:
        "{params.python} -m compendium.book.warm {input.notebook} {output} --parameters {params.given:q} "
        "--key {params.key:q}"


rule chapter:
    input:
        text="book/{page}.md",
        once=ancient(ONCE),
    output:
        "_build/executed/chapters/{page}.ipynb",
    params:
        key=lambda w: made_of.key(paths.build("executed", "chapters", f"{w.page}.ipynb")),
        python=PYTHON,
    shell:
        "{params.python} -m compendium.book.warm {input.text} {output} --key {params.key:q}"


rule html:
    input:
        EXECUTED,
        TEXTS,
        ONCE,
        files("src/**/*.py", "book/**/*", "data/**/*"),
        "_config.yml",
        "_toc.yml",
        "experiments.yml",
        "CITATION.cff",
    output:
        "_build/html/index.html",
    threads: workflow.cores
    params:
        python=PYTHON,
        once=str(paths.build("once")),
    shell:
        "EVENSPAN_ONCE={params.once:q} {params.python} -m compendium.book.build --jobs {threads}"


# ---- full profile: one job an execution ----
# An execution keeps the units that are stored and computes the others, on all cores, one execution after the other.


rule full:
    input:
        [f"_build/full/{i}/{e}.done" for i, x in EXPERIMENTS.items() for e in x.runs],


rule units:
    output:
        temp(touch("_build/full/{id}/{execution}.done")),
    threads: workflow.cores
    params:
        python=PYTHON,
    shell:
        "{params.python} -m compendium run {wildcards.id} --profile full --execution {wildcards.execution} --jobs {threads}"
