#!/usr/bin/env bash
# Rewrites the two lock files: pinned, with hashes, no index named, nothing newer than a week.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=${UV:-$(command -v uv || echo .venv/bin/uv)}
[ -x "$uv" ] || { echo "lock.sh: uv is neither on PATH nor in .venv; .venv/bin/pip install uv" >&2; exit 1; }
common=(--generate-hashes --no-emit-index-url --no-header --python-version 3.11 --universal --quiet
  --exclude-newer "${EXCLUDE_NEWER:-$(date -d '7 days ago' +%F)}")
"$uv" pip compile pyproject.toml "${common[@]}" -o requirements/runtime.txt
"$uv" pip compile pyproject.toml --group dev "${common[@]}" -c requirements/runtime.txt -o requirements/dev.txt
