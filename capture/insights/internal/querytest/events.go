package querytest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Store is a [port.Source] of events in memory. The zero value has no events.
//
// A distinct id is a person of its own, with the properties of its last event and the time of its
// first one.
type Store struct {
	events  []event
	persons []port.Person
	numbers map[string]uint32
	// dictionaries is the number of batches so far.
	dictionaries atomic.Uint64
	created      []capture.StoredPerson
	// Groups are the groups by the index of their type.
	Groups map[int][]capture.Group
	// Members are the members of static cohorts by the id of the cohort.
	Members map[int64][]capture.UUID
}

type event struct {
	name, distinctID     string
	at                   int64
	properties, personal string
}

// Events returns a store of a JSON list of events. Each is a list of its name, distinct id, time,
// and optionally its properties and those of its person. The order of the list is that of recording.
func Events(list string) *Store {
	var rows [][]any
	if err := wire.Decode([]byte(list), &rows); err != nil {
		panic(fmt.Sprintf("%v in the events %s", err, list))
	}
	s := &Store{numbers: map[string]uint32{}}
	for _, row := range rows {
		at, err := time.Parse(time.RFC3339Nano, row[2].(string))
		if err != nil {
			panic(err)
		}
		e := event{name: row[0].(string), distinctID: row[1].(string), at: at.UnixMicro(), properties: object(row, 3), personal: object(row, 4)}
		s.events = append(s.events, e)
		s.person(e, at)
	}
	return s
}

// object returns an element of an event as JSON, {} if it is absent.
func object(row []any, i int) string {
	if i >= len(row) || row[i] == nil {
		return "{}"
	}
	return string(wire.MustEncode(row[i]))
}

// person stores the person of an event.
func (s *Store) person(e event, at time.Time) {
	n, ok := s.numbers[e.distinctID]
	if !ok {
		n = uint32(len(s.persons))
		s.numbers[e.distinctID] = n
		id := capture.PersonID(1, e.distinctID)
		s.persons = append(s.persons, port.Person{UUID: id, Exists: true, CreatedAt: e.at})
		s.created = append(s.created, capture.StoredPerson{ID: int64(n) + 1, Person: capture.Person{UUID: id, CreatedAt: at}, DistinctIDs: []string{e.distinctID}})
	}
	s.persons[n].CreatedAt = min(s.persons[n].CreatedAt, e.at)
	s.created[n].CreatedAt = time.UnixMicro(s.persons[n].CreatedAt).UTC()
	s.created[n].Properties, _ = capture.ParseObject(e.personal)
}

// Merge assigns the events of a distinct id to the person of another one.
func (s *Store) Merge(distinctID, into string) {
	if n, ok := s.numbers[into]; ok {
		s.numbers[distinctID] = n
	}
}

// Open implements [port.Source].
func (s *Store) Open(context.Context, int64) (port.Reader, error) { return reader{s}, nil }

type reader struct{ *Store }

// Scan yields batches of three events, so that each test has several batches. Every second one has
// EventProperties instead of Properties if the scan permits that. Their strings change when yield
// returns, as those of other stores may.
func (r reader) Scan(_ context.Context, s port.Scan, yield func(*port.Batch) error) error {
	b, batches := &port.Batch{}, 0
	for i, e := range r.events {
		if selects(s, i, e) {
			r.fill(b, s.Columns, e, int64(i)+1)
			if s.EventProperties != nil && batches%2 == 1 {
				b.Properties = nil
				addValues(b, s.EventProperties, e.properties)
			}
		}
		if b.Len() == 3 || i == len(r.events)-1 && b.Len() > 0 {
			b.Dictionary = r.dictionaries.Add(1)
			overwrite := lend(b)
			err := yield(b)
			overwrite()
			if err != nil {
				return err
			}
			b, batches = &port.Batch{}, batches+1
		}
	}
	return nil
}

// lend replaces the strings of a batch by copies, which overwrite makes invalid.
func lend(b *port.Batch) (overwrite func()) {
	var lent [][]byte
	for _, column := range [...][]string{b.Name, b.DistinctID, b.Elements, b.Properties, b.PersonProperties} {
		for i, text := range column {
			bytes := []byte(text)
			lent = append(lent, bytes)
			column[i] = unsafe.String(unsafe.SliceData(bytes), len(bytes))
		}
	}
	return func() {
		for _, bytes := range lent {
			for i := range bytes {
				bytes[i] = '?'
			}
		}
	}
}

// selects reports whether a scan selects the event with an index.
func selects(s port.Scan, i int, e event) bool {
	return e.at >= s.From && e.at <= s.To && int64(i) >= s.After && (s.Names == nil || slices.Contains(s.Names, e.name)) && (s.DistinctIDs == nil || slices.Contains(s.DistinctIDs, e.distinctID))
}

func (r reader) fill(b *port.Batch, c port.Columns, e event, id int64) {
	b.Time = append(b.Time, e.at)
	put(c, port.IDs, &b.ID, id)
	put(c, port.Names, &b.Name, e.name)
	put(c, port.DistinctIDs, &b.DistinctID, e.distinctID)
	put(c, port.UUIDs, &b.UUID, capture.UUID{15: byte(id)})
	put(c, port.CreatedAt, &b.CreatedAt, e.at)
	put(c, port.People, &b.Person, r.numbers[e.distinctID])
	put(c, port.PeopleAtEvent, &b.PersonAtEvent, capture.PersonID(1, e.distinctID))
	put(c, port.Modes, &b.Mode, capture.PersonMode(0))
	put(c, port.Elements, &b.Elements, "")
	put(c, port.Properties, &b.Properties, e.properties)
	put(c, port.PersonProperties, &b.PersonProperties, e.personal)
}

// addValues appends the values of some properties of an object.
func addValues(b *port.Batch, names []string, object string) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &members); err != nil {
		panic(err)
	}
	if b.EventProperties == nil {
		b.EventProperties, b.EventPropertyOf = make([][]string, len(names)), make([][]uint16, len(names))
	}
	for i, name := range names {
		value, values := string(members[name]), &b.EventProperties[i]
		at := slices.Index(*values, value)
		if at < 0 {
			at, *values = len(*values), append(*values, value)
		}
		b.EventPropertyOf[i] = append(b.EventPropertyOf[i], uint16(at))
	}
}

// put appends the value of a column that was requested.
func put[T any](columns, column port.Columns, to *[]T, value T) {
	if columns&column != 0 {
		*to = append(*to, value)
	}
}

func (r reader) Count(_ context.Context, s port.Scan) (n int64, _ error) {
	for i, e := range r.events {
		if selects(s, i, e) {
			n++
		}
	}
	return n, nil
}

func (r reader) Position() int64 { return int64(len(r.events)) }

func (r reader) Earliest(_ context.Context, since int64) (first int64, found bool, _ error) {
	for _, e := range r.events {
		if e.at >= since && (!found || e.at < first) {
			first, found = e.at, true
		}
	}
	return first, found, nil
}

func (r reader) Person(n uint32) *port.Person { return &r.persons[n] }

func (r reader) Profiles(_ context.Context, people []capture.UUID, yield func(*capture.StoredPerson) error) error {
	for i := range r.created {
		if people == nil || slices.Contains(people, r.created[i].UUID) {
			if err := yield(&r.created[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r reader) Groups(_ context.Context, groupType int, keys []string, yield func(*capture.Group) error) error {
	for i := range r.Store.Groups[groupType] {
		if g := &r.Store.Groups[groupType][i]; keys == nil || slices.Contains(keys, g.Key) {
			if err := yield(g); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r reader) Members(_ context.Context, cohort int64) ([]capture.UUID, error) {
	return r.Store.Members[cohort], nil
}

func (r reader) Close() error { return nil }
