"""The sections of a datasheet about how it was made and how to go on: settings, stages, traces, limits, questions."""

from corpus_assets.plans import datasheet_questions, datasheet_words
from corpus_assets.plans import page_markup as markup
from corpus_assets.plans.datasheet_figures import Figures
from corpus_assets.plans.page_markup import Html
from formats.reasons import Reason


def settings(figures: Figures) -> Html:
    rows = [
        [markup.code(name), markup.code(value), markup.code(usual)]
        for name, value, usual in datasheet_words.settings(figures.config)
    ]
    return markup.table(("setting", "here", "default"), rows)


def stages(figures: Figures) -> Html:
    return markup.table(("stage", "code", "libraries that can change its bytes"), datasheet_words.stages(figures))


def how_to_read(figures: Figures) -> Html:
    key = figures.version.key
    dropped = sorted((reason, one) for reason, one in figures.examples.items() if reason != Reason.KEPT)
    example = next((one for _, one in dropped), figures.examples.get(Reason.KEPT.value, "source:0"))
    commands = (
        (f"corpus trace {example} --version {key}", "what was measured, which limit decided, which copy stayed"),
        (f"corpus trace URL --version {key}", "the same by URL; finds rejected records, too"),
        (f"corpus trace --source {figures.sources[0].name}", "which shards hold a source"),
        (f"corpus verify {key}", "hold every byte to this version's manifest and seal"),
    )
    rows = [[markup.code(command, whole=True), words] for command, words in commands]
    words = "Every document has a row in the evidence beside the shards, kept or not: documents/part-*.parquet."
    return Html(markup.paragraph(words) + markup.table(("command", "says"), rows))


def limits(figures: Figures) -> Html:
    return Html(
        "<ul>" + "".join(f"<li>{markup.text(words)}</li>" for words in datasheet_words.known_limits(figures)) + "</ul>"
    )


def answers(figures: Figures) -> Html:
    asked = datasheet_questions.questions(figures)
    num_open = sum(one.answer is None for one in asked)
    words = (
        "The questions of “Datasheets for Datasets” (Gebru et al., 2021) in short. Answers are figures of this "
        f"version; {num_open} of {len(asked)} are for the provider."
    )
    parts = []
    for topic in dict.fromkeys(one.topic for one in asked):
        rows = [
            [one.asks, one.answer or Html(f"<em class=open>{datasheet_questions.OPEN}</em>")]
            for one in asked
            if one.topic == topic
        ]
        parts.append(f"<h3>{markup.text(topic)}</h3>{markup.table(('question', 'answer'), rows)}")
    return Html(markup.paragraph(words) + "".join(parts))
