"""From moments to answers: methods judged by group, what is possible at all, and a recommendation by rule."""
