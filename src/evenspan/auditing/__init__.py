"""A table of your own: what principal components do to its groups, what can be done, and what is possible at all."""
