"""From what CLD2 and lid.176 call a language to ISO 639-1, once for both.

A detector's label is kept where it is a code of ISO 639-1 in force; `FOLD` renames or folds the others:

- old codes: iw is Hebrew (he), jw Javanese (jv), mo Romanian (ro);
- Norwegian: both detectors tell Nynorsk (nn) apart, so their `no` is Bokmål (nb);
- members of a macrolanguage that has a code: arz -> ar, azb -> az, ckb -> ku, dty -> ne, sr-ME -> sr;
  yue, wuu and every script of Chinese -> zh;
- sh, Serbo-Croatian as lid.176 learnt it from Latin-script text, counts as Croatian (hr).

Everything else has no code of its own and is `und`: als (lid.176 means Alemannic by it, not Albanian), bh (withdrawn),
ceb, pnb, nds, sco and the like, CLD2's scripts without a language (xx-…) and its jokes (zz…, tlh).
"""

from formats.languages import UNDETERMINED

# fmt: off
ISO_639_1 = frozenset((
    "aa", "ab", "ae", "af", "ak", "am", "an", "ar", "as", "av", "ay", "az", "ba", "be", "bg", "bi", "bm", "bn", "bo",
    "br", "bs", "ca", "ce", "ch", "co", "cr", "cs", "cu", "cv", "cy", "da", "de", "dv", "dz", "ee", "el", "en", "eo",
    "es", "et", "eu", "fa", "ff", "fi", "fj", "fo", "fr", "fy", "ga", "gd", "gl", "gn", "gu", "gv", "ha", "he", "hi",
    "ho", "hr", "ht", "hu", "hy", "hz", "ia", "id", "ie", "ig", "ii", "ik", "io", "is", "it", "iu", "ja", "jv", "ka",
    "kg", "ki", "kj", "kk", "kl", "km", "kn", "ko", "kr", "ks", "ku", "kv", "kw", "ky", "la", "lb", "lg", "li", "ln",
    "lo", "lt", "lu", "lv", "mg", "mh", "mi", "mk", "ml", "mn", "mr", "ms", "mt", "my", "na", "nb", "nd", "ne", "ng",
    "nl", "nn", "no", "nr", "nv", "ny", "oc", "oj", "om", "or", "os", "pa", "pi", "pl", "ps", "pt", "qu", "rm", "rn",
    "ro", "ru", "rw", "sa", "sc", "sd", "se", "sg", "si", "sk", "sl", "sm", "sn", "so", "sq", "sr", "ss", "st", "su",
    "sv", "sw", "ta", "te", "tg", "th", "ti", "tk", "tl", "tn", "to", "tr", "ts", "tt", "tw", "ty", "ug", "uk", "ur",
    "uz", "ve", "vi", "vo", "wa", "wo", "xh", "yi", "yo", "za", "zh", "zu",
))
# fmt: on
"""The 183 two-letter codes in force (sh and bh were withdrawn)."""

FOLD = {
    "arz": "ar",
    "azb": "az",
    "ckb": "ku",
    "dty": "ne",
    "iw": "he",
    "jw": "jv",
    "mo": "ro",
    "no": "nb",
    "sh": "hr",
    "sr-ME": "sr",
    "wuu": "zh",
    "yue": "zh",
    "zh-Hans": "zh",
    "zh-Hant": "zh",
}


def iso_639_1(label: str) -> str:
    """The two-letter code of a detector's label, or `und`."""
    label = FOLD.get(label, label)
    return label if label in ISO_639_1 else UNDETERMINED
