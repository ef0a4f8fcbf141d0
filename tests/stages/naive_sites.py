"""Site matching said slowly: one URL and one entry at a time, by string methods."""

from urllib.parse import unquote_to_bytes

from corpus_assets.stages.site_names import Site, canonical_host

UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
HEX = "0123456789abcdefABCDEF"


def path(rest: str) -> str:
    """Path and query in one form, byte by byte."""
    data = rest.partition("#")[0].translate({ord(c): None for c in "\t\r\n"})
    if not data.startswith(("/", "\\")):
        data = "/" + data
    before, mark, after = data.partition("?")
    todo, out = (before.replace("\\", "/") + mark + after).encode(), ""
    while todo:
        if todo[:1] == b"%" and len(todo) > 2 and all(chr(c) in HEX for c in todo[1:3]):
            byte, todo = unquote_to_bytes(todo[:3]), todo[3:]
            out += byte.decode() if byte in (bytes([c]) for c in UNRESERVED) else f"%{byte[0]:02X}"
        else:
            byte, todo = todo[0], todo[1:]
            out += chr(byte) if 0x20 < byte < 0x7F else f"%{byte:02X}"
    return out


def parts(url: str) -> tuple[str | None, str, str]:
    """Host in its one form, port, and path in one form."""
    url = url.translate({ord(c): None for c in "\t\r\n"}).lstrip("".join(map(chr, range(33))))
    scheme, colon, rest = url.partition(":")
    if colon and scheme.lower() in ("http", "https", "ftp", "ws", "wss"):
        url = rest.lstrip("/\\")
    elif len(url) > 1 and url[0] in "/\\" and url[1] in "/\\":
        url = url[2:]
    end = min((at for c in "/\\?#" if (at := url.find(c)) >= 0), default=len(url))
    authority, rest = url[:end], url[end:]
    authority = authority.rpartition("@")[2]
    if authority.startswith("["):
        host, bracket, after = authority.partition("]")
        host += bracket
    else:
        host, colon, after = authority.partition(":")
        after = colon + after
    if after and not (after[0] == ":" and all(c in "0123456789" for c in after[1:])):
        return None, "", ""
    return canonical_host(host), after[1:].lstrip("0"), path(rest)


def matches(url: str, site: Site) -> bool:
    host, port, rest = parts(url)
    if host is None:
        return False
    if site.path is not None:
        return host == site.host and rest.startswith(path(site.path)) and site.port in ("", port)
    address = host.startswith("[") or host.rpartition(".")[2].isdecimal()
    return host == site.host or (not address and host.endswith(f".{site.host}"))


def first_entry(url: str, sites: list[Site]) -> int:
    return next((i for i, site in enumerate(sites) if matches(url, site)), -1)
