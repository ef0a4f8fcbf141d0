"""The page of sampled pairs: side by side, differences marked, with labels that are saved as a file.

Text from the corpus is escaped everywhere; the page's policy runs the one script whose hash it names, loads nothing.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape

from corpus_assets.plans.datasheet_style import CSS
from corpus_assets.plans.dedup_sample import Drawn, SampledPair, Side
from corpus_assets.plans.for_people import plural, shown
from corpus_assets.plans.text_difference import Piece, Row, differences
from formats.dedup_labels import FORMAT, LABELS, LENGTH, VERSION
from formats.dedup_rules import NearRules
from formats.naming import VersionKey

_WORDS_OF_A_CHARACTER_SHINGLE = 3
"""Shingles of characters are shown as runs of so many words."""
_CSS = (
    "html{scroll-padding-bottom:90px}.pair{margin:34px 0;padding-top:14px;border-top:1px solid var(--line)}"
    ".pair h2{margin:0;padding:0;border:0}.sides{display:grid;grid-template-columns:1fr 1fr;gap:18px}"
    ".sides>div{min-width:0}.texts{max-height:520px;overflow-y:auto;border-radius:8px;background:var(--band)}"
    ".texts>.sides>div{padding:2px 12px;white-space:pre-wrap;overflow-wrap:anywhere;font-size:13.5px}"
    ".texts>.sides:first-child{padding-top:8px}.texts>.sides:last-child{padding-bottom:8px}"
    "mark{background:var(--drop);color:#fff;border-radius:3px;padding:0 1px}"
    ".out{color:var(--soft);font-style:italic}.alarm{color:var(--drop-ink);font-weight:600}"
    "fieldset{border:0;margin:10px 0 0;padding:0}label{margin-right:18px}"
    ".save{position:sticky;bottom:0;padding:12px 0;background:var(--ground);border-top:1px solid var(--line)}"
    "button{font:inherit;padding:6px 16px}@media(max-width:760px){.sides{gap:6px}.texts>.sides>div{font-size:11.5px}}"
)
_SCRIPT = """
const head = JSON.parse(document.body.dataset.head), pairs = [...document.querySelectorAll('.pair')];
const said = pair => pair.querySelector('input:checked');
const labels = () => pairs.filter(said).map(pair =>
  ({...JSON.parse(pair.dataset.pair), label: said(pair).value}));
let saved = true;
document.addEventListener('change', () => {
  saved = false;
  document.getElementById('count').textContent = `${labels().length} of ${pairs.length} labelled`;
  document.getElementById('save').disabled = false;
});
document.getElementById('save').addEventListener('click', () => {
  const text = JSON.stringify({...head, labels: labels()}, null, 1);
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], {type: 'application/json'}));
  link.download = `${head.corpus}.labels.json`;
  link.click();
  saved = true;
});
addEventListener('beforeunload', event => { if (!saved) event.preventDefault(); });
"""


def render(key: VersionKey, manifest_sha256: str, drawn: Drawn, near: NearRules, seed: int) -> str:
    """The whole page."""
    head = {"format": FORMAT, "version": VERSION, "corpus": str(key), "manifest_sha256": manifest_sha256, "seed": seed}
    policy = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    for_length = sum(pair.drawn == LENGTH for pair in drawn.pairs)
    words = (
        f"Near duplicates of {key} that were dropped: {drawn.num_near:,}. Shown here: {len(drawn.pairs):,}, each "
        f"beside the document that stayed instead; {for_length:,} because that one's length is far from its cluster's "
        f"(true of {drawn.num_alarmed:,} in all), the others drawn from all alike. Marked words lie in no run of "
        f"{plural(_width(near), 'word')} that both texts have. Say of each pair whether losing the left text was "
        f"right, save, and read the rate of wrong drops with: corpus dedup labels FILE"
    )
    body = "".join(_pair(number, pair, near) for number, pair in enumerate(drawn.pairs, 1))
    save = (
        f"<div class=save><button id=save disabled>Save labels</button> <span id=count class=soft>0 of "
        f"{len(drawn.pairs)} labelled</span></div>"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{policy}'\">"
        '<meta name="referrer" content="no-referrer">'
        f"<title>Near duplicates of {_e(str(key))}</title><style>{CSS}{_CSS}</style></head>"
        f'<body data-head="{_json(head)}">'
        f"<header><p class=kicker>Near duplicates</p><h1>{_e(key.dataset)} <span>{_e(key.version)}</span></h1>"
        f"<p>{_e(words)}</p></header><main>{body or '<p class=none>No near duplicate was dropped.</p>'}</main>"
        f"{f'{save}<script>{_SCRIPT}</script>' if drawn.pairs else ''}</body></html>\n"
    )


def _pair(number: int, pair: SampledPair, near: NearRules) -> str:
    told = {"dropped": pair.dropped.id, "keeper": pair.keeper.id, "drawn": pair.drawn, "jaccard": pair.jaccard}
    rows = differences(pair.dropped.text, pair.keeper.text, _width(near))
    alarm = " <span class=alarm>length alarm: far from the median of its cluster</span>" if pair.length_alarm else ""
    choices = "".join(
        f'<label><input type=radio name="pair{number}" value="{label}"> {label}</label>' for label in LABELS
    )
    return (
        f'<section class=pair data-pair="{_json(told)}"><h2>{number}. Jaccard {pair.jaccard / 1_000_000:.6f}</h2>'
        f"<p>{_e(pair.why)}; cluster {_e(pair.cluster)}.{alarm}</p><div class=sides>"
        f"{_head('Dropped', pair.dropped)}{_head('Stays', pair.keeper)}</div>"
        f"<div class=texts>{''.join(map(_row, rows))}</div>"
        f"<fieldset>{choices}</fieldset></section>"
    )


def _head(name: str, side: Side) -> str:
    return (
        f"<div><p><b>{name}: {_e(side.id)}</b><br><span class=soft>{_e(side.url)}<br>{plural(side.n_words, 'word')}, "
        f"{plural(side.n_chars, 'character')}, crawled {_e(side.crawl_date)}</span></p></div>"
    )


def _row(row: Row) -> str:
    return f"<div class=sides>{_side(row.left)}{_side(row.right)}</div>"


def _side(pieces: Sequence[Piece]) -> str:
    return f'<div dir="auto">{"".join(map(_piece, pieces))}</div>'


def _piece(piece: Piece) -> str:
    if piece.left_out:
        words = f"{plural(piece.left_out, 'word')} {'of its own ' if piece.own else ''}left out"
        return f"<span class=out> … {words} … </span>"
    return f"<mark>{_text(piece.text)}</mark>" if piece.own else _text(piece.text)


def _width(near: NearRules) -> int:
    return near.shingle if near.shingle_unit == "word" else _WORDS_OF_A_CHARACTER_SHINGLE


def _e(text: str) -> str:
    return escape(shown(text))


def _text(text: str) -> str:
    """A text of several lines."""
    return "\n".join(map(_e, text.split("\n")))


def _json(value: object) -> str:
    """JSON inside an attribute in double quotes."""
    return escape(json.dumps(value, ensure_ascii=True))
