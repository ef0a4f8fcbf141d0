"""Words that two texts do not share are marked; nothing of a text is changed on the way, and both stay in step."""

from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.plans.text_difference import CONTEXT_WORDS, MAX_CHARS, MAX_OWN_WORDS, differences
from tests.kernels import reference

LONG = [f"word{n}" for n in range(300)]
words = st.lists(st.sampled_from(["ash", "birch", "été", "猫", "elm,", "\n"]), max_size=20).map(" ".join)


def sides(left, right, width):
    """The pieces of either text, row after row."""
    rows = differences(left, right, width)
    return [piece for row in rows for piece in row.left], [piece for row in rows for piece in row.right]


def own(pieces):
    return [word for piece in pieces if piece.own for word in reference.words(piece.text)]


def said(pieces):
    return reference.words("".join(piece.text for piece in pieces))


@given(words, words, st.sampled_from([1, 3]))
def test_a_word_is_marked_where_no_shingle_with_it_is_in_the_other_text(left, right, width):
    for (mine, theirs), pieces in zip(((left, right), (right, left)), sides(left, right, width), strict=True):
        found = reference.words(mine)
        common = set(reference.ngrams(reference.words(theirs), width))
        marked = [
            word
            for n, word in enumerate(found)
            if not any(
                n in range(i, i + len(ngram)) and ngram in common
                for i, ngram in enumerate(reference.ngrams(found, width))
            )
        ]
        assert own(pieces) == marked
        if found:
            assert "".join(piece.text for piece in pieces) == mine


def test_of_long_common_parts_the_ends_beside_a_difference_stay():
    changed = [*LONG[:150], "other", *LONG[151:]]
    left, right = sides(" ".join(LONG), " ".join(changed), 1)
    assert (own(left), own(right)) == (["word150"], ["other"])
    assert [piece.left_out for piece in left] == [150 - CONTEXT_WORDS, 0, 0, 0, 149 - CONTEXT_WORDS]
    assert said(left) == LONG[150 - CONTEXT_WORDS : 151 + CONTEXT_WORDS]


def test_what_only_one_text_has_stands_beside_nothing_and_what_follows_is_in_step():
    menu = [f"menu{n}" for n in range(80)]
    extended = [*LONG[:100], *menu, *LONG[100:200], "more", *LONG[200:]]
    rows = differences(" ".join(LONG), " ".join(extended), 3)
    assert [(own(row.left), own(row.right)) for row in rows] == [
        ([], []), ([], menu), ([], []), ([], ["more"]), ([], [])
    ]  # fmt: skip
    for row in (rows[0], rows[2], rows[4]):
        assert said(row.left) == said(row.right)
    assert said(rows[2].left)[:2] == ["word100", "word101"]
    assert rows[1].left == rows[3].left == []


def test_a_part_that_moved_is_common_and_keeps_no_other_one_in_step():
    left, right = [*LONG[:60], *LONG[60:70], *LONG[70:]], [*LONG[60:70], *LONG[:60], *LONG[70:]]
    rows = differences(" ".join(left), " ".join(right), 3)
    assert [own(row.left) + own(row.right) for row in rows] == [[]] * len(rows)
    assert said(rows[0].right) == LONG[60:70]
    assert said(rows[1].left)[:3] == said(rows[1].right)[:3] == LONG[:3]


def test_equal_texts_show_how_they_begin():
    left, _ = sides(" ".join(LONG), " ".join(LONG), 5)
    assert left[0].text.startswith("word0 word1 ")
    assert sum(piece.left_out for piece in left) == 300 - 2 * CONTEXT_WORDS


def test_of_a_text_that_shares_nothing_the_ends_are_shown_and_how_much_is_left_out():
    many = [f"{n:020}" for n in range(5_000)]
    left, right = sides(" ".join(many), "", 5)
    assert right == []
    assert said(left) == many[: MAX_OWN_WORDS // 2] + many[-MAX_OWN_WORDS // 2 :]
    assert [piece.left_out for piece in left] == [0, 5_000 - MAX_OWN_WORDS, 0]


def test_of_texts_that_differ_all_over_the_beginning_is_shown():
    many = [f"{n:020}" for n in range(5_000)]
    every = [word for n, word in enumerate(many) for word in ([f"more{n}"] if n % 50 == 0 else []) + [word]]
    left, right = sides(" ".join(many), " ".join(every), 3)
    assert MAX_CHARS < sum(len(piece.text) for piece in right) < 2 * MAX_CHARS
    for pieces, whole in ((left, many), (right, every)):
        assert pieces[-1].left_out + len(said(pieces[:-1])) == len(whole)
