"""`corpus model train NAME`: the model of `models/<name>.yaml`, by the asset trained_models, with its checks."""

import argparse
import dataclasses
import json
import sys
from contextlib import redirect_stdout
from typing import Any

from corpus_assets.commands.build import add_machine_options, take_machine_options
from corpus_assets.commands.builder import opened
from corpus_assets.commands.yank import tell
from corpus_assets.plans import yanking
from corpus_assets.plans.for_people import num_bytes
from corpus_assets.plans.published_version import open_published
from corpus_assets.validation import model_config
from formats.errors import ConfigError
from formats.layout import Layout
from formats.model_config import PUBLISHED, ModelConfig
from formats.naming import PairKey

OF_SOURCE = ("ledger_entry", "raw_fetch")
ASSETS = ("trained_models",)


def add_parser(verbs: Any) -> None:
    """Add `train` to the verbs of `corpus model`."""
    parser = verbs.add_parser("train", help="the model of models/NAME.yaml: fetch its sources, train, check")
    parser.set_defaults(run=run)
    parser.add_argument("name", metavar="NAME", help="a model that models/NAME.yaml describes")
    add_machine_options(parser)
    parser.add_argument("--json", action="store_true", help="print the model's record as JSON")


def run(args: argparse.Namespace) -> int:
    """0: trained, its checks passed or only warned; 1: a run or check failed. Raises ConfigError before any work."""
    from corpus_assets.plans import model_figures, trained_models  # kernels

    layout, name = args.layout, args.name
    take_machine_options(args)
    config = model_config.load(layout.model_config(name), name)
    trained_models.require_libraries(config)
    if config.documents == PUBLISHED:
        open_published(layout, config.key)
        tell(yanking.of_version(layout, config.key))
    with redirect_stdout(sys.stderr if args.json else sys.stdout):  # progress
        if not _train(layout, config, verbose=args.verbose):
            print(f"model {name} stopped; mend what is named above and run again", file=sys.stderr)
            return 1
    record = model_figures.open_record(layout, name)
    if args.json:
        print(json.dumps(dataclasses.asdict(record), indent=2, ensure_ascii=False))
        return 0
    print(f"{trained_models.file_of(layout, record)}: sha256 {record.sha256}, {num_bytes(record.num_bytes)}")
    print("", model_figures.table(record), "", sep="\n")
    print(
        "For the config of a new version, with a limit of your choice:",
        "",
        *trained_models.section_of(record),
        sep="\n",
    )
    return 0


def _train(layout: Layout, config: ModelConfig, *, verbose: bool) -> bool:
    """Fetch what is not fetched yet, then train; False when a run or a blocking check failed."""
    with opened(layout, verbose=verbose) as (builder, _):
        from corpus_assets.partitions import BROKEN, MODELS

        if config.model not in MODELS:  # its version or sources are wrong
            own = [why for why in BROKEN if f"{layout.model_config(config.model)}:" in why]
            raise ConfigError("\n".join(own or BROKEN))
        builder.observe("ledger", "corpus_config", "eval_sets", "model_config")
        if config.documents != PUBLISHED:
            pairs = [str(PairKey(source, config.key)) for source in config.sources]
            fetched = [builder.materialize(pair, OF_SOURCE) for pair in pairs]  # each says what is wrong with it
            if None in fetched:
                return False
        if builder.materialize(config.model, ASSETS) is None:
            return False
        builder.tell_failed(f"model {config.model}")
        return True
