// Package memstore is a rooms.Store in memory for the tests of the management packages. It passes
// the same contract tests as all stores: adapters/storetest.
//
// The whole content is one immutable state. A write transaction copies the maps of the state,
// changes the copy and replaces the state when it commits, so readers need no lock and a rollback
// only drops the copy. Values are copied when they are stored and when they are returned. Queries
// filter and sort all values, which is fast enough for tests.
package memstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// Store is a store in memory. It may be used concurrently: readers use an immutable state, and
// writers replace it one after the other. New returns one.
type Store struct {
	writing  sync.Mutex
	current  atomic.Pointer[state] // states are immutable once they are stored here
	external ExternalData
}

// New returns an empty store that answers queries about data of other packages from o.
func New(o ExternalData) *Store {
	s := &Store{external: o}
	s.current.Store(&state{
		records: map[recordName]management.Record{}, numbers: map[string]int64{}, organizations: map[string]management.OrganizationRecord{},
		projects: map[int64]management.ProjectRecord{}, keys: map[string]management.KeyRecord{},
		definitions: map[definitionName]management.Definition{}, members: map[member]bool{}, revisions: map[int64]int64{},
	})
	return s
}

// state is the content of the store at one moment. The values that its maps point to are never
// changed.
type state struct {
	records       map[recordName]management.Record
	numbers       map[string]int64 // the last number of each sequence, by name
	organizations map[string]management.OrganizationRecord
	projects      map[int64]management.ProjectRecord
	keys          map[string]management.KeyRecord // by hash
	definitions   map[definitionName]management.Definition
	members       map[member]bool
	revisions     map[int64]int64 // by project
}

// recordName is the key of a record.
type recordName struct{ kind, parent, id string }

// definitionName is the key of a flag or cohort. Ids are unique in a project and kind.
type definitionName struct {
	kind        management.DefinitionKind
	project, id int64
}

// member is the membership of a distinct id in a static cohort.
type member struct {
	project, cohort int64
	distinctID      string
}

// clone returns a state with maps of its own. The values are shared, since they are never changed.
func (s *state) clone() *state {
	return &state{
		maps.Clone(s.records), maps.Clone(s.numbers), maps.Clone(s.organizations), maps.Clone(s.projects),
		maps.Clone(s.keys), maps.Clone(s.definitions), maps.Clone(s.members), maps.Clone(s.revisions),
	}
}

// Read implements rooms.Store: work uses the state at its beginning, without a lock.
func (s *Store) Read(ctx context.Context, work func(rooms.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return work(&tx{state: s.current.Load(), external: &s.external})
}

// Write implements rooms.Store: work changes a copy of the state, which replaces the state if work
// returns no error.
func (s *Store) Write(ctx context.Context, work func(rooms.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	t := &tx{state: s.current.Load().clone(), external: &s.external, writes: true, changed: map[int64]bool{}}
	if err := work(t); err != nil {
		return err
	}
	for id := range t.changed {
		// The revision of a project changes with its definitions, as in all stores.
		t.revisions[id]++
	}
	s.current.Store(t.state)
	return nil
}

// tx implements rooms.Tx. In a write transaction its state is a copy that only it uses.
type tx struct {
	*state
	external *ExternalData
	writes   bool
	changed  map[int64]bool // projects with changed definitions
}

var errReadOnly = errors.New("memstore: writing in a transaction that reads")

// write runs change, or returns an error in a read-only transaction.
func (t *tx) write(change func()) error {
	if !t.writes {
		return errReadOnly
	}
	change()
	return nil
}

// lookup returns a copy of the value of a map under a name, or nil if it is absent.
func lookup[K comparable, V any](m map[K]V, name K, clone func(V) V) *V {
	v, ok := m[name]
	if !ok {
		return nil
	}
	v = clone(v)
	return &v
}

// filter returns sorted copies of the values of a map that match.
func filter[K comparable, V any](m map[K]V, match func(K, V) bool, clone func(V) V, order func(a, b V) int) (out []V) {
	for name, v := range m {
		if match(name, v) {
			out = append(out, clone(v))
		}
	}
	slices.SortFunc(out, order)
	return out
}

// firstOf returns the first element of a list, or nil if the list is empty.
func firstOf[V any](list []V) *V {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// Next implements rooms.Tx.
func (t *tx) Next(name string) (int64, error) { return t.NextMany(name, 1) }

// Now implements rooms.Tx.
func (t *tx) Now() (time.Time, error) { return time.Now(), nil }

// NextMany implements rooms.Tx. It returns the first of n consecutive numbers.
func (t *tx) NextMany(name string, n int64) (first int64, err error) {
	err = t.write(func() {
		first = t.numbers[clean(name)] + 1
		t.numbers[clean(name)] += n
	})
	return first, err
}

// clean returns the stored form of a string: see rooms.Tx.
func clean(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
}

// object returns the stored form of a JSON object; an absent one becomes {}.
func object(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return bytes.ToValidUTF8(raw, []byte("\uFFFD"))
}

// page returns a page of the elements of a list that match, and the number of all that match.
func page[V any](list []V, match func(*V) bool, offset, limit int) ([]V, int) {
	if match != nil {
		// Match is called for at most MaxScan elements, as in other stores.
		list = slices.DeleteFunc(window(list, 0, 0), func(v V) bool { return !match(&v) })
	}
	return window(list, offset, limit), len(list)
}

// window returns at most limit elements of a list from offset on.
func window[V any](list []V, offset, limit int) []V {
	// As in Query, 0 means all, and MaxScan is the limit in any case.
	if limit <= 0 || limit > management.MaxScan {
		limit = management.MaxScan
	}
	list = list[min(max(offset, 0), len(list)):]
	return list[:min(limit, len(list))]
}

var (
	_ rooms.Store = (*Store)(nil)
	_ rooms.Tx    = (*tx)(nil)
)
