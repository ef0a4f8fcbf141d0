"""Remake the block model that the package ships: python -m tests.golden.make_block_model

From pages that were written for this project (`written_pages`, `written_kinds`), so that it is nobody else's; the same
bytes every time with the versions in constraints.txt.
"""

from corpus_assets.plans.block_training import train
from corpus_assets.plans.extractors import SHIPPED
from corpus_assets.plans.labelled_pages import LabelledPage
from formats import block_model
from tests.golden.written_kinds import TEMPLATES, kind_page
from tests.golden.written_pages import written_page

NUM_PAGES, PAGES_OF_A_TEMPLATE, LEAVES = 500, 30, 2
NOTES = {
    "data": "made-up pages, tests/golden/written_pages.py and tests/golden/written_kinds.py",
    "license": "Apache-2.0",
}


def training_pages(without: str = "") -> list[LabelledPage]:
    """All that the model learns from, but for one template."""
    templates = [one for of_kind in TEMPLATES.values() for one in of_kind if one.__name__ != without]
    kinds = [kind_page(number, one) for one in templates for number in range(PAGES_OF_A_TEMPLATE)]
    return [written_page(number) for number in range(NUM_PAGES)] + kinds


def made() -> block_model.BlockModel:
    return train(training_pages(), NOTES, LEAVES)


if __name__ == "__main__":
    print(block_model.write(made(), SHIPPED), SHIPPED.name)
