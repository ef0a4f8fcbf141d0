"""Where the shared collection of real documents lies, for tests that run over it."""

from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"


def needs_shared_data(test):
    """Mark a test that reads the shared collection; it is skipped, saying so, where the folder does not exist."""
    reason = "the shared collection (../shared/data) is not on this machine"
    return pytest.mark.shared_data(pytest.mark.skipif(not DATA.is_dir(), reason=reason)(test))
