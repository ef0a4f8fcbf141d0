"""pii_private_keys: a block goes as a whole, a cut one as far as it is a key's, and what only speaks of keys stays."""

from typing import Any

import pytest

from corpus_assets.stages import pii_private_keys
from corpus_assets.stages.pii_patterns import PiiRules
from corpus_assets.stages.scrub_pii import scrub_bytes

RULES = PiiRules("public", ("US",), False)
FIRST = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
LINES = (FIRST, FIRST[::-1], "Zm9vYmFy+/==")
HEADERS = ("Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,3F17F5316E2BAC89", "")


def begin(kind: str = "RSA ", block: str = "") -> str:
    return "-----" + f"BEGIN {kind}PRIVATE KEY{block}-----"


def end(kind: str = "RSA ", block: str = "") -> str:
    return "-----" + f"END {kind}PRIVATE KEY{block}-----"


def scrubbed(text: str) -> str:
    after, _ = scrub_bytes(text.encode(), RULES)
    assert scrub_bytes(after, RULES) == (after, [])
    return after.decode()


PEM = (begin(), *LINES, end())
WRITTEN = {
    "lines": "\n".join(PEM),
    "lines of Windows": "\r\n".join(PEM),
    "encrypted": "\n".join((begin(), *HEADERS, *LINES, end())),
    "of no kind": "\n".join((begin(""), *LINES, end(""))),
    "OpenPGP": "\n".join(
        (begin("PGP ", " BLOCK"), "Version: GnuPG v2", "Comment: made at https://example.org", "", *LINES, "=aB3x")
    )
    + "\n"
    + end("PGP ", " BLOCK"),
    "indented": "\n    ".join(PEM),
    "quoted": "\n> ".join(PEM),
    "a comment": "\n# ".join(PEM),
    "another comment": "\n// ".join(PEM),
    "taken out by a difference": "\n-".join(PEM),
    "a string of JSON": "\\n".join(PEM),
    "a string in a string of JSON": "\\\\n".join(PEM),
    "joined strings": '\\n" +\n    "'.join(PEM),
    "strings side by side": '\\n"\n    "'.join(PEM),
    "strings of PHP": "' . \"\\n\" .\n '".join(PEM),
    "a list of strings": '",\n  "'.join(PEM),
    "a continued line": "\\n\\\n".join(PEM),
    "one line": " ".join(PEM),
    "nothing between": "".join(PEM),
    "encrypted, one line": " ".join((begin(), *HEADERS, *LINES, end())),
    "short": "\n".join((begin(), "MIIEpAIBAAKCAQEA", end())),
}


@pytest.mark.parametrize("frame", ["{}", 'key = "{}"', "see\n{}\nas above", "a: {}, b: 1"])
@pytest.mark.parametrize("name", WRITTEN)
def test_a_block_goes_as_a_whole_however_it_is_written(name, frame):
    assert scrubbed(frame.format(WRITTEN[name])) == frame.format("<KEY>")


@pytest.mark.parametrize("name", [name for name in WRITTEN if name != "short"])
def test_a_cut_block_loses_the_lines_that_are_left(name):
    text = WRITTEN[name]
    cut = text[: text.rindex(LINES[1]) + len(LINES[1])]
    assert scrubbed(cut) == "<KEY>"
    assert scrubbed(cut + "\nRead more. And so on.") == "<KEY>\nRead more. And so on."


@pytest.mark.parametrize(("text", "left"), [
    ("\n".join((begin(), *LINES)), "<KEY>"),
    ("\n".join((begin(), FIRST, "aGVsbG8gV")), "<KEY>"),
    ("\n".join((begin(), FIRST + "...", "and more")), "<KEY>...\nand more"),
    ("\n".join((begin(), *LINES, "", "Then came 7 others.")), "<KEY>\n\nThen came 7 others."),
    ("\n".join((begin(), *LINES, end("EC "))), f"<KEY>\n{end('EC ')}"),
    ("\n".join((begin(), *LINES, begin(), *LINES, end())), "<KEY>\n<KEY>"),
])  # fmt: skip
def test_without_its_end_what_follows_stays(text, left):
    assert scrubbed(text) == left


PROSE = "It says what a key is for, who may have it, and how it is kept from everybody else.\n"
CERTIFICATE = f"-----BEGIN CERTIFICATE-----\n{FIRST}\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize("behind", [
    f" and is never sent.\n\n{PROSE * 75}{CERTIFICATE}",
    f" and is never sent.\n\n{PROSE * 75}{end()}\n{PROSE}",
    f" and ends with {end()}.",
    f"' and '{end()}'",
    f"', '{end()}')",
    f"\n...\n{end()}",
    f"\n{FIRST[:12]}\n...\n{end()}",
    "\nConfiguration\nInstallation\nUse\n",
    "\n/home/ann/keys/of/the/server/and/of/others/key\n",
    "\nNote: keep it safe.\nThen go on.",
    "\nVersion: 2 of this page\nKeys",
    "",
])  # fmt: skip
def test_where_no_key_follows_the_line_goes_alone(behind):
    text = f"Such a file starts with the line {begin()}{behind}"
    assert scrubbed(text) == f"Such a file starts with the line <KEY>{behind}"


PPK = "PuTTY-User-Key-File-3: ssh-rsa\nPublic-Lines: 1\nAAAAB3NzaC1yc2EAAAADAQABAAABAQC7\nPrivate-Lines: "


@pytest.mark.parametrize("number", [3, 14])
@pytest.mark.parametrize("gap", ["\n", "\r\n", "\\n"])
def test_the_private_lines_of_putty_go_and_no_others(number, gap):
    text = gap.join((f"{PPK}{number}", *LINES, "Private-MAC: 0a1b2c3d", "more"))
    assert scrubbed(text) == gap.join((f"{PPK}{number}", "<KEY>", "Private-MAC: 0a1b2c3d", "more"))


@pytest.mark.parametrize("behind", ["\nPrivate-MAC: 0a1b", " of the file follow, then the code.", "", "\n<KEY>"])
def test_where_no_private_lines_follow_nothing_goes(behind):
    assert scrubbed(f"{PPK}3{behind}") == f"{PPK}3{behind}"


HARD = {
    "heads with headers": f"{begin()}\nVersion: a b ",
    "heads with words": f"{begin()}\n" + "word\n" * 40,
    "heads with blanks": begin() + " " * 95,
    "words behind one head": "word\n",
    "private lines": "Private-Lines: 9999\n" + "word\n" * 10,
    "lines of a key": FIRST + "\n",
}


@pytest.mark.parametrize("name", HARD)
def test_four_times_the_text_is_read_in_four_times_the_lines(name, monkeypatch):
    read: list[int] = []

    class Counted:
        def __init__(self, form: Any) -> None:
            self.form = form

        def match(self, text: bytes, at: int, most: int) -> Any:
            found = self.form.match(text, at, most)
            read.append(found.end() - found.start() + 1 if found else 1)
            return found

    for form in ("_LINE", "_HEADER", "_ARMOUR_END"):
        monkeypatch.setattr(pii_private_keys, form, Counted(getattr(pii_private_keys, form)))
    work = []
    for num_bytes in (100_000, 400_000):
        read.clear()
        scrub_bytes((begin() + "\n" + HARD[name] * (num_bytes // len(HARD[name]))).encode(), RULES)
        work.append(sum(read))
    assert 0 < work[1] <= 4.2 * work[0] + 1000
    assert work[1] <= 12 * 400_000  # a header reads twelve words on at most
