"""A published version as a data set that `datasets.load_dataset`, the Hugging Face Hub and Croissant readers load: one
folder with the rows by split, the card, the licences and the datasheet; written whole or not at all.

The published folder stays as it is. The rows are written again, since a shard holds both splits: what loads them by
files would train on `val`.
"""

from pathlib import Path

from corpus_assets.plans import croissant, dataset_card, dataset_files, datasheet_page, training_content, yanking
from corpus_assets.plans.dataset_files import DataFile
from corpus_assets.plans.datasheet_figures import measure
from corpus_assets.plans.export import new_folder
from corpus_assets.plans.published_version import open_published
from formats import corpus_manifest, durable, evidence
from formats.layout import Layout
from formats.naming import VersionKey


def export_dataset(layout: Layout, key: VersionKey, out: Path) -> list[DataFile]:
    """Write the folder `out`, and tell its data files.

    Of a yanked version, card and Croissant begin by saying so: whoever gets the folder gets no mark beside it.
    Raises ConfigError for a version that is not published and where `out` is there already or below the corpus;
    CorruptDataError for shards or evidence that changed since.
    """
    version = open_published(layout, key)
    yanked = yanking.of_version(layout, key)
    with new_folder(out, layout.corpus, "the corpus") as folder:
        figures = measure(version)
        files = dataset_files.write(version, folder, dataset_files.splits_of(version))
        pages = {
            dataset_card.README: dataset_card.render(figures, files, yanked).encode(),
            dataset_card.LICENSE: dataset_card.license_page(figures).encode(),
            dataset_card.CROISSANT: croissant.render(figures, files, yanked),
            evidence.DATASHEET_HTML: datasheet_page.render(figures).encode(),
            evidence.TRAINING_CONTENT: training_content.render(figures).encode(),
            corpus_manifest.NAME_ON_DISK: (version.folder / corpus_manifest.NAME_ON_DISK).read_bytes(),
        }
        for name, data in pages.items():
            durable.write_file(folder / name, data)
    return files
