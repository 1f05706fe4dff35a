package serving

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/internal/values"
)

// Memory implements People, Continuity and Members in memory, for tests, examples and servers
// without a database. The zero value is empty and ready to use. It is safe for concurrent
// use.
type Memory struct {
	mu      sync.RWMutex
	persons map[memoryKey]*memoryPerson
	groups  map[memoryKey]flags.Properties
}

// memoryKey identifies a person or a group.
type memoryKey struct {
	project  int64
	kind, id string // kind is "" for persons, otherwise a group type
}

// memoryPerson is a person, who may have several distinct ids.
type memoryPerson struct {
	properties flags.Properties
	createdAt  time.Time
	cohorts    []int64
	overrides  map[string]string
}

// AddPerson adds a person with all of the ids, or adds ids, properties and cohorts to the
// person with the first id. createdAt is only used for a new person. The maps are copied, but
// not the values in them.
func (m *Memory) AddPerson(project int64, createdAt time.Time, properties flags.Properties, cohorts []int64, ids ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(ids) == 0 {
		return
	}
	if m.persons == nil {
		m.persons = map[memoryKey]*memoryPerson{}
	}
	p := m.persons[memoryKey{project, "", values.TruncateID(ids[0])}]
	if p == nil {
		p = &memoryPerson{createdAt: createdAt, properties: flags.Properties{}, overrides: map[string]string{}}
	}
	merged := maps.Clone(p.properties) // copied, since readers may still use the old map
	maps.Copy(merged, properties)
	p.properties = merged
	p.cohorts = append(slices.Clip(p.cohorts), cohorts...)
	for _, id := range ids {
		m.persons[memoryKey{project, "", values.TruncateID(id)}] = p
	}
}

// AddGroup adds a group, or replaces its properties. The map is copied, but not the values in
// it.
func (m *Memory) AddGroup(project int64, groupType, key string, properties flags.Properties) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.groups == nil {
		m.groups = map[memoryKey]flags.Properties{}
	}
	m.groups[memoryKey{project, groupType, key}] = maps.Clone(properties)
}

// Stored implements [People].
func (m *Memory) Stored(_ context.Context, q Query) (*flags.Stored, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if len(m.persons) == 0 && len(m.groups) == 0 {
		return nil, nil
	}
	out := &flags.Stored{}
	if p := m.persons[memoryKey{q.ProjectID, "", values.TruncateID(q.DistinctID)}]; p != nil {
		out.Person, out.CreatedAt, out.Cohorts = p.properties, p.createdAt, p.cohorts
	}
	for groupType, key := range q.Groups {
		if props, ok := m.groups[memoryKey{q.ProjectID, groupType, key}]; ok {
			if out.Groups == nil {
				out.Groups = map[string]flags.Properties{}
			}
			out.Groups[groupType] = props
		}
	}
	return out, nil
}

// Overrides implements [Continuity].
func (m *Memory) Overrides(_ context.Context, project int64, distinctID, anonymousID string, flagKeys []string) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]string{}
	// The person of the distinct id is last, since its identifiers have precedence.
	for _, id := range []string{anonymousID, distinctID} {
		p := m.persons[memoryKey{project, "", values.TruncateID(id)}]
		if id == "" || p == nil {
			continue
		}
		if anonymousID != "" {
			for _, key := range flagKeys {
				if _, exists := p.overrides[key]; !exists {
					p.overrides[key] = strings.Clone(anonymousID)
				}
			}
		}
		maps.Copy(out, p.overrides)
	}
	return out, nil
}

// StaticMembers implements [Members].
func (m *Memory) StaticMembers(_ context.Context, project int64, cohorts []int64, limit flags.MembersLimit) (map[int64][]string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	out := make(map[int64][]string, len(cohorts))
	for _, cohort := range cohorts {
		out[cohort] = []string{}
	}
	for k, p := range m.persons {
		for _, cohort := range slices.Compact(slices.Sorted(slices.Values(p.cohorts))) {
			if ids, requested := out[cohort]; requested && k.project == project && k.kind == "" {
				out[cohort] = append(ids, k.id)
			}
		}
	}
	return trimMembers(out, limit), nil
}

var (
	_ People     = (*Memory)(nil)
	_ Continuity = (*Memory)(nil)
	_ Members    = (*Memory)(nil)
)

// trimMembers removes all but the smallest cohorts that fit into the limit, and sorts their ids.
func trimMembers(members map[int64][]string, l flags.MembersLimit) map[int64][]string {
	bySize := slices.SortedFunc(maps.Keys(members), func(a, b int64) int {
		return cmp.Or(cmp.Compare(len(members[a]), len(members[b])), cmp.Compare(a, b))
	})
	ids, bytes := l.IDs, l.Bytes
	for i, cohort := range bySize {
		ids -= len(members[cohort])
		for _, id := range members[cohort] {
			bytes -= len(id)
		}
		if ids < 0 || bytes < 0 {
			for _, dropped := range bySize[i:] {
				delete(members, dropped)
			}
			return members
		}
		slices.Sort(members[cohort])
	}
	return members
}
