"""The words by which a run's log says that a check did not pass."""

SAYS = "did not pass: "
