package capture

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// isNewAt reports whether a name must be written at a time.
func isNewAt(s *seenNames, now time.Time, project int64, kind SeenKind, group int, name, typ string) bool {
	return s.isNew(s.moment(now, project, kind), project, kind, group, name, typ)
}

func TestSeenNames_MarkedOnly(t *testing.T) {
	s := newSeenNames()
	n := SeenName{ProjectID: 1, Kind: SeenEventProperty, Name: "a", Type: typeString}
	for range 2 {
		if !isNewAt(s, time.Time{}, 1, SeenEventProperty, 0, "a", typeString) {
			t.Fatal("known before it was marked")
		}
	}
	s.mark(n)
	s.mark(n)
	if isNewAt(s, time.Time{}, 1, SeenEventProperty, 0, "a", typeString) {
		t.Error("not known after it was marked")
	}
	for _, other := range []struct {
		project int64
		kind    SeenKind
		group   int
		name    string
		typ     string
	}{
		{2, SeenEventProperty, 0, "a", typeString}, {1, SeenPersonProperty, 0, "a", typeString},
		{1, SeenEventProperty, 1, "a", typeString}, {1, SeenEventProperty, 0, "b", typeString},
		{1, SeenEventProperty, 0, "a", typeNumeric}, {1, SeenEventProperty, 0, "a", ""},
	} {
		if !isNewAt(s, time.Time{}, other.project, other.kind, other.group, other.name, other.typ) {
			t.Errorf("%+v is known", other)
		}
	}
	if !isNewAt(s, time.Time{}.Add(seenSpan), 1, SeenEventProperty, 0, "a", typeString) {
		t.Error("known without end: nobody could tell when it came last")
	}
	if isNewAt(s, time.Time{}, 1, SeenEvent, 0, strings.Repeat("x", 201), "") || isNewAt(s, time.Time{}, 1, SeenEvent, 0, "", "") {
		t.Error("an empty or a long name is to be written")
	}
}

// A thousand names fit, and more names than there is space for do no harm.
func TestSeenNames_Room(t *testing.T) {
	s := newSeenNames()
	add := func(from, to int) {
		for i := from; i < to; i++ {
			s.mark(SeenName{ProjectID: 1, Name: fmt.Sprint(i)})
		}
	}
	add(0, 1000)
	for i := range 1000 {
		if isNewAt(s, time.Time{}, 1, SeenEvent, 0, fmt.Sprint(i), "") {
			t.Fatalf("name %d is forgotten", i)
		}
	}
	var w sync.WaitGroup
	for range 2 {
		w.Go(func() { add(0, 200_000) })
	}
	w.Wait()
	if s.mark(SeenName{ProjectID: 1, Name: "last"}); isNewAt(s, time.Time{}, 1, SeenEvent, 0, "last", "") {
		t.Error("the last name is forgotten")
	}
}

// A name in use is written again before a store with 10,000 names removes it in favor of
// invented names, and does not count as a new name.
func TestSeenNames_InventedNames(t *testing.T) {
	s := newSeenNames()
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	send := func(name string) (written bool) {
		if written = isNewAt(s, at, 1, SeenEvent, 0, name, ""); written {
			s.mark(SeenName{ProjectID: 1, Kind: SeenEvent, Name: name, At: at})
		}
		return written
	}
	since, most := 0, 0
	for i := range 30_000 {
		send(fmt.Sprint("invented ", i))
		since++
		if send("real") {
			most, since = max(most, since), 0
		}
	}
	if most = max(most, since); most > 5000 {
		t.Errorf("a name that came all the time was written only after %d new ones", most)
	}
	// Without new names, a name is written only once in a span.
	names := 4000 // more than a turn
	for range 2 {
		for i := range names {
			send(fmt.Sprint("usual ", i))
		}
	}
	written := 0
	for range 5 {
		for i := range names {
			if send(fmt.Sprint("usual ", i)) {
				written++
			}
		}
	}
	if written > names/10 {
		t.Errorf("%d of %d names that keep coming were written again", written, names)
	}
}

func TestSeenTypes(t *testing.T) {
	for value, want := range map[string]string{
		`"x"`: typeString, `""`: typeString, "1": typeNumeric, "-1.5e3": typeNumeric, "true": typeBoolean, "false": typeBoolean,
		"null": "", "[]": "", "{}": "",
		`"2026-01-02T03:04:05Z"`: typeDateTime, `"2026-01-02 03:04"`: typeDateTime,
		`"2026-01-02"`: typeString, `"2026-01-02x03:04:05"`: typeString, `"2026-1-02T03:04:05"`: typeString,
	} {
		if got := typeOf(value); got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}

// A batch contains each name once, and no names that were written before.
func TestPrepare_Seen(t *testing.T) {
	p := testPreparer()
	p.seen.mark(SeenName{ProjectID: 1, Kind: SeenEventProperty, Name: "known", Type: typeNumeric, At: prepareTime})
	it := &Item{Name: "e", DistinctID: "u", Properties: appendMembers(nil,
		`{"known":1,"a":"x","$set":{"s":true},"$groups":{"g":1},"$browser":"C"}`)}
	var out Batch
	for range 3 {
		p.prepare(it, &out)
	}
	var got []string
	for _, s := range out.Seen {
		if s.ProjectID != 1 || !s.At.Equal(prepareTime) {
			t.Errorf("%+v", s)
		}
		got = append(got, fmt.Sprint(s.Kind, " ", s.Name, " ", s.Type))
	}
	want := []string{"0 e ", "1 a String", "1 $browser String", "2 $initial_browser String", "2 $browser String", "2 s Boolean"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
