"""`corpus plan`: what a loader needs. What a corpus would take is tested in test_dedup.py, beside what it measures."""

import json
from pathlib import Path

import pytest

from corpus_assets.commands import plan
from formats.errors import ConfigError
from tests.commands import command_line


def test_a_loader_needs_twice_what_its_ranks_consume(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--ranks", "1024", "--seq-len", "4096", "--sequences", "8", "--token-bytes", "4", "--step-seconds", "2")
    assert command_line.run(plan, tmp_path, "plan", *words, "--json") == 0
    assert json.loads(capsys.readouterr().out)["loader"]["gb_per_second"] == 2 * 1024 * 8 * 4096 * 4 / 2 / 1e9


def test_it_is_told_in_words_that_name_what_it_was_made_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run(plan, tmp_path, "plan", "--ranks", "1000", "--step-seconds", "0.5") == 0
    assert capsys.readouterr().out == (
        "loader: 0.0328 GB/s, 2 times what 1,000 ranks consume that take 1 x 4,096 tokens of 2 bytes in 0.5 s\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("starter.v1",),
        ("--documents", "10"),
        ("--ranks", "4"),
        ("--ranks", "0", "--step-seconds", "1"),
        ("--ranks", "4", "--step-seconds", "0"),
        ("--ranks", "4", "--step-seconds", "nan"),
        ("--ranks", "4", "--step-seconds", "inf"),
        ("--ranks", "4", "--step-seconds", "1e-320"),
        ("--ranks", "9" * 26, "--step-seconds", "1"),
        ("starter.v1", "--documents", "inf"),
        ("starter.v1", "--documents", "nan"),
        ("starter.v1", "--documents", "0"),
        ("starter.v1", "--tokens", "1e300"),
        ("--ranks", "4", "--step-seconds", "1", "--seq-len", "-1"),
    ],
)
def test_half_a_question_and_impossible_numbers_are_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match=r"expected|step-seconds"):
        command_line.run(plan, tmp_path, "plan", *words)
