#!/bin/sh
# After an installation or an upgrade, by dpkg, rpm or apk.
set -e

if ! getent passwd bunting >/dev/null; then
  if command -v useradd >/dev/null; then
    useradd --system --user-group --no-create-home --home-dir /var/lib/bunting --shell /usr/sbin/nologin bunting
  else
    addgroup -S bunting
    adduser -S -D -H -G bunting -h /var/lib/bunting -s /sbin/nologin bunting
  fi
fi
mkdir -p /var/lib/bunting
chown bunting:bunting /var/lib/bunting
chmod 0700 /var/lib/bunting
chgrp bunting /etc/bunting/bunting.json
chmod 0640 /etc/bunting/bunting.json

if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart bunting.service # after an upgrade; does nothing if it does not run
elif command -v rc-service >/dev/null && [ -d /run/openrc ]; then
  rc-service --ifstarted bunting restart
fi
