"""Where a fetch may connect to: the public internet, and hosts that the settings name."""

import socket

import pytest

from formats.errors import ConfigError
from resources.download import addresses
from resources.download.addresses import is_public, public_addresses
from resources.download.settings import PRIVATE_HOSTS_VARIABLE, FetchSettings
from tests.fault_server import Answer, FaultServer
from tests.resources.download_helpers import Remembered, fetcher, some_bytes, wanted

CONTENT = some_bytes(9_000)
REAL = socket.getaddrinfo


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("127.0.0.1", False),
        ("127.255.0.9", False),
        ("0.0.0.0", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("100.64.0.1", False),
        ("169.254.169.254", False),
        ("224.0.0.1", False),
        ("240.0.0.1", False),
        ("255.255.255.255", False),
        ("::", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("fec0::1", False),
        ("ff02::1", False),
        ("::7f00:1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:8.8.8.8", True),
        ("64:ff9b::a00:1", False),
        ("64:ff9b::808:808", True),
        ("2002:7f00:1::", False),
        ("2002:808:808::", True),
        ("2001:0:7f00:1::", False),
        ("4000::1", False),
    ],
)
def test_public_is_what_the_internet_routes_also_when_ipv6_carries_ipv4(address, public):
    assert is_public(address) == public


def resolve_as(monkeypatch, names):
    """Let names have addresses that the test decides about; each call for a name takes its next list."""
    asked = []

    def getaddrinfo(host, port, *args, **kwargs):
        if host not in names:
            return REAL(host, port, *args, **kwargs)
        asked.append(host)
        found = names[host].pop(0) if len(names[host]) > 1 else names[host][0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


def no_proxy(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _without_proxies(monkeypatch):
    no_proxy(monkeypatch)


@pytest.fixture
def server():
    with FaultServer() as server:
        yield server


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "2130706433"])
def test_this_machine_is_refused_without_a_connection_unless_it_is_named(tmp_path, server, host):
    url = server.put("/f", CONTENT).replace("127.0.0.1", host) + "?token=hunter2"
    with pytest.raises(ConfigError, match=f"not public.*{PRIVATE_HOSTS_VARIABLE}=") as caught:
        fetcher(tmp_path, private_hosts=()).fetch_all([wanted(url, CONTENT)])
    assert "hunter2" not in str(caught.value)
    assert server.requests == []


def test_a_name_is_refused_for_the_address_it_has(tmp_path, server, monkeypatch):
    resolve_as(monkeypatch, {"tales.example": [["127.0.0.1"]]})
    url = server.put("/f", CONTENT).replace("127.0.0.1", "tales.example")
    with pytest.raises(ConfigError, match=r"tales\.example has the address 127\.0\.0\.1"):
        fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])  # the address is named in the settings, the name is not
    assert server.requests == []
    [path] = fetcher(tmp_path, private_hosts=("Tales.Example.",)).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT


def test_the_address_that_was_checked_is_the_one_connected_to(tmp_path, server, monkeypatch):
    """A name server that answers with a public address first and a private one from then on gains nothing."""
    asked = resolve_as(monkeypatch, {"tales.example": [["192.0.2.7"], ["127.0.0.1"]]})
    monkeypatch.setattr(addresses, "is_public", lambda address: address == "192.0.2.7")
    connected = []

    def connect(_, address):
        connected.append(address)
        raise ConnectionRefusedError("nobody is there")

    monkeypatch.setattr(socket.socket, "connect", connect)
    url = server.put("/f", CONTENT).replace("127.0.0.1", "tales.example")
    with pytest.raises(Exception, match="given up after 1 tries"):
        fetcher(tmp_path, max_tries=1).fetch_all([wanted(url, CONTENT)])
    assert asked == ["tales.example"]
    assert [address[0] for address in connected] == ["192.0.2.7"]


def test_private_addresses_beside_public_ones_are_passed_over(monkeypatch):
    resolve_as(monkeypatch, {"tales.example": [["10.0.0.1", "8.8.8.8", "127.0.0.1", "1.1.1.1"]]})
    assert public_addresses("tales.example", 80) == ["8.8.8.8", "1.1.1.1"]


def test_a_request_to_a_public_address_goes_through_and_keeps_its_host_name(tmp_path, server, monkeypatch):
    resolve_as(monkeypatch, {"tales.example": [["127.0.0.9", "127.0.0.1"]]})
    monkeypatch.setattr(addresses, "is_public", lambda address: address == "127.0.0.1")
    url = server.put("/f", CONTENT).replace("127.0.0.1", "tales.example")
    [path] = fetcher(tmp_path, private_hosts=()).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    assert server.requests[0].headers["host"].startswith("tales.example:")


def redirect(url):
    return Answer(status=302, headers={"Location": url, "Content-Length": "0"})


def test_a_public_host_cannot_redirect_to_a_private_one_not_even_to_one_that_is_named(tmp_path, server, monkeypatch):
    resolve_as(monkeypatch, {"public.example": [["127.0.0.1"]]})
    monkeypatch.setattr(addresses, "is_public", lambda address: address == "127.0.0.1")
    inside = server.put("/secret", CONTENT)
    url = server.put("/f", b"", [redirect(inside.replace("127.0.0.1", "127.0.0.2"))])
    with pytest.raises(ConfigError, match=r"host 127\.0\.0\.2 has the address 127\.0\.0\.2"):
        fetcher(tmp_path, private_hosts=("127.0.0.2",)).fetch_all(
            [wanted(url.replace("127.0.0.1", "public.example"), CONTENT)]
        )
    assert [request.path for request in server.requests] == ["/f"]


def test_a_named_host_may_redirect_to_another_named_one_and_to_public_ones(tmp_path, server, monkeypatch):
    resolve_as(monkeypatch, {"inside.example": [["127.0.0.1"]], "public.example": [["127.0.0.1"]]})
    server.put("/new", CONTENT)
    target = server.url("/new").replace("127.0.0.1", "inside.example")
    url = server.put("/f", b"", [redirect(target), redirect(target), redirect(target.replace("inside", "public"))])
    fetcher(tmp_path / "a", private_hosts=("127.0.0.1", "inside.example")).fetch_all([wanted(url, CONTENT)])
    with pytest.raises(ConfigError, match=r"inside\.example has the address"):
        fetcher(tmp_path / "b", private_hosts=("127.0.0.1",)).fetch_all([wanted(url, CONTENT)])
    monkeypatch.setattr(addresses, "is_public", lambda _: True)
    fetcher(tmp_path / "c", private_hosts=("127.0.0.1",)).fetch_all([wanted(url, CONTENT)])


def test_through_a_proxy_addresses_are_checked_and_names_are_the_proxys_to_resolve(tmp_path, server, monkeypatch):
    monkeypatch.setenv("http_proxy", server.url(""))
    monkeypatch.setenv("no_proxy", "")
    for host in ("10.1.2.3", "localhost", "db.localhost.", "0x7f.1", "[::1]"):
        with pytest.raises(ConfigError, match="not public"):
            fetcher(tmp_path).fetch_all([wanted(f"http://{host}/f", CONTENT)])
    assert server.requests == []
    server.put("http://nowhere.invalid/f", CONTENT)
    [path] = fetcher(tmp_path).fetch_all([wanted("http://nowhere.invalid/f", CONTENT)])
    assert path.read_bytes() == CONTENT


def test_the_hosts_come_from_the_environment_and_are_none_without_it(monkeypatch):
    monkeypatch.delenv(PRIVATE_HOSTS_VARIABLE)
    assert FetchSettings().private_hosts == ()
    monkeypatch.setenv(PRIVATE_HOSTS_VARIABLE, " files.intranet , ::1,,")
    assert FetchSettings().private_hosts == ("files.intranet", "::1")


@pytest.mark.parametrize("host", ["http://a.example", "a.example/x", "a b", "*", "10.0.0.0/8"])
def test_what_is_no_host_is_refused(host):
    with pytest.raises(ConfigError, match="private_hosts"):
        FetchSettings(private_hosts=(host,))


def test_credentials_in_a_redirect_go_nowhere_and_are_shown_nowhere(tmp_path, server):
    memory = Remembered()
    with FaultServer() as other:
        other.put("/f", CONTENT, [Answer(status=503), Answer(status=404)])
        there = other.url("/f").replace("http://", "http://me:hunter2@") + "?signature=hunter3"
        url = server.put("/f", b"", [redirect(there)] * 3)
        with pytest.raises(ConfigError, match="404") as caught:
            fetcher(tmp_path, memory).fetch_all([wanted(url, CONTENT)])
        assert [request.headers.get("authorization") for request in other.requests] == [None, None]
    assert "hunter" not in str(caught.value) + "".join(memory.events)
