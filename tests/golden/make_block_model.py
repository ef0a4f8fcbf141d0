"""Remake the block model that the package ships: python -m tests.golden.make_block_model

From pages that were written for this project (`written_pages`), so that it is nobody else's; the same bytes every time
with the versions in constraints.txt.
"""

from corpus_assets.plans.block_training import train
from corpus_assets.plans.extractors import SHIPPED
from formats import block_model
from tests.golden.written_pages import written_page

NUM_PAGES, LEAVES = 500, 2
NOTES = {"data": "made-up pages, tests/golden/written_pages.py", "license": "Apache-2.0"}


def made() -> block_model.BlockModel:
    return train([written_page(number) for number in range(NUM_PAGES)], NOTES, LEAVES)


if __name__ == "__main__":
    print(block_model.write(made(), SHIPPED), SHIPPED.name)
