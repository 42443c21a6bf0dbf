"""From answers to a page: blocks, tables, figures and the report."""
