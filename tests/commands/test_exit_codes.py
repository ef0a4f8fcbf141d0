"""Each command's help names its exit codes, its own first."""

import pytest

from corpus_assets import cli


def helped(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        cli.main([*words, "--help"])
    assert ended.value.code == cli.OK
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_help_names_the_exit_codes(command, capsys):
    told = helped(capsys, command).partition("Exit codes: 0: ")[2]
    assert "1 also where a stored file is missing, damaged" in told
    assert "; 2: wrong usage, or an input, config or ledger that a person has to mend; 130: stopped. Errors are" in told
    assert "Raises" not in told


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["contamination"], "0: no item is hit; 1: some are. 1 also where a stored file"),
        (["diff"], "0: nothing differs; 1: something does. 1 also"),
        (["dedup", "labels"], "0: done; 1 also"),
        ([], "0: done; 1 also"),
    ],
)
def test_what_is_the_commands_own_comes_first(words, says, capsys):
    assert f"Exit codes: {says}" in helped(capsys, *words)


def test_where_json_is_printed_an_error_leaves_the_output_empty(capsys):
    empty = "with --json, standard output then stays empty."
    assert empty in helped(capsys, "contamination")
    assert empty not in helped(capsys, "build")
