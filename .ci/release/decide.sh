# Functions of install.sh, archive.sh and image/run.sh, which tests run after these.

# ready URL waits until the server answers.
ready() { curl -sS -o /dev/null --retry 120 --retry-delay 1 --retry-connrefused "$1"; }

# decide URL CLIENT... sets a flag for everybody with CLIENT, which is bunting with the owner's key, and
# asks the server for the flag as an SDK does. CONNECT, if set, is an option of curl.
decide() {
  url=$1
  shift
  "$@" flags set new-checkout --rollout 100
  project=$("$@" projects list --json | sed -n 's/.*"api_token": *"\([^"]*\)".*/\1/p' | head -1)
  answer=$(curl -sS ${CONNECT:-} "$url/flags?v=2" -d "{\"api_key\": \"$project\", \"distinct_id\": \"ana\"}")
  case $answer in *'"new-checkout":{"key":"new-checkout","enabled":true'*) echo "new-checkout true" ;; *) echo "$answer" ;; esac
}

# owner_key LOG prints the owner's key, which the first start of a server prints.
owner_key() { until grep -Eo 'phx_[A-Za-z0-9]{20,}' "$1" | head -1 | grep .; do sleep 0.1; done; }
