// Package memstore is a management.Store in memory, for the tests of the rooms. It
// promises what every store promises: adapters/storetest holds it to that.
package memstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// Store keeps everything as long as it lives. New makes one.
type Store struct {
	writing sync.Mutex
	current atomic.Pointer[state] // never changed once it is here
	outside Outside
}

// Outside is what a Tx reads that other rooms write. It must not change.
type Outside struct {
	GroupTypes map[int64]map[int]string // by project
	// Persons are the distinct ids of each person, by project.
	Persons   map[int64][][]string
	FlagCalls map[Flag][]management.FlagCall
	Spent     []management.Spent
	Usage     map[Resource][]management.DayUsage
}

// Flag names a flag of a project.
type Flag struct {
	Project int64
	Key     string
}

// Resource names what an organization uses.
type Resource struct{ Organization, Resource string }

// New makes an empty store.
func New(o Outside) *Store {
	s := &Store{outside: o}
	s.current.Store(&state{
		records: map[recordName]management.Record{}, numbers: map[string]int64{}, organizations: map[string]management.OrganizationRecord{},
		projects: map[int64]management.ProjectRecord{}, keys: map[string]management.KeyRecord{},
		definitions: map[definitionName]management.Definition{}, members: map[member]bool{}, revisions: map[int64]int64{},
	})
	return s
}

// state is all that is kept at one moment. What its values point to is never changed.
type state struct {
	records       map[recordName]management.Record
	numbers       map[string]int64 // the last one given, by name
	organizations map[string]management.OrganizationRecord
	projects      map[int64]management.ProjectRecord
	keys          map[string]management.KeyRecord // by hash
	definitions   map[definitionName]management.Definition
	members       map[member]bool
	revisions     map[int64]int64 // by project
}

type recordName struct{ kind, parent, id string }

type definitionName struct {
	kind        management.DefinitionKind
	project, id int64
}

type member struct {
	project, cohort int64
	distinctID      string
}

func (s *state) clone() *state {
	return &state{
		maps.Clone(s.records), maps.Clone(s.numbers), maps.Clone(s.organizations), maps.Clone(s.projects),
		maps.Clone(s.keys), maps.Clone(s.definitions), maps.Clone(s.members), maps.Clone(s.revisions),
	}
}

// Read implements management.Store.
func (s *Store) Read(ctx context.Context, work func(management.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return work(&tx{state: s.current.Load(), outside: &s.outside})
}

// Write implements management.Store: work writes to a copy, which becomes the store
// when it is done.
func (s *Store) Write(ctx context.Context, work func(management.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	t := &tx{state: s.current.Load().clone(), outside: &s.outside, writes: true, changed: map[int64]bool{}}
	if err := work(t); err != nil {
		return err
	}
	for id := range t.changed {
		t.revisions[id]++
	}
	s.current.Store(t.state)
	return nil
}

// tx implements management.Tx.
type tx struct {
	*state
	outside *Outside
	writes  bool
	changed map[int64]bool // projects whose definitions are others now
}

var errReadOnly = errors.New("memstore: writing in a transaction that reads")

func (t *tx) mayWrite() error {
	if !t.writes {
		return errReadOnly
	}
	return nil
}

// Next implements management.Tx.
func (t *tx) Next(name string) (int64, error) { return t.NextMany(name, 1) }

// NextMany implements management.Tx.
func (t *tx) NextMany(name string, n int64) (first int64, err error) {
	if err := t.mayWrite(); err != nil {
		return 0, err
	}
	name = clean(name)
	t.numbers[name] += n
	return t.numbers[name] - n + 1, nil
}

// clean is a text as it is kept: see management.Tx.
func clean(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
}

// object is a copy of a JSON object, an empty one for none.
func object(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return bytes.ToValidUTF8(raw, []byte("\uFFFD"))
}

// page is a stretch of a list.
func page[T any](list []T, offset, limit int) []T {
	if limit <= 0 || limit > management.MaxScan {
		limit = management.MaxScan
	}
	list = list[min(max(offset, 0), len(list)):]
	return list[:min(limit, len(list))]
}

// sinceDay reports whether a UTC day is that of a time or a later one.
func sinceDay(day, since time.Time) bool {
	return !day.Before(since.UTC().Truncate(24 * time.Hour))
}

var (
	_ management.Store = (*Store)(nil)
	_ management.Tx    = (*tx)(nil)
)
