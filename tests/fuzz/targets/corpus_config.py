"""A version's config: YAML, its settings, and the words that only libraries know."""

from pathlib import Path

from corpus_assets.validation import corpus_config
from formats.naming import VersionKey

KEY = VersionKey("starter", "v1")
WORDS = (
    b"&a ",
    b"*a",
    b"!!python/object/apply:os.getcwd []",
    b"!!binary ",
    b"? ",
    b"<<: ",
    b"- ",
    b": ",
    b"{",
    b"[",
    b"|\n",
    b">-\n",
    b"---\n",
    b"...\n",
    b"%YAML 1.1\n",
    b"\t",
    b"'",
    b'"',
    b"\\x00",
    b"\\ud800",
    b"#",
    b"~",
    b"1e999",
    b".inf",
)
_LEAST = b"dataset: starter\nversion: v1\nsources: [web]\nlicenses: {allow: [MIT]}\n"
_MORE = b"""shard_rows: 50_000
lang: {allow: [nb, de], second_voice: unsure}
profiles: {prose: {too_many_bullet_lines: null}}
dedup:
  near: {jaccard_threshold: 0.85, bands: 16, rows: 8}
decontaminate:
  eval_sets:
    - {name: quiz, path: evals/quiz.jsonl, format: jsonl, fields: [question], sha256: %s}
  exempt: ["quiz:3"]
pii: {ips: all, phone_regions: [DE, GB]}
notes: |
  Two lines,
  "quoted" and 'quoted'.
""" % (b"ab" * 32)


def seeds() -> list[bytes]:
    return [_LEAST, _LEAST + _MORE]


def run(data: bytes, folder: Path) -> None:
    path = folder / "v1.yaml"
    path.write_bytes(data)
    config = corpus_config.load(path, KEY)
    assert len(config.config_sha256) == 64
    config.as_json()
