"""Words that two texts do not share are marked; nothing of a text is changed on the way."""

from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.plans.text_difference import CONTEXT_WORDS, differences
from tests.kernels import reference

LONG = [f"word{n}" for n in range(300)]
words = st.lists(st.sampled_from(["ash", "birch", "été", "猫", "elm,", "\n"]), max_size=20).map(" ".join)


def own(pieces):  # type: ignore[no-untyped-def]
    return [word for piece in pieces if piece.own for word in reference.words(piece.text)]


@given(words, words, st.sampled_from([1, 3]))
def test_a_word_is_marked_where_no_shingle_with_it_is_in_the_other_text(left, right, width):
    for (mine, theirs), pieces in zip(((left, right), (right, left)), differences(left, right, width), strict=True):
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
    left, right = differences(" ".join(LONG), " ".join(changed), 1)
    assert (own(left), own(right)) == (["word150"], ["other"])
    assert [piece.left_out for piece in left] == [150 - CONTEXT_WORDS, 0, 0, 0, 149 - CONTEXT_WORDS]
    shown = reference.words("".join(piece.text for piece in left))
    assert shown == LONG[150 - CONTEXT_WORDS : 151 + CONTEXT_WORDS]


def test_equal_texts_show_how_they_begin():
    left, _ = differences(" ".join(LONG), " ".join(LONG), 5)
    assert left[0].text.startswith("word0 word1 ")
    assert sum(piece.left_out for piece in left) == 300 - 2 * CONTEXT_WORDS


def test_a_text_that_shares_nothing_is_cut_and_says_by_how_much():
    many = " ".join(f"{n:020}" for n in range(5_000))
    left, right = differences(many, "", 5)
    assert right == []
    assert sum(piece.left_out for piece in left) + len(reference.words("".join(p.text for p in left))) == 5_000
