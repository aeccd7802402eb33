#!/usr/bin/env bash
# Opens the HTML reports in a headless Chromium. Where there is none, Debian's package is installed, if that can be done
# here; where it cannot, the tests are skipped, which is said. `make test-browser ARGS="-k phone"` hands ARGS to pytest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { echo "browser: $*"; }

found() {
  local name
  [ -n "${APPORTION_CHROMIUM:-}" ] && return 0
  for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do
    command -v "$name" >/dev/null && return 0
  done
  return 1
}

if ! found && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  say "there is no Chromium here; installing Debian's package"
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } >/dev/null ||
    say "apt-get could not install it; its own message is above"
fi
if ! found; then
  say "SKIPPED: there is no Chromium, and none could be installed here; APPORTION_CHROMIUM names one" >&2
  exit 0
fi

# ARGS is read as a shell reads it, quotes included, as in the other targets of the Makefile.
eval "set -- ${ARGS:-}"
exec .venv/bin/pytest -n0 -m browser tests/browser "$@"
