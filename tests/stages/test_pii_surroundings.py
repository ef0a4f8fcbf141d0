"""What stands beside a number or a name says what it is: a product, a version, a section, a count, or personal data."""

import pytest

from corpus_assets.stages.pii_patterns import PiiRules
from corpus_assets.stages.scrub_pii import scrub_bytes

REGIONS = ("US", "GB", "FR", "DE", "IT", "ES", "AU", "IN", "BR")


def scrubbed(text: str, *, ips: str = "public", code: bool = False) -> str:
    after, _ = scrub_bytes(text.encode(), PiiRules(ips, REGIONS, code))
    return after.decode()


@pytest.mark.parametrize("code", [False, True])
@pytest.mark.parametrize("text", [
    "q@k.transpose(-2, -1)", "W@x.reshape(1, -1)", "a@b.sum()", "Q@K.permute(0)", "attn@values.view(1)",
    "x@self.info.map(f)", "w@data.name(1).T", "ann@example.org()",
])  # fmt: skip
def test_a_product_of_matrices_is_no_address(text, code):
    assert scrubbed(text, code=code) == text


@pytest.mark.parametrize(
    "text", ["decorator@property.setter", "q@k.T", "w@self.weight", "x@y.grad + z", "a@b.toString"]
)
def test_in_code_an_address_has_a_top_level_that_there_is(text):
    assert scrubbed(text, code=True) == text


@pytest.mark.parametrize("address", [
    "ann@example.org", "ann@example.museum", "ann@EXAMPLE.COM", "ann@mail.example.co.uk", "ann@a.xn--p1ai",
    "ann@example.dev", "root@db.local", "ann@mail.example",
])  # fmt: skip
def test_an_address_is_one_in_code_too(address):
    assert scrubbed(f"# by {address} (2024)", code=True) == "# by <EMAIL> (2024)"
    assert scrubbed(f"# by {address} (2024)") == "# by <EMAIL> (2024)"


@pytest.mark.parametrize("sign", ["@", "&#64;", "&#064;", "&#x40;", "&#X0040;", "&commat;"])
def test_an_address_may_have_its_sign_as_a_character_reference(sign):
    assert scrubbed(f"(ann.b{sign}mail.example.com).") == "(<EMAIL>)."
    assert scrubbed(f"ann{sign}2x.png") == f"ann{sign}2x.png"


@pytest.mark.parametrize("text", ["a&amp;b.com", "a&#65;b.com", "a&64;b.com", "a&#64 b.com", "x&#64;y"])
def test_another_reference_makes_no_address(text):
    assert scrubbed(text) == text


@pytest.mark.parametrize("text", [
    "python 3.11.4.1", "log4j 2.17.1.1 fixes it", "MySQL 8.0.33.1", "Java 11.0.20.8", "Firefox 115.0.2.1",
    "see 12.4.3.1 and 12.4.3.2", "sections 112.4.3.1", "Windows 10.0.19.45", "upgraded to 115.0.2.1", "PHP-81.2.3.40",
    "Foo 115.0.2.1 or later", "it needs 115.0.2.1, and newer ones", "Oracle Community 119.3.0.41", "as 12.4.3.1 says",
    "Abschnitt 112.4.3.1", "Postgres 115.2.3.44",
])  # fmt: skip
def test_a_version_or_section_is_no_address(text):
    assert scrubbed(text) == text


@pytest.mark.parametrize(("text", "left"), [
    ("see 93.184.216.34 and 151.101.1.69", "see <IP> and <IP>"),
    ("23.20.5.10", "<IP>"), ("23.20.5.10\n23.20.6.11\n", "<IP>\n<IP>\n"),
    ("23.20.5.10 - - [10/Oct/2000]", "<IP> - - [10/Oct/2000]"),
    ("blocked 23.20.5.10", "blocked <IP>"), ("the server 12.4.3.1", "the server <IP>"),
    ("MySQL server 93.184.216.34", "MySQL server <IP>"), ("python http://93.184.216.34/", "python http://<IP>/"),
    ("Paul 93.184.216.34 said", "Paul <IP> said"), ("93.184.216.34 or 151.101.1.69", "<IP> or <IP>"),
])  # fmt: skip
def test_an_address_is_one_where_nothing_says_otherwise(text, left):
    assert scrubbed(text) == left


@pytest.mark.parametrize("address", [
    "::ffff:8.8.8.8", "::FFFF:93.184.216.34", "64:ff9b::8.8.8.8", "::ffff:808:808", "64:ff9b::808:808",
    "::ffff:0:8.8.8.8", "::8.8.8.8",
])  # fmt: skip
@pytest.mark.parametrize("frame", ["{}", "see {}.", "[{}]:443", "x\n{}\ny"])
def test_an_ipv6_address_that_holds_a_public_ipv4_address_goes_as_a_whole(address, frame):
    assert scrubbed(frame.format(address)) == frame.format("<IP>")


@pytest.mark.parametrize("address", ["::ffff:10.0.0.1", "64:ff9b::192.168.1.2", "::ffff:a00:1", "64:ff9b::c0a8:102"])
def test_one_that_holds_a_private_address_goes_only_where_the_rules_say_all(address):
    assert scrubbed(address) == address
    assert scrubbed(address, ips="all") == "<IP>"


@pytest.mark.parametrize("text", ["std::ffff:8.8.8", "a::ffff:8.8.8.8.8", "std::ffff:808:x"])
def test_what_is_longer_holds_none(text):
    assert scrubbed(text) == text


@pytest.mark.parametrize("text", [
    "Population 1 234 567 890 in 2020", "Umsatz 1 234 567 890 Euro", "234 567 8901 people",
    "Es waren 030 123 4567 Stück", "lat 52.5200 lon 13.4050 alt 034 115 5532", "elevation: 034 115 5532",
    "612 345 678 habitantes", "a total of 612 345 678", "612 345 678 €",
    "12 345 678 901 stars", "Bevölkerung: 612 345 678",
    "612\u00a0345\u00a0678\u00a0habitants",
])  # fmt: skip
def test_a_count_is_no_phone(text):
    assert scrubbed(text) == text


@pytest.mark.parametrize(("text", "left"), [
    ("612 345 678", "<PHONE>"), ("Call 234 567 8901 now", "Call <PHONE> now"), ("Alt: 202-555-0123", "Alt: <PHONE>"),
    ("total 202-555-0123", "total <PHONE>"), ("phone 612 345 678 euro", "phone <PHONE> euro"),
    ("people: 612 345 678", "people: <PHONE>"), ("030 123 4567", "<PHONE>"),
    ("+34 612 345 678 personas", "<PHONE> personas"),
])  # fmt: skip
def test_a_phone_is_one_beside_other_words(text, left):
    assert scrubbed(text) == left


@pytest.mark.parametrize("name", [
    "card_number", "cardNumber", "creditcard", "CC", "card-no", "PAN", "cc_num", "visa", "payment.card", "KREDITKARTE",
])  # fmt: skip
def test_a_card_may_touch_the_equals_sign_behind_its_name(name):
    for before, after in (("", ""), ("?", "&x=1"), ("--", " -v"), ("x;", ";")):
        text = f"{before}{name}={{}}{after}"
        assert scrubbed(text.format("4111111111111111"), code=True) == text.format("<CARD>")
        assert scrubbed(text.format("4111 1111 1111 1112"), code=True) == text.format("4111 1111 1111 1112")


@pytest.mark.parametrize("name", ["id", "span", "account", "x", "", "card_id", "success"])
def test_behind_another_name_it_may_not(name):
    assert scrubbed(f"{name}=4111111111111111", code=True) == f"{name}=4111111111111111"


@pytest.mark.parametrize(
    "iban", ["GB29 NWBK 6016 1331 9268 19", "DE89370400440532013000", "FR14 2004 1010 0505 0001 3M02 606"]
)
def test_an_account_number_is_of_no_kind_and_stays(iban):
    assert scrubbed(f"IBAN: {iban}.") == f"IBAN: {iban}."
