//go:build linux

package faulttest

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// exportsKey is the personal key of the definitions.
const exportsKey = "phx_demo"

// killsPerExportKill is the number of -kills for each kill of this test, which is slow: a server
// looks for exports two seconds after its start.
const killsPerExportKill = 6

// SIGKILL at any moment while exports run and events arrive: every event is exported exactly once,
// and every interval has one run (management §4.3, decision 23).
func TestKill_Exports(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	x := &exportTest{dir: t.TempDir(), load: newLoad(1), hour: time.Now().UTC().Truncate(time.Hour).Add(-2 * time.Hour)}
	x.args = append(onSQLite(x.dir), "--rate-limit", "off", "--export-networks", "127.0.0.0/8")
	s := start(t, x.args...)
	x.create(t, s, db)
	x.captureHour(t, s)
	s.kill()
	chance := random()
	interrupted, times := int64(0), max(1, *kills/killsPerExportKill)
	for n := range times {
		interrupted += expireLeases(t, x.dir)
		if n == times/2 { // a start without the destination
			db.stop(t)
		}
		wait := time.Duration(chance.IntN(300)) * time.Millisecond
		if n%5 > 0 { // the server looks for exports two seconds after its start
			wait = time.Duration(1900+chance.IntN(1200)) * time.Millisecond
		}
		x.live(t, wait, time.Duration(chance.Int64N(int64(wait)+1)))
		if db.cmd == nil {
			db.start(t)
		}
	}
	interrupted += expireLeases(t, x.dir)
	if !*waitLeases { // otherwise they were not counted
		t.Logf("%d times an export was left in the middle of a run, or was waiting for the destination", interrupted)
		if interrupted < int64(times/2) {
			t.Error("hardly any run was interrupted: that is no test")
		}
	}
	s = start(t, x.args...)
	x.load.settle(t, s.url)
	for _, e := range x.exports {
		if !e.hour {
			s.must(t, http.MethodPost, e.path+"/pause/", exportsKey, nil, nil)
			s.must(t, http.MethodPost, e.path+"/unpause/", exportsKey, object{"backfill": true}, nil)
		}
	}
	for _, e := range x.exports {
		eventuallyWithin(t, 5*time.Minute, "everything of "+e.path+" is exported", func() bool {
			return e.idle(t, s)
		})
		x.readRuns(t, s, e)
	}
	if code := s.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	x.load.check(t)
	full := newAudit(x.load.book)
	full.check(t, openFolder(t, x.dir), events)
	full.checkNoExtraEvents(t)
	t.Logf("%d events, %d of them in the hour", len(full.stored), len(x.ofHour))
	for _, e := range x.exports {
		want := full.stored
		if e.hour {
			want = x.ofHour
		}
		e.checkRuns(t, x.hour, int64(len(want)))
		if e.table == "" {
			e.checkRows(t, want, e.inFiles(t, filepath.Join(x.dir, "exports", e.folder)))
		} else {
			e.checkRows(t, want, e.inTable(t, db))
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, w := range x.wrong {
		t.Error(w)
	}
}

// exportTest is a folder with events and exports that several servers use in turn.
type exportTest struct {
	dir     string
	args    []string
	load    *load
	exports []*killedExport
	// hour is the beginning of an hour in the past, and ofHour contains the events that were
	// captured in it before the first kill.
	hour   time.Time
	ofHour map[eventKey]int64

	mu    sync.Mutex
	wrong []string // unexpected responses
}

// killedExport is an export to a folder or to a table. Exports of the hour get repeated backfills
// for the times of that hour. The other exports have a schedule, which does not progress far in a
// short test, so they are paused and unpaused: the backfill of that covers the events since the
// pause, as the schedule does.
type killedExport struct {
	hour          bool
	folder, table string
	path          string
	created       time.Time
	runs          []killedRun
	backfills     []string
}

// killedRun is a run as the API returns it.
type killedRun struct {
	ID       string
	Status   string
	Backfill *string
	From     time.Time `json:"data_interval_start"`
	To       time.Time `json:"data_interval_end"`
	Rows     *int64    `json:"records_completed"`
}

func (x *exportTest) create(t testing.TB, s *server, db *database) {
	t.Helper()
	for _, e := range []*killedExport{{folder: "all"}, {folder: "hour", hour: true}, {table: "all_events"}, {table: "hour_events", hour: true}} {
		destination := object{"type": "Files", "config": object{"path": e.folder, "file_format": "JSONLines", "max_file_size_mb": 1}}
		if e.table != "" {
			destination = object{"type": "Postgres", "config": object{
				"user": "bunting", "password": "none is wanted", "host": "127.0.0.1", "port": db.port, "database": "postgres", "table_name": e.table, "sslmode": "disable",
			}}
		}
		var created struct {
			ID      string
			Created time.Time `json:"created_at"`
		}
		s.must(t, http.MethodPost, "/api/projects/1/batch_exports/", exportsKey,
			object{"name": e.folder + e.table, "interval": "every 5 minutes", "start_at": x.hour, "destination": destination}, &created)
		e.path, e.created = "/api/projects/1/batch_exports/"+created.ID, created.Created
		x.exports = append(x.exports, e)
	}
}

// captureHour sends the events of the hour, the first of them at its beginning.
func (x *exportTest) captureHour(t testing.TB, s *server) {
	t.Helper()
	const batches, size = 24, 500
	x.ofHour = map[eventKey]int64{}
	g := newGenerator()
	client := newHTTPClient()
	defer client.CloseIdleConnections()
	for n := range batches * size {
		if n%size > 0 {
			continue
		}
		b := &batch{}
		var items []object
		for i := n; i < n+size; i++ {
			sentAt := x.hour.Add(time.Duration(i) * time.Hour / (batches * size))
			e := object{
				"uuid": g.uuid(), "event": "opened", "distinct_id": fmt.Sprint("hour-", i%50), "timestamp": sentAt.Format(time.RFC3339Nano),
				"properties": object{"n": i, "padding": strings.Repeat("x", 600)},
			}
			items = append(items, e)
			key := keyOf(t, e["uuid"].(string), "opened", e["distinct_id"].(string))
			b.events = append(b.events, key)
			x.ofHour[key] = 1
		}
		var err error
		if b.body, err = json.Marshal(object{"api_key": apiKey, "batch": items}); err != nil {
			t.Fatal(err)
		}
		x.load.book.add(b)
		if !x.load.post(client, s.url, b) {
			t.Fatal("a batch is not answered 200")
		}
		b.body = nil
	}
}

func keyOf(t testing.TB, uuid, name, distinctID string) eventKey {
	t.Helper()
	raw, err := hex.DecodeString(strings.ReplaceAll(uuid, "-", ""))
	if err != nil || len(raw) != 16 {
		t.Fatalf("%q is no uuid", uuid)
	}
	return eventKey{[16]byte(raw), name, distinctID}
}

// live starts a server and kills it after wait. Meanwhile events arrive and exports are requested;
// the exports to be paused are paused after pause.
func (x *exportTest) live(t *testing.T, wait, pause time.Duration) {
	s := start(t, x.args...)
	killed := time.After(wait)
	var asking sync.WaitGroup
	for _, e := range x.exports {
		asking.Go(func() {
			if e.hour {
				x.askHour(s, e)
				return
			}
			time.Sleep(pause)
			if x.ask(s, http.MethodPost, e.path+"/pause/", nil, nil) {
				x.ask(s, http.MethodPost, e.path+"/unpause/", object{"backfill": true}, nil)
			}
		})
	}
	time.Sleep(max(0, wait-500*time.Millisecond))
	stop := x.load.run(s.url)
	<-killed
	s.kill()
	stop()
	asking.Wait()
}

// askHour requests a backfill of the hour whenever there is no active one, until the server has
// ended.
func (x *exportTest) askHour(s *server, e *killedExport) {
	for s.running() {
		var list struct{ Results []struct{ Status string } }
		if !x.ask(s, http.MethodGet, e.path+"/backfills/", nil, &list) {
			return
		}
		if len(list.Results) == 0 || list.Results[0].Status == "Completed" {
			x.ask(s, http.MethodPost, e.path+"/backfills/", object{"start_at": x.hour, "end_at": x.hour.Add(time.Hour)}, nil)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// ask reports whether there was a response. One without a success status is recorded in wrong.
func (x *exportTest) ask(s *server, method, path string, body, into any) bool {
	status, err := s.ask(method, path, exportsKey, body, into)
	if err != nil && status != 0 {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.wrong = append(x.wrong, err.Error())
	}
	return err == nil
}
