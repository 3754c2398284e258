#!/bin/sh
# After the files are gone. The data folder stays, whatever happens: it is not ours
# to throw away. So does the user, who owns it.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
case "${1:-}" in
purge | 0)
  if [ -d /var/lib/beeos ]; then
    echo "the data of beeos stays in /var/lib/beeos; remove it yourself if you are sure"
  fi
  ;;
esac
