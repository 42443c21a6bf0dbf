"""From a table of any kind and size to what an analysis sees: columns, groups, encoder, moments, points."""
