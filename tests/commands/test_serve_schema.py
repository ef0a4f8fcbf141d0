"""Whatever schemathesis makes of the OpenAPI document, valid or not, the server answers as the document says."""

import pytest
import schemathesis
from hypothesis import HealthCheck, assume, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import ignored_auth

from corpus_assets.commands.serve_app import make_app
from corpus_assets.commands.serve_openapi import document
from tests.plans import tiny_snapshot

TOKEN = "a-token-for-these-tests-alone"
CASES = [
    (path, verb, mode)
    for path, verbs in document()["paths"].items()
    for verb, one in verbs.items()
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    if mode is GenerationMode.POSITIVE or one.keys() & {"parameters", "requestBody"}  # else nothing of it can be wrong
]


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    """The schema of a running application; its root is the tests' own."""
    layout, _ = tiny_snapshot.copy(tmp_path_factory.mktemp("serve") / "root")
    return schemathesis.openapi.from_asgi("/openapi.json", make_app(layout, TOKEN, only_loopback=False))


@pytest.mark.slow
@pytest.mark.parametrize(("path", "verb", "mode"), CASES)
def test_every_answer_is_one_of_the_document(api, path, verb, mode):
    @settings(
        max_examples=30 if verb == "get" else 15, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    @given(case=api[path][verb].as_strategy(generation_mode=mode))
    def ask(case):
        if mode is GenerationMode.POSITIVE and isinstance(case.body, dict):
            case.body |= {"dataset": "tiny", "version": "v1"}  # of another version nearly all would be not found
            sources = [source for listed in case.body["config"].get("buckets", {}).values() for source in set(listed)]
            assume(len(sources) == len(set(sources)))  # a rule that JSON Schema cannot say
        response = case.call(headers={"authorization": f"Bearer {TOKEN}"})
        case.validate_response(response, excluded_checks=[ignored_auth])  # it repeats a request with the same header
        if verb == "post":
            assert case.call(headers={"authorization": f"Bearer {TOKEN[:-1]}"}).status_code == 401

    ask()
