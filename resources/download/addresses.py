"""Which addresses a fetch may connect to: public ones, and any address of a host that the settings name.

A ledger may come from elsewhere, and so do redirects: neither may reach the machine itself, its network, or the
metadata service of a cloud. A name is resolved once and the connection goes to an address found then, so a name server
cannot give one address to the check and another to the connection.
"""

import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any
from urllib.parse import urlsplit

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError

from formats.errors import ConfigError
from resources.download.settings import PRIVATE_HOSTS_VARIABLE
from resources.download.wanted import masked

_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")


class NotPublicError(Exception):
    """A host has none but addresses that are not public."""

    def __init__(self, host: str, address: str) -> None:
        super().__init__(f"host {host} has the address {address}, which is not public")
        self.host = host

    def as_config_error(self, url: str) -> ConfigError:
        """In words, for the file at `url`."""
        todo = f"if it is meant, name the host in {PRIVATE_HOSTS_VARIABLE} ({PRIVATE_HOSTS_VARIABLE}={self.host})"
        return ConfigError(f"{masked(url)}: {self}; {todo}, else mend the url in the ledger")


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet. What IPv6 carries an IPv4 address in counts as that one."""
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address):
        inner = _inner(ip)
        if inner is None:
            return ip in _GLOBAL_UNICAST and ip.is_global
        ip = inner
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def public_addresses(host: str, port: int | None) -> list[str]:
    """The host's public addresses, in the order of the resolver. Raises NotPublicError, socket.gaierror."""
    found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(address[0]) for *_, address in found))
    public = [address for address in addresses if is_public(address)]
    if not public:
        raise NotPublicError(host, addresses[0])
    return public


def check_literal(host: str) -> None:
    """Raises NotPublicError where the host is an address that is not public, or this machine by name. For requests
    through a proxy, which resolves all other names itself.
    """
    if host.rstrip(".") == "localhost" or host.rstrip(".").endswith(".localhost"):
        raise NotPublicError(host, "of this machine")
    try:
        found = socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (socket.gaierror, UnicodeError):
        return
    if not is_public(address := str(found[0][4][0])):
        raise NotPublicError(host, address)


def host_of(url: str) -> str:
    """The host as the settings name it."""
    return (urlsplit(url).hostname or "").rstrip(".")


def public_pools(**options: Any) -> urllib3.PoolManager:
    """A PoolManager whose connections go to public addresses only."""
    manager = urllib3.PoolManager(**options)
    manager.pool_classes_by_scheme = {"http": _HttpPool, "https": _HttpsPool}
    return manager


def _inner(ip: IPv6Address) -> IPv4Address | None:
    if ip in _NAT64:
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour


class _ToPublicAddress(HTTPConnection):
    """Connects to an address that was looked at, instead of asking the resolver again."""

    def _new_conn(self) -> socket.socket:
        name = self._dns_host
        try:
            addresses = public_addresses(name, self.port)
        except (socket.gaierror, UnicodeError) as error:
            found = error if isinstance(error, socket.gaierror) else socket.gaierror(str(error))
            raise NameResolutionError(name, self, found) from error
        failure: Exception | None = None
        for address in addresses:
            self._dns_host = address
            try:
                return super()._new_conn()
            except (NewConnectionError, ConnectTimeoutError) as error:
                failure = error
            finally:
                self._dns_host = name
        raise failure or NewConnectionError(self, "no address")


class _ToPublicAddressByTls(_ToPublicAddress, HTTPSConnection):
    """As `_ToPublicAddress`; the certificate is held against the name."""


class _HttpPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _ToPublicAddress


class _HttpsPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _ToPublicAddressByTls
