"""What dolma makes of a .jsonl.zst, for an interpreter that has it: python dolma_program.py tag|dedupe FILE.

Prints how many documents came out, and ends with dolma's exit code. Both commands run as its documentation has them: a
tagger that counts characters, which reads by smart_open, and its deduplication of equal texts, which reads in Rust.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import zstandard

COMMANDS = {
    "tag": ["--taggers", "char_length_v1", "--experiment", "out"],
    "dedupe": [
        *("--dedupe.name", "out", "--dedupe.documents.key", "$.text", "--dedupe.documents.attribute_name", "seen"),
        *("--bloom_filter.file", "bloom.bin", "--bloom_filter.estimated_doc_count", "100000"),
        *("--bloom_filter.desired_false_positive_rate", "0.000001", "--no-bloom_filter.read_only"),
    ],
}


def main(command: str, file: Path) -> int:
    scratch = file.parent / f"dolma-{command}"
    (scratch / "documents").mkdir(parents=True)
    shutil.copy(file, scratch / "documents")
    program = [sys.executable, "-c", "from dolma.cli.__main__ import main; main()", command]
    documents = ["--documents", str(scratch / "documents" / "*.zst"), "--processes", "1"]
    done = subprocess.run([*program, *documents, *COMMANDS[command]], cwd=scratch, capture_output=True, text=True)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "Error" in line and "nltk" not in line]
        print(*said[-1:] or done.stderr.splitlines()[-1:], file=sys.stderr)
        return done.returncode
    [out] = (scratch / "attributes" / "out").glob("*.zst")
    with out.open("rb") as packed:
        print(zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True).read().count(b"\n"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
