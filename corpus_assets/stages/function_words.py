"""Small words that a language is full of, and words that tell close neighbours apart; all written for this project.

The sets of function words serve twice: as the stop words of Gopher's rule in a document's own language
(`stop_word_sets`), and as a third voice where two detectors are unsure. English has Gopher's eight (Rae et al. 2021,
A1.1). Words are lower-cased and cut as in `kernels/words.md`, so a Thai entry is several words in a row.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache

# fmt: off
FUNCTION_WORDS: Mapping[str, str] = {
    "af": "die en van is in het nie om te wat met vir aan ook sy hulle dat word deur",
    "ar": "في من على أن إلى عن التي الذي هذا هذه ما لا كان مع كما قد و أو بعد بين",
    "az": "və bir bu ilə üçün də da ki olan o daha çox sonra kimi var onun edir heç hər isə deyil",
    "be": "і у на што не з да як гэта ён яго але для па за было",
    "bg": "и на в да за се от е с не че са като по ще но това със който",
    "bn": "এবং এই যে করে থেকে এর জন্য করা হয় না তার একটি ও কিন্তু সঙ্গে হয়েছে",
    "bs": "i je u na se da su za od koji kao što ili ali bio nakon također ko šta tokom",
    "ca": "de la i el que a en els les per amb del és un una però més també aquest dels",
    "cs": "a v se na je že to s z do o i který jsou ale jako pro byl podle také",
    "cy": "yn y a r i o ar mae wedi ei bod yr am fod gan hefyd eu oedd",
    "da": "og i at det er en på til af for som den med de ikke har et også blev efter",
    "de": "der die und in den von zu das mit sich ist nicht ein auf für dem auch eine es im",
    "el": "και το να του η της με που για την από ο στο είναι τα δεν οι των θα",
    "en": "the be to of and that have with",
    "eo": "la kaj de en al estas ke por kun ne li ĝi mi sed pri kiu tiu el oni",
    "es": "de la que el en y los se del las un por con una no es para su más pero",
    "et": "ja on ei et see oli ta kui ka oma mis aga või ning kes selle pole nii",
    "eu": "eta da ez bat du dira baina zen izan ere ditu dute egin hori beste duen",
    "fa": "و در به از که این را با است برای آن یک خود تا بر هم نیز شد های",
    "fi": "ja on ei se että hän oli mutta myös ovat kun tai kuin niin joka ole mukaan",
    "fr": "de la le et les des en un une du dans que est pour qui par pas sur au plus",
    "ga": "an na agus ar ag i is go a bhí tá sé leis le do ach ina chun",
    "gl": "de a o que e do da en os as un unha por con non para máis pero tamén ao",
    "gu": "છે અને આ માટે કે તે પણ એક હતી હતો થી નથી તો પર",
    "he": "של את על לא הוא עם זה כי היא גם או אל אבל יש כל אם היה",
    "hi": "के में की है और से को का यह पर ने कि एक हैं भी नहीं इस था लिए कर",
    "hr": "i je u na se da su za od koji kao što ili ali bio nakon također tko tijekom",
    "hu": "a az és hogy nem is egy ez meg volt csak de el már még mint vagy ha",
    "hy": "և է որ մեջ են իր այս համար ու մի չի այդ եւ հետ նաև",
    "id": "yang dan di dengan untuk dari ini itu dalam tidak pada akan ke adalah juga oleh karena bisa bahwa saja",
    "is": "og að í á er sem það til um við var en með ekki hann þar af fyrir",
    "it": "di e il la che in un a per è una del non con i si le da sono più",
    "ja": "の に は を た が で と も へ",
    "ka": "და არ რომ ეს იყო თუ მაგრამ ის რომელიც არის ამ ერთი მისი უნდა რა კი მე ან მას შემდეგ ასე უფრო",
    "kk": "және мен бұл бір үшін деп да де осы болып ол емес туралы қазақстан болды "
    "бар кейін бойынша сол оның екі еді дейін қарай жаңа",
    "kn": "ಮತ್ತು ಈ ಒಂದು ಆ ಎಂದು ಇದು ಅವರು ಆದರೆ ಹಾಗೂ ನಾನು ಎಂಬ",
    "ko": "이 그 수 것 및 있는 있다 등 한 할 그리고 더 때 위해 대한 "
    "있습니다 합니다 것이다 또는 것으로 이번 지난 가장 모든 같은 때문에 함께 하지만 우리 하고 "
    "것은 것을 되는 통해 없는 없다 많은 다른 또한 하는 것이 한다 그는 그의 대해",
    "la": "et in est non ad ut cum quod qui ex sed si ab quae sunt esse aut ac per",
    "lg": "n mu ku okuva nti oba era naye ne nga ye abantu ba okuba",
    "lt": "ir kad į iš su yra tai bet ne kaip buvo apie jau o po dėl už tik dar prie nuo per",
    "lv": "un ir ka ar no par uz kas bet tas nav arī vai lai tika gan",
    "mi": "te ki i o he ko ka e nga me ana kua mō tēnei hoki",
    "mk": "на и во да се од за со е што не ќе го ги ја дека беше кој како",
    "ml": "ഒരു ഈ എന്ന ആ എന്ന് എന്നാൽ അത് ഇത് നിന്ന് വേണ്ടി മറ്റ്",
    "mn": "нь бол энэ байна юм гэж нэг байсан тэр болон хийх ч гэсэн",
    "mr": "आणि आहे या ते हे की तर होते नाही आहेत एक होता व असे मी पण त्या हा ही त्यांनी केले झाले",
    "ms": "yang dan di untuk ini itu dengan dalam tidak pada akan kepada ke oleh adalah boleh daripada kerana bahawa",
    "nb": "og i er på som en det til av for at med ikke har den om fra jeg et også",
    "nl": "de en van het een in is dat op te zijn met voor niet die aan er ook om door",
    "nn": "og i er på som ein det til av for at med ikkje har den om frå eg eit også dei",
    "pa": "ਦੇ ਦੀ ਨੂੰ ਹੈ ਵਿੱਚ ਅਤੇ ਤੋਂ ਦਾ ਇਸ ਨੇ ਹਨ ਕਿ ਇਹ ਵੀ ਨਾਲ ਸੀ ਇੱਕ",
    "pl": "w i na z się nie do że jest to o jak za po od przez ale co są dla",
    "pt": "de a o que e do da em os no um para uma com não por mais as dos como",
    "ro": "de și în a la cu o pe că nu din care este pentru mai un sau ca dar fost",
    "ru": "и в не на что с по как это к из но за он от для так его же у",
    "sk": "a v na sa je že s to z o do ako aj ktorý nie alebo pre sú ale bol",
    "sl": "in je v na se da za so ki z po pa ne kot tudi bi od ali iz še",
    "sn": "uye kuti kana pa ne mu kuna iyi asi vanhu zvakare ndiyo kwete",
    "so": "oo ka ku waa iyo in la u ay si aan soo ee ah waxaa uu",
    "sq": "e të në dhe një për që me se nga është i si më u ka nuk do",
    "sr": "и је у на се да су за од који као што или али био не са није",
    "st": "ho le ka ha e ya ba hore o mo hae ke tse bona empa ne",
    "sv": "och i att det som en på är av för med den till inte har de om ett var också",
    "sw": "ya na wa kwa ni katika za la kuwa hii kama lakini huo hiyo watu pia yake baada",
    "ta": "ஒரு என்று இந்த மற்றும் அந்த என அது இது உள்ள என்ற இல்லை அவர் வேண்டும் ஆகும் பற்றி கொண்டு போது "
    "பின்னர் இருந்து நான் தான் ஆனால் மேலும் பல எந்த அவர்கள் வரை தனது மிகவும்",
    "te": "ఈ ఒక ఆ మరియు అని కూడా ఉంది కోసం అది ఇది లేదా తన అనే నుంచి "
    "ఆయన కానీ వారు చేసిన అయితే చాలా నేను వరకు తర్వాత లో",
    "th": "และ ที่ ของ ใน เป็น การ มี ได้ จะ ไม่ ให้ ว่า กับ นี้ มา ไป จาก โดย แต่ ก็ คน",
    "tl": "ang ng sa na at mga ay ni hindi para kung si ito nang ako siya may",
    "tn": "go le ya ba ka mo e a wa gore fa mme o ga kwa se ne",
    "tr": "ve bir bu da de için ile çok daha olarak gibi ne olan en sonra kadar var değil",
    "ts": "ku na ka va a leswaku hi ni ya ta loko eka swi kumbe kambe u",
    "uk": "і в на не що з до та як у це від за він але для є про його по",
    "ur": "کے میں کی ہے اور سے کو کا یہ نے پر کہ اس ہیں ایک بھی نہیں تھا",
    "vi": "và của là có cho các không được một trong những với người đã này để khi đó",
    "xh": "ukuba kwaye okanye kunye xa kodwa le into kuba yi",
    "yo": "ní ti ni àwọn awọn ó sí pé kan náà wọn ṣe fún tí láti bí àti ṣùgbọ́n yìí wa ninu jẹ mo kò o",
    "zh": "的 是 了 在 和 有 不 这 這 我 一 人 为 為 个 個 中 上 以 到 他 也 与 與 就 大",
    "zu": "ukuthi futhi noma kanye kodwa uma ngoba lo lapho nje khona ngokuthi",
}
"""Code of ISO 639-1 -> its words, for the 75 languages that both detectors can be held against."""

_NEIGHBOURS: tuple[Mapping[str, str], ...] = (
    {
        "hr": """tko netko nitko svatko tjedan tjedna tjedana tisuća tisuće tisuću točno točka uvjet uvjeti uvjeta
            europa europe europi europu europski europska europske europskoj sustav sustava kazalište kazališta glazba
            glazbe vlak vlaka povijest povijesti tvrtka tvrtke tijekom siječnja veljače ožujka travnja svibnja lipnja
            srpnja kolovoza rujna listopada studenoga studenog prosinca obitelj obitelji sveučilište sveučilišta znanost
            znanosti znanstvenici hrvatska hrvatske hrvatskoj hrvatski zagreb zagrebu izvješće priopćenje priopćenju
            ravnatelj županija županije sudjelovati sudjeluje unatoč proračun proračuna suradnja suradnje suradnji
            sudac suca liječnik liječnika osobito natječaj općenito uporaba računalo kolodvor gospodarstvo""",
        "bs": """sedmica sedmice sedmicu historija historije historiji augusta bih sarajevo sarajevu sarajeva bosna
            bosne bosni bosnu hercegovina hercegovine hercegovini bosanski bosanske bošnjaci bošnjaka kanton kantona
            kantonu saopćenje saopćenju saopćio lahko hljeb tuzla tuzli zenica vijek vijeka""",
        "sr": """gde uvek ovde vreme deo devojka devojke dete deca dece reč reči mesto mesta mestu lepo posle pre svet
            sveta svetu čovek čoveka takođe opština opštine opštini saopštio saopštenju predsednik predsednika cena cene
            mleko reka reke leto nedelja nedelje nedelju sledeći sledeće uspeh avgusta avgust srbija srbije srbiji
            beograd beogradu beograda srpski srpske delovi savet sednica sednici videti primer mere zahtev vest vesti
            dve obe hteo voleo vredi vrednost ceo cela promene rešenje bezbednost""",
        "bs sr": """ko neko niko šta hiljada hiljade hiljadu tačno tačka tačke uslov uslovi uslova uslove evropa evrope
            evropi evropu evropski evropska evropske evropskoj sistem sistema pozorište muzika muzike voz voza tokom
            januara februara marta aprila maja juna jula septembra oktobra novembra decembra porodica porodice porodici
            univerzitet univerziteta univerzitetu nauka nauke naučnici učestvovati učestvuje učešće saradnja saradnje
            saradnji firma firme fabrika budžet budžeta opšte hemija hemijski uticaj uticaja""",
        "bs hr": """gdje uvijek ovdje vrijeme dio djevojka dijete djeca djece riječ riječi mjesto mjesta mjestu lijepo
            poslije nakon prije svijet svijeta svijetu čovjek čovjeka također općina općine općini predsjednik
            predsjednika cijena cijene mlijeko rijeka rijeke ljeto sljedeći sljedeće uspjeh vijeće sjednica sjednici
            vidjeti primjer mjere zahtjev vijest vijesti dvije obje htio vrijedi vrijednost cijeli cijela promjene
            rješenje sigurnost mjesec mjeseca mjeseci tijelo njemački posljednji posljednje nedjelja nedjelje djelo
            dijelu dijela vjerojatno vrijednosti stoljeća""",
    },
    {
        "mk": "во со дека ќе беше го тоа кој која исто многу сè од таа тие бил била нема сите овој оваа",
        "sr": "у са је су који која које што ће од као био није сам смо или из код него више овај ова ово али",
        "bg": "в във със които който която че ще беше бе го от като това този тази или няма всички през при след",
    },
)  # fmt: skip
"""Words that only some of a group of close languages have, under the codes of those that do."""
# fmt: on

MIN_FOUND = 2
"""Different words of a language that a text needs before they say anything."""
_WORD = re.compile(r"[^\s\d!-/:-@\[-`{-~¡¿«»“”„‘’‹›…–—·،؛؟।]+")


@cache
def _languages_of() -> dict[str, tuple[str, ...]]:
    return _inverted((code, words) for code, words in FUNCTION_WORDS.items())


@cache
def _neighbours_of() -> dict[str, tuple[dict[str, tuple[str, ...]], ...]]:
    """Code -> for each group that it belongs to, which languages have a word."""
    found: dict[str, list[dict[str, tuple[str, ...]]]] = {}
    for group in _NEIGHBOURS:
        pairs = [(code, words) for codes, words in group.items() for code in codes.split()]
        for code in dict.fromkeys(code for code, _ in pairs):
            found.setdefault(code, []).append(_inverted(pairs))
    return {code: tuple(groups) for code, groups in found.items()}


def _inverted(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for code, words in pairs:
        for word in words.split():
            found[word] = (*found.get(word, ()), code)
    return found


def by_function_words(line: str) -> str | None:
    """The language of which a line has the most different function words, where that is one language and they are two
    or more.
    """
    return _most(_languages_of(), line, least=MIN_FOUND)


def among_neighbours(line: str, code: str) -> str:
    """`code`, or the close neighbour of it of which the line has more words that tell them apart."""
    for group in _neighbours_of().get(code, ()):
        found = _counted(group, line)
        best = max(found.values(), default=0)
        if best > found[code]:
            most = [other for other, n in found.items() if n == best]
            return most[0] if len(most) == 1 else code
    return code


def _most(languages_of: Mapping[str, tuple[str, ...]], line: str, *, least: int) -> str | None:
    ranked = _counted(languages_of, line).most_common(2)
    if not ranked or ranked[0][1] < least or (len(ranked) > 1 and ranked[1][1] == ranked[0][1]):
        return None
    return ranked[0][0]


def _counted(languages_of: Mapping[str, tuple[str, ...]], line: str) -> Counter[str]:
    """How many different words of each language a line has."""
    return Counter(code for word in set(_WORD.findall(line.lower())) for code in languages_of.get(word, ()))
