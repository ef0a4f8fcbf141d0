"""A process that takes turns of a machine: `python -m tests.resources.paced_process '{"folder": …, "urls": […]}'`.

Its clock stands still, so that what it leaves in the folder counts its requests and tells nothing of time.
"""

import json
import sys
from pathlib import Path
from typing import Any

from formats.fetch_rules import AccessRules, FetchRules
from resources.download.access import Access
from resources.download.pace import Paces
from resources.download.settings import FetchSettings
from resources.download.sources import Sources

NOW, PER_SECOND = 1000.0, 2.0


def access(folder: Path, source: str, **limits: Any) -> Access:
    return Access(FetchRules(hosts={"127.0.0.1": AccessRules(**limits)}), source, Paces(lambda: NOW, folder))


def main() -> int:
    job = json.loads(sys.argv[1])
    folder, waits = Path(job["folder"]), []
    print("ready", flush=True)
    sys.stdin.readline()
    if job.get("hold"):
        with access(folder, job["source"], connections=1).connection(job["urls"][0], lambda _: None):
            print("held", flush=True)
            sys.stdin.readline()
        return 0
    limits = access(folder, job["source"], requests_per_second=PER_SECOND)
    with Sources(FetchSettings(), limits, waits.append) as sources:
        for url in job["urls"]:
            with sources.get(url, 0, None):
                pass
    print(json.dumps(waits), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
