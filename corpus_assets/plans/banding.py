"""Whether a banding suits its threshold: pairs that share no band are never compared, whatever their Jaccard."""

from corpus_assets.kernels.bands import collision_probability
from corpus_assets.plans.for_people import plural
from formats.dedup_rules import NearRules

LEAST = 0.9
"""Of pairs just at the threshold at least so many should be compared; 16 bands of 8 rows compare 0.947 at 0.8."""


def advice(near: NearRules) -> str | None:
    """What is wrong with the banding, in figures, and which one would do; None where it finds enough."""
    now = collision_probability(near.jaccard_threshold, near.bands, near.rows)
    if now >= LEAST:
        return None
    bands, rows = better(near)
    then = collision_probability(near.jaccard_threshold, bands, rows)
    todo = f"bands: {bands}, rows: {rows} would compare {then:.1%}" if then > now else "take a higher threshold"
    return (
        f"dedup.near: {plural(near.bands, 'band')} of {plural(near.rows, 'row')} compare {now:.1%} of the pairs whose "
        f"Jaccard is just the threshold {near.jaccard_threshold:g}; expected {LEAST:.0%} or more; {todo}"
    )


def better(near: NearRules) -> tuple[int, int]:
    """(bands, rows) of the same signature that find enough at the threshold, with the fewest candidates below it."""
    for rows in range(near.num_perm, 1, -1):
        if collision_probability(near.jaccard_threshold, near.num_perm // rows, rows) >= LEAST:
            return near.num_perm // rows, rows
    return near.num_perm, 1
