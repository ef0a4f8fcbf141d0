"""Pools of Dagster's history, made before they are used: Dagster makes one at its first use, and of two processes at
once the second fails in PostgreSQL, where a refused insert ends the transaction that goes on behind it.
"""

import dagster as dg
from sqlalchemy.exc import DatabaseError


def make(instance: dg.DagsterInstance, job: dg.JobDefinition) -> None:
    """Let every pool of the job's steps have its default limit. Raises DatabaseError where that cannot be done."""
    storage = instance.event_log_storage
    for pool in sorted({pool for node in job.nodes for pool in node.definition.pools} - storage.get_concurrency_keys()):
        try:
            storage.initialize_concurrency_limit_to_default(pool)
        except DatabaseError:
            if pool not in storage.get_concurrency_keys():  # else another process was faster
                raise
