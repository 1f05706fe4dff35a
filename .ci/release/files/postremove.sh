#!/bin/sh
# After a removal. The data stays, as does the user to whom it belongs; only dpkg --purge deletes
# both.
set -e

if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
if [ "${1:-}" = purge ]; then
  rm -rf /var/lib/bunting
  if getent passwd bunting >/dev/null; then userdel bunting || true; fi # fails while a process runs as bunting
fi
