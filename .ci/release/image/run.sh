# Tests run this, after ../decide.sh, in namespaces of their own, with a network that has only the
# loopback interface. It starts a container as a program for containers would, and stops it.
#
# usage: sh run.sh CONTAINER...
#
# CONTAINER is the begin of a command that runs the rest of its arguments in the image, which is unpacked
# in ROOT. VOLUMES are mount points in it, each followed by the options of a tmpfs. SERVE is the
# container's command and HEALTH that of its health check. READY is the URL of its probe, and PROBES are
# further ones. Clients use URL, and CONNECT, if set, is the option of curl that leads from URL to the container. DRAINS is set if
# the server answers for some time after it has been told to stop.
ip link set lo up
mount --bind "$ROOT" "$ROOT"
mount -o remount,bind,ro "$ROOT"
mount_all() {
  while [ $# -gt 0 ]; do
    mount -t tmpfs -o "$2" tmpfs "$ROOT$1"
    shift 2
  done
}
mount_all $VOLUMES
log=$(mktemp)
trap 'cat "$log" && rm "$log"' EXIT

"$@" $SERVE >"$log" 2>&1 &
running=$!
curl -sS -f -o /dev/null --retry 120 --retry-delay 1 --retry-all-errors "$READY"
for probe in ${PROBES:-}; do curl -sS -f -o /dev/null "$probe"; done
"$@" $HEALTH
key=$(owner_key "$log")
client() { "$@" --server "${READY%/*}" --key "$key"; }
decide "$URL" client "$@" /bunting

kill "$running"
if [ -n "${DRAINS:-}" ]; then
  until [ "$(curl -s -o /dev/null -w '%{http_code}' "$READY")" = 503 ]; do sleep 0.1; done
  echo draining
  decide "$URL" client "$@" /bunting
fi
wait "$running" # a signal stops the server without an error
echo stopped
