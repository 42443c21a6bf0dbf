"""What an audit takes at most, and why."""

#: Said before the work that it would spoil.
TABLE: dict[str, tuple[int, str]] = {
    "features": (10_000, "time grows with their third power, and hundreds of them take minutes"),
    "groups": (50, "more are values of another kind: a number, a name"),
    "categories": (50, "a category of more values is text"),
    "characters of a name": (1_000, "names of columns, groups and categories stand in figures, tables and files"),
    "draws of the bootstrap": (100_000, "1,000 are usual, and the intervals of so many are exact to two digits"),
}
