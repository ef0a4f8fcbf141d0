"""The audit as a whole: what it prints, what its exit code says, and what is accepted for how long."""

from datetime import UTC, date, datetime

import pytest

from tests.audit import __main__ as command
from tests.audit import accepted, subjects
from tests.audit.made_up import FLOWER, events, record, write

TODAY = date(2026, 5, 20)
ENTRY = '[[accepted]]\nid = "{id}"\npackage = "Flower_Press"\nreason = "no flowers are pressed here"\nuntil = {until}\n'


def run(tmp_path, records, pinned, known="", today=TODAY):
    """Exit code of an audit over these records and pins."""
    tmp_path.mkdir(exist_ok=True)
    path = tmp_path / "accepted.toml"
    path.write_text(known, "utf-8")
    place = write(tmp_path / "base", *records)
    return command.audit(place, *subjects.gathered({"pins.txt": pinned}), path, today)


def test_an_affected_version_is_named_with_its_ids_place_and_remedy(tmp_path, capsys):
    records = [record(aliases=["CVE-2026-1"]), record("PYSEC-2026-2", "another")]
    assert run(tmp_path, records, [("Flower_Press", "1.3"), ("lamp-oil", "2")]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "flower-press 1.3 [pins.txt]: PYSEC-2026-1 (CVE-2026-1), fixed in 1.4"
    counted = "audit: 2 versions against 2 advisories (0 withdrawn), the newest of 2026-05-01"
    assert said[1] == f"{counted}: 1 open, 0 accepted, 0 not judged"


def test_the_fixed_version_a_withdrawn_record_and_other_packages_pass(tmp_path, capsys):
    records = [record(), record("PYSEC-2026-3", ranges=events(("introduced", "0")), withdrawn="2026-05-02T00:00:00Z")]
    assert run(tmp_path, records, [("flower-press", "1.4"), ("lamp-oil", "1.3")]) == 0
    assert "2 advisories (1 withdrawn)" in capsys.readouterr().out


def test_a_fault_without_a_fixed_version_says_so(tmp_path, capsys):
    assert run(tmp_path, [record(ranges=events(("introduced", "0")))], [("flower-press", "1.3")]) == 1
    assert "no fixed version is known" in capsys.readouterr().out


@pytest.mark.parametrize("id", [FLOWER, "CVE-2026-1"])
def test_what_is_accepted_passes_by_id_or_alias_until_its_day_is_over(tmp_path, capsys, id):
    records, pinned = [record(aliases=["CVE-2026-1"])], [("flower-press", "1.3")]
    known = ENTRY.format(id=id, until=TODAY)
    assert run(tmp_path, records, pinned, known) == 0
    assert "accepted until 2026-05-20: no flowers are pressed here" in capsys.readouterr().out
    assert run(tmp_path, records, pinned, known, today=date(2026, 5, 21)) == 1
    assert "was accepted until 2026-05-20, which is over" in capsys.readouterr().out


def test_an_entry_covers_its_package_and_advisory_alone_and_is_named_where_nothing_is_found(tmp_path, capsys):
    known = ENTRY.format(id="PYSEC-2026-9", until=TODAY)
    assert run(tmp_path, [record()], [("flower-press", "1.3")], known) == 1
    assert "not found any more: PYSEC-2026-9 of flower-press" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (ENTRY.format(id="X", until=TODAY).replace("no flowers are pressed here", " "), "reason is ' '"),
        (ENTRY.format(id="X", until='"2026-05-20"'), "until is '2026-05-20', expected a day"),
        (ENTRY.format(id="X", until="2026-05-20T01:02:03"), "expected a day"),
        ('[[accepted]]\nid = "X"\n', "expected exactly the fields id, package, reason, until"),
        ("accepted = [1]", "expected exactly the fields"),
        ("[[accepted", "accepted.toml"),
    ],
)
def test_an_entry_without_reason_or_day_is_refused(tmp_path, known, said):
    with pytest.raises(accepted.BadAcceptanceError, match=r"accepted\.toml") as error:
        run(tmp_path, [record()], [], known)
    assert said in str(error.value)


def test_what_cannot_be_judged_does_not_pass(tmp_path, capsys):
    assert run(tmp_path, [record(ranges=events(("introduced", "0"), ("fixed", "soon")))], [("flower-press", "1")]) == 1
    assert "not judged: vulns/flower-press/PYSEC-2026-1.json" in capsys.readouterr().out
    assert run(tmp_path / "b", [record("PYSEC-2026-2", "another")], [("flower-press", "of-today")]) == 1
    assert "not judged: flower-press of-today (pins.txt)" in capsys.readouterr().out


def test_an_old_database_passes_with_a_word_on_its_age(tmp_path, capsys):
    assert run(tmp_path, [record()], [("flower-press", "1.4")], today=date(2026, 9, 1)) == 0
    assert "the database ends on 2026-05-01: what became known since is not in it" in capsys.readouterr().err


def test_without_a_database_nothing_was_audited_and_that_is_no_pass(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv(command.PLACE, raising=False)
    assert command.main([]) == 3
    assert command.main(["--advisories", str(tmp_path / "missing")]) == 3
    monkeypatch.setenv(command.PLACE, str(tmp_path))
    assert command.main([]) == 3
    assert capsys.readouterr().err.count("audit: NOT RUN, nothing was audited: ") == 3


def test_the_command_holds_every_pin_and_everything_installed_against_the_database(tmp_path, capsys, monkeypatch):
    now = datetime.now(UTC).isoformat()
    of_ours = record(package="PyYAML", ranges=events(("introduced", "0")), modified=now)
    bad = [of_ours, record("PYSEC-2026-2", "other", modified=now)]
    monkeypatch.setenv(command.PLACE, str(write(tmp_path, *bad)))
    assert command.main([]) == 1
    said = capsys.readouterr()
    assert "pyyaml" in said.out
    assert "corpus_assets/constraints.txt, installed]: PYSEC-2026-1" in said.out
    assert not said.err


def test_pins_are_found_wherever_they_stand_in_a_line():
    text = "PyYAML==6.0.4\n# old==1\n  --target x mosaicml==0.13.0 python-snappy==0.7.3 \\\n'a[b]==2'; if [ $x == 3 ]\n"
    assert subjects.pins(text) == [
        ("PyYAML", "6.0.4"), ("mosaicml", "0.13.0"), ("python-snappy", "0.7.3"), ("a", "2"),
    ]  # fmt: skip


def test_every_pin_of_the_constraints_is_a_subject():
    lines = (subjects.ROOT / "corpus_assets" / "constraints.txt").read_text("utf-8").splitlines()
    found, unreadable = subjects.of_project()
    pinned = [one for one in found if "corpus_assets/constraints.txt" in one.places]
    assert len(pinned) == sum(not line.startswith("#") for line in lines)
    assert not unreadable


def test_the_entries_of_the_project_are_well_formed():
    accepted.read()
