# How everything is made. 'make book' and 'make full' call this; on a cluster call Snakemake yourself (book/rerun.md).
#
#   snakemake book    execute notebooks (embedded profile) and text chapters, then build the strict book
#   snakemake full    the papers' whole protocols, one job an execution; finished units are kept

import hashlib
import json
import shutil
import sys
from pathlib import Path

from compendium import paths
from compendium.catalogue import catalogue
from compendium.book import execute, stage

ROOT = paths.root()
workdir: str(ROOT)

PYTHON = sys.executable
EXPERIMENTS = catalogue()
CHAPTERS = stage.chapters()

def files(*patterns):
    """Files that match the patterns, relative to the checkout; a pattern without a match is a mistake."""
    found = []
    for pattern in patterns:
        matches = [p for p in sorted(ROOT.glob(pattern)) if p.is_file() and "__pycache__" not in p.parts]
        if not matches:
            raise WorkflowError(f"No file matches {pattern!r}.")
        found += [str(p.relative_to(ROOT)) for p in matches]
    return list(dict.fromkeys(found))


# What an executed page is made with: the numbers, the tables and the figures. What only runs or assembles is left out.
RUNS = [f"src/compendium/{name}" for name in ("cli", "keep/", "book/execute", "book/stage")]
LIBRARY = [name for name in files("src/**/*.py", "src/evenspan/auditing/page/report.*") if not name.startswith(tuple(RUNS))]
DATA = [
    str(p.relative_to(ROOT))
    for p in sorted((ROOT / "data").rglob("*"))
    if p.is_file() and p.parent != ROOT / "data" / "cards"
]
CARDS = [str(p.relative_to(ROOT)) for p in sorted((ROOT / "data" / "cards").glob("*.md"))]

EXECUTED = [f"_build/executed/experiments/{i}/{e}.ipynb" for i, x in EXPERIMENTS.items() for e in x.executions]
TEXTS = [f"_build/executed/chapters/{name}.ipynb" for name in CHAPTERS]


wildcard_constraints:
    id="[A-Za-z0-9_-]+",
    execution="[A-Za-z0-9_-]+",
    page="(" + "|".join(CHAPTERS or ["none"]) + ")",


localrules:
    book,
    full,
    ingredients,


onstart:
    print(f"{len(EXECUTED)} executions, {len(TEXTS)} text chapters; what is up to date is kept.", flush=True)


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


rule ingredients:
    # One file in place of a thousand: Snakemake looks at every input of every page.
    input:
        LIBRARY,
        DATA,
    output:
        "_build/executed/ingredients.sha256",
    run:
        lines = [f"{hashlib.sha256((ROOT / name).read_bytes()).hexdigest()}  {name}" for name in input]
        Path(output[0]).write_text("\n".join(lines) + "\n", encoding="utf-8")


rule experiment:
    input:
        notebook=lambda w: EXPERIMENTS[w.id].notebook,
        ingredients="_build/executed/ingredients.sha256",
    output:
        "_build/executed/experiments/{id}/{execution}.ipynb",
    params:
        given=lambda w: json.dumps(EXPERIMENTS[w.id].arguments(w.execution), sort_keys=True),
        python=PYTHON,
    shell:
        "{params.python} -m compendium.book.execute {input.notebook} {output} --parameters {params.given:q}"


rule chapter:
    input:
        text="book/{page}.md",
        ingredients="_build/executed/ingredients.sha256",
        cited=lambda w: ["CITATION.cff"] if w.page == "cite" else [],
    output:
        "_build/executed/chapters/{page}.ipynb",
    params:
        python=PYTHON,
    shell:
        "{params.python} -m compendium.book.execute {input.text} {output}"


rule html:
    input:
        EXECUTED,
        TEXTS,
        files("src/**/*.py", "book/**/*"),
        DATA,
        CARDS,
        "_config.yml",
        "_toc.yml",
        "experiments.yml",
        "CITATION.cff",
    output:
        "_build/html/index.html",
    params:
        python=PYTHON,
        builder=str(Path(PYTHON).with_name("jupyter-book")),
    # A strict check needs a fresh start: warnings of unchanged pages are not repeated.
    shell:
        "rm -rf _build/html _build/.doctrees; {params.python} -m compendium.book.stage; "
        "{params.builder} build _build/stage --config _config.yml --toc \"$PWD/_toc.yml\" --path-output . "
        "-W -n --keep-going -q > _build/book.log 2>&1 || {{ grep -E 'WARNING|ERROR|CRITICAL|[a-z]rror:' _build/book.log >&2; "
        "echo 'The book was not built; the whole log is _build/book.log' >&2; exit 1; }}; "
        "echo '         the book'"


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
