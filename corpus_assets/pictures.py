"""Pictures as Dagster's UI shows them: SVG inside Markdown. They lie in the event log, so they stay small."""

import dagster as dg

from corpus_assets.plans.pictures import Picture, bars

__all__ = ["as_metadata", "bars"]


def as_metadata(picture: Picture) -> dg.MarkdownMetadataValue:
    """The picture as Markdown that the UI renders."""
    return dg.MetadataValue.md(f"![]({picture.as_data_uri()})")
