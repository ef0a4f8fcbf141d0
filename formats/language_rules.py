"""The section `lang` of a corpus config, and what a rule's limit is in a language where it differs from the profile's.

Spec: language_rules.md. The limits decide only where a config says `lang: {own_rules: true}`. In people's units, as in
formats.reasons.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from formats.json_fields import Choice, SetOf
from formats.json_tables import LATER, Rules
from formats.languages import LANGUAGE

Limits = Mapping[str, float | None]

STOP_WORD_RULE = "too_few_stop_words"
_TWO_STOP_WORDS = """
    af ar az be bg bn bs ca cs cy da de el en eo es et fa fi fr ga gl gu he hi hr hu hy id is it ja lg lt lv mi mk mn mr
    ms nb nl nn pa pl pt ro ru sk sl so sq sr st sv sw tl tn tr ts uk ur vi zh
"""
_ONE_STOP_WORD = "eu ka kk kn ko la ml sn ta te yo zu"
"""Their endings do what small words do elsewhere: a passage of fifty words may have only one of the set."""

_LONG_WORDS = "fi ka kn ml ta te xh zu"
_SHORT_WORDS = "ko mi vi yo"
_FOUR_CHARACTERS: Limits = {
    "too_many_words": 400_000,
    "top_2gram_too_frequent": None,
    "top_3gram_too_frequent": None,
    "top_4gram_too_frequent": None,
    "too_many_duplicate_10grams": None,
}
_OWN: Mapping[str, Limits] = {
    "zh": {"too_many_words": 160_000, "too_many_duplicate_10grams": 0.14},
    "ja": {"too_many_words": 200_000, "too_many_duplicate_10grams": 0.15},
    **dict.fromkeys(("km", "lo", "my", "th"), _FOUR_CHARACTERS),
}
"""Scripts without spaces, of which each character is counted as a word. A word is some 1.6 ideographs, two characters
of Japanese, four of Thai: so 10 of them are a run of six, five, two or three words, and have the limit of that run.
"""


def _prose() -> dict[str, dict[str, float | None]]:
    found: dict[str, dict[str, float | None]] = {}
    for codes, limits in (
        (_TWO_STOP_WORDS, {STOP_WORD_RULE: 2}),
        (_ONE_STOP_WORD, {STOP_WORD_RULE: 1}),
        (_LONG_WORDS, {"mean_word_too_long": 12}),
        (_SHORT_WORDS, {"mean_word_too_short": 2}),
    ):
        for code in codes.split():
            found.setdefault(code, {}).update(limits)
    for code, own in _OWN.items():
        found.setdefault(code, {}).update(own)
    return dict(sorted(found.items()))


LANGUAGE_LIMITS: Mapping[str, Mapping[str, Limits]] = {"prose": _prose(), "code": {}, "short": {}}
"""Profile -> language -> reason -> limit; None: the rule does not apply. Where a language has no limit for stop words,
that rule does not apply to it.
"""


@dataclass(frozen=True)
class LanguageRules(Rules):
    """An empty `allow` keeps every language, `und` too. The second voice is asked always, or where the first is
    unsure. With `own_rules` each language has limits and stop words of its own (language_rules.md). A text in two
    languages has the label of its greatest part, or none.
    """

    allow: Annotated[tuple[str, ...], SetOf(LANGUAGE)] = ()
    second_voice: Annotated[str, Choice(("always", "unsure"))] = "always"
    own_rules: bool = False
    mixed: Annotated[str, Choice(("greatest", "und")), LATER] = "greatest"
