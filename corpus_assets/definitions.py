"""The only place where assets, checks, sensors and resources meet."""

import dagster as dg

from corpus_assets import (
    alerts,
    automation,
    datasheet,
    dead_runs,
    dedup_clusters,
    doc_signals,
    filtered_docs,
    ingest,
    inputs,
    ledger_entry,
    minhash_signatures,
    ngram_index,
    raw_fetch,
    scrubbed_docs,
    shards,
    snapshot,
    stored_snapshot,
    stored_version,
    token_shards,
    trained_models,
)
from corpus_assets.checks import dedup as dedup_checks
from corpus_assets.checks import files as file_checks
from corpus_assets.checks import ledger as ledger_checks
from corpus_assets.checks import models as model_checks
from corpus_assets.checks import published as published_checks
from corpus_assets.checks import sources as source_checks
from corpus_assets.checks import stored as stored_checks
from corpus_assets.checks import tokens as token_checks
from resources import migrations
from resources.engine import EngineResource
from resources.fetcher import FetcherResource
from resources.mail import Mail
from resources.remote_store import RemoteStore
from resources.slack import Slack
from resources.store import Store
from resources.webhook import Webhook

migrations.name_as_folder()
ASSETS = [
    inputs,
    ledger_entry,
    raw_fetch,
    doc_signals,
    filtered_docs,
    minhash_signatures,
    dedup_clusters,
    scrubbed_docs,
    shards,
    datasheet,
    ngram_index,
    token_shards,
    snapshot,
    trained_models,
]
CHECKS = [ledger_checks, source_checks, file_checks, dedup_checks, published_checks, token_checks, model_checks]
REMOTE = RemoteStore.of_environment()
if REMOTE.url:  # without a store there is nothing that these could ever hold
    ASSETS += [stored_version, stored_snapshot]
    CHECKS += [stored_checks]

defs = dg.Definitions(
    assets=dg.load_assets_from_modules(ASSETS),
    asset_checks=dg.load_asset_checks_from_modules(CHECKS),
    sensors=[
        alerts.alert_on_failed_runs,
        alerts.alert_on_failed_checks,
        alerts.deliver_waiting_alerts,
        dead_runs.fail_runs_of_dead_processes,
        ingest.ingest_new_sources,
        automation.make_new_versions,
    ],
    resources={
        "store": Store.of_environment(),
        "engine": EngineResource(),
        "remote_store": REMOTE,
        "fetcher": FetcherResource(),
        "webhook": Webhook.of_environment(),
        "slack": Slack.of_environment(),
        "mail": Mail.of_environment(),
    },
    executor=dg.in_process_executor,
)
