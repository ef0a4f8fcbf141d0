"""Which of the measured settings of near dedup is worth a look, and why, in words."""

from collections.abc import Sequence

from corpus_assets.plans.dedup_sweep_settings import Measured, Setting
from corpus_assets.plans.for_people import plural

LEAST_RECALL, WORTH_A_CHANGE, SETTLED = 0.9, 0.05, 0.25
"""A setting is suggested whose pairs the version's bands find; in place of the present one only where it is steadier by
so much, and as a default only where less than so much of its drops is unsettled.
"""
LEAST_DROPS = 30
"""Of fewer drops one more or less changes the shares by several per cent: they say nothing of the settings."""


def suggest(settings: Sequence[Measured], present: Setting, unit: str) -> tuple[Measured, str]:
    """The setting whose drops its neighbours share most, of those whose pairs the version's bands find; the present one
    unless another is clearly steadier. Among equal ones the nearest to the present one.
    """

    def away(one: Measured) -> tuple[float, int]:
        return abs(one.setting.threshold - present.threshold), abs(one.setting.shingle - present.shingle)

    able = [one for one in settings if one.dropped and one.expected_recall >= LEAST_RECALL]
    if not able:
        nearest = min(settings, key=away)
        if not any(one.dropped for one in settings):
            return nearest, "No setting drops anything of this sample, so nothing speaks against the present one."
        return nearest, (
            f"None suggested: the version's bands find less than {LEAST_RECALL:.0%} of the pairs of every setting. "
            f"Take more bands of fewer rows, or higher thresholds."
        )
    if len(settings) == 1:
        return able[0], f"Only {able[0].setting} was measured: there is no neighbour to compare it with."
    if (most := max(one.dropped for one in able)) < LEAST_DROPS:
        nearest = min(able, key=away)
        return nearest, (
            f"No setting drops more than {plural(most, 'document')} of this sample, too few to tell settings apart. "
            f"The nearest to the present {present}: {nearest.setting}. Sweep a version with more near duplicates, or "
            f"look at pairs: corpus dedup sample."
        )
    best = min(able, key=lambda one: (round(one.unsettled, 6), *away(one)))
    own = next((one for one in able if one.setting == present), None)
    if own and own.unsettled - best.unsettled < WORTH_A_CHANGE:
        best = own
    edit = (
        f" A text of {plural(best.words_for_an_edit, 'word')} or more stays near after one word is replaced."
        if unit == "word"
        else ""
    )
    verdict = "Suggested" if best.unsettled < SETTLED else "No clear default; the steadiest"
    return best, (
        f"{verdict}: {best.setting}. One step to a neighbouring setting changes {best.unsettled:.1%} of its drops; "
        f"keepers unlike their cluster in length: {best.keepers_unlike:,}. It differs from the present {present} in "
        f"{plural(best.changed, 'verdict')}.{edit} Look at pairs near the threshold before you change it: corpus "
        f"dedup sample."
    )
