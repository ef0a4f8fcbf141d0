"""Train the model of a config, `models/<name>.yaml`, once for what it is made of: the file is named by its content, and
a record beside it says what it is made of and how it does on held-out documents.

Its bytes follow from the documents, the settings and the versions of the libraries: not from workers, order or folder.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpus_assets.plans import model_sections, train_perplexity, train_quality
from corpus_assets.plans.model_texts import Collection, PublishedTexts, raw_texts
from corpus_assets.plans.pinned import Build, load_pair
from corpus_assets.plans.published_version import open_published
from corpus_assets.plans.train_perplexity import PERCENTILES, TrainedPerplexity
from corpus_assets.plans.train_quality import THRESHOLDS, TrainedQuality, auc_millionths
from corpus_assets.plans.work import Identity, identity
from corpus_assets.stages import score_perplexity
from corpus_assets.validation import model_config as config_files
from formats import durable, model_record, quality_model
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout
from formats.model_config import CLASSIFIERS, PUBLISHED, SUFFIX, ModelConfig
from formats.model_record import ModelRecord
from formats.naming import PairKey

CODE_VERSION = f"1.{train_quality.CODE_VERSION}.{train_perplexity.CODE_VERSION}"
STAGE = "trained_models"
MIDDLE = 500
"""The score at which a record counts by language."""


def train_model(build: Build, name: str) -> ModelRecord:
    """The model of a config, trained now where none lies there that is made of the same.

    Raises ConfigError for a config that is wrong, for sources that are not fetched, a version that is not published
    (where the config asks for that), and libraries that are missing; CorruptDataError.
    """
    layout = build.layout
    config = config_files.load(layout.model_config(name), name)
    require_libraries(config)
    collection = collection_of(build, config)
    made_of = identity_of(config, collection)
    with durable.one_at_a_time(lock_of(layout, name)):
        if (stands := _standing(layout, config, made_of)) is not None:
            return stands
        record = _trained(layout, config, collection, made_of)
        model_record.write(record, layout.model_record(name))
    return record


def require_libraries(config: ModelConfig) -> None:
    """Raises ConfigError where what trains and judges such a model is not installed."""
    if config.kind in CLASSIFIERS:
        train_quality.libraries()
    else:
        score_perplexity.library()


def lock_of(layout: Layout, name: str) -> Path:
    """Held while the model is trained."""
    return layout.work("locks", f"model-{name}")


def collection_of(build: Build, config: ModelConfig) -> Collection:
    """The documents that the config draws from; those of raw sources are normalized and measured, where they are not.
    Raises ConfigError for a source that the version does not have or may not use.
    """
    if config.documents == PUBLISHED:
        return PublishedTexts(open_published(build.layout, config.key))
    return raw_texts(build, [load_pair(build.layout, PairKey(one, config.key)) for one in config.sources])


def identity_of(config: ModelConfig, collection: Collection) -> Identity:
    """What decides the bytes of the model."""
    settings: dict[str, Any] = {
        "kind": config.kind,
        "positive": list(config.positive),
        "negative": list(config.negative),
        "documents": config.documents,
        "lang": config.lang,
        "chars": config.chars,
        "seed": config.seed,
        "val_permille": collection.val_permille,
    }
    libraries = train_quality.LIBRARIES if config.kind in CLASSIFIERS else train_perplexity.LIBRARIES
    return identity(STAGE, CODE_VERSION, settings=settings, inputs=collection.inputs, libraries=libraries)


def file_of(layout: Layout, record: ModelRecord) -> Path:
    return layout.models / record.file


def section_of(record: ModelRecord) -> list[str]:
    """The lines of a corpus config that pin the model."""
    path, held, lang = f"models/{record.file}", record.held_out, record.made_of["settings"]["lang"]
    if record.kind in CLASSIFIERS:
        num_docs = tuple(record.trained[side] + held[side] for side in ("positive", "negative"))
        return model_sections.of_classifier(record.kind, path, record.sha256, lang, (num_docs[0], num_docs[1]))
    num_read = record.trained["positive"] + held["documents"]
    return model_sections.of_perplexity(lang, path, record.sha256, held["middle_max"], num_read)


def hold_to_record(layout: Layout, record: ModelRecord) -> None:
    """Raises CorruptDataError where the file is missing, has other bytes than the record says, or is no such model."""
    path = file_of(layout, record)
    if record.kind in CLASSIFIERS:
        quality_model.read(path, record.sha256)
    else:
        score_perplexity.stored_model(str(path), record.sha256)


def _standing(layout: Layout, config: ModelConfig, made_of: Identity) -> ModelRecord | None:
    """The record of what lies there, if it was trained of the same by the same config; None also where it is damaged,
    so that it is made again.
    """
    try:
        record = model_record.read(layout.model_record(config.model))
        if (record.config_sha256, record.made_of) != (config.config_sha256, made_of.as_json()):
            return None
        hold_to_record(layout, record)
    except (FileNotFoundError, CorruptDataError):
        return None
    return record


def _trained(layout: Layout, config: ModelConfig, collection: Collection, made_of: Identity) -> ModelRecord:
    layout.models.mkdir(exist_ok=True)

    def place(sha256: str) -> Path:
        return layout.models / f"{config.model}-{sha256[:16]}{SUFFIX[config.kind]}"

    trained: Mapping[str, Any]
    if config.kind in CLASSIFIERS:
        good = train_quality.train(
            collection, config.positive, config.negative, lang=config.lang, max_chars=config.chars, seed=config.seed
        )
        sha256 = quality_model.digest(good.model)
        quality_model.write(good.model, place(sha256))
        trained, held_out = dict(zip(("positive", "negative"), good.trained, strict=True)), _of_quality(good)
    else:
        if config.lang is None:
            raise ConfigError(f"{config.model}: a language model is of one language; name it")
        fluent = train_perplexity.train(
            collection, config.lang, config.positive, place, max_chars=config.chars, seed=config.seed
        )
        sha256 = fluent.sha256
        trained, held_out = {"positive": fluent.trained, "ngrams": list(fluent.ngrams)}, _of_perplexity(fluent)
    path = place(sha256)
    return ModelRecord(
        model_record.FORMAT,
        model_record.VERSION,
        config.model,
        config.kind,
        config.config_sha256,
        made_of.as_json(),
        path.name,
        sha256,
        path.stat().st_size,
        trained,
        held_out,
    )


def _of_quality(trained: TrainedQuality) -> Mapping[str, Any]:
    langs = sorted({*trained.langs[0].to_pylist(), *trained.langs[1].to_pylist()})
    return {
        **_counts(trained, None),
        "kept_by_min": [[threshold, *trained.kept_by(threshold)] for threshold in THRESHOLDS],
        "languages": {lang: _counts(trained, lang) for lang in langs},
    }


def _counts(trained: TrainedQuality, lang: str | None) -> dict[str, Any]:
    good, bad = trained.of_lang(lang)
    kept = trained.kept_by(MIDDLE, lang)
    return {
        "positive": len(good),
        "negative": len(bad),
        "auc_millionths": auc_millionths(good, bad),
        "positive_kept": kept[0],
        "negative_kept": kept[1],
    }


def _of_perplexity(trained: TrainedPerplexity) -> Mapping[str, Any]:
    """Perplexities in thousandths; null without a document."""
    return {
        "documents": len(trained.held_out),
        "percentiles": [[part, trained.percentile(part)] for part in PERCENTILES],
        "head_max": trained.percentile(100 / 3),
        "middle_max": trained.percentile(200 / 3),
    }
