"""How to make any document: texts of every script, columns with nulls, empty rows and slices."""

import pyarrow as pa
from hypothesis import strategies as st

LETTERS = list("aAbéÉİıßΣςжЖ我がカคລក한글0٣²\u0301\u0327\u0338\u1161\u11a8ⱥȺK")
SIGNS = list(" \t\n\r\u00a0\u2028\u3000\u200b.,-'’<|\x00\ufffd😀")

any_text = st.text(max_size=60)
wordy_text = st.lists(st.sampled_from(LETTERS + SIGNS + [" ", " ", "\r\n", "ab ", "cd "]), max_size=60).map("".join)
texts = any_text | wordy_text


@st.composite
def text_arrays(draw: st.DrawFn) -> pa.Array:
    """A large_string column that may hold nulls and may be a slice of another."""
    column = pa.array(draw(st.lists(texts | st.none(), max_size=8)), pa.large_string())
    start = draw(st.integers(0, len(column)))
    return column[start : draw(st.integers(start, len(column)))]
