"""The section `extract` of a corpus config: how the main text of web pages is found. Spec: corpus_config.md."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from formats.json_fields import Choice, OrNull, Problem
from formats.json_kinds import HEX_SHA256, PATH
from formats.json_tables import Rules, table


@dataclass(frozen=True)
class BlockModelFile(Rules):
    """A block model that `corpus extract train` wrote; `path` is absolute or relative to the artifacts root."""

    path: Annotated[str, PATH]
    sha256: Annotated[str, HEX_SHA256]


@dataclass(frozen=True)
class ExtractorRules(Rules):
    """How the main text of web pages is found: by Resiliparse's rules, or by our blocks and the trees of a model, which
    is the package's own where none is named. The second opinion is asked of pages of which the model is unsure.
    """

    extractor: Annotated[str, Choice(("resiliparse", "blocks"))] = "resiliparse"
    model: Annotated[BlockModelFile | None, OrNull(table(BlockModelFile))] = None
    second_opinion: Annotated[str, Choice(("resiliparse", "trafilatura"))] = "resiliparse"

    def rules(self) -> Iterator[Problem]:
        if self.extractor == "blocks":
            return
        if self.model:
            yield "model", "only extractor blocks has a model; leave it out, or write extractor: blocks"
        if self.second_opinion != "resiliparse":
            words = "only extractor blocks asks for a second opinion; leave it out, or write extractor: blocks"
            yield "second_opinion", words
