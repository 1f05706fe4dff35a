package files_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/files"
)

// store is a store in memory. It keeps texts in upper case, so that a comparison with a
// text that was not converted fails, and logs its writes.
type store struct {
	organizations map[string]files.Organization
	projects      map[int64]files.Project
	revisions     map[int64]int
	groupTypes    map[int64][]string
	records       map[recordKey]files.Record
	members       map[recordKey][]string
	keys          map[string]files.Key
	withoutUser   map[string]bool
	locked        []int64
	writes        []string
	// calls counts calls that may fail, of which the one with the number failing fails.
	calls, failing int
}

type recordKey struct {
	kind        management.DefinitionKind
	project, id int64
}

var errStore = errors.New("the store fails")

func newStore() *store {
	return &store{
		organizations: map[string]files.Organization{}, projects: map[int64]files.Project{}, revisions: map[int64]int{},
		groupTypes: map[int64][]string{}, records: map[recordKey]files.Record{}, members: map[recordKey][]string{},
		keys: map[string]files.Key{}, withoutUser: map[string]bool{},
	}
}

// read counts a call, and write logs one, too.
func (s *store) read() error {
	if s.calls++; s.calls == s.failing {
		return errStore
	}
	return nil
}

func (s *store) write(format string, args ...any) error {
	if err := s.read(); err != nil {
		return err
	}
	s.writes = append(s.writes, fmt.Sprintf(format, args...))
	return nil
}

func (s *store) Text(text string) string { return strings.ToUpper(text) }

func (s *store) Organization(id string) (*files.Organization, error) {
	if o, ok := s.organizations[id]; ok {
		return &o, s.read()
	}
	return nil, s.read()
}

func (s *store) PutOrganization(o *files.Organization) error {
	s.organizations[o.ID] = *o
	return s.write("organization %s", o.ID)
}

func (s *store) ReleaseOrganizations(origin, except string) error {
	for id, o := range s.organizations {
		if o.Origin == origin && id != except {
			o.Origin = ""
			s.organizations[id] = o
			if err := s.write("release %s", id); err != nil {
				return err
			}
		}
	}
	return s.read()
}

func (s *store) Projects() (all []files.Project, err error) {
	for _, p := range s.projects {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b files.Project) int { return int(a.ID - b.ID) })
	return all, s.read()
}

func (s *store) Lock(ids []int64) error {
	s.locked = ids
	return s.read()
}

func (s *store) PutProject(p *files.Project, newRevision bool) error {
	if _, exists := s.projects[p.ID]; !exists || newRevision {
		s.revisions[p.ID]++
	}
	s.projects[p.ID] = *p
	return s.write("project %d", p.ID)
}

func (s *store) GroupTypes(project int64) ([]string, error) {
	return slices.Clone(s.groupTypes[project]), s.read()
}

func (s *store) AddGroupType(project int64, number int, name string) error {
	names := append(s.groupTypes[project], make([]string, max(0, number+1-len(s.groupTypes[project])))...)
	names[number], s.groupTypes[project] = name, names
	return s.write("group type %d of %d", number, project)
}

func (s *store) Records(kind management.DefinitionKind, project int64) (map[int64]files.Record, error) {
	out := map[int64]files.Record{}
	for k, r := range s.records {
		if k.kind == kind && k.project == project {
			out[k.id] = r
		}
	}
	return out, s.read()
}

func (s *store) PutRecord(kind management.DefinitionKind, project, id int64, r files.Record) error {
	s.records[recordKey{kind, project, id}] = r
	return s.write("record %d %d of %d", kind, id, project)
}

func (s *store) DeleteRecord(kind management.DefinitionKind, project, id int64) error {
	key := recordKey{kind, project, id}
	r := s.records[key]
	r.Deleted = true
	s.records[key] = r
	delete(s.members, key)
	return s.write("delete %d %d of %d", kind, id, project)
}

func (s *store) SetMembers(project, cohort int64, distinctIDs []string) (bool, error) {
	key, sorted := recordKey{management.CohortDefinition, project, cohort}, slices.Compact(slices.Sorted(slices.Values(distinctIDs)))
	if slices.Equal(sorted, s.members[key]) {
		return false, s.read()
	}
	s.members[key] = sorted
	return true, s.write("members %d of %d", cohort, project)
}

func (s *store) Keys() (all []files.Key, err error) {
	for _, k := range s.keys {
		if k.Origin != "" {
			all = append(all, k)
		}
	}
	return all, s.read()
}

func (s *store) Key(hash string) (*files.Key, error) {
	if k, ok := s.keys[hash]; ok {
		return &k, s.read()
	}
	return nil, s.read()
}

func (s *store) PutKey(k *files.Key) error {
	s.withoutUser[k.Hash] = k.WithoutUser
	s.keys[k.Hash] = *k
	return s.write("key %s", k.Mask)
}

func (s *store) DeleteKey(hash string) error {
	delete(s.keys, hash)
	return s.write("delete a key")
}
