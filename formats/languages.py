"""The languages that documents are found to be in, by code of ISO 639-1: what a config's codes are held to.

A code that no document ever gets would let nothing through or judge nothing, in silence. Which codes there are is what
the detectors know: `corpus_assets/stages/languages.md`. People write other words for them (`eng`, `jp`, `pt-BR`,
`german`), which are refused with the code that is meant.
"""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from formats.json_fields import Problem, Text

UNDETERMINED = "und"
_MAX_WORD = 40

# fmt: off
_OTHER_WORDS = """
    aa aar afar; ab abk abkhazian; af afr afrikaans; ak aka akan tw twi; am amh amharic; an arg aragonese;
    ar ara arb arz arabic; as asm assamese; av ava avaric; ay aym aymara; az aze azj azb azerbaijani; ba bak bashkir;
    be bel by belarusian; bg bul bulgarian; bi bis bislama; bn ben bengali bangla bd; bo bod tib tibetan;
    br bre breton; bs bos bosnian; ca cat catalan; ce che chechen; co cos corsican; cs ces cze cz czech;
    cv chv chuvash; cy cym wel welsh; da dan dk danish; de deu ger german; dv div dhivehi; dz dzo dzongkha;
    el ell gre gr greek; en eng english us gb; eo epo esperanto; es spa spanish mx; et est ekk estonian;
    eu eus baq basque; fa fas per pes prs ir persian farsi; fi fin finnish; fj fij fijian; fo fao faroese;
    fr fra fre french; fy fry frisian; ga gle irish; gd gla gaelic; gl glg galician; gn grn guarani; gu guj gujarati;
    gv glv manx; ha hau hausa; he heb iw il hebrew; hi hin hindi; hr hrv sh croatian; ht hat haitian;
    hu hun hungarian; hy hye arm armenian; ia ina interlingua; id ind in indonesian; ie ile interlingue;
    ig ibo igbo; ik ipk inupiak; io ido; is isl ice icelandic; it ita italian; iu iku inuktitut; ja jpn jp japanese;
    jv jav jw javanese; ka kat geo ge georgian; kk kaz kz kazakh; kl kal greenlandic; km khm kh khmer;
    kn kan kannada; ko kor kr kp korean; ks kas kashmiri; ku kur kmr ckb kurdish; kv kom komi; kw cor cornish;
    ky kir kg kyrgyz; la lat latin; lb ltz lu luxembourgish; lg lug ganda; li lim limburgish; ln lin lingala;
    lo lao; lt lit lithuanian; lv lav lvs latvian; mg mlg plt malagasy; mi mri mao nz maori; mk mkd mac macedonian;
    ml mal malayalam; mn mon khk mongolian; mr mar marathi; ms msa may zsm malay; mt mlt maltese; my mya bur mm burmese;
    na nau nauru; nb nob no nor norwegian bokmal; ne nep npi np dty nepali; nl nld dut dutch flemish;
    nn nno nynorsk; nr nbl ndebele; ny nya nyanja chichewa; oc oci occitan; om orm oromo; or ori ory odia oriya;
    os oss ossetian; pa pan punjabi; pl pol polish; ps pus pbt pashto; pt por portuguese; qu que quechua;
    rm roh romansh; rn run rundi; ro ron rum mo romanian moldovan; ru rus russian; rw kin kinyarwanda;
    sa san sanskrit; sc srd sardinian; sd snd sindhi; sg sag sango; si sin lk sinhala sinhalese; sk slk slo slovak;
    sl slv slovenian slovene; sm smo samoan; sn sna shona; so som somali; sq sqi alb als albanian; sr srp rs serbian;
    ss ssw swati; st sot sotho; su sun sundanese; sv swe se swedish; sw swa swh swahili; ta tam tamil; te tel telugu;
    tg tgk tajik; th tha thai; ti tir tigrinya; tk tuk turkmen; tl tgl fil ph tagalog filipino; tn tsn tswana;
    to ton tongan; tr tur turkish; ts tso tsonga; tt tat tatar; ug uig uighur uyghur; uk ukr ua ukrainian;
    ur urd pk urdu; uz uzb uzn uzbek; ve ven venda; vi vie vn vietnamese; vo vol volapuk; wa wln walloon; wo wol wolof;
    xh xho xhosa; yi yid ji yiddish; yo yor yoruba; za zha zhuang; zh zho chi cmn yue wuu cn hk chinese mandarin;
    zu zul zulu
"""
# fmt: on
_CODE_OF = {word: words.split()[0] for words in _OTHER_WORDS.split(";") for word in words.split()}
LANGUAGES = tuple(sorted({*_CODE_OF.values()}))
"""The codes of ISO 639-1 that a document can have; every other document is UNDETERMINED."""


def nearest(word: str) -> str | None:
    """The code that somebody means who writes this for it: a code of three letters, a country's, a name, a locale."""
    written = word.strip().lower().replace("_", "-")[:_MAX_WORD]
    for one in (written, written.partition("-")[0]):
        if found := _CODE_OF.get(one):
            return found
    if written in ("unknown", "undetermined", "none"):
        return UNDETERMINED
    close = difflib.get_close_matches(written, list(_CODE_OF), n=1, cutoff=0.75)
    return _CODE_OF[close[0]] if close else None


@dataclass(frozen=True)
class Language(Text):
    """A field that holds one of LANGUAGES, UNDETERMINED, or one of the words given beside them."""

    def problems(self, value: Any, path: str) -> Iterator[Problem]:
        for at, wrong in super().problems(value, path):
            if not isinstance(value, str):
                yield at, wrong
            elif meant := nearest(value):
                yield at, f"{wrong}, which no document is found to be in; did you mean {meant}?"
            else:
                yield at, f"{wrong}, which no document is found to be in (there are: {', '.join(LANGUAGES)})"


LANGUAGE = Language("|".join((*LANGUAGES, UNDETERMINED)), "an ISO 639-1 code or und")
LANGUAGE_OR_ALL = Language("|".join((*LANGUAGES, UNDETERMINED, r"\*")), "an ISO 639-1 code, und, or * for all")
