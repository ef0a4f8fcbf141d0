"""The card of a version as a data set of the Hugging Face Hub: a README.md that people read, and whose front matter
`datasets.load_dataset` and the Hub read. From the figures of the evidence and the files that were written.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from corpus_assets.plans import dataset_files, datasheet_words, spdx_words
from corpus_assets.plans.dataset_files import DataFile
from corpus_assets.plans.datasheet_figures import Figures, pii_counts
from corpus_assets.plans.for_people import num_bytes, share
from corpus_assets.plans.page_markdown import escaped, front_matter, table
from formats import corpus_shard
from formats.evidence import DATASHEET_HTML, TRAINING_CONTENT
from formats.languages import UNDETERMINED
from formats.reasons import Reason
from formats.yank import Yank

README, LICENSE = "README.md", "LICENSE.md"
CROISSANT = "croissant.json"
_BESIDE = {
    DATASHEET_HTML: "all figures with pictures",
    CROISSANT: "the same for machines",
    LICENSE: "the terms of every source",
    TRAINING_CONTENT: "the draft of a summary of training content under Article 53(1)(d) of the EU's AI Act",
}
_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "1B<n<10B")
_LARGER = ("10B<n<100B", "100B<n<1T", "n>1T")
COLUMNS = {
    "id": "<source>:<k>, k the position of the document in its raw set",
    "text": "the text, personal data replaced",
    "source_id": "the source in the ledger",
    "url": "where the document was",
    "license_spdx": "the licence of the source, as an SPDX expression",
    "lang": "language, ISO 639-1, und where undetermined",
    "n_chars": "code points of the text",
    "sha256": "SHA-256 of the text in UTF-8",
    "minhash_cluster": "the first row, in order of ids over the whole version, of the cluster of near duplicates",
    "pii_redactions": "how many pieces of personal data were replaced",
    "split": "train or val",
}
"""What each column of a shard holds, in few words; corpus_shard.md has the whole of it."""


def size_category(num_docs: int) -> str:
    """The Hub's word for a number of rows; a border belongs to the larger one."""
    names = (*_SIZES, *_LARGER)
    return names[min(max(0, len(str(num_docs)) - 3), len(names) - 1)]


def metadata(figures: Figures, files: Sequence[DataFile]) -> dict[str, Any]:
    """The front matter: licences, languages, size, which files are which split, columns and counts."""
    expressions = [one.row.license_spdx for one in figures.sources]
    licenses = spdx_words.hub_ids(expressions)
    found: dict[str, Any] = {"pretty_name": str(figures.version.key), "license": licenses}
    if spdx_words.OTHER in licenses:
        found |= {"license_name": "by-source", "license_link": LICENSE}
    if languages := sorted(set(figures.total("languages")) - {UNDETERMINED}):
        found["language"] = languages
    splits = list(dict.fromkeys(one.split for one in files))
    found["size_categories"] = [size_category(sum(one.num_docs for one in files))]
    found["task_categories"] = ["text-generation"]
    data_files = [{"split": split, "path": dataset_files.pattern(split)} for split in splits]
    found["configs"] = [{"config_name": "default", "data_files": data_files}]
    counts = [_split_info(split, [one for one in files if one.split == split]) for split in splits]
    found["dataset_info"] = {
        "config_name": "default",
        "features": [{"name": field.name, "dtype": _dtype(field.type)} for field in corpus_shard.SCHEMA],
        "splits": counts,
        "download_size": sum(one.num_bytes for one in files),
        "dataset_size": sum(one.arrow_bytes for one in files),
    }
    return found


def _split_info(split: str, files: Sequence[DataFile]) -> dict[str, Any]:
    num_bytes, num_docs = sum(one.arrow_bytes for one in files), sum(one.num_docs for one in files)
    return {"name": split, "num_bytes": num_bytes, "num_examples": num_docs}


def _dtype(kind: pa.DataType) -> str:
    return f"fixed_size_binary[{kind.byte_width}]" if pa.types.is_fixed_size_binary(kind) else str(kind)


def render(figures: Figures, files: Sequence[DataFile], yanked: Yank | None = None) -> str:
    """README.md; where the version is `yanked`, with a warning before all else."""
    key, manifest = figures.version.key, figures.version.manifest
    languages = sorted(figures.total("languages").items(), key=lambda item: (-item[1], item[0]))
    verdicts = figures.total("verdicts")
    del verdicts[Reason.KEPT.value]
    splits = list(dict.fromkeys(one.split for one in files))
    rows = [
        (
            split,
            f"{sum(one.num_docs for one in files if one.split == split):,}",
            num_bytes(sum(one.num_bytes for one in files if one.split == split)),
            dataset_files.pattern(split),
        )
        for split in splits
    ]
    blocks = [
        front_matter(metadata(figures, files)),
        f"# {escaped(str(key))}",
        f"> **Do not use it.** {escaped(str(yanked))}" if yanked else "",
        escaped(datasheet_words.headline(figures)),
        escaped(figures.config.notes),
        "Everything here was measured while the version was built; nothing is typed by hand. Beside this file: "
        + ", ".join(f"[{name}]({name}), {words}" for name, words in _BESIDE.items())
        + ".",
        '```python\nfrom datasets import load_dataset\n\nrows = load_dataset("PATH_OF_THIS_FOLDER")\n```',
        "## Splits",
        table(("split", "documents", "bytes", "files"), rows),
        "## Columns",
        table(("column", "type", "holds"), [(f.name, _dtype(f.type), COLUMNS[f.name]) for f in corpus_shard.SCHEMA]),
        "## Sources",
        table(
            ("source", "title", "licence", "documents", "of characters"),
            [
                (
                    one.name,
                    one.row.title,
                    one.row.license_spdx,
                    f"{one.counts['kept']:,}",
                    share(one.counts["chars"], figures.num_chars),
                )
                for one in figures.sources
            ],
        ),
        "## Languages",
        table(("language", "documents"), [(name, f"{n:,}") for name, n in languages]),
        "## How it was made",
        table(("step", "documents left"), [(one.name, f"{sum(one.left):,}") for one in figures.funnel()]),
        table(("reason of a drop", "documents"), [(name, f"{n:,}") for name, n in sorted(verdicts.items())]),
        "## Personal data",
        table(("kind", "replacements"), [(kind, f"{n:,}") for kind, n in pii_counts(figures)]),
        "## Known limits",
        "\n".join(f"- {escaped(words)}" for words in datasheet_words.known_limits(figures)),
        "## Which bytes these are",
        table(("what", "is"), datasheet_words.identity(figures)),
        f"Files are the rows of the {manifest['n_shards']:,} published shards, one split a file, in their order.",
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def license_page(figures: Figures) -> str:
    """LICENSE.md: under which terms each source stands, and whom to name."""
    rows = [
        (one.name, one.row.license_spdx, one.row.license_evidence, one.row.attribution, one.row.retrieved)
        for one in figures.sources
    ]
    words = (
        "Each document stands under the licence of its source; the column license_spdx of every row repeats it. The "
        "ledger states these licences for a source as a whole, and where that was read."
    )
    told = table(("source", "licence", "stated at", "attribution", "retrieved"), rows, max_cell=None)
    return "\n\n".join([f"# Licences of {escaped(str(figures.version.key))}", words, told]) + "\n"
