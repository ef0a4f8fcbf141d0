"""scrub_pii: what is replaced, what stays, and that one pass is enough."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.stages import scrub_pii
from corpus_assets.stages.pii_patterns import PATTERNS, PiiRules
from corpus_assets.stages.pii_validators import VALIDATORS
from corpus_assets.stages.scrub_pii import find, scrub, scrub_bytes
from formats.errors import ConfigError
from formats.stage_tables import PII_KINDS

REGIONS = ("US", "GB", "FR", "DE", "IT", "ES", "AU", "IN", "BR")


def scrubbed(text: str, *, ips: str = "public", regions: tuple[str, ...] = REGIONS, code: bool = False) -> str:
    return scrub(pa.array([text], pa.large_string()), ips=ips, phone_regions=regions, code=code)[0][0].as_py()


def planted(*pieces: str) -> str:
    """A secret put together here, so that no scanner takes this file for a leak."""
    return "".join(pieces)


EMAILS = [
    "ann@example.org", "ann.b-c+tag@mail.example.co.uk", "o'brien@example.ie", "léa@exemple.fr",
    "info@bücher.example.de", "x_y@sub.domain.museum", "a@xn--bcher-kva.example",
]  # fmt: skip
PHONES = [
    "(555) 123-4567", "(555)123-4567", "555.123.4567", "555-123-4567", "+1 555-123-4567 x22", "1-800-555-0199",
    "+44 20 7946 0958", "+49 (0)30 901820", "+33 1 70 18 99 00", "+81 3-1234-5678", "0033 1 70 18 99 00",
    "01 70 18 99 00", "020 7946 0958", "0170 1234567", "(02) 9876 5432", "(11) 91234-5678", "+1.6502530000",
    "202-555-0123 ext. 45", "+1\u00a0650\u00a0253\u00a00000", "+1 650\u2011253\u20110000",
]  # fmt: skip
CARDS = [
    "4111111111111111", "4111 1111 1111 1111", "5555-5555-5555-4444", "3782 822463 10005", "378282246310005",
    "3056 930902 5904", "6011 1111 1111 1117", "3530111333300000", "2223003122003222",
]  # fmt: skip
IPS = ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "2a00:1450:4009:80b::200e", "151.101.1.69"]
KEYS = [
    planted("AKIA", "IOSFODNN7ABCDEFG"), planted("ghp_", "a1B2c3D4e5" * 4), planted("glpat-", "x1Y2z3X4y5Z6a7B8c9D0"),
    planted("xoxb-", "123456789012-abcdefABCDEF"), planted("sk_live_", "4eC39HqLyjWDarjtT1zdp7dc"),
    planted("AIza", "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q"), planted("npm_", "a1B2c3D4e5F6" * 3),
    planted("SG.", "abcdefghij0123456789AB.", "abcdefghij0123456789ABCDEFGHIJ0123456789abc"),
    planted("pypi-", "AgEIcHlwaS5vcmcC" * 5), planted("sk-", "proj-Ab1Cd2Ef3Gh4Ij5Kl6Mn7"),
    planted("eyJhbGciOiJIUzI1NiJ9", ".eyJzdWIiOiIxMjM0NSJ9", ".dBjftJeZ4CVPmB92K27uhbUJU1p1r"),
    planted("xapp-", "1-A0B1C2D3E4F-1234567890"), planted("shpat_", "0a1b2c3d" * 4),
    planted("123456789:", "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw_"[:35]), planted("0a1b2c3d" * 4, "-us12"),
    planted("SK", "0a1b2c3d" * 4), planted("dckr_pat_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N"),
    planted("gsk_", "a1B2c3D4e5" * 5), planted("hvs.", "CAESIJ1a2b3c4d5e6f7g8h9i0j"), planted("dapi", "0a1b2c3d" * 4),
    planted("dop_v1_", "0a1b2c3d" * 8), planted("glsa_", "a1B2c3D4" * 4, "_0a1b2c3d"),
    planted("AGE-SECRET-KEY-1", "Q3" * 29), planted("LTAI", "5tA1b2C3d4E5f6G7"),
    planted("sq0atp-", "a1B2c3D4e5F6g7H8i9J0k1"),
    planted("-----BEGIN RSA PRIV", "ATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIV", "ATE KEY-----"),
]  # fmt: skip
RANDOM = "gX69YO4CvBsVjzAwYxdGyDd30t5+9ez31gKATtj4"
PLANTED = [*zip(["email"] * 99, EMAILS, strict=False), *zip(["phone"] * 99, PHONES, strict=False),
           *zip(["card"] * 99, CARDS, strict=False), *zip(["ip"] * 99, IPS, strict=False),
           *zip(["key"] * 99, KEYS, strict=False)]  # fmt: skip


@pytest.mark.parametrize(
    "frame", ["{}", "see {}.", "({})", "see {}, please", "“{}”", "见{}。", "x\n{}\ny", "<p>{}</p>"]
)
@pytest.mark.parametrize(("kind", "value"), PLANTED)
def test_personal_data_is_replaced_by_its_kind_whatever_stands_around(kind, value, frame):
    assert scrubbed(frame.format(value)) == frame.format(f"<{kind.upper()}>")


@pytest.mark.parametrize(("text", "left"), [
    ("postgres://ann:s3cr3tw0rd@db.example.org/x", "postgres://ann:<KEY>@db.example.org/x"),
    ('db_password = "hU7#kw92Lq"', 'db_password = "<KEY>"'),
    ("API_KEY: 9f8Qz71LmPw2Xc44", "API_KEY: <KEY>"),
    ("'client_secret' => 'w8Rt55zQ1mNb'", "'client_secret' => '<KEY>'"),
    ("APP_SECRET_VALUES = '9f8e1a7b2c6d3e5f', 'b7'", "APP_SECRET_VALUES = '<KEY>', 'b7'"),
    ("db_secret: !!binary aFU3I2t3OTJMcQ==", "db_secret: !!binary <KEY>"),
    ('key="ToCxnx5Se4e2PtoZxEhW7lUJcOX15c54"', 'key="<KEY>"'),
    ("'key' => 'ToCxnx5Se4e2PtoZxEhW7lUJcOX15c54'", "'key' => '<KEY>'"),
    ("Authorization: Bearer 9f8Qz71LmPw2Xc44Hs0d", "Authorization: Bearer <KEY>"),
    ("'Authorization': 'Basic YW5uOmhVN2t3OTJMcQ=='", "'Authorization': 'Basic <KEY>'"),
    ("AccountName=x;AccountKey=" + RANDOM + ";Endpoint=y", "AccountName=x;AccountKey=<KEY>;Endpoint=y"),
    ("signing_key = '9f8Qz71LmPw2Xc44'", "signing_key = '<KEY>'"),
    ("contraseña: hU7#kw92Lq", "contraseña: <KEY>"),
    ("password = 123456789a1234", "password = <KEY>"),
    ("Passwort=hU7#kw92Lq", "Passwort=<KEY>"),
    # a random value has no placeholder in it, whatever it spells
    ('aws_secret_access_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"', 'aws_secret_access_key = "<KEY>"'),
    # a random string as the whole of a line
    ("mimi=" + RANDOM, "mimi=<KEY>"),
    ("a: 1\n  export MIMI_2 = '" + RANDOM + "'  # of Ann\nb: 2", "a: 1\n  export MIMI_2 = '<KEY>'  # of Ann\nb: 2"),
    ("http://ann:whywouldyouusehttpforpasswords@example.com", "http://ann:<KEY>@example.com"),
    ("Phone: 5551234567", "Phone: <PHONE>"),
    ("tel=0123456789", "tel=<PHONE>"),
    ("Fax 467 3395", "Fax <PHONE>"),
    ("432 03 163 office", "<PHONE> office"),
    ("电话：13812345678", "电话：<PHONE>"),
    ("注文 ９８７６５４３２１０、電話 ０３－１２３４－５６７８", "注文 ９８７６５４３２１０、電話 <PHONE>"),
    ("tel: ＋４４ ２０ ７９４６ ０９５８", "tel: <PHONE>"),
    ("555-123-4567 555-123-4568", "<PHONE> <PHONE>"),
    ("4111 1111 1111 1111 12/27 555-123-4567", "<CARD> 12/27 <PHONE>"),
    ("ann@example.org,bob@example.org;93.184.216.34:8080", "<EMAIL>,<EMAIL>;<IP>:8080"),
    ("http://93.184.216.34/a 93.184.216.0/24", "http://<IP>/a <IP>/24"),
    ("[2606:2800:220:1:248:1893:25c8:1946]:443", "[<IP>]:443"),
    ("mailto:ann@example.org?subject=x", "mailto:<EMAIL>?subject=x"),
    ("ann@example.org.", "<EMAIL>."),
    ("server 8.8.8.8", "server <IP>"),
])  # fmt: skip
def test_data_is_replaced_where_its_surroundings_say_what_it_is(text, left):
    assert scrubbed(text) == left


STAYS = [
    # versions, section numbers, object ids
    "v1.2.3.4", "version 93.184.216.34", "1.2.3.4.5", "see section 1.2.3.4", "256.1.1.1", "Chrome/114.0.5735.199",
    "pkg==93.184.216.34", "1.2.3.4", "10.2.3.4 Results of the trial", "1.3.6.1.4.1.311", "093.184.216.34",
    "§ 12.4.56.7", "93.184.216.34-beta", "libfoo.so.93.184.216.34",
    # private, documentation and local addresses
    "127.0.0.1", "192.168.100.200", "10.0.0.1", "192.0.2.7", "fe80::1ff:fe23:4567:890a", "2001:db8::8a2e:370:7334",
    "std::vector<a::b>", "12:30:45:50", "00:1b:44:11:3a:b7", "::1",
    # dates, times, ranges
    "2024-01-15 12", "2024-01-15 12:30:45", "15.01.2024", "1914-1918", "2023-2024", "2024-01-15T10:20:30.123456Z",
    "01/02/2024",
    # numbers
    "order id 9876543210", "1700000000", "1700000000123", '{"id": 5551234567, "n": 123456789}', "0.250750683890174",
    "40.712776, -74.005974", "3.14159265358979", "12345678901234567890", "1,234,567,890", "$ 555-123-4567",
    "#5551234567", "€ 1 234 567", "0 1 0 0 1 1 0 1 0 1", "000-000-0000000", "port 8080 8081 8082",
    # books, papers, hashes, accounts
    "ISBN 978-3-16-148410-0", "0-306-40615-2", "10.1000/182-1234567", "doi:10.1038/35057062", "deadbeef0123456789",
    "commit 9876543210abcdef", "0x5551234567", "GB29 NWBK 6016 1331 9268 19", "123-45-6789",
    "90210-1234", "ABC-555-123-4567", "555-123-4567-ab", "/files/555-123-4567/x",
    # cards without issuer, check digit or form
    "1234567812345670", "4111111111111112", "4111 1111 11111111", "4111111111111111.5", "4111-1111 1111-1111",
    "x4111111111111111", "9999 9999 9999 9995",
    # not addresses
    "icon@2x.png", "pkg@1.2.3", "git@github.com:a/b", "a@b", "@handle", "user@localhost", "a..b@-x.org", "foo@bar.1",
    # not keys
    'password = "changeme1"', "password = get_password(user)", 'token: "access_token"', "https://user:{password}@host.org",
    "sk-folding-cube-sk-cube1", 'secret_hash = "9f8Qz71LmPw2Xc44"', 'hashed_secret: "9f8Qz71LmPw2Xc44"',
    "passwords are: many", "password = 12345678901234", 'key = "short7Ag"', 'key: "aLongNameOfSomethingInCamelCase2"',
    "monkey=hU7kw92LqhU7kw92LqhU7kw9X2",
    f"request_id={RANDOM}", f"sha256 = {RANDOM}", f"imageUrl: {RANDOM}", f"see mimi={RANDOM}",
    f"mimi={RANDOM} and more", f"mimi = f({RANDOM})",
    "letters = ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
    "find = RowColumnWiseSorted2dArrayBinarySearch", "list=PLbzoR-pLrL6pTJfLQ3", f"mimi={'0a1b2c3d' * 8}",
    "https://user:yoursupersecretpasswordhere@host.org", "https://user:[:passwort]@host.org", "Authorization: required",
    "the Bearer of thequickbrownfoxjumps 1 A", "Basic authentication2withoutcapitals", "port: 8080 8081",
    "token_type: bearer", "en-us1", "12:AA" + "a" * 33, "0a1b2c3d4e-us12",
    'key = "9f8e1a7b2c6d3e5f9f8e1a7b2c6d3e5f"', "key: /Users/Ann/Documents/2024/Report17.pdf",
]  # fmt: skip


@pytest.mark.parametrize("frame", ["{}", "see {}.", "({})", "x\n{}\ny"])
@pytest.mark.parametrize("text", STAYS)
def test_what_only_looks_like_personal_data_stays(text, frame):
    assert scrubbed(frame.format(text)) == frame.format(text)


@pytest.mark.parametrize("address", ["192.168.100.200", "10.11.12.13", "127.0.0.1", "fe80::1ff:fe23:4567:890a"])
def test_private_addresses_go_only_where_the_rules_say_all(address):
    assert scrubbed(address, ips="all") == "<IP>"
    assert scrubbed(address) == address


@pytest.mark.parametrize(("text", "left"), [
    ("rates 555-123-4567", "rates 555-123-4567"),
    ("+44 20 7946 0958", "<PHONE>"),
    ('"phone": "555-123-4567"', '"phone": "<PHONE>"'),
])  # fmt: skip
def test_in_code_a_local_number_needs_its_name(text, left):
    assert scrubbed(text, code=True) == left


def test_a_local_number_needs_a_region_that_has_it():
    assert scrubbed("01 70 18 99 00", regions=("FR",)) == "<PHONE>"
    assert scrubbed("01 70 18 99 00", regions=("US",)) == "01 70 18 99 00"
    assert scrubbed("01 70 18 99 00", regions=()) == "01 70 18 99 00"


def test_an_unknown_region_stops():
    with pytest.raises(ConfigError, match="XX"):
        scrubbed("01 70 18 99 00", regions=("XX",))


def test_counts_are_replacements_by_row_and_kind():
    texts = ["a@b.org c@d.org 93.184.216.34", None, "", "none", "4111111111111111 (555) 123-4567"]
    column, counts = scrub(pa.array(texts, pa.large_string()), ips="public", phone_regions=REGIONS, code=False)
    assert column.to_pylist() == ["<EMAIL> <EMAIL> <IP>", None, "", "none", "<CARD> <PHONE>"]
    assert list(counts) == list(PII_KINDS)
    assert all(count.type == pa.int32() for count in counts.values())
    assert {kind: count.to_pylist() for kind, count in counts.items()} == {
        "email": [2, 0, 0, 0, 0], "phone": [0, 0, 0, 0, 1], "card": [0, 0, 0, 0, 1],
        "ip": [1, 0, 0, 0, 0], "key": [0, 0, 0, 0, 0],
    }  # fmt: skip


def test_each_pattern_has_its_validator():
    assert [pattern.name for pattern in PATTERNS] == list(VALIDATORS)


def test_a_slice_gives_the_rows_of_the_whole():
    texts = pa.array(["x a@b.org", "y", None, "z 93.184.216.34", "w"], pa.large_string())
    rules = {"ips": "public", "phone_regions": REGIONS, "code": False}
    whole, counts = scrub(texts, **rules)
    part, part_counts = scrub(texts.slice(2, 2), **rules)
    assert part == whole.slice(2, 2)
    assert part_counts["ip"] == counts["ip"].slice(2, 2)


PIECES = st.one_of(
    st.text(max_size=12),
    st.sampled_from([value for _, value in PLANTED]),
    st.sampled_from(STAYS),
    st.sampled_from(["<PHONE>", "<KEY>", "<EMAIL>", "password = '", "phone ", "://u:"]),
    st.sampled_from(["@", "'", '"', " ", "\n", "(", "+", "x12"]),
    st.text(alphabet="0123456789 .-()/:+@ax１２ é", max_size=30),
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(PIECES, max_size=8).map("".join), st.booleans(), st.sampled_from(["public", "all"]))
def test_scrubbing_twice_changes_nothing(text, code, ips):
    rules = PiiRules(ips, REGIONS, code)
    once, _ = scrub_bytes(text.encode("utf-8", "ignore"), rules)
    once.decode("utf-8")
    assert scrub_bytes(once, rules) == (once, [])


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=8).map("".join))
def test_hits_are_in_order_apart_and_cut_between_characters(text):
    data = text.encode("utf-8", "ignore")
    at = 0
    for kind, start, end in find(data, PiiRules("all", REGIONS, False)):
        assert kind in PII_KINDS
        assert at <= start < end
        data[at:start].decode("utf-8")
        data[start:end].decode("utf-8")
        at = end


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(PIECES, max_size=4).map("".join), max_size=6))
def test_a_column_is_scrubbed_as_its_rows(texts):
    texts = [text.encode("utf-8", "ignore").decode("utf-8") for text in texts]
    column, _ = scrub(pa.array(texts, pa.large_string()), ips="public", phone_regions=REGIONS, code=False)
    rules = PiiRules("public", REGIONS, False)
    assert column.to_pylist() == [scrub_bytes(text.encode(), rules)[0].decode() for text in texts]


HARD = {
    "dots": b".",
    "names": b"a.",
    "at signs": b"a@",
    "an address without end": b"@" + b"a." * 100_000,
    "digits": b"1",
    "single digits": b"1 2 3 ",
    "table": b"1234 5678 9012\t",
    "colons": b"a:b:",
    "parts": b"1.2.3.4.",
    "dashes": b"-",
    "plus": b"+1 ",
    "brackets": b"((",
    "key heads": b"-----BEGIN PRIVATE KEY-----",
    "secrets": b"password=",
    "wide": "１２３ ".encode(),
    "hex": b"deadbeef0123456789",
    "urls": b"a://b:",
    "tokens": b"eyJaaaaaaaaaaa.",
    "accents": "é".encode(),
    "addresses": b"a@b.co ",
    "phones": b"555-123-4567 ",
    "names of phones": b"phone ",
    "random strings": b"x=gX69YO4CvBsVjzAwYxdGyDd30t5+9ez31gKATtj4 ",
    "schemes": b"Bearer ",
}


@pytest.mark.parametrize("name", HARD)
def test_a_validator_is_called_in_proportion_to_the_text(name, monkeypatch):
    """Bounded work: from one size to four times it, calls grow fourfold at most, and each sees a bounded piece."""
    calls = []

    def count(validate):
        def counted(text, start, end, rules):
            calls.append(end - start)
            return validate(text, start, end, rules)

        return counted

    for pattern, validate in list(VALIDATORS.items()):
        monkeypatch.setitem(VALIDATORS, pattern, count(validate))
    work = []
    for num_bytes in (50_000, 200_000):
        calls.clear()
        scrub_bytes(HARD[name] * (num_bytes // len(HARD[name]) + 1), PiiRules("public", REGIONS, False))
        work.append(sum(calls) + len(calls))
    assert work[1] <= 4.2 * work[0] + 1000


@pytest.mark.parametrize("name", ["dots", "names", "at signs", "an address without end", "colons", "digits"])
def test_a_megabyte_on_one_line_ends(name):
    data = HARD[name] * (1_000_000 // len(HARD[name]) + 1)
    assert scrub_bytes(data, PiiRules("public", REGIONS, False)) == (data, [])


CHAINS = {
    "each number hides the next": ("+1 650 253 0000,", "<PHONE>,"),
    "each address hides the next": ("93.184.216.34/", "<IP>/"),
    "each extension is the next one's head": ("202-555-0123 ext. 45)", "<PHONE>)"),
    "numbers after colons": ("(650) 253-0000:", "<PHONE>:"),
}


@pytest.mark.parametrize("name", CHAINS)
def test_a_list_in_which_each_hides_the_next_takes_no_more_scans_the_longer_it_is(name, monkeypatch):
    """A scan an entry made a list of a megabyte take hours."""
    item, left = CHAINS[name]
    scans = []
    monkeypatch.setattr(scrub_pii, "find", lambda *args: scans.append(0) or find(*args))
    for times in (10, 1_000):
        scans.clear()
        after, hits = scrub_bytes(item.encode() * times, PiiRules("public", REGIONS, False))
        assert after == left.encode() * times
        assert len(hits) == times
        assert len(scans) <= 3


@pytest.mark.parametrize("filler", range(20, 50))
def test_half_a_placeholder_is_no_word(filler):
    """The look back ends anywhere; what it cut off <PHONE> was taken for the word before a number."""
    text = f"<PHONE>{' ' * filler}5551234567 and more"
    assert scrubbed(text) == text


@pytest.mark.slow
def test_fifty_megabytes_on_one_line_end():
    line = b"a@a.a.a.a 1.2.3 x::y key=z 12-34 " * 1_500_000
    assert scrub_bytes(line + b"ann@example.org", PiiRules("public", REGIONS, False))[1][-1][0] == "email"
