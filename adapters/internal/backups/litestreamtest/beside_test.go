package litestreamtest

import (
	"path/filepath"
	"testing"
)

// folders returns a data folder and a folder for its replica.
func folders(t *testing.T) (data, replica string) {
	dir := t.TempDir()
	return filepath.Join(dir, "data"), filepath.Join(dir, "replica")
}

// While the server takes events, changes a flag and erases persons, the log starts from its beginning
// many times, and no request fails. After both have stopped, the replica has the same rows in all
// tables.
func TestReplica_EqualAfterStop(t *testing.T) {
	data, replica := folders(t)
	s := serve(t, data, "--definitions", definitions)
	l := startLitestream(t, data, replica, fast)
	work := startLoad(s, "one")
	awaitNewLogs(t, s, data, 10)
	work.stop(t)
	s.stop(t)
	l.stop(t)
	requireEqual(t, data, restore(t, replica))
}

// After both were killed, the replica has an earlier state of the database. When they are started
// after that, Litestream continues with the same replica, which then has everything.
func TestReplica_EarlierStateAfterKill(t *testing.T) {
	data, replica := folders(t)
	s := serve(t, data, "--definitions", definitions)
	l := startLitestream(t, data, replica, fast)
	work := startLoad(s, "one")
	awaitNewLogs(t, s, data, 3)
	s.kill()
	l.kill()
	if len(work.end()) == 0 {
		t.Fatal("there was no load")
	}
	restored := serve(t, restore(t, replica))
	work.checkSteps(t, restored)
	restored.stop(t)

	s = serve(t, data)
	l = startLitestream(t, data, replica, fast)
	work = startLoad(s, "two")
	awaitNewLogs(t, s, data, 3)
	work.stop(t)
	s.stop(t)
	l.stop(t)
	requireEqual(t, data, restore(t, replica))
}

// While Litestream is stopped, the server moves pages into the database and restarts the log.
// Litestream must notice when it starts that it has missed something. The log is short then, so that
// Litestream could take it for the one that it has read.
func TestReplica_EqualAfterPause(t *testing.T) {
	data, replica := folders(t)
	s := serve(t, data, "--definitions", definitions)
	l := startLitestream(t, data, replica, standard)
	capture := func(id string, events int) {
		t.Helper()
		if err := s.capture(id, 1, events); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		capture("read", 200)
	}
	l.stop(t)
	before := logStart(data)
	s.await(t, "the log starts again", func() bool {
		capture("missed", 1)
		return logStart(data) != before
	})
	l = startLitestream(t, data, replica, standard)
	capture("last", 1)
	s.stop(t)
	l.stop(t)
	requireEqual(t, data, restore(t, replica))
}
