# release_test.go runs this, after decide.sh. DIR has the archive, INSTALL is the command of the page, and
# ADDRESS is free.
cd "$DIR"
eval "$INSTALL"
BUNTING_LISTEN=$ADDRESS ./bunting serve >log 2>&1 &
running=$!
ready "http://$ADDRESS/_readiness"
key=$(owner_key log)
client() { BUNTING_KEY=$key BUNTING_SERVER=http://$ADDRESS ./bunting "$@"; }
decide "http://$ADDRESS" client
kill "$running"
wait "$running" # a signal stops the server without an error
