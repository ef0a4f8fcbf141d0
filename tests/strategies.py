"""How to make any document: texts of every script, columns with nulls, empty rows and slices."""

import pyarrow as pa
from hypothesis import strategies as st

LETTERS = list("aAbéÉİıßΣςжЖ我がカคລក한글0٣²\u0301\u0327\u0338\u1161\u11a8ⱥȺK")
SIGNS = list(" \t\n\r\u00a0\u2028\u3000\u200b.,-'’<|\x00\ufffd😀")

any_text = st.text(max_size=60)
wordy_text = st.lists(st.sampled_from(LETTERS + SIGNS + [" ", " ", "\r\n", "ab ", "cd "]), max_size=60).map("".join)
texts = any_text | wordy_text

PIECES = [
    "The baker of Wold sold her last loaf to a fox. ", "ann@example.org", "+44 20 7946 0958", "4111 1111 1111 1111",
    "93.184.216.34", "<EMAIL>", "\0", "\x07", "\x7f\x85", "\r\n", "\r", "\u2028", "\ufeff", "\ufffe", "\U0010ffff",
    "\ue000", "e\u0301\u0327", "\u1100\u1161\u11a8", "\u0f73", "\u202e\u05d0\u05d1\u202c",
    "\u0627\u0644\u0642\u0637\u0629 ", "\u732b\u5728\u82b1\u56ed", "\u0e41\u0e21\u0e27",
    "\U0001f9f5\u200d\U0001f600", "\ud83d", "\ude00", "...", "```\n", "a@a.",
]  # fmt: skip
"""What faults were made of: personal data, controls, line ends, noncharacters, private use, marks, scripts that run
from the right or write no spaces, joined signs, halves of surrogate pairs.
"""
any_character = st.characters(exclude_categories=[])
any_document = st.text(any_character, max_size=80) | st.lists(
    st.sampled_from(PIECES) | st.text(any_character, max_size=4), max_size=40
).map("".join)
"""A document as JSON can hold it: any code point, lone surrogates among them."""


@st.composite
def text_arrays(draw: st.DrawFn) -> pa.Array:
    """A large_string column that may hold nulls and may be a slice of another."""
    column = pa.array(draw(st.lists(texts | st.none(), max_size=8)), pa.large_string())
    start = draw(st.integers(0, len(column)))
    return column[start : draw(st.integers(start, len(column)))]
