# install_test.go runs this, after decide.sh, in namespaces of its own. It installs, upgrades and removes
# a package in a root that has the files of this machine, with an overlay for changes, and starts its
# service.
#
# DIR has the folders upper, work, root and packages, and openrc for KIND=apk. INSTALL and UPGRADE are the
# commands with which users install two versions. START is the service's command. ADDRESS is free.

mount -t overlay overlay -o "lowerdir=/,upperdir=$DIR/upper,workdir=$DIR/work" "$DIR/root"
mount -t proc proc "$DIR/root/proc"
mount --bind /dev "$DIR/root/dev"
mkdir -p "$DIR/root/packages"
mount --bind "$DIR/packages" "$DIR/root/packages"
settings=$DIR/root/etc/bunting/bunting.json
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive chroot "$DIR/root" "$@"; }
permissions() { inside stat -c '%n %U:%G %a' /var/lib/bunting /etc/bunting/bunting.json; }
same_data() { [ "$(cat "$DIR/root/var/lib/bunting/owner.key")" = "$key" ] && [ -s "$DIR/root/var/lib/bunting/bunting.db" ] && echo "same data"; }
same_settings() { grep -q "$ADDRESS" "$1" && echo "same settings"; }
client() { inside env BUNTING_KEY="$key" BUNTING_SERVER="http://$ADDRESS" bunting "$@"; }

# Without a service manager, as systemd would start and stop the service.
configure() { sed -i "s/127.0.0.1:8000/$ADDRESS/" "$settings"; }
start() {
  inside setpriv --reuid bunting --regid bunting --init-groups sh -c "cd /var/lib/bunting && umask 077 && echo \$\$ >/tmp/bunting.pid && exec $START" &
  running=$!
}
stop() { kill "$(cat "$DIR/root/tmp/bunting.pid")" && wait "$running"; } # a signal stops the server without an error

case $KIND in
deb)
  echo no-triggers >"$DIR/root/etc/dpkg/dpkg.cfg.d/no-triggers"
  package() { inside sh -euc "cd /packages && $1"; }
  version() { inside dpkg-query -W -f='${Version}\n' bunting; }
  files() { inside dpkg -L bunting; }
  remove() { inside dpkg -r bunting >/dev/null; }
  ;;
rpm)
  # The database of packages of this machine is dpkg's, which has no rpm.
  package() { inside sh -euc "rpm() { command rpm --force-debian --nodeps \"\$@\"; } && cd /packages && $1"; }
  version() { inside rpm -q --qf '%{VERSION}\n' bunting; }
  files() { inside rpm -ql bunting; }
  remove() { inside rpm -e --force-debian bunting; }
  ;;
apk)
  # This machine has no apk. A package is an archive with scripts in its root. apk runs post-install or,
  # for a further version, post-upgrade, and replaces settings that nobody has changed.
  mkdir "$DIR/scripts"
  package() {
    file=$DIR/packages/${1##* }
    tar --warning=no-unknown-keyword -xzf "$file" -C "$DIR/scripts" --wildcards '.P*' '.p*'
    tar --warning=no-unknown-keyword -xzvf "$file" -C "$DIR/root" --exclude='.P*' --exclude='.p*' --exclude='.SIGN*' >"$DIR/files"
    if [ -e "$DIR/installed" ]; then script .post-upgrade; else script .post-install; fi
    touch "$DIR/installed"
  }
  script() { cp "$DIR/scripts/$1" "$DIR/root/tmp/script" && inside sh /tmp/script; }
  version() { sed -n 's/^pkgver = //p' "$DIR/scripts/.PKGINFO"; }
  files() { sed 's,^,/,' "$DIR/files"; }
  remove() {
    script .pre-deinstall
    (cd "$DIR/root" && grep -v '/$' "$DIR/files" | xargs rm)
    script .post-deinstall
  }
  # Alpine has the commands of BusyBox for users, and OpenRC.
  (cd "$DIR/root/usr/sbin" && rm -f addgroup adduser && mv useradd other-useradd)
  printf '#!/bin/sh\n[ "$*" = "-S bunting" ] && groupadd --system bunting\n' >"$DIR/root/usr/sbin/addgroup"
  printf '#!/bin/sh\n[ "$*" = "-S -D -H -G bunting -h /var/lib/bunting -s /sbin/nologin bunting" ] && other-useradd --system --gid bunting --home-dir /var/lib/bunting --shell /sbin/nologin bunting\n' >"$DIR/root/usr/sbin/adduser"
  chmod 755 "$DIR/root/usr/sbin/addgroup" "$DIR/root/usr/sbin/adduser"
  for file in "$DIR"/openrc/*.deb; do dpkg-deb --fsys-tarfile "$file" | tar -x --keep-directory-symlink -C "$DIR/root"; done
  (cd "$DIR/root/run" && mkdir -p openrc && cd openrc && mkdir -p daemons exclusive failed hotplugged inactive options started starting stopping tmp wasinactive) # as after booting
  touch "$DIR/root/run/openrc/softlevel"
  echo 'rc_provide="net"' >>"$DIR/root/etc/rc.conf"
  configure() { mkdir -p "$DIR/root/etc/conf.d" && echo "export BUNTING_LISTEN=$ADDRESS" >"$DIR/root/etc/conf.d/bunting"; }
  start() { inside rc-service bunting start; }
  ;;
esac

package "$INSTALL"
echo "installed $(version)"
files
permissions
configure
start
ready "http://$ADDRESS/_readiness"
key=$(cat "$DIR/root/var/lib/bunting/owner.key")
decide "http://$ADDRESS" client
[ "$KIND" = apk ] || stop

package "$UPGRADE"
echo "upgraded $(version)"
same_data
permissions
case $KIND in
deb)
  same_settings "$settings"
  remove
  echo removed
  same_data
  same_settings "$settings"
  inside dpkg -P bunting >/dev/null
  echo purged
  [ -e "$DIR/root/var/lib/bunting" ] || echo "no data"
  [ -e "$settings" ] || echo "no settings"
  inside getent passwd bunting || echo "no user"
  ;;
rpm)
  same_settings "$settings"
  remove
  echo removed
  same_data
  same_settings "$settings.rpmsave"
  ;;
apk)
  ready "http://$ADDRESS/_readiness" # OpenRC has restarted it
  decide "http://$ADDRESS" client
  inside rc-service bunting reload
  remove
  echo removed
  same_data
  curl -s "http://$ADDRESS/_readiness" || echo stopped
  ;;
esac
