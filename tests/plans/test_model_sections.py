"""The lines to paste: which section, for which languages, and no limit that nothing is known of."""

import pytest

from corpus_assets.plans.model_sections import MIN_DOCUMENTS, of_classifier, of_perplexity
from corpus_assets.validation import plain_yaml
from formats.corpus_config import from_document
from tests.formats.test_corpus_config import document

SHA = "ab" * 32
ENOUGH = (MIN_DOCUMENTS, MIN_DOCUMENTS)


def pasted(tmp_path, lines):
    path = tmp_path / "pasted.yaml"
    path.write_text("\n".join(lines))
    return from_document(document(**plain_yaml.read(path).value))


@pytest.mark.parametrize("kind", ["quality", "safety"])
def test_a_classifier_gets_the_section_of_its_kind_and_its_language(tmp_path, kind):
    config = pasted(tmp_path, of_classifier(kind, "models/a.bin", SHA, "en", ENOUGH))
    section = getattr(config, kind)
    assert config.model_filters == (kind,)
    assert (section.langs, section.min, section.model.sha256) == (("en",), 0.5, SHA)
    assert getattr(pasted(tmp_path, of_classifier(kind, "models/a.bin", SHA, None, ENOUGH)), kind).langs is None


@pytest.mark.parametrize("num_docs", [(1, 1), (49, 5_000), (5_000, 49)])
def test_no_limit_is_proposed_by_few_documents_of_either_side(tmp_path, num_docs):
    lines = of_classifier("safety", "models/a.bin", SHA, None, num_docs)
    assert pasted(tmp_path, lines).safety.min is None
    assert lines[-1].strip() == (
        f"# no min: {num_docs[0]:,} positive and {num_docs[1]:,} negative documents are too few to choose one by; "
        "train with 50 of each or more"
    )


@pytest.mark.parametrize(
    ("num_docs", "largest", "limit"), [(50, 640_250, 640.25), (49, 640_250, None), (50, None, None)]
)
def test_a_language_model_gets_a_limit_of_enough_documents(tmp_path, num_docs, largest, limit):
    [model] = pasted(tmp_path, of_perplexity("en", "models/en.arpa", SHA, largest, num_docs)).ppl.models
    assert (model.lang, model.max) == ("en", limit)
