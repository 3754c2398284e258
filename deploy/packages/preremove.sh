#!/bin/sh
# Before the files go. An upgrade leaves the service alone: what comes after it
# restarts it. deb says "remove", rpm the number of versions that stay: 0.
set -e
case "${1:-}" in
remove | 0)
  if [ -d /run/systemd/system ]; then
    systemctl disable --now beeos.service || true
  fi
  ;;
esac
