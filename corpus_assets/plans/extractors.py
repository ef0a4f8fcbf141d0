"""Which extractor a version's pages go through: its identity for raw sets, and what is called with a page."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from corpus_assets.stages import block_text, extract_text, quality_text
from corpus_assets.stages.block_text import Unsure
from corpus_assets.stages.extract_text import Extracted, Page
from formats import block_model
from formats.block_model import BlockModel
from formats.errors import ConfigError, CorruptDataError
from formats.extraction_rules import ExtractorRules

SHIPPED = Path(__file__).resolve().parents[1] / "stages" / "block_model.json"
"""The package's own model, trained on pages that were written for this project."""
Prepare = Callable[[bytes, str | None], Extracted | Page | Unsure]


@dataclass(frozen=True)
class PageExtractor:
    """`settings` names what beside code and libraries decides the text; None where nothing does. `prepare` takes a page
    and its Content-Type; `parser` is what the guarded process calls with what that leaves to it, None for Resiliparse.
    """

    code: dict[str, str]
    libraries: tuple[str, ...]
    prepare: Prepare
    settings: dict[str, Any] | None = None
    parser: str | None = None


RESILIPARSE = PageExtractor(
    {"extract_text": extract_text.CODE_VERSION}, extract_text.LIBRARIES, extract_text.prepare, None
)


def page_extractor(rules: ExtractorRules, root: Path) -> PageExtractor:
    """The extractor that a config names; `root` is the artifacts root. Raises ConfigError for a model that is missing,
    damaged, another than its digest says, or of other features, and for libraries that are missing.
    """
    if rules.extractor == "resiliparse":
        return RESILIPARSE
    model = _config_model(root / rules.model.path, rules.model.sha256) if rules.model else shipped_model()
    blocks = PageExtractor(
        {"extract_text": extract_text.CODE_VERSION, "block_text": block_text.CODE_VERSION},
        (*extract_text.LIBRARIES, *block_text.LIBRARIES),
        partial(block_text.prepare_judged, model=model),
        {"extractor": rules.extractor, "model": model.digest},
    )
    return blocks if rules.second_opinion == "resiliparse" else _quality(blocks, model)


def _quality(blocks: PageExtractor, model: BlockModel) -> PageExtractor:
    """The same with trafilatura as second opinion."""
    quality_text.hold_installed()
    asking = quality_text.asking(model)
    settings = {"second_opinion": "trafilatura", "unsure": asking.unsure, "unicode": quality_text.UNICODE}
    return replace(
        blocks,
        code={**blocks.code, "quality_text": quality_text.CODE_VERSION},
        libraries=(*blocks.libraries, *quality_text.LIBRARIES),
        prepare=partial(block_text.prepare_judged, model=asking),
        settings={**(blocks.settings or {}), **settings},
        parser=quality_text.PARSER,
    )


@lru_cache(maxsize=1)
def shipped_model() -> BlockModel:
    """The package's own model."""
    return block_text.fitting(block_model.read(SHIPPED))


@lru_cache(maxsize=8)
def _config_model(path: Path, sha256: str) -> BlockModel:
    """The model of a config, which pins its digest, so that one read serves a process."""
    try:
        return block_text.fitting(block_model.read(path, sha256))
    except (CorruptDataError, OSError) as error:
        raise ConfigError(f"extract.model: {error}") from None
