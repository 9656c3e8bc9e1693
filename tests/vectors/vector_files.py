# SPDX-License-Identifier: Apache-2.0
"""How the generators of golden vectors keep what they make."""
import json
import sys


def keep(folder, files):
    """Writes {name: what it holds} as JSON into the folder; with --check as the only argument, ends
    with an error that names each file that would change."""
    changed = []
    for name, vectors in files.items():
        text = json.dumps(vectors, indent=1, ensure_ascii=False) + "\n"
        path = folder / name
        if sys.argv[1:] != ["--check"]:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            changed.append(name)
    if changed:
        sys.exit(f"not what this script writes: {', '.join(changed)}")
