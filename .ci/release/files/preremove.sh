#!/bin/sh
# Before a removal. dpkg also calls it before an upgrade (upgrade), as does rpm (1): the service then
# runs until it is restarted.
set -e

case "${1:-}" in upgrade | failed-upgrade | deconfigure | 1) exit 0 ;; esac
if [ -d /run/systemd/system ]; then
  systemctl disable --now bunting.service
elif command -v rc-service >/dev/null && [ -d /run/openrc ]; then
  rc-service --ifstarted bunting stop
fi
