import json

import pytest

from corpus_assets.validation.ledger import ROW_CHECKS, check_ledger, check_row_for_version
from formats.corpus_config import from_document
from tests.formats.ledger_rows import SHA, WRONG, file, row, value

CONFIG = from_document(
    {"dataset": "starter", "version": "v2", "sources": ["fables"], "licenses": {"allow": ["MIT", "CC0-1.0"]}}
)


def test_a_right_row_under_an_allowed_licence_may_be_used():
    assert check_row_for_version(row(license_spdx="CC0-1.0 OR GPL-3.0-only"), CONFIG) == []


def test_a_licence_that_the_version_does_not_allow_is_refused_in_words():
    found = check_row_for_version(row(source_id="forum", license_spdx="LicenseRef-Proprietary"), CONFIG)
    assert len(found) == 1
    assert found[0].startswith(
        "source forum: licence LicenseRef-Proprietary is not allowed by starter.v2; allowed: CC0-1.0, MIT; "
    )


@pytest.mark.parametrize("name", WRONG)
def test_a_row_that_breaks_a_rule_is_refused_with_its_field(name):
    wrong, field, words = WRONG[name]
    said = [line for line in check_row_for_version(wrong, CONFIG) if f": field {field}: " in line]
    assert words in said[0]


@pytest.mark.parametrize("wrong", [None, [], "fables", {}, {"source_id": 1, "license_spdx": ["MIT"], "files": [1]}])
def test_any_json_value_is_refused_and_never_raises(wrong):
    assert check_row_for_version(wrong, CONFIG)


@pytest.mark.parametrize(
    ("change", "failing"),
    [
        ({"license_spdx": "MIT"}, []),
        ({"license_spdx": "MIT", "title": ""}, ["ledger_schema"]),
        ({"license_spdx": "MTI"}, ["spdx_expression", "licence_allowed"]),
        ({"license_spdx": "ISC"}, ["licence_allowed"]),
        ({"license_spdx": "MIT", "files": [file(sha256=None)]}, ["ledger_schema", "checksums_present"]),
        ({"license_spdx": "MIT", "files": [{"url": "a", "sha256": SHA}]}, ["ledger_schema", "checksums_present"]),
        ({"license_spdx": "MIT", "files": []}, ["ledger_schema", "checksums_present"]),
    ],
)
def test_each_named_check_fails_for_what_it_is_named_after(change, failing):
    wrong = value(**change)
    assert [name for name, check in ROW_CHECKS.items() if check(wrong, CONFIG)] == failing


def test_checking_the_ledger_finds_licences_that_spdx_does_not_know(tmp_path):
    rows = [value(), value(source_id="b", license_spdx="CC-BY"), value(source_id="c", kind="x"), value(source_id="d")]
    path = tmp_path / "LEDGER.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in rows))
    assert [(v.line, v.field) for v in check_ledger(path)] == [(2, "license_spdx"), (3, "kind")]
