package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// Insights is the contract test of port.Source: its results are equal to a search
// through a plain list, after merges, splits and erasures.
func Insights(t *testing.T, open func(testing.TB) InsightStore) {
	t.Run("Scan", func(t *testing.T) { scans(t, open(t)) })
	t.Run("WhatIsSeen", func(t *testing.T) { seesUntilOpen(t, open(t)) })
	t.Run("Stops", func(t *testing.T) { scanStops(t, open(t)) })
	t.Run("Profiles", func(t *testing.T) { profiles(t, open(t)) })
	t.Run("LargeProfiles", func(t *testing.T) { largeProfiles(t, open(t)) })
}

// plainStore is a list of events, with the owners of distinct ids.
type plainStore struct {
	events []capture.Record
	owner  map[string]capture.UUID
	// position is the position of a reader that saw only the events in old.
	position int64
	old      map[capture.UUID]bool
}

// scans scans random columns of random ranges, before and after changes of persons.
func scans(t *testing.T, s InsightStore) {
	random := rand.New(rand.NewPCG(3, 4))
	plain := &plainStore{owner: map[string]capture.UUID{}}
	for n := range 30 { // ids 30 to 39 have no person
		id := fmt.Sprint("id ", n)
		save(t, s, person(t, `{}`, id))
		plain.owner[id] = uuidOf(id)
	}
	plain.events = mixedEvents(random)
	inChunks(t, s, plain.events[:17_000], true)
	plain.position, plain.old = positionOf(t, s), map[capture.UUID]bool{}
	for i := range plain.events[:17_000] {
		plain.old[plain.events[i].UUID] = true
	}
	inChunks(t, s, plain.events[17_000:], false)
	ask := func(what string) {
		t.Helper()
		r, err := s.Open(context.Background(), testProject)
		must(t, err)
		for range 8 {
			scan := randomScan(random)
			if random.IntN(4) == 0 {
				scan.After = plain.position
			}
			plain.compare(t, r, scan, what)
		}
		must(t, r.Close())
	}
	ask("at first")
	save(t, s, capture.Changes{Merges: []capture.Merge{{ProjectID: testProject, From: uuidOf("id 1"), Into: uuidOf("id 2")}}})
	plain.owner["id 1"] = uuidOf("id 2")
	save(t, s, capture.Changes{IDs: []capture.ProjectID{{ProjectID: testProject, DistinctID: "id 35", Person: uuidOf("id 3")}}})
	plain.owner["id 35"] = uuidOf("id 3")
	ask("after a merge")
	commit(t, s, func(tx capture.Tx) error {
		_, err := capture.SplitPerson(tx, testProject, uuidOf("id 2"), []string{"id 1", "id 2"}, "id 2")
		return err
	})
	back, err := s.PersonForDistinctID(context.Background(), testProject, "id 1")
	must(t, err)
	if plain.owner["id 1"] = back.UUID; back.UUID == uuidOf("id 2") {
		t.Fatal("the person is not split")
	}
	ask("after a split")
	erasePerson(t, s, "id 4", false)
	delete(plain.owner, "id 4")
	ask("after an erasure that keeps events")
	save(t, s, capture.Changes{IDs: []capture.ProjectID{{ProjectID: testProject, DistinctID: "id 4", Person: uuidOf("id 6")}}})
	plain.owner["id 4"] = uuidOf("id 6")
	ask("after its id has come back")
	erasePerson(t, s, "id 5", true)
	delete(plain.owner, "id 5")
	plain.events = slices.DeleteFunc(plain.events, func(e capture.Record) bool { return e.DistinctID == "id 5" })
	ask("after an erasure")
	index(t, s)
	ask("when all is indexed")
}

// mixedEvents returns 18,000 events of 40 distinct ids, some at the same instant and some late.
func mixedEvents(random *rand.Rand) (events []capture.Record) {
	for n := range 18_000 {
		at := epoch.Add(time.Duration(n/4) * time.Second) // four at the same instant
		if n%50 == 0 {
			at = epoch.Add(-time.Duration(random.IntN(9000)) * time.Minute) // a late event
		}
		e := event(n, fmt.Sprint("name ", n%7), fmt.Sprint("id ", random.IntN(40)), at)
		if n%900 == 0 {
			e.Name = "rare"
		}
		if n%3 > 0 {
			e.PersonProperties = fmt.Sprintf(`{"v":%d}`, n%11)
		}
		switch n % 5 {
		case 0:
			e.Properties = fmt.Sprintf(`{"n":%d,"plan":"plan %d","tags":["a",%d]}`, n, n%7, n%3)
		case 1:
			e.Properties = fmt.Sprintf(`{"plan":%d}`, n%9)
		case 2:
			e.Properties = `{}`
		}
		events = append(events, e)
	}
	return events
}

// positionOf returns the position of a new reader.
func positionOf(t testing.TB, s InsightStore) int64 {
	t.Helper()
	r, err := s.Open(context.Background(), testProject)
	must(t, err)
	defer func() { must(t, r.Close()) }()
	return r.Position()
}

const allColumns = port.IDs<<1 - 1

func randomScan(random *rand.Rand) port.Scan {
	s := port.Scan{Columns: port.Columns(random.IntN(int(allColumns) + 1))}
	if random.IntN(2) == 0 {
		s.Columns = []port.Columns{0, port.Names, port.People, port.DistinctIDs, port.People | port.PeopleCreated | port.Names, port.People | port.IDs | port.Names}[random.IntN(6)]
	}
	if random.IntN(3) > 0 {
		s.From = epoch.Add(time.Duration(random.IntN(5000)-500) * time.Second).UnixMicro()
		s.To = s.From + int64(random.IntN(3000))*1e6
	}
	switch random.IntN(4) {
	case 0:
		s.Names = []string{"rare"}
	case 1:
		s.Names = []string{"name 1", "name 4", "none"}
	}
	if random.IntN(4) == 0 {
		s.DistinctIDs = []string{"id 7", "id 38", "nobody"}
	}
	if s.Columns&port.Properties != 0 || random.IntN(4) == 0 {
		s.EventProperties = [][]string{nil, {"plan"}, {"n", "plan"}, {"tags", "n"}, {"plan", "nothing"}}[random.IntN(5)]
		s.Columns |= port.Properties
	}
	if random.IntN(2) == 0 {
		s.HasSpareCPU = func() bool { return true }
	}
	if random.IntN(3) == 0 {
		s.Columns |= port.Names
		s.Detailed = [][]string{{}, {"rare"}, {"name 1", "name 2"}, {"name 4", "none"}}[random.IntN(4)]
	}
	return s
}

// checkDictionary checks that the dictionary of a batch has the values of earlier batches with its number, which are in
// dictionaries.
func checkDictionary(t testing.TB, b *port.Batch, dictionaries map[uint64]string) {
	t.Helper()
	if b.EventProperties == nil {
		return
	}
	values := fmt.Sprintf("%q", b.EventProperties)
	if before, ok := dictionaries[b.Dictionary]; b.Dictionary == 0 || ok && values != before {
		t.Errorf("the dictionary %d has the values %s, before %s", b.Dictionary, values, before)
	}
	dictionaries[b.Dictionary] = values
}

// compare checks that a reader returns the events of the list.
func (p *plainStore) compare(t testing.TB, r port.Reader, s port.Scan, what string) {
	t.Helper()
	var reserved int64
	s.Reserve = func(n int64) error { reserved += n; return nil }
	want := map[string]int{}
	for i := range p.events {
		if e := &p.events[i]; matchesScan(s, e) && (s.After == 0 || !p.old[e.UUID]) {
			want[p.line(neededScan(s, e.Name), e)]++
		}
	}
	n, ids, dictionaries := 0, map[int64]bool{}, map[uint64]string{}
	err := r.Scan(context.Background(), s, func(b *port.Batch) error {
		for _, id := range b.ID {
			ids[id] = true
		}
		checkDictionary(t, b, dictionaries)
		if b.Len() == 0 || b.Len() > 5000 {
			t.Errorf("%s: a batch of %d events", what, b.Len())
		}
		for i := range b.Len() {
			n++
			want[lineOf(s, r, neededOf(s, b, i), i)]--
		}
		return nil
	})
	must(t, err)
	if wantIDs := map[bool]int{true: n}[s.Columns&port.IDs != 0]; len(ids) != wantIDs {
		t.Errorf("%s, %+v: %d different ids of %d events", what, s, len(ids), n)
	}
	wrong := 0
	for line, missing := range want {
		if missing != 0 && wrong < 5 {
			wrong++
			t.Errorf("%s, %+v: %q is %d times too rare", what, s, line, missing)
		}
	}
	count, err := r.Count(context.Background(), s)
	must(t, err)
	if n > 0 && count < int64(n)/3 || count < 0 || count > 4*int64(len(p.events)) {
		t.Errorf("%s, %+v: about %d events are counted, there are %d", what, s, count, n)
	}
	first := slices.MinFunc(p.events, func(a, b capture.Record) int { return a.Timestamp.Compare(b.Timestamp) })
	if earliest, ok, err := r.Earliest(context.Background(), math.MinInt64); err != nil || !ok || earliest != first.Timestamp.UnixMicro() {
		t.Errorf("%s: the first event is at %d, %t, %v, want %d", what, earliest, ok, err, first.Timestamp.UnixMicro())
	}
}

func matchesScan(s port.Scan, e *capture.Record) bool {
	t := e.Timestamp.UnixMicro()
	return (s.From == 0 && s.To == 0 || s.From <= t && t <= s.To) &&
		(s.Names == nil || slices.Contains(s.Names, e.Name)) && (s.DistinctIDs == nil || slices.Contains(s.DistinctIDs, e.DistinctID))
}

// seesUntilOpen checks that a reader does not see events recorded after Open.
func seesUntilOpen(t *testing.T, s InsightStore) {
	ctx := context.Background()
	empty, err := s.Open(ctx, testProject)
	must(t, err)
	if _, found, err := empty.Earliest(ctx, 0); found || err != nil {
		t.Errorf("nothing has a first event: %v", err)
	}
	save(t, s, capture.Changes{Events: []capture.Record{event(1, "a", "u", epoch)}})
	r, err := s.Open(ctx, testProject)
	must(t, err)
	save(t, s, capture.Changes{Events: []capture.Record{event(2, "a", "u", epoch.Add(-time.Hour))}})
	index(t, s)
	for _, c := range []struct {
		of   port.Reader
		want int
	}{{empty, 0}, {r, 1}} {
		n := 0
		must(t, c.of.Scan(ctx, port.Scan{Columns: port.Properties}, func(b *port.Batch) error { n += b.Len(); return nil }))
		if n != c.want {
			t.Errorf("%d events, want %d", n, c.want)
		}
	}
	if at, found, err := r.Earliest(ctx, 0); at != epoch.UnixMicro() || !found || err != nil {
		t.Errorf("the first event is at %d, %t, %v", at, found, err)
	}
	if at, found, err := r.Earliest(ctx, epoch.UnixMicro()+1); found || err != nil {
		t.Errorf("after the only event there is one at %d, %v", at, err)
	}
}

// scanStops checks that a scan ends at an error of yield or of Reserve, and when the
// context is canceled.
func scanStops(t *testing.T, s InsightStore) {
	var all []capture.Record
	for n := range 6000 {
		all = append(all, event(n, "a", fmt.Sprint("id ", n), epoch))
	}
	save(t, s, person(t, `{}`, "id 1", "id 2"))
	inChunks(t, s, all, false)
	ctx, cancel := context.WithCancelCause(context.Background())
	r, err := s.Open(ctx, testProject)
	must(t, err)
	enough := fmt.Errorf("enough")
	if err := r.Scan(ctx, port.Scan{}, func(*port.Batch) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("yield's error: %v", err)
	}
	ignore := func(*port.Batch) error { return nil }
	if err := r.Scan(ctx, port.Scan{Columns: port.People, Reserve: func(int64) error { return enough }}, ignore); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("no memory: %v", err)
	}
	batches := 0
	err = r.Scan(ctx, port.Scan{}, func(*port.Batch) error { batches++; cancel(nil); return nil })
	if err == nil || batches != 1 {
		t.Errorf("after the end: %d batches, %v", batches, err)
	}
	// Canceled while it reads rows, a scan reads some hundred more and delivers no
	// events.
	ctx, cancel = context.WithCancelCause(context.Background())
	rests := 0
	rest := func(context.Context) { rests++; cancel(nil) }
	err = r.Scan(ctx, port.Scan{Columns: port.Properties, Pause: rest}, func(*port.Batch) error {
		t.Error("a batch after the end")
		return nil
	})
	if err == nil || rests < 1 || rests > 3 {
		t.Errorf("after the end while rows are read: %d rests, %v", rests, err)
	}
}

func profiles(t *testing.T, s InsightStore) {
	ctx := context.Background()
	for n := range 7 {
		save(t, s, person(t, fmt.Sprintf(`{"n":%d}`, n), fmt.Sprint("id ", n), fmt.Sprint("other id ", n)))
	}
	save(t, s, capture.Changes{GroupTypes: []capture.ProjectGroupType{{ProjectID: testProject, Index: 0, Name: "company"}}})
	for _, key := range []string{"a", "b"} {
		properties, err := capture.ParseObject(`{"key":"` + key + `"}`)
		must(t, err)
		save(t, s, capture.Changes{Groups: []capture.ProjectGroup{{ProjectID: testProject, Group: capture.Group{GroupID: capture.GroupID{Key: key}, CreatedAt: epoch, Properties: properties}}}})
	}
	r, err := s.Open(ctx, testProject)
	must(t, err)
	for _, c := range []struct {
		ask  []capture.UUID
		want []string
	}{
		{nil, []string{`{"n":0}`, `{"n":1}`, `{"n":2}`, `{"n":3}`, `{"n":4}`, `{"n":5}`, `{"n":6}`}},
		{[]capture.UUID{uuidOf("id 3"), uuidOf("nobody"), uuidOf("id 1")}, []string{`{"n":1}`, `{"n":3}`}},
		{[]capture.UUID{}, nil},
	} {
		var got []string
		must(t, r.Profiles(ctx, c.ask, func(p *capture.StoredPerson) error {
			if got = append(got, p.Properties.String()); len(p.DistinctIDs) != 2 {
				t.Errorf("distinct ids: %q", p.DistinctIDs)
			}
			return nil
		}))
		slices.Sort(got)
		equal(t, c.want, got, "%v", c.ask)
	}
	for _, c := range []struct{ ask, want []string }{{nil, []string{"a", "b"}}, {[]string{"b", "x"}, []string{"b"}}, {[]string{}, nil}} {
		var got []string
		must(t, r.Groups(ctx, 0, c.ask, func(g *capture.Group) error {
			got = append(got, g.Key)
			if text, _ := g.Properties.Text("key"); text != g.Key || !g.CreatedAt.Equal(epoch) {
				t.Errorf("group %+v", g)
			}
			return nil
		}))
		slices.Sort(got)
		equal(t, c.want, got, "%v", c.ask)
	}
	if members, err := r.Members(ctx, 99); err != nil || len(members) > 0 {
		t.Errorf("members of no cohort: %v, %v", members, err)
	}
}
