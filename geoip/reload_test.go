package geoip

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// replace puts a file at path by renaming, like update tools.
func replace(t testing.TB, path, name string) {
	t.Helper()
	if err := os.WriteFile(path+".new", read(t, name), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// copyDB opens a copy of city.mmdb that a test may replace.
func copyDB(t testing.TB) (*DB, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "geo.mmdb")
	replace(t, path, "city.mmdb")
	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return db, path
}

// berlin is 192.0.2.1 in city.mmdb (7 properties) and in country.mmdb (4).
var berlin = ip("192.0.2.1")

func wantRemembered(t *testing.T, db *DB, n int) {
	t.Helper()
	if got := db.Locate(berlin); len(got) != n {
		t.Errorf("%d properties, want %d: %v", len(got), n, got)
	}
}

func TestReload_ForgetsOldAnswers(t *testing.T) {
	db, path := copyDB(t)
	wantRemembered(t, db, 7)
	replace(t, path, "country.mmdb")
	wantRemembered(t, db, 7) // not yet
	if err := db.Reload(); err != nil {
		t.Fatal(err)
	}
	wantRemembered(t, db, 4)
	want := Stats{Lookups: 3, Hits: 1, Reloads: 1, Remembered: 1, Type: "DBIP-Country-Lite",
		Built: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} // build_time of source.json
	if diff := cmp.Diff(want, db.Stats()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestReload_KeepsTheLastGoodDatabase(t *testing.T) {
	db, path := copyDB(t)
	for _, bad := range []string{"asn.mmdb", "flat.mmdb", "source.json"} {
		replace(t, path, bad)
		if err := db.Reload(); err == nil {
			t.Errorf("%s was accepted", bad)
		}
		wantRemembered(t, db, 7)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := db.Reload(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	wantRemembered(t, db, 7)
	if s := db.Stats(); s.FailedReloads != 4 || s.Reloads != 0 {
		t.Errorf("stats %+v", s)
	}
}

// A file is overwritten in place: first with its first half, then completely. Each state is
// reported once.
func TestRefresh_OncePerChange(t *testing.T) {
	db, path := copyDB(t)
	step := func(name string, wantReloaded, wantErr bool) {
		t.Helper()
		if changed := db.hasChanged(); changed != (wantReloaded || wantErr) {
			t.Errorf("%s: Changed is %v", name, changed)
		}
		reloaded, err := db.Refresh()
		if reloaded != wantReloaded || (err != nil) != wantErr {
			t.Errorf("%s: got %v, %v", name, reloaded, err)
		}
	}
	step("unchanged", false, false)
	country := read(t, "country.mmdb")
	if err := os.WriteFile(path, country[:len(country)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	step("half", false, true)
	step("still half", false, false)
	wantRemembered(t, db, 7)
	if err := os.WriteFile(path, country, 0o600); err != nil {
		t.Fatal(err)
	}
	step("whole", true, false)
	wantRemembered(t, db, 4)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	step("gone", false, true)
	step("still gone", false, false)
	replace(t, path, "city.mmdb")
	step("back", true, false)
	wantRemembered(t, db, 7)
}

func TestWatch_ReloadsAndEnds(t *testing.T) {
	defer goleak.VerifyNone(t)
	synctest.Test(t, func(t *testing.T) {
		db, path := copyDB(t)
		ctx, cancel := context.WithCancel(t.Context())
		faults := make(chan error, 100)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			db.Watch(ctx, 0, func(err error) { faults <- err })
		}()
		after := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		replace(t, path, "asn.mmdb")
		after(defaultWatchInterval - time.Second)
		if len(faults) != 0 {
			t.Errorf("too early: %v", <-faults)
		}
		after(10 * defaultWatchInterval) // many checks, one report
		if n := len(faults); n != 1 {
			t.Fatalf("%d reports", n)
		}
		if err := <-faults; !errors.Is(err, ErrWrongKind) {
			t.Errorf("got %v", err)
		}
		wantRemembered(t, db, 7)
		replace(t, path, "country.mmdb")
		after(defaultWatchInterval)
		wantRemembered(t, db, 4)
		cancel()
		<-ended
	})
}

func TestClose(t *testing.T) {
	db, path := copyDB(t)
	wantRemembered(t, db, 7)
	for range 2 {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := db.Locate(berlin); got != nil {
		t.Errorf("got %v", got)
	}
	replace(t, path, "country.mmdb")
	if err := db.Reload(); !errors.Is(err, ErrClosed) || db.hasChanged() {
		t.Errorf("got %v, changed %v", err, db.hasChanged())
	}
	if s := db.Stats(); s.Type != "" || s.Lookups != 1 {
		t.Errorf("stats %+v", s)
	}
}

// Every result during reloads is completely that of one file or that of the other.
func TestReload_WhileLocating(t *testing.T) {
	defer goleak.VerifyNone(t)
	db, path := copyDB(t)
	rows, _ := readSource(t)
	row := rows[0]
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if got := db.Locate(berlin); !cmp.Equal(got, row.want(true)) && !cmp.Equal(got, row.want(false)) {
					t.Errorf("got %v", got)
					return
				}
				db.Stats()
			}
		})
	}
	for range 20 {
		for _, name := range []string{"country.mmdb", "city.mmdb"} {
			replace(t, path, name)
			if _, err := db.Refresh(); err != nil {
				t.Error(err)
			}
		}
	}
	close(stop)
	readers.Wait()
	if s := db.Stats(); s.Reloads != 40 {
		t.Errorf("%d reloads", s.Reloads)
	}
}

// The cache is bounded for any number of addresses, and negative results are cached too.
func TestLocate_BoundedMemory(t *testing.T) {
	db := open(t, "city.mmdb")
	a := ip("2001:db8:ffff::") // no record
	for range rememberedAddresses + 100 {
		db.Locate(a)
		a = a.Next()
	}
	if s := db.Stats(); s.Remembered != rememberedAddresses || s.Hits != 0 {
		t.Errorf("stats %+v", s)
	}
	db.Locate(a.Prev())
	if s := db.Stats(); s.Hits != 1 {
		t.Errorf("the last address was not remembered: %+v", s)
	}
}
