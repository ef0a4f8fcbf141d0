"""Python imports this at its start when the lab puts this folder on PYTHONPATH."""

from tests.faultlab import hooks

hooks.install_from_environment()
