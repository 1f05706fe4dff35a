package client

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

// A server that stops responding in the middle of an import may be restarting: it is tried ten
// times, as in an export. One that has never responded is tried for three seconds.
func TestImport_ServerRestarts(t *testing.T) {
	t.Parallel()
	for _, responded := range []bool{true, false} {
		s := newAPIServer(t)
		c, pauses := testClient(t, s)
		c.retriesSilence = true
		i := &importer{client: c, projectKey: "phc_good", progress: cli.NewProgress(clitest.NewOutput())}
		items := []importItem{{text: []byte(`{"event":"e","distinct_id":"d"}`), line: 1}}
		if responded {
			if err := i.send(context.Background(), items); err != nil || len(s.events) != 1 {
				t.Fatalf("%v, %d events", err, len(s.events))
			}
		}
		s.Close()
		want := apiTries - 1
		if !responded {
			want = 3 // half a second, one second, and the rest of three
		}
		if err := i.send(context.Background(), items); err == nil || len(*pauses) != want {
			t.Errorf("responded %v: %v after %d pauses, want %d", responded, err, len(*pauses), want)
		}
	}
}

// Of the lines that are left out, a hundred are listed; all are counted.
func TestImport_ManyOmitted(t *testing.T) {
	t.Parallel()
	for _, n := range []int{maxComplaints, maxComplaints + 1, maxComplaints + 50} {
		s := newAPIServer(t)
		r := importFrom(s, strings.Repeat("{}\n", n), "-")
		r.Want(t, cli.ExitError, "", fmt.Sprintf("%d left out", n))
		listed, more := strings.Count(r.Stderr, `has no "event"`), strings.Contains(r.Stderr, "more lines like these are counted but not listed")
		if listed != maxComplaints || more != (n > maxComplaints) {
			t.Errorf("of %d, %d are listed, more: %v", n, listed, more)
		}
	}
}

// The limits of one request: a kind, a number of records, and a size that counts the comma after
// each record. A single record always fits.
func TestImport_BatchLimits(t *testing.T) {
	t.Parallel()
	filled := func(kind importKind, n, size int) *importBatch {
		b := &importBatch{}
		for i := range n {
			b.add(kind, make([]byte, size), i+1)
		}
		return b
	}
	for name, c := range map[string]struct {
		batch *importBatch
		kind  importKind
		size  int
		want  bool
	}{
		"a record of any size":   {filled(importEvent, 0, 0), importEvent, 2 * maxBatchBytes, true},
		"another kind":           {filled(importEvent, 1, 1), importPerson, 1, false},
		"the kind after a flush": {&importBatch{kind: importEvent}, importPerson, 1, true},
		"the last event":         {filled(importEvent, maxBatchEvents-1, 1), importEvent, 1, true},
		"one event too many":     {filled(importEvent, maxBatchEvents, 1), importEvent, 1, false},
		"the last person":        {filled(importPerson, maxBatchPeople-1, 1), importPerson, 1, true},
		"one person too many":    {filled(importPerson, maxBatchPeople, 1), importPerson, 1, false},
		"the last byte":          {filled(importEvent, 1, 99), importEvent, maxBatchBytes - 101, true},
		"one byte too many":      {filled(importEvent, 1, 99), importEvent, maxBatchBytes - 100, false},
	} {
		if got := c.batch.canFit(c.kind, c.size); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
