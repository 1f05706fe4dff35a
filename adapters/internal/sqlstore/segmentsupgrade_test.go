package sqlstore

import (
	"bytes"
	"encoding/hex"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// indexKey is the name of the entry of a segment with the places of the indexes.
const indexKey = "bunting.index"

// withoutIndex renames the entry with the places of the indexes of a segment, so that it is a file as versions
// before schema 20 have written them. The format is described in package segment.
func withoutIndex(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at, digits := bytes.LastIndex(data, []byte(indexKey)), bytes.LastIndex(data, []byte("crc32c:"))+len("crc32c:")
	if at < 0 || digits < at {
		t.Fatalf("%s has no index", path)
	}
	copy(data[at:], "another.entry")
	start, err := strconv.ParseInt(string(data[digits+9:digits+25]), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	tail := data[start : len(data)-8]
	copy(data[digits:], "00000000")
	sum := crc32.Checksum(tail, crc32.MakeTable(crc32.Castagnoli))
	hex.Encode(data[digits:], []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A store of schema 18, with filters in the table of blocks, hashes of sealed blocks, and files without an index
// of distinct ids, answers as before, and so it does if it had no such hashes. It keeps the filters. When a
// file is written again, it gets an index.
func TestSegments_OlderStore(t *testing.T) {
	onSegmentDatabases(t, func(t *testing.T, address, files string) {
		m := &eventModel{T: t, random: rand.New(rand.NewPCG(27, 28)), store: openSegments(t, address, files)}
		run := func(statements ...string) {
			t.Helper()
			for _, text := range statements {
				if _, err := m.store.db.Write.Exec(text); err != nil {
					t.Fatalf("%s: %v", text, err)
				}
			}
		}
		m.commit(1500) // becomes a block of each project
		indexAll(t, m.store)
		run(`CREATE TABLE kept AS SELECT first_id, hashes FROM event_hashes`)
		sealAll(t, m.store)
		m.commit(700)
		indexAll(t, m.store)
		hashes, filters := countRows(t, m.store, "kept"), countRows(t, m.store, "event_filters")
		if hashes != 2 || filters < 2 {
			t.Fatalf("hashes of %d sealed blocks, %d filters", hashes, filters)
		}
		kind := "BLOB NOT NULL DEFAULT x''"
		if strings.HasPrefix(address, "postgres") {
			kind = "BYTEA NOT NULL DEFAULT ''"
		}
		run(`INSERT INTO event_hashes SELECT * FROM kept`, `DROP TABLE kept`,
			`ALTER TABLE event_blocks ADD COLUMN filter `+kind,
			`UPDATE event_blocks SET filter = (SELECT f.filter FROM event_filters f WHERE f.first_id = event_blocks.first_id) WHERE first_id IN (SELECT first_id FROM event_filters)`,
			`DROP TABLE event_filters`, `ALTER TABLE event_key_runs DROP COLUMN changes`, `DELETE FROM goose_db_version WHERE version_id >= 20`)
		for _, name := range segmentFiles(t, files) {
			withoutIndex(t, filepath.Join(files, name))
		}
		if err := m.store.Close(); err != nil {
			t.Fatal(err)
		}

		m.store = openSegments(t, address, files)
		m.check("upgraded")
		if n := countRows(t, m.store, "event_filters"); n != filters {
			t.Errorf("%d filters of %d", n, filters)
		}
		run(`DELETE FROM event_hashes WHERE first_id IN (SELECT MIN(first_id) FROM event_blocks)`)
		m.check("without hashes")
		m.erase(m.list[3].DistinctID)
		m.check("erased")
		sealAll(t, m.store)
		m.check("written again")
		var without []string
		for _, name := range sealedNames(t, m.store) {
			data, err := os.ReadFile(filepath.Join(files, name))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(data, []byte(indexKey)) {
				without = append(without, name)
			}
		}
		if len(without) != 1 || !strings.HasPrefix(without[0], "project=2/") { // nothing was erased there
			t.Errorf("files without an index: %q", without)
		}
	})
}
