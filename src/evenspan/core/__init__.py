"""What every method, metric and audit rests on: moments, groups, streams, linear algebra, answers, options, errors."""
