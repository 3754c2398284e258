#!/bin/sh
# After the files are there: a user for the service, and the unit made known. A
# service that ran goes on with the new version; a new one is the operator's to start.
set -e
if ! getent passwd beeos >/dev/null 2>&1; then
  if command -v systemd-sysusers >/dev/null 2>&1; then
    systemd-sysusers beeos.conf
  else
    useradd --system --user-group --home-dir /var/lib/beeos --no-create-home --shell /usr/sbin/nologin beeos
  fi
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart beeos.service || true
  if ! systemctl is-enabled --quiet beeos.service 2>/dev/null; then
    echo "beeos is installed; start it with: systemctl enable --now beeos"
  fi
fi
