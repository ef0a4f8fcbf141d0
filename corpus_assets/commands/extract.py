"""`corpus extract train|evaluate`: a block model of one's own pages, and how right extractors are on them."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from corpus_assets.commands.new_files import as_configs_name_it, check_place
from corpus_assets.plans.for_people import plural

_PAGES = "a folder of <group>/<name>.html with <name>.txt (the wanted text, UTF-8) beside it; a group is a site"
_ALSO = (
    "more pages to train on, of which others decided what is wanted: the model tells them apart, and judges as of PAGES"
)


def add_parser(subparsers: Any) -> None:
    """Add `extract` to the command line."""
    parser = subparsers.add_parser("extract", help="train and judge what finds the main text of web pages")
    parser.set_defaults(run=run)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    train = verbs.add_parser("train", help="make a block model of labelled pages: the same pages give the same bytes")
    train.add_argument("pages", type=Path, metavar="PAGES", help=_PAGES)
    train.add_argument("--out", type=Path, required=True, metavar="FILE", help="where the model goes")
    train.add_argument("--data", default="", metavar="WORDS", help="what the pages are, for the model's metadata")
    train.add_argument("--license", default="", metavar="WORDS", help="under which licence they are used, likewise")
    evaluate = verbs.add_parser(
        "evaluate", help="F1 of labelled pages, each judged by a model that saw no page of its group"
    )
    evaluate.add_argument("pages", type=Path, metavar="PAGES", help=_PAGES)
    evaluate.add_argument("--model", type=Path, metavar="FILE", help="judge this model as it is; train none")
    evaluate.add_argument("--json", action="store_true", help="print the scores as JSON")
    for verb in (train, evaluate):
        verb.add_argument("--also", type=Path, metavar="PAGES", help=_ALSO)
        verb.add_argument(
            "--leaves", type=_leaves, metavar="N", help="of a tree; 2 suits pages that are few or much alike"
        )


def _leaves(words: str) -> int:
    if not words.isdecimal() or not 2 <= int(words) <= 1_000:
        raise argparse.ArgumentTypeError(f"{words!r} is no whole number from 2 to 1000")
    return int(words)


def run(args: argparse.Namespace) -> int:
    """0: done. Raises what the verb raises."""
    return {"train": run_train, "evaluate": run_evaluate}[args.verb](args)


def run_train(args: argparse.Namespace) -> int:
    """0: the model is written. Raises ConfigError for pages that teach nothing, or without scikit-learn."""
    from corpus_assets.plans import block_training, labelled_pages
    from formats import block_model

    out = check_place(args.layout, args.out, is_model=True)
    pages = labelled_pages.read(args.pages)
    notes = {name: value for name, value in (("data", args.data), ("license", args.license)) if value}
    also = labelled_pages.read(args.also) if args.also else []
    print(f"training on {plural(len(pages) + len(also), 'page')}", file=sys.stderr)
    model = block_training.train(pages, notes, args.leaves or block_training.LEAVES, also)
    digest = block_model.write(model, out)
    name = json.dumps(as_configs_name_it(args.layout, out))
    print(f"extract: {{extractor: blocks, model: {{path: {name}, sha256: {digest}}}}}")
    return 0


def run_evaluate(args: argparse.Namespace) -> int:
    """0: the scores are printed. Raises ConfigError for pages that cannot be judged by, CorruptDataError for a model
    that is none.
    """
    from corpus_assets.plans import block_evaluation, block_training, labelled_pages
    from corpus_assets.stages.block_text import fitting
    from formats import block_model

    pages = labelled_pages.read(args.pages)
    also = labelled_pages.read(args.also) if args.also else []
    model = fitting(block_model.read(args.model)) if args.model else None
    leaves = args.leaves or block_training.LEAVES
    names = [page.name for page in pages]
    models = dict.fromkeys(names, model) if model else block_evaluation.out_of_fold(pages, also, leaves)
    scores, bands = block_evaluation.evaluate(pages, models), block_evaluation.bands(pages, models)
    if args.json:
        found = {"scores": [one.as_json() for one in scores], "by_expected_error": [one.as_json() for one in bands]}
        print(json.dumps(found, indent=2))
        return 0
    how = "as the model is" if model else f"out of fold, {block_evaluation.FOLDS} folds by group"
    print(f"{plural(len(pages), 'page')}; blocks {how}")
    print(f"{'':36}{'F1':>8}{'95 % of draws':>17}{'precision':>11}{'recall':>8}{'MB HTML/CPU s':>15}")
    for one in scores:
        draws = f"{one.f1_low:.4f}-{one.f1_high:.4f}"
        sides = f"{one.precision:11.4f}{one.recall:8.4f}"
        print(f"{one.name:36}{one.f1:8.4f}{draws:>17}{sides}{one.megabytes_per_second:15.1f}", flush=True)
    print(f"\n{'expected error of blocks':36}{'pages':>8}{'expected':>11}{'measured':>11}")
    for band in bands:
        print(f"{f'from {band.from_permille / 1000:g}':36}{band.pages:8}{band.expected:11.4f}{band.measured:11.4f}")
    return 0
