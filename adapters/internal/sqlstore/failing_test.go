package sqlstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
)

// Errors caused by the database are distinguished from errors caused by the events:
// only the former may be retried forever.
func TestCommit_ErrStore(t *testing.T) {
	fails := func(s *Store, ctx context.Context, text string) error {
		return s.Commit(ctx, nil, func(tx capture.Tx) error {
			_, err := tx.(*ledgerTx).Exec(text)
			return err
		})
	}
	late, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	full := openStore(t, "sqlite:"+t.TempDir()+"/full.db")
	if _, err := full.db.Write.Exec(`PRAGMA max_page_count = 1`); err != nil {
		t.Fatal(err)
	}
	file, server := openStore(t, "sqlite:"+t.TempDir()+"/a.db"), postgresStore(t)
	for name, tt := range map[string]struct {
		err  error
		want bool
	}{
		"a full disk":        {fails(full, t.Context(), `CREATE TABLE x AS SELECT zeroblob(10000000)`), true},
		"too late":           {fails(file, late, `SELECT 1`), true},
		"too late, server":   {fails(server, late, `SELECT 1`), true},
		"a full server disk": {fails(server, t.Context(), `DO $$ BEGIN RAISE disk_full; END $$`), true},
		"a deadlock":         {fails(server, t.Context(), `DO $$ BEGIN RAISE deadlock_detected; END $$`), true},
		"a constraint":       {fails(file, t.Context(), `INSERT INTO places (name, id) VALUES ('event_id', 1)`), false},
		"a character":        {fails(server, t.Context(), `SELECT chr(0)`), false},
		"a constraint there": {fails(server, t.Context(), `INSERT INTO projects (id) VALUES (NULL)`), false},
	} {
		if tt.err == nil || errors.Is(tt.err, capture.ErrStore) != tt.want {
			t.Errorf("%s: %v", name, tt.err)
		}
	}
}
