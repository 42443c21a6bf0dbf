# The papers' whole protocols, one job an execution, for a cluster; units that are stored are kept. On one
# machine 'make full' does the same (book/reproduce.md).

import sys

from compendium import paths
from compendium.catalogue import catalogue

workdir: str(paths.root())

PYTHON = sys.executable
RUNS = [f"_build/full/{name}/{run}.done" for name, entry in catalogue().items() for run in entry.runs]


wildcard_constraints:
    id="[A-Za-z0-9_-]+",
    execution="[A-Za-z0-9_-]+",


localrules:
    full,


rule full:
    input:
        RUNS,


# An execution computes its missing units on all cores, one execution after the other.
rule units:
    output:
        temp(touch("_build/full/{id}/{execution}.done")),
    threads: workflow.cores
    params:
        python=PYTHON,
    shell:
        "{params.python} -m compendium run {wildcards.id} --profile full --execution {wildcards.execution} --jobs {threads}"
