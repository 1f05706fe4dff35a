# main_test.go runs this in namespaces of its own.
#
# usage: sh run.sh FOLDER ADDRESS CONTAINER...
#
# CONTAINER is the begin of a command that runs the rest of its arguments in the image.
dir=$1 address=$2
shift 2

mount --bind "$dir" "$dir"
mount -o remount,bind,ro "$dir"
mount -t tmpfs -o mode=700,uid=65532,gid=65532 tmpfs "$dir/data"

"$@" /bunting serve --listen "$address" --owner-key-file /data/owner.key &
running=$!
curl -sS -o /dev/null --retry 120 --retry-delay 1 --retry-connrefused "http://$address/_readiness"
"$@" /bunting status --server "http://$address" # the health check
client() { "$@" --server "http://$address" --key "$(cat "$dir/data/owner.key")"; }
client "$@" /bunting flags set new-checkout --rollout 100
project=$(client "$@" /bunting projects list --json | sed -n 's/.*"api_token": *"\([^"]*\)".*/\1/p' | head -1)
curl -sS "http://$address/flags?v=2" -d "{\"api_key\": \"$project\", \"distinct_id\": \"ana\"}"
echo
kill "$running"
wait "$running" # a signal stops the server without an error
echo stopped
