"""Every reader over its seeds, what once broke it, and some thousand seeded mutations. Longer: python -m tests.fuzz."""

from random import Random

import pytest

from tests.fuzz import hold, mutate

MUTATIONS = 300
"""Of each target; together some thousand in some seconds."""


@pytest.mark.parametrize("name", hold.names())
def test_a_reader_takes_its_seeds_and_refuses_anything_else_in_words(name, tmp_path):
    target = hold.load(name)
    for i, seed in enumerate(target.seeds):
        assert hold.hold(target, seed, _folder(tmp_path, f"seed-{i}")), f"seed {i} was refused"
    for i, data in enumerate(hold.found_before(name)):
        hold.hold(target, data, _folder(tmp_path, f"found-{i}"))
    rng = Random(name)
    for i in range(MUTATIONS):
        data = mutate.mutated(rng, rng.choice(target.seeds), target.seeds, target.words, is_json=target.is_json)
        try:
            hold.hold(target, data, _folder(tmp_path, str(i)))
        except Exception as error:
            kept = tmp_path / "fault.bin"
            kept.write_bytes(data)
            raise AssertionError(f"mutation {i} broke the reader of {name}: {error!r}; input: {kept}") from error


def _folder(root, name):
    folder = root / name
    folder.mkdir()
    return folder
