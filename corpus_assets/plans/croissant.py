"""A version as MLCommons Croissant 1.1: JSON-LD that says which files there are, which columns they hold, under which
licences, and what they were made of. From the figures of the evidence and the files that were written.

What a run does not know (who publishes it, where, and when) is left out, not made up.
"""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from corpus_assets.plans import dataset_files, datasheet_words, spdx_words
from corpus_assets.plans.dataset_card import COLUMNS
from corpus_assets.plans.dataset_files import DataFile
from corpus_assets.plans.datasheet_figures import Figures, SourceFigures, pii_counts
from corpus_assets.plans.for_people import plural, shown
from formats import corpus_shard
from formats.languages import UNDETERMINED
from formats.yank import Yank

VERSION = "http://mlcommons.org/croissant/1.1"
RAI_VERSION = "http://mlcommons.org/croissant/RAI/1.0"
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "prov": "http://www.w3.org/ns/prov#",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The terms of the specification, and those of PROV-O and of the extension for responsible AI."""
PARQUET = "application/x-parquet"
ROWS, SPLITS = "documents", "splits"
_TYPES = {pa.string(): "sc:Text", pa.int32(): "cr:Int32", pa.int64(): "cr:Int64", pa.binary(32): "sc:Text"}
_SPLIT_URLS = {"train": "cr:TrainingSplit", "val": "cr:ValidationSplit"}


def render(figures: Figures, files: Sequence[DataFile], yanked: Yank | None = None) -> bytes:
    """The document as JSON in UTF-8, keys in the order of the specification's examples."""
    return (json.dumps(document(figures, files, yanked), indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def document(figures: Figures, files: Sequence[DataFile], yanked: Yank | None = None) -> dict[str, Any]:
    """The data set: what it is, its files, its rows, its sources; its description begins with why it is `yanked`."""
    version = figures.version
    key, words = version.key, [word for one in figures.sources for word in spdx_words.addresses(one.row.license_spdx)]
    languages = sorted(set(figures.total("languages")) - {UNDETERMINED})
    warning = [f"Do not use it: {shown(str(yanked))}."] if yanked else []
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": [VERSION, RAI_VERSION],
        "name": str(key),
        "description": " ".join([*warning, datasheet_words.headline(figures), shown(figures.config.notes)]).strip(),
        "version": key.version,
        "license": sorted(set(words)),
        "citeAs": f"@misc{{{key}, title = {{{key}}}, note = {{SHA-256 of the manifest: {version.digest}}}}}",
        "creditText": "; ".join(sorted({shown(one.row.attribution) for one in figures.sources})),
        "inLanguage": languages,
        "identifier": f"sha256:{version.digest}",
        "distribution": _distribution(figures, files),
        "recordSet": [_splits(files), _rows()],
        "prov:wasDerivedFrom": [_source(one) for one in figures.sources],
        "prov:wasGeneratedBy": {"@type": "prov:Activity", "prov:label": _stages(figures)},
        **_responsible(figures),
    }


def _distribution(figures: Figures, files: Sequence[DataFile]) -> list[dict[str, Any]]:
    """Every file with its hash and that of the published shard whose rows it has, and one set of them all."""
    shards = {entry["name"]: entry["sha256"] for entry in figures.version.manifest["shards"]}
    objects: list[dict[str, Any]] = [
        {
            "@type": "cr:FileObject",
            "@id": one.path,
            "name": one.path.rpartition("/")[2],
            "description": f"Rows of {one.shard} in split {one.split}: {plural(one.num_docs, 'document')}.",
            "contentUrl": one.path,
            "contentSize": f"{one.num_bytes} B",
            "encodingFormat": PARQUET,
            "sha256": one.sha256,
            "prov:wasDerivedFrom": {
                "@type": "prov:Entity",
                "@id": f"shards/{one.shard}",
                "identifier": f"sha256:{shards[one.shard]}",
            },
        }
        for one in files
    ]
    whole = {
        "@type": "cr:FileSet",
        "@id": "files",
        "name": "files",
        "description": "All of them, below the folder of this document.",
        "encodingFormat": PARQUET,
        "includes": f"{dataset_files.DATA}/*.parquet",
    }
    return [*objects, whole]


def _rows() -> dict[str, Any]:
    fields = []
    for field in corpus_shard.SCHEMA:
        told = {
            "@type": "cr:Field",
            "@id": f"{ROWS}/{field.name}",
            "name": field.name,
            "description": COLUMNS[field.name],
            "dataType": _TYPES[field.type],
            "source": {"fileSet": {"@id": "files"}, "extract": {"column": field.name}},
        }
        if field.name == "split":
            told["references"] = {"field": {"@id": f"{SPLITS}/name"}}
        fields.append(told)
    about = {"name": ROWS, "description": "One record a document.", "key": {"@id": f"{ROWS}/id"}}
    return {"@type": "cr:RecordSet", "@id": ROWS, **about, "field": fields}


def _splits(files: Sequence[DataFile]) -> dict[str, Any]:
    names = list(dict.fromkeys(one.split for one in files))
    return {
        "@type": "cr:RecordSet",
        "@id": SPLITS,
        "name": SPLITS,
        "description": "The splits; a document's is told by the hash of its text.",
        "dataType": "cr:Split",
        "key": {"@id": f"{SPLITS}/name"},
        "field": [
            {"@type": "cr:Field", "@id": f"{SPLITS}/{name}", "name": name, "description": words, "dataType": kind}
            for name, words, kind in (("name", "as the rows say it", "sc:Text"), ("url", "what it means", "sc:URL"))
        ],
        "data": [{f"{SPLITS}/name": name, f"{SPLITS}/url": _SPLIT_URLS[name]} for name in names],
    }


def _source(one: SourceFigures) -> dict[str, Any]:
    """A source as the ledger pinned it, and how much of it is in the rows."""
    row = one.row
    return {
        "@type": "prov:Entity",
        "@id": f"sources/{row.source_id}",
        "prov:label": shown(row.title),
        "license": spdx_words.addresses(row.license_spdx),
        "usageInfo": f"{row.license_spdx}, as stated at: {shown(row.license_evidence)}",
        "creditText": shown(row.attribution),
        "prov:generatedAtTime": row.retrieved,
        "identifier": f"sha256:{row.digest}",
        "size": f"{plural(one.counts['kept'], 'document')} of {one.counts['documents']:,}",
    }


def _stages(figures: Figures) -> list[str]:
    return [f"{stage} {code} ({libraries})" for stage, code, libraries in datasheet_words.stages(figures)]


def _responsible(figures: Figures) -> dict[str, Any]:
    """The properties of the extension that a run measures."""
    days = sorted({one.row.retrieved for one in figures.sources})
    kinds = sorted({one.row.kind for one in figures.sources})
    steps = [
        f"{step.name}: {sum(step.taken):,} taken away, {sum(step.left):,} left"
        for step in figures.funnel()
        if step.taken is not None
    ]
    pii = [f"{kind}: {n:,} replaced by <{kind.upper()}>" for kind, n in pii_counts(figures)]
    return {
        "rai:dataCollection": (
            f"{plural(len(figures.sources), 'source')} ({', '.join(kinds)}), each listed in a ledger with its licence "
            "and the SHA-256 of its files before it was fetched."
        ),
        "rai:dataCollectionTimeFrame": [days[0], days[-1]],
        "rai:dataPreprocessingProtocol": steps,
        "rai:personalSensitiveInformation": pii,
        "rai:dataLimitations": list(datasheet_words.known_limits(figures)),
        "rai:dataReleaseMaintenancePlan": "A published version is never changed; a change is a new version.",
    }
