# package_test.go runs this in namespaces of its own.
#
# usage: sh install.sh FOLDER COMMAND ADDRESS
dir=$1 start=$2 address=$3

mount -t overlay overlay -o "lowerdir=/,upperdir=$dir/upper,workdir=$dir/work" "$dir/root"
mount -t proc proc "$dir/root/proc"
mount --bind /dev "$dir/root/dev"
mkdir -p "$dir/root/packages"
cp "$dir/old.deb" "$dir/new.deb" "$dir/root/packages"
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive chroot "$dir/root" "$@"; }
installed() { inside dpkg-query -W -f='${Version}\n' bunting; }
same_data() { [ "$(cat "$dir/root/var/lib/bunting/owner.key")" = "$key" ] && [ -s "$dir/root/var/lib/bunting/bunting.db" ] && echo "same data"; }
same_settings() { grep -q "$address" "$dir/root/etc/bunting/bunting.json" && echo "same settings"; }

inside dpkg --no-triggers -i /packages/old.deb
echo "installed $(installed)"
inside dpkg -L bunting
inside stat -c '%U.%G %a' /var/lib/bunting

sed -i "s/127.0.0.1:8000/$address/" "$dir/root/etc/bunting/bunting.json"
serve() { inside setpriv --reuid bunting --regid bunting --init-groups sh -c "cd /var/lib/bunting && umask 077 && echo \$\$ >/tmp/bunting.pid && exec $start" & }
serve
running=$!
curl -sS -o /dev/null --retry 120 --retry-delay 1 --retry-connrefused "http://$address/_readiness"
key=$(cat "$dir/root/var/lib/bunting/owner.key")
client() { inside env BUNTING_KEY="$key" BUNTING_SERVER="http://$address" bunting "$@"; }
client flags set new-checkout --rollout 100
decide() {
  project=$(client projects list --json | sed -n 's/.*"api_token": *"\([^"]*\)".*/\1/p' | head -1)
  answer=$(curl -sS "http://$address/flags?v=2" -d "{\"api_key\": \"$project\", \"distinct_id\": \"ana\"}")
  case $answer in *'"new-checkout":{"key":"new-checkout","enabled":true'*) echo "new-checkout true" ;; *) echo "$answer" ;; esac
}
decide
kill "$(cat "$dir/root/tmp/bunting.pid")"
wait "$running" # a signal stops the server without an error

inside dpkg --no-triggers -i /packages/new.deb
echo "upgraded $(installed)"
same_data
same_settings
inside dpkg --no-triggers -r bunting >/dev/null
echo removed
same_data
same_settings
inside dpkg --no-triggers -P bunting >/dev/null
echo purged
[ -e "$dir/root/var/lib/bunting" ] || echo "no data"
[ -e "$dir/root/etc/bunting/bunting.json" ] || echo "no settings"
inside getent passwd bunting || echo "no user"
