"""Speed of two workers beside one, on a table that the workers make chunk by chunk.

One worker and two take turns; the median, smallest and largest ratio over the rounds are shown. Making the chunks is
part of what is timed on both sides. The default table has 10.24 GB, of which a worker holds two chunks at a time.
"""

import argparse
import warnings

import pandas as pd

from compendium.papers.lee2023 import scale
from compendium.records import spread


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=int, default=200)
    parser.add_argument("--rows", type=int, default=50_000, help="of a chunk")
    parser.add_argument("--chunks", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    warnings.simplefilter("error")
    table = {"d": given.features, "rows": given.rows, "chunks": given.chunks}
    with scale.clusters((1, 2)) as clients:
        rows = pd.DataFrame(scale.side_by_side(clients, table, given.rounds))
    found = spread(rows[rows["metric"] == "speed-up"], ["method"], "median", "smallest", "largest")
    size = 8e-9 * given.features * given.rows * given.chunks
    print(f"{size:.2f} GB in {given.chunks} chunks, {given.rounds} rounds\n")
    print(f"{'time of one worker / time of two':<40}{'median':>8}{'min':>8}{'max':>8}")
    for row in found.itertuples():
        print(f"{row.method:<40}{row.median:>8.2f}{row.smallest:>8.2f}{row.largest:>8.2f}")


if __name__ == "__main__":
    main()
