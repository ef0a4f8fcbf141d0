"""The slow, obvious twin of `text_signals` and `repetition`: sets of positions, Counters of tuples, str.split.

It shares the frozen Unicode tables and the names with the kernels, and no line of their code.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from corpus_assets.kernels.unicode_tables import LETTER, MARK, NUMBER, SINGLE, SPACE, tables

STOP_WORDS = {"the", "be", "to", "of", "and", "that", "have", "with"}
KIND, LOWER = tables()[0].tobytes(), tables()[1].tolist()
SPACES = "".join(chr(code) for code, kind in enumerate(KIND) if kind == SPACE)

Word = tuple[str, int, int]  # lower-cased, first character, character after the last


def is_kind(char: str, *kinds: int) -> bool:
    return KIND[ord(char)] in kinds


def words_of(text: str) -> list[Word]:
    """Runs of letters, marks and numbers; each single-class character by itself."""
    found: list[Word] = []
    start = None
    for at, char in enumerate(text + "\n"):
        joins = is_kind(char, LETTER, MARK, NUMBER)
        if joins and start is None:
            start = at
        if not joins and start is not None:
            found.append((lowered(text[start:at]), start, at))
            start = None
        if is_kind(char, SINGLE):
            found.append((lowered(char), at, at + 1))
    return found


def lowered(word: str) -> str:
    return "".join(chr(LOWER[ord(char)]) for char in word)


def paragraphs_of(text: str) -> list[list[str]]:
    """Groups of trimmed lines, where blank lines stand between the groups."""
    groups: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line := line.strip(SPACES):
            groups[-1].append(line)
        elif groups[-1]:
            groups.append([])
    return [group for group in groups if group]


def repeats(items: list[str]) -> list[str]:
    """The items that came up before."""
    first = {item: i for i, item in reversed(list(enumerate(items)))}
    return [item for i, item in enumerate(items) if first[item] != i]


def is_bullet(line: str) -> bool:
    if line[0] in "•‣⁃∙▪▫■□●○◦":
        return True
    return line[0] in "*+-" and (len(line) == 1 or is_kind(line[1], SPACE))


def ngrams(words: list[Word], width: int) -> list[tuple[tuple[str, ...], range]]:
    """Each run of `width` words with the character positions from its first to its last."""
    return [
        (tuple(word for word, _, _ in words[i : i + width]), range(words[i][1], words[i + width - 1][2]))
        for i in range(len(words) - width + 1)
    ]


def top_cover(words: list[Word], width: int) -> int:
    """Characters inside the most frequent run (the earlier of two as frequent), when it comes up twice at least."""
    runs = ngrams(words, width)
    counts = Counter(run for run, _ in runs)  # keeps the order of first occurrence
    if not counts or max(counts.values()) < 2:
        return 0
    top = max(counts, key=lambda run: counts[run])
    return len({at for run, span in runs if run == top for at in span})


def duplicate_cover(words: list[Word], width: int) -> int:
    """Characters inside runs that came up before."""
    seen, covered = set(), set()
    for run, span in ngrams(words, width):
        if run in seen:
            covered.update(span)
        seen.add(run)
    return len(covered)


def per_million(part: int, whole: int) -> int:
    return part * 1_000_000 // whole if whole else 0


def occurs(entry: str, words: list[Word]) -> bool:
    """Whether the words of an entry stand in the text, one after the other with nothing between."""
    parts = [part for part, _, _ in words_of(entry)]
    for at in range(len(words) - len(parts) + 1):
        run = words[at : at + len(parts)]
        joined = all(left[2] == right[1] for left, right in pairwise(run))
        if joined and [word for word, _, _ in run] == parts:
            return True
    return False


def signals(text: str, stop_words: Iterable[str] = STOP_WORDS) -> dict[str, int]:
    words = words_of(text)
    singles = [word for word, start, _ in words if is_kind(text[start], SINGLE)]
    alphabetic = [word for word, _, _ in words if any(is_kind(char, LETTER, SINGLE) for char in word)]
    paragraphs = paragraphs_of(text)
    lines = [line for paragraph in paragraphs for line in paragraph]
    joined = ["\n".join(paragraph) for paragraph in paragraphs]
    control = [c for c in text if (c < "\x20" and c not in "\t\n\r") or "\x7f" <= c <= "\x9f"]
    ellipses = text.count("...") + text.count("…")
    return {
        "n_words": len(words),
        "n_chars": len(text),
        "replacement_char_ratio": per_million(text.count("\ufffd"), len(text)),
        "control_char_ratio": per_million(len(control), len(text)),
        "mean_word_chars": 1000 * sum(end - start for _, start, end in words) // len(words) if words else 0,
        "symbol_word_ratio": per_million(max(text.count("#"), ellipses), len(words)),
        "bullet_line_ratio": per_million(sum(map(is_bullet, lines)), len(lines)),
        "ellipsis_line_ratio": per_million(sum(line.endswith(("...", "…")) for line in lines), len(lines)),
        "alphabetic_word_ratio": per_million(len(alphabetic), len(words)),
        "stop_words": sum(occurs(entry, words) for entry in stop_words),
        "duplicate_line_ratio": per_million(len(repeats(lines)), len(lines)),
        "duplicate_line_char_ratio": per_million(sum(map(len, repeats(lines))), len(text)),
        "duplicate_paragraph_ratio": per_million(len(repeats(joined)), len(joined)),
        "duplicate_paragraph_char_ratio": per_million(sum(map(len, repeats(joined))), len(text)),
        **{f"top_{n}gram_char_ratio": per_million(top_cover(words, n), len(text)) for n in (2, 3, 4)},
        **{f"duplicate_{n}gram_char_ratio": per_million(duplicate_cover(words, n), len(text)) for n in range(5, 11)},
        "single_word_ratio": per_million(len(singles), len(words)),
    }
