package sqlstore

import (
	gocmp "cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management/batchexports"
)

// randomEvents returns n events, one in a hundred of project 2, the rest of project 1.
func randomEvents(random *rand.Rand, n int) (keys []capture.EventKey, events []capture.Record) {
	for i := range n {
		id, n := random.IntN(400), random.Int64()
		e := capture.Record{
			ProjectID: 1, UUID: capture.PersonID(1, fmt.Sprint("event ", n)), Name: fmt.Sprint("name ", random.IntN(5)), DistinctID: fmt.Sprint("id ", id),
			Properties: fmt.Sprintf(`{"n":%d,"plan":"plan %d","text":"%s"}`, n, n%4, strings.Repeat("x", int(n%1000))), ElementsChain: fmt.Sprint("a:", n%9),
			PersonProperties: fmt.Sprintf(`{"of":"id %d"}`, id), PersonID: capture.PersonID(1, fmt.Sprint("id ", id)),
			Timestamp: database.FromMicros(random.Int64N(30 * 86400 * 1e6)), CreatedAt: database.FromMicros(int64(i) * 1e6),
		}
		if random.IntN(100) == 0 {
			e.ProjectID = 2
		}
		keys = append(keys, capture.EventKey{ProjectID: e.ProjectID, UUID: e.UUID, Name: e.Name, DistinctID: e.DistinctID})
		events = append(events, e)
	}
	return keys, events
}

// blockScans are scans, most of which can be executed on blocks.
var blockScans = func() (out []port.Scan) {
	day := 24 * time.Hour.Microseconds()
	for _, columns := range []port.Columns{
		0, port.IDs, port.Names, port.DistinctIDs, port.PeopleAtEvent | port.IDs, port.Names | port.People,
		port.People | port.PeopleCreated, port.Names | port.DistinctIDs | port.IDs | port.People | port.PeopleAtEvent, port.Names | port.UUIDs,
		port.Properties, port.IDs | port.Names | port.People | port.Elements | port.Properties | port.PersonProperties,
	} {
		for _, s := range []port.Scan{
			{}, {From: 3 * day, To: 20 * day}, {Names: []string{"name 2"}}, {Names: []string{"name 1", "name 4", "none"}, From: day, To: 2 * day}, {Names: []string{"none"}},
			{DistinctIDs: []string{"id 5", "id 99"}}, {From: 100 * day, To: 200 * day},
		} {
			s.Columns = columns
			out = append(out, s)
		}
	}
	for _, names := range [][]string{{"plan"}, {"plan", "n", "none"}} {
		out = append(out, port.Scan{Columns: port.Properties | port.IDs, EventProperties: names}, port.Scan{Columns: port.Properties | port.Names, EventProperties: names, Names: []string{"name 3"}})
	}
	return out
}()

// scannedEvent is an event as a scan returns it.
type scannedEvent struct {
	// columns are those that the scan returned besides the time.
	columns             [9]bool
	time, id            int64
	name, distinctID    string
	uuid, personAtEvent capture.UUID
	person              port.Person
	// elements, properties and personProperties are the long columns.
	elements, properties, personProperties string
}

// scanResult is the number of events of a scan, and the sum of their hashes, which does not depend
// on their order.
type scanResult struct {
	events int
	sum    uint64
}

var scanSeed = maphash.MakeSeed()

// valueAt returns a value of a column, or the zero value if the scan did not return the column.
func valueAt[T any](column []T, i int) (value T) {
	if column != nil {
		value = column[i]
	}
	return value
}

// scansOf returns the results of scans, in order.
func scansOf(t *testing.T, s *Store, project int64, scans []port.Scan) (out []scanResult) {
	t.Helper()
	for _, scan := range scans {
		r, err := s.Open(t.Context(), project)
		if err != nil {
			t.Fatal(err)
		}
		var found scanResult
		err = r.Scan(t.Context(), scan, func(b *port.Batch) error {
			for i := range b.Len() {
				e := scannedEvent{
					columns: [9]bool{b.ID != nil, b.Name != nil, b.DistinctID != nil, b.UUID != nil, b.PersonAtEvent != nil, b.Person != nil,
						b.Elements != nil, b.Properties != nil, b.PersonProperties != nil},
					time: b.Time[i], id: valueAt(b.ID, i), name: valueAt(b.Name, i), distinctID: valueAt(b.DistinctID, i),
					uuid: valueAt(b.UUID, i), personAtEvent: valueAt(b.PersonAtEvent, i),
					elements: valueAt(b.Elements, i), properties: valueAt(b.Properties, i), personProperties: valueAt(b.PersonProperties, i),
				}
				if b.Person != nil {
					e.person = *r.Person(b.Person[i])
				}
				if scan.EventProperties != nil {
					e.columns[7], e.properties = true, propertiesOf(t, &scan, b, i)
				}
				found.events++
				found.sum += maphash.Comparable(scanSeed, e)
			}
			return nil
		})
		if err = errors.Join(err, r.Close()); err != nil {
			t.Fatalf("%+v: %v", scan, err)
		}
		out = append(out, found)
	}
	return out
}

// propertiesOf returns the values of the properties that a scan reads of an event.
func propertiesOf(t *testing.T, s *port.Scan, b *port.Batch, i int) string {
	t.Helper()
	if b.EventProperties == nil {
		return valuesOf(t, b.Properties[i], s.EventProperties)
	}
	var values []string
	for at, column := range b.EventProperties {
		values = append(values, column[b.EventPropertyOf[at][i]])
	}
	return fmt.Sprintf("%q", values)
}

// valuesOf returns the values of properties of a JSON object.
func valuesOf(t testing.TB, object string, names []string) string {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &members); err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, name := range names {
		values = append(values, string(members[name]))
	}
	return fmt.Sprintf("%q", values)
}

// indexAll calls Index until there is nothing more to do.
func indexAll(t testing.TB, s *Store) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = s.Index(t.Context(), true); err != nil {
			t.Fatal(err)
		}
	}
}

// newestFirst returns a list in the order of pages.
func newestFirst(list []capture.Record) []*capture.Record {
	newest := make([]*capture.Record, len(list))
	for i := range list {
		newest[i] = &list[i]
	}
	slices.SortFunc(newest, func(a, b *capture.Record) int {
		return gocmp.Or(b.Timestamp.Compare(a.Timestamp), gocmp.Compare(b.ID, a.ID))
	})
	return newest
}

// plainPage returns what History.Events promises: the newest events of a list, which is in the order
// of pages, that match.
func plainPage(newest []*capture.Record, project int64, q *capture.EventQuery) (ids []int64) {
	for _, e := range newest {
		after := q.After == nil || e.Timestamp.Before(q.After.Timestamp) || e.Timestamp.Equal(q.After.Timestamp) && e.ID < q.After.ID
		if len(ids) < q.Limit && e.ProjectID == project && after && (q.Name == "" || e.Name == q.Name) && (q.DistinctIDs == nil || slices.Contains(q.DistinctIDs, e.DistinctID)) &&
			(q.From.IsZero() || !e.Timestamp.Before(q.From)) && (q.To.IsZero() || e.Timestamp.Before(q.To)) {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// eventModel is a store with a plain list of its events.
type eventModel struct {
	*testing.T
	store  *Store
	random *rand.Rand
	list   []capture.Record
	erased []capture.Record // of project 1
	// owners are the persons of the distinct ids of project 1 that have one.
	owners map[string]capture.UUID
	change func(i int, e *capture.Record) // changes random events, nil for none
	checks int
}

// commit records n random events.
func (m *eventModel) commit(n int) {
	keys, events := randomEvents(m.random, n)
	for i := range events {
		if m.change != nil {
			m.change(i, &events[i])
			keys[i].ProjectID, keys[i].DistinctID = events[i].ProjectID, events[i].DistinctID
		}
	}
	err := m.store.Commit(m.Context(), []int64{1, 2}, func(tx capture.Tx) error {
		if _, err := tx.Claim(keys); err != nil {
			return err
		}
		return tx.Save(&capture.Changes{Events: events})
	})
	if err != nil {
		m.Fatal(err)
	}
	m.list = append(m.list, events...)
}

// person returns the person of a distinct id of project 1, which it stores if it is missing.
func (m *eventModel) person(id string) capture.UUID {
	m.Helper()
	if owner, ok := m.owners[id]; ok {
		return owner
	}
	person := capture.PersonID(1, id)
	if _, err := m.store.db.Write.Exec(`INSERT INTO distinct_ids (project_id, distinct_id, person_uuid) VALUES (1, $1, $2) ON CONFLICT DO NOTHING`, id, person[:]); err != nil {
		m.Fatal(err)
	}
	if m.owners == nil {
		m.owners = map[string]capture.UUID{}
	}
	m.owners[id] = person
	return person
}

// erase erases the events of the person of a distinct id of project 1.
func (m *eventModel) erase(id string) {
	person := m.person(id)
	var n int64
	err := m.store.Commit(m.Context(), []int64{1}, func(tx capture.Tx) (err error) {
		n, err = tx.EraseEvents(1, person)
		return err
	})
	before := len(m.list)
	m.list = slices.DeleteFunc(m.list, func(e capture.Record) bool {
		isErased := e.ProjectID == 1 && m.owners[e.DistinctID] == person
		if isErased {
			m.erased = append(m.erased, e)
		}
		return isErased
	})
	if err != nil || n != int64(before-len(m.list)) {
		m.Fatalf("%d events of %s are erased, %v; want %d", n, id, err, before-len(m.list))
	}
}

// merge merges the person of a distinct id of project 1 into that of another one.
func (m *eventModel) merge(id, other string) {
	from, into := m.person(id), m.person(other)
	if from == into {
		return
	}
	if err := m.store.Commit(m.Context(), []int64{1}, func(tx capture.Tx) error {
		return tx.Save(&capture.Changes{Merges: []capture.Merge{{ProjectID: 1, From: from, Into: into}}})
	}); err != nil {
		m.Fatal(err)
	}
	for id, owner := range m.owners {
		if owner == from {
			m.owners[id] = into
		}
	}
}

// retain deletes the oldest n events.
func (m *eventModel) retain(n int) {
	slices.SortFunc(m.list, func(a, b capture.Record) int { return gocmp.Compare(a.ID, b.ID) })
	if deleted, err := m.store.DeleteEventsBefore(m.Context(), database.FromMicros(1<<60), n); err != nil || deleted != int64(n) {
		m.Fatalf("%d old events are deleted, %v; want %d", deleted, err, n)
	}
	m.list = m.list[n:]
}

// check compares every way of reading with the list, and checks the blocks.
func (m *eventModel) check(when string) {
	m.Helper()
	m.compare(when)
	if faults, err := events.CheckBlocks(m.Context(), m.store.events.Source(), 10); err != nil || len(faults) > 0 {
		m.Fatalf("%s: %q, %v", when, faults, err)
	}
}

// compare compares every way of reading with the list.
func (m *eventModel) compare(when string) {
	m.Helper()
	ctx, s, random := m.Context(), m.store, m.random
	slices.SortFunc(m.list, func(a, b capture.Record) int { return gocmp.Compare(a.ID, b.ID) })
	m.awaitHorizon()
	newest := newestFirst(m.list)
	for project := int64(1); project <= 2; project++ {
		var all []longEvent
		for i := range m.list {
			if m.list[i].ProjectID == project {
				all = append(all, longOf(&m.list[i]))
			}
		}
		for range 6 {
			q := capture.EventQuery{Limit: 1 + random.IntN(150)}
			if random.IntN(2) == 0 {
				q.Name = fmt.Sprint("name ", random.IntN(6))
			}
			if random.IntN(2) == 0 {
				q.DistinctIDs = []string{fmt.Sprint("id ", random.IntN(400)), fmt.Sprint("id ", random.IntN(400)), "none"}
			}
			if random.IntN(3) == 0 {
				q.From = database.FromMicros(random.Int64N(30 * 86400 * 1e6))
				q.To = q.From.Add(time.Duration(random.IntN(100)) * time.Hour)
			}
			if random.IntN(3) == 0 {
				e := m.list[random.IntN(len(m.list))]
				q.After = &capture.EventCursor{Timestamp: e.Timestamp, ID: e.ID}
			}
			found, err := s.Events(ctx, project, q)
			var got []int64
			for i := range found {
				got = append(got, found[i].ID)
			}
			if diff := cmp.Diff(plainPage(newest, project, &q), got); diff != "" || err != nil {
				m.Fatalf("%s: page %+v of project %d: %v (-want +got)\n%s", when, q, project, err, diff)
			}
		}
		var ledger []longEvent
		for after := int64(0); ; {
			page, err := s.Ledger(ctx, project, after, 777)
			if err != nil {
				m.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			for i := range page {
				ledger = append(ledger, longOf(&page[i]))
			}
			after = page[len(page)-1].ID
		}
		if !slices.Equal(all, ledger) { // cmp.Diff would need most of the time
			m.Fatalf("%s: ledger of project %d (-want +got)\n%s", when, project, cmp.Diff(all, ledger, cmp.AllowUnexported(longEvent{})))
		}
		m.compareScans(when, project)
		m.compareEvents(when, project)
		m.compareQuestion(when, project)
	}
	if m.checks++; m.checks%4 == 1 { // it reads one event after the other
		m.compareNamed(when)
	}
	m.compareKeys(when)
	if n := countEvents(m, s); n != len(m.list) {
		m.Fatalf("%s: %d events are counted, want %d", when, n, len(m.list))
	}
}

// awaitHorizon waits until all events are final. With PostgreSQL they are not while another server, or the
// background, changes the blocks of a project, and readers that follow new events wait for that.
func (m *eventModel) awaitHorizon() {
	m.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		horizon, err := m.store.events.Horizon(m.Context())
		switch {
		case err != nil || time.Now().After(deadline):
			m.Fatalf("events up to %d are final, %v; want %d", horizon, err, m.list[len(m.list)-1].ID)
		case horizon >= m.list[len(m.list)-1].ID:
			return
		}
	}
}

// compareKeys checks that stored events are duplicates if they are sent a second time, and erased events are not.
func (m *eventModel) compareKeys(when string) {
	m.Helper()
	var sent []capture.Record
	stored := 0
	for range 20 {
		if e := m.list[m.random.IntN(len(m.list))]; e.ProjectID == 1 && !slices.ContainsFunc(sent, func(s capture.Record) bool { return s.ID == e.ID }) {
			sent = append(sent, e)
			stored++
		}
	}
	sent = append(sent, m.erased[:min(len(m.erased), 20)]...)
	m.random.Shuffle(len(sent), func(i, k int) { sent[i], sent[k] = sent[k], sent[i] })
	if n := countStored(m, m.store, keysOf(sent)); n != stored {
		m.Fatalf("%s: %d events are duplicates when they are sent a second time, want %d of %d", when, n, stored, len(sent))
	}
}

// compareNamed compares the events of all projects with a name with the list.
func (m *eventModel) compareNamed(when string) {
	m.Helper()
	var named []int64
	for i := range m.list {
		if m.list[i].Name == "name 3" {
			named = append(named, m.list[i].ID)
		}
	}
	followed, _ := followLog(m, managementStore{Store: m.store}, "name 3", 0, 5000)
	if diff := cmp.Diff(named, followed); diff != "" {
		m.Fatalf("%s: events with a name (-want +got)\n%s", when, diff)
	}
}

// longEvent is an event with its long columns.
type longEvent struct {
	id                                     int64
	elements, properties, personProperties string
}

func longOf(e *capture.Record) longEvent {
	return longEvent{e.ID, e.ElementsChain, e.Properties, e.PersonProperties}
}

// plainScan returns what port.Reader.Scan promises: the requested columns of the events of a list
// that match.
func plainScan(t testing.TB, list []capture.Record, project int64, owners map[string]capture.UUID, s port.Scan) (found scanResult) {
	t.Helper()
	for i := range list {
		r := &list[i]
		at := database.Micros(r.Timestamp)
		if r.ProjectID != project || r.ID <= s.After || (s.From != 0 || s.To != 0) && (at < s.From || at > s.To) ||
			s.Names != nil && !slices.Contains(s.Names, r.Name) || s.DistinctIDs != nil && !slices.Contains(s.DistinctIDs, r.DistinctID) {
			continue
		}
		e := plainEvent(r, s.Columns, owners)
		if s.EventProperties != nil {
			e.properties = valuesOf(t, r.Properties, s.EventProperties)
		}
		found.events++
		found.sum += maphash.Comparable(scanSeed, e)
	}
	return found
}

// ownerOf returns the person of an event: of its distinct id now, or of the event when it was stored.
func ownerOf(r *capture.Record, owners map[string]capture.UUID) capture.UUID {
	if owner, ok := owners[r.DistinctID]; ok && r.ProjectID == 1 {
		return owner
	}
	return r.PersonID
}

// plainEvent returns the requested columns of an event. owners are the persons of distinct ids of project 1.
func plainEvent(r *capture.Record, columns port.Columns, owners map[string]capture.UUID) scannedEvent {
	has := func(column port.Columns) bool { return columns&column != 0 }
	e := scannedEvent{
		columns: [9]bool{has(port.IDs), has(port.Names), has(port.DistinctIDs), has(port.UUIDs), has(port.PeopleAtEvent), has(port.People),
			has(port.Elements), has(port.Properties), has(port.PersonProperties)},
		time: database.Micros(r.Timestamp),
	}
	if has(port.IDs) {
		e.id = r.ID
	}
	if has(port.UUIDs) {
		e.uuid = r.UUID
	}
	if has(port.PeopleAtEvent) {
		e.personAtEvent = r.PersonID
	}
	if has(port.People) {
		e.person = port.Person{UUID: ownerOf(r, owners)}
	}
	for _, text := range [...]struct {
		column port.Columns
		to     *string
		value  string
	}{
		{port.Names, &e.name, r.Name}, {port.DistinctIDs, &e.distinctID, r.DistinctID}, {port.Elements, &e.elements, r.ElementsChain},
		{port.Properties, &e.properties, r.Properties}, {port.PersonProperties, &e.personProperties, r.PersonProperties},
	} {
		if has(text.column) {
			*text.to = text.value
		}
	}
	return e
}

// compareScans compares scans with the list. Some of all scans are enough: over time every scan is
// used.
func (m *eventModel) compareScans(when string, project int64) {
	m.Helper()
	var scans []port.Scan
	for range 8 {
		scan := blockScans[m.random.IntN(len(blockScans))]
		if m.random.IntN(3) == 0 {
			scan.After = m.list[m.random.IntN(len(m.list))].ID
		}
		if m.random.IntN(2) == 0 {
			scan.HasSpareCPU = func() bool { return true }
		}
		scans = append(scans, scan)
	}
	for i, got := range scansOf(m.T, m.store, project, scans) {
		if want := plainScan(m, m.list, project, m.owners, scans[i]); want != got {
			m.Fatalf("%s, project %d, %+v: %d events, want %d", when, project, scans[i], got.events, want.events)
		}
	}
}

// question is the query of compareQuestion, which computes its result from the list.
const question = `{"kind":"HogQLQuery","query":"select event, count(), uniq(person_id), countIf(properties.plan = 'plan 3'), min(timestamp) from events group by event order by event"}`

// compareQuestion compares the result of a query with one that is computed from the list.
func (m *eventModel) compareQuestion(when string, project int64) {
	m.Helper()
	type line struct {
		events, paying int64
		people         map[capture.UUID]bool
		first          time.Time
	}
	lines := map[string]*line{}
	for i := range m.list {
		r := &m.list[i]
		if r.ProjectID != project {
			continue
		}
		l := lines[r.Name]
		if l == nil {
			l = &line{people: map[capture.UUID]bool{}, first: r.Timestamp}
			lines[r.Name] = l
		}
		l.events++
		l.people[ownerOf(r, m.owners)] = true
		if strings.Contains(r.Properties, `"plan 3"`) {
			l.paying++
		}
		if r.Timestamp.Before(l.first) {
			l.first = r.Timestamp
		}
	}
	want := [][]any{}
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		l := lines[name]
		want = append(want, []any{name, l.events, len(l.people), l.paying, l.first.Format("2006-01-02T15:04:05.000000Z")})
	}
	q, err := insights.Parse(json.RawMessage(question), &port.Project{ID: project})
	if err != nil {
		m.Fatal(err)
	}
	got, err := q.Run(m.Context(), m.store, port.Options{Now: database.FromMicros(60 * 86400 * 1e6)})
	if err != nil {
		m.Fatal(err)
	}
	if want, got := string(wire.MustEncode(want)), string(wire.MustEncode(got.Results)); want != got {
		m.Fatalf("%s, project %d: the query has the result\n%s, want\n%s", when, project, got, want)
	}
}

// compareEvents compares single events, the newest ones and exports with the list.
func (m *eventModel) compareEvents(when string, project int64) {
	m.Helper()
	ctx, s := m.Context(), m.store
	var list []capture.Record
	for i := range m.list {
		if m.list[i].ProjectID == project {
			list = append(list, m.list[i])
		}
	}
	for range min(len(list), 5) {
		want := list[m.random.IntN(len(list))]
		got, err := s.Event(ctx, project, want.UUID)
		if diff := cmp.Diff(&want, got); diff != "" || err != nil {
			m.Fatalf("%s: event %d: %v (-want +got)\n%s", when, want.ID, err, diff)
		}
		if got, err := s.Event(ctx, 3-project, want.UUID); got != nil || err != nil {
			m.Fatalf("%s: event %d in another project: %v, %v", when, want.ID, got, err)
		}
	}
	after, limit := int64(0), 1+m.random.IntN(300)
	if len(list) > 0 {
		after = list[m.random.IntN(len(list))].ID
	}
	want := slices.DeleteFunc(slices.Clone(list), func(e capture.Record) bool { return e.ID <= after })
	newest := append([]capture.Record(nil), want[max(len(want)-limit, 0):]...) // nil if there are none
	recent, err := s.Recent(ctx, project, after, limit)
	if diff := cmp.Diff(newest, recent.Events); diff != "" || err != nil || len(newest) > 0 && recent.Remaining != int64(len(want)-len(newest)) {
		m.Fatalf("%s: the newest after %d, of which %d remain: %v (-want +got)\n%s", when, after, recent.Remaining, err, diff)
	}
	span := batchexports.Span{After: after, UpTo: math.MaxInt64}
	if m.random.IntN(2) == 0 {
		span.From = database.FromMicros(m.random.Int64N(30 * 86400 * 1e6))
		span.To = span.From.Add(48 * time.Hour)
	}
	var exported, listed []longEvent
	for i := range want {
		if at := want[i].Timestamp; span.From.IsZero() || !at.Before(span.From) && at.Before(span.To) {
			listed = append(listed, longOf(&want[i]))
		}
	}
	err = s.Exports().Events(ctx, project, span, func(e *batchexports.Event) error {
		exported = append(exported, longEvent{e.ID, e.ElementsChain, e.Properties, e.PersonProperties})
		return nil
	})
	if !slices.Equal(listed, exported) || err != nil {
		m.Fatalf("%s: %d events of the span %+v are exported, %v; want %d", when, len(exported), span, err, len(listed))
	}
}

// sealSteps calls Seal several times, until there is nothing to do, and returns how often segments were
// merged.
func sealSteps(t *testing.T, s *Store, n int) (merges int) {
	t.Helper()
	for more := true; more && n > 0; n-- {
		before := countRows(t, s, "event_segments")
		var err error
		if more, err = s.events.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		if countRows(t, s, "event_segments") < before {
			merges++
		}
	}
	return merges
}

// modelStore is a store of TestBlocks_Model, which can be closed and opened.
type modelStore struct {
	*eventModel
	// address is that of the database, and folder that of the segments, empty without segments.
	address, folder string
	now             time.Time
	// merges is the number of merges of segments, mergedBlocks of steps after which there are merged blocks.
	merges, mergedBlocks int
}

func (m *modelStore) open() {
	m.Helper()
	if m.folder == "" {
		m.store = openOlder(m, m.address)
	} else {
		m.store = openSealing(m, m.address, m.folder, events.Sealing{MinBlocks: 3, Any: true, After: time.Hour, MergeFrom: 3, Now: func() time.Time { return m.now }})
	}
	m.store.events.BlockEvents = 2048 // so that blocks are merged
}

// crash opens the store as it is after its process was killed: on SQLite a copy of its files, and on
// PostgreSQL the database after the connections have ended.
func (m *modelStore) crash() {
	m.Helper()
	old := m.store
	if path, isFile := strings.CutPrefix(m.address, "sqlite:"); isFile {
		folder := m.TempDir()
		m.address = "sqlite:" + filepath.Join(folder, "store.db")
		for _, suffix := range []string{"-wal", ""} { // the log first: a checkpoint may write it into the file meanwhile
			content, err := os.ReadFile(path + suffix)
			if err == nil {
				err = os.WriteFile(filepath.Join(folder, "store.db"+suffix), content, 0o600)
			}
			if err != nil {
				m.Fatal(err)
			}
		}
		if m.folder != "" {
			if err := os.CopyFS(filepath.Join(folder, "events"), os.DirFS(m.folder)); err != nil {
				m.Fatal(err)
			}
			m.folder = filepath.Join(folder, "events")
		}
	} else if _, err := old.db.Read.Exec(`SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`); err != nil {
		m.Fatal(err)
	}
	_ = old.Close() // its connections may have ended
	m.open()
}

// reopen closes and opens the store.
func (m *modelStore) reopen() {
	m.Helper()
	if err := m.store.Close(); err != nil {
		m.Fatal(err)
	}
	m.open()
}

func (m *modelStore) anyID() string { return fmt.Sprint("id ", m.random.IntN(400)) }

// modelSteps are what may happen to a store.
var modelSteps = []struct {
	name string
	do   func(m *modelStore)
}{
	{"many events", func(m *modelStore) { m.commit(2500) }},
	{"events", func(m *modelStore) { m.commit(64 + m.random.IntN(400)) }},
	{"small blocks", func(m *modelStore) { // eight of them are merged
		for range 9 {
			m.commit(64 + m.random.IntN(10))
			indexAll(m, m.store)
		}
	}},
	{"few events", func(m *modelStore) {
		for range 1 + m.random.IntN(20) {
			m.commit(1 + m.random.IntN(2))
		}
	}},
	{"an erasure", func(m *modelStore) { m.erase(m.anyID()) }},
	{"another erasure", func(m *modelStore) { m.erase(m.anyID()) }},
	{"merges of persons", func(m *modelStore) {
		for range 1 + m.random.IntN(30) {
			m.merge(m.anyID(), m.anyID())
		}
	}},
	{"sealing or retention", func(m *modelStore) {
		if m.folder != "" {
			m.merges += sealSteps(m.T, m.store, math.MaxInt)
			return
		}
		m.retain(m.random.IntN(len(m.list) / 3))
	}},
	{"a stop", (*modelStore).reopen},
	{"a crash", (*modelStore).crash},
}

// Whatever happens to a store, every way of reading equals a plain list: commits, also of late
// events, blocks that are built and merged, events that are sealed because they are many or old,
// segments that are merged, persons who are merged, erasures, retention, a server that is restarted, and
// a server that is killed.
func TestBlocks_Model(t *testing.T) {
	const times = 2 // of each step
	file := func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "store.db") }
	for name, address := range map[string]func(testing.TB) string{"sqlite": file, "segments": file, "postgres": postgresURL, "postgres with segments": postgresURL} {
		t.Run(name, func(t *testing.T) {
			m := &modelStore{eventModel: &eventModel{T: t, random: rand.New(rand.NewPCG(3, 4))}, address: address(t), now: time.Unix(0, 0)}
			seals := strings.HasSuffix(name, "segments")
			if seals {
				m.folder = t.TempDir()
				m.change = func(_ int, e *capture.Record) { e.CreatedAt = m.now.UTC() }
			}
			m.open()
			m.commit(100)
			for range times {
				for _, at := range m.random.Perm(len(modelSteps)) {
					modelSteps[at].do(m)
					m.afterStep()
					m.check("after " + modelSteps[at].name)
				}
			}
			if m.mergedBlocks == 0 {
				t.Error("no blocks were merged")
			}
			if seals {
				m.checkAllSealed()
			}
		})
	}
}

// afterStep builds blocks in most cases, and does some steps of sealing.
func (m *modelStore) afterStep() {
	m.Helper()
	if m.random.IntN(4) > 0 {
		indexAll(m.T, m.store)
	}
	var merged bool
	if err := m.store.db.Read.QueryRow(`SELECT EXISTS (SELECT 1 FROM event_blocks WHERE level BETWEEN 1 AND 15)`).Scan(&merged); err != nil {
		m.Fatal(err)
	}
	if merged {
		m.mergedBlocks++
	}
	if m.folder != "" {
		m.now = m.now.Add(time.Duration(m.random.IntN(20)) * time.Minute)
		m.merges += sealSteps(m.T, m.store, m.random.IntN(6))
	}
}

// checkAllSealed seals all events, and checks that no unneeded rows and files are left.
func (m *modelStore) checkAllSealed() {
	m.Helper()
	if m.merges == 0 {
		m.Error("no segments were merged")
	}
	indexAll(m.T, m.store)
	m.now = m.now.Add(time.Hour)
	for range 2 { // the second time removes the files that were replaced
		sealAll(m, m.store)
	}
	if n := countRows(m, m.store, "event_chunks"); n > 0 {
		m.Errorf("%d chunks of events that are an hour old are in no segment", n)
	}
	if diff := cmp.Diff(sealedNames(m, m.store), segmentFiles(m, m.folder)); diff != "" {
		m.Errorf("files (-listed +found)\n%s", diff)
	}
	checkDeleted(m, m.store)
	m.check("all sealed")
}

// sameHash returns two distinct ids with the same hash in blocks.
func sameHash(t *testing.T) [2]string {
	t.Helper()
	seen := map[uint32]string{}
	for i := range 1 << 20 { // among 77,000 values of 32 bits, two are usually equal
		id := fmt.Sprint("id ", i)
		hash := uint32(block.DistinctIDValue(id))
		if other, ok := seen[hash]; ok {
			return [2]string{other, id}
		}
		seen[hash] = id
	}
	t.Fatal("no two distinct ids have the same hash")
	return [2]string{}
}

// A page of the events of a distinct id has no events of another one whose hash is the same.
func TestBlocks_SameHash(t *testing.T) {
	for name, open := range allStores {
		t.Run(name, func(t *testing.T) {
			m, ids := &eventModel{T: t, random: rand.New(rand.NewPCG(15, 16)), store: open(t)}, sameHash(t)
			m.change = func(i int, e *capture.Record) { e.ProjectID, e.DistinctID = 1, ids[i/3%2] }
			m.commit(200)
			indexAll(t, m.store)
			for _, limit := range []int{1, 50, 1000} {
				for _, list := range [][]string{ids[:1], ids[1:], ids[:]} {
					q := capture.EventQuery{Limit: limit, DistinctIDs: list}
					found, err := m.store.Events(t.Context(), 1, q)
					var got []int64
					for i := range found {
						got = append(got, found[i].ID)
					}
					if diff := cmp.Diff(plainPage(newestFirst(m.list), 1, &q), got); diff != "" || err != nil {
						t.Errorf("%d events of %q: %v (-want +got)\n%s", limit, list, err, diff)
					}
				}
			}
		})
	}
}

// A block of events that is damaged is an error that names it; its events are not left out.
func TestBlocks_Damaged(t *testing.T) {
	s := sqliteStores["disk"](t)
	m := &eventModel{T: t, random: rand.New(rand.NewPCG(5, 6)), store: s}
	m.commit(500)
	indexAll(t, s)
	if _, err := s.db.Write.Exec(`UPDATE event_columns SET names = x'01' || substr(names, 2)`); err != nil {
		t.Fatal(err)
	}
	const want = "the block of the events 1 to "
	if _, err := s.Events(t.Context(), 1, capture.EventQuery{Limit: 10}); !errors.Is(err, block.ErrDamaged) || !strings.Contains(err.Error(), want) {
		t.Errorf("a page: %v", err)
	}
	r, err := s.Open(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Scan(t.Context(), port.Scan{}, func(*port.Batch) error { return nil }); !errors.Is(err, block.ErrDamaged) || !strings.Contains(err.Error(), want) {
		t.Errorf("a scan: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	e, err := Examine(t.Context(), "sqlite:"+s.db.File, "", false)
	if err != nil || len(e.Faults) == 0 || !strings.Contains(e.Faults[0], want) {
		t.Errorf("%q, %v", e.Faults, err)
	}
}

// A store of an earlier schema answers as before: at first without blocks, then with them.
func TestBlocks_OlderStore(t *testing.T) {
	for name, older := range map[string]struct {
		schema  int64
		address string
	}{
		"sqlite 13":   {13, "sqlite:" + filepath.Join(t.TempDir(), "13.db")},
		"sqlite 14":   {14, "sqlite:" + filepath.Join(t.TempDir(), "14.db")},
		"postgres 13": {13, pgtest.Postgres(t)},
		"postgres 14": {14, pgtest.Postgres(t)},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(7, 8))
			_, list := randomEvents(random, 5000)
			writeOlder(t, older.address, older.schema, list, nil)
			m := &eventModel{T: t, random: random, store: openStore(t, older.address), list: list}
			m.store.events.BlockEvents = 2048
			m.check("before")
			indexAll(t, m.store)
			m.check("after")
			m.commit(100)
			m.check("more")
			for deadline := time.Now().Add(time.Minute); m.store.events.IsConverting(); time.Sleep(time.Millisecond) { // in the background
				if time.Now().After(deadline) {
					t.Fatal("the duplicate keys are not converted")
				}
			}
			m.check("converted")
			if n := countRows(t, m.store, "event_blocks"); n < 3 {
				t.Errorf("%d blocks", n)
			}
		})
	}
}

// A server that hangs while it holds the lock of a project does not stop other servers from
// recording events of other projects: Index gives up, and continues later.
func TestBlocks_LockIsHeld(t *testing.T) {
	stores := openSeveral(t, postgresURL(t), 2)
	m := &eventModel{T: t, random: rand.New(rand.NewPCG(9, 10)), store: stores[0]}
	m.commit(500)
	if _, err := stores[0].events.Horizon(t.Context()); err != nil { // now all events are final
		t.Fatal(err)
	}
	err := stores[1].Commit(t.Context(), []int64{1}, func(capture.Tx) error {
		if _, err := stores[0].Index(t.Context(), true); err == nil {
			t.Error("Index did not need the lock of project 1")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	m.check("given up")
	if n := countRows(t, stores[0], "event_blocks"); n != 0 {
		t.Errorf("%d blocks", n)
	}
	indexAll(t, stores[0])
	m.check("continued")
	if n := countRows(t, stores[0], "event_blocks"); n == 0 {
		t.Error("there are no blocks")
	}
}

// Servers that commit, erase, delete and build blocks at the same time leave blocks that have
// exactly the events that are stored.
func TestBlocks_SeveralServers(t *testing.T) {
	stores := openSeveral(t, postgresURL(t), 3)
	pgtest.Concurrently(t, len(stores), func(i int) error {
		s, random := stores[i], rand.New(rand.NewPCG(11, uint64(i)))
		for range 15 {
			keys, events := randomEvents(random, 64+random.IntN(300))
			err := s.Commit(t.Context(), []int64{1, 2}, func(tx capture.Tx) error {
				if _, err := tx.Claim(keys); err != nil {
					return err
				}
				return tx.Save(&capture.Changes{Events: events})
			})
			if err != nil {
				return err
			}
			if _, err := s.Index(t.Context(), true); err != nil && !strings.Contains(err.Error(), "lock timeout") {
				return err
			}
			id := fmt.Sprint("id ", random.IntN(400))
			person := capture.PersonID(1, id)
			if _, err := s.db.Write.Exec(`INSERT INTO distinct_ids (project_id, distinct_id, person_uuid) VALUES (1, $1, $2) ON CONFLICT DO NOTHING`, id, person[:]); err != nil {
				return err
			}
			err = s.Commit(t.Context(), []int64{1}, func(tx capture.Tx) error { _, err := tx.EraseEvents(1, person); return err })
			if err != nil {
				return err
			}
			if _, err := s.DeleteEventsBefore(t.Context(), database.FromMicros(1<<60), random.IntN(60)); err != nil {
				return err
			}
		}
		return nil
	})
	indexAll(t, stores[0])
	faults, err := events.CheckBlocks(t.Context(), stores[0].events.Source(), 10)
	if err != nil || len(faults) > 0 || countRows(t, stores[0], "event_blocks") == 0 {
		t.Fatalf("%q, %v", faults, err)
	}
	m := &eventModel{T: t, random: rand.New(rand.NewPCG(13, 14)), store: stores[0], list: storedEvents(t, stores[0], 1, 2)}
	m.check("afterwards")
}
