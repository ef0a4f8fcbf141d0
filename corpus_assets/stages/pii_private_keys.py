r"""Private keys in armour: PEM and OpenPGP between BEGIN and END, and the private lines of PuTTY's files.

A block is what the formats allow and no more (RFC 1421, 7468, 9580): the label of the BEGIN line again in the END line,
known headers, lines of Base64. Between lines stands what a file, a quotation, a comment, a difference or a string of a
language puts there. Without its END a block loses its first line and the Base64 that follows: a page that was cut
still shows the key. Where no Base64 follows the BEGIN line alone goes, and what stands behind it stays.
"""

from corpus_assets.stages.pii_patterns import Hit, PiiRules, compiled, has_any

MAX_ARMOUR_BYTES = 65_536
MIN_ARMOUR_LINE_BYTES = 32
"""What no word is: a line of a key that needs no END to be one."""
MIN_BLOCK_LINE_BYTES = 16
"""The longest line of a block with its END has that much at least; a sentence that names both lines has not."""
MAX_HEADERS = 8
_KINDS = (b"0123456789", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"abcdefghijklmnopqrstuvwxyz")
_GAP = r"(?:\\{1,4}[rnt]|\n-|[\s\"'`,;&>|*#\\]|[+.][\s\"'`]|//[ \t]|<br ?/?>|\xc2\xa0){0,96}"
"""What stands between two lines, in a file or in code."""
_LINE = compiled(rf"({_GAP})([A-Za-z0-9+/]+={{0,2}}|=[A-Za-z0-9+/]{{4}})")
_HEADER = compiled(
    rf"{_GAP}(?:Proc-Type:[ \t]*[0-9],[A-Z-]+|DEK-Info:[ \t]*[A-Z0-9-]+,[0-9A-Fa-f]+"
    r"|(?:Content-Domain|Key-Info|MIC-Info|Version|Comment|Charset|MessageID|Hash):(?:[ \t]+[^\s\\\"']{1,63}){0,12})"
)
_LINE_BREAK = compiled(r"[\n\"'`]|\\[rn]|<br|\A\z")
_ARMOUR_END = compiled(rf"{_GAP}-----END ([A-Z0-9 ]{{0,64}})-----")


def private_key(text: bytes, start: int, end: int, _rules: PiiRules) -> list[Hit]:
    """A block with its END line; else its first line and the Base64 lines behind it."""
    label = text[start + len(b"-----BEGIN ") : end - len(b"-----")]
    most = end + MAX_ARMOUR_BYTES
    at = _after_headers(text, end, most)
    lines: list[tuple[int, int]] = []
    all_broken = True
    while True:
        close = _ARMOUR_END.match(text, at, most)
        if close:
            whole = close.group(1) == label and _are_block(lines, all_broken)
            return [("key", start, close.end() if whole else _key_end(text, lines, end))]
        line = _LINE.match(text, at, most)
        if not line or line.end() == at:
            return [("key", start, _key_end(text, lines, end))]
        all_broken &= bool(_LINE_BREAK.search(line.group(1)))
        lines.append(line.span(2))
        at = line.end()


def putty_key(text: bytes, start: int, end: int, _rules: PiiRules) -> list[Hit]:
    """The lines behind `Private-Lines: 14`, as many as it says."""
    number = int(text[start:end].rpartition(b" ")[2])
    lines: list[tuple[int, int]] = []
    at, most = end, end + MAX_ARMOUR_BYTES
    while len(lines) < number and (line := _LINE.match(text, at, most)):
        if text.startswith(b":", line.end()) or text.startswith(b"-MAC", line.end()):
            break
        lines.append(line.span(2))
        at = line.end()
    stop = _key_end(text, lines, end)
    return [("key", lines[0][0], stop)] if stop > end else []


def _after_headers(text: bytes, at: int, most: int) -> int:
    for _ in range(MAX_HEADERS):
        header = _HEADER.match(text, at, most)
        if not header:
            break
        at = header.end()
    return at


def _are_block(lines: list[tuple[int, int]], all_broken: bool) -> bool:
    """Lines of Base64, one of them longer than most words; where blanks alone part them, all but the last so long as
    lines of a key are: else they are a sentence.
    """
    sizes = [end - start for start, end in lines]
    if not sizes or max(sizes) < MIN_BLOCK_LINE_BYTES:
        return False
    return all_broken or min(sizes[:-1], default=MIN_ARMOUR_LINE_BYTES) >= MIN_ARMOUR_LINE_BYTES


def _key_end(text: bytes, lines: list[tuple[int, int]], end: int) -> int:
    """Where the lines end that are a key's even without an END line, the short one after them included; else `end`."""
    is_key = False
    for start, stop in lines:
        line = text[start:stop]
        if len(line) >= MIN_ARMOUR_LINE_BYTES and (is_key or _is_mixed(line, _KINDS)):
            is_key, end = True, stop
        elif is_key and (has_any(line, b"+/=0123456789") or _is_mixed(line[1:], _KINDS[1:])):
            return stop
        else:
            break
    return end


def _is_mixed(line: bytes, kinds: tuple[bytes, ...]) -> bool:
    return all(has_any(line, kind) for kind in kinds)
