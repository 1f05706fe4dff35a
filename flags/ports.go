package flags

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/flags/internal/values"
)

// This file declares the interfaces through which the package uses stores and other services,
// and simple implementations.

// paused reports whether a resource of the project is paused by an operator.
func (p *Project) paused(resource string) bool { return slices.Contains(p.QuotaLimited, resource) }

// Source provides definitions. Its methods may be called concurrently.
type Source interface {
	// ProjectByKey returns the project with a public key. It returns ErrUnknownKey if there
	// is no such project, and another error if the lookup failed.
	ProjectByKey(ctx context.Context, apiKey string) (Project, error)
	// Definitions returns the definitions of p at p.Revision or a later revision.
	Definitions(ctx context.Context, p Project) (Definitions, error)
}

// Query is a query for the stored facts about a subject. Needs lists the facts that are used.
type Query struct {
	ProjectID int64
	// DistinctID is empty if the subject cannot be stored, such as a visitor without cookies.
	DistinctID string
	// Groups are the groups of the request with properties that are used, by type.
	Groups map[string]string
	Needs  *Needs
}

// People provides stored persons, groups and static cohorts. Its methods may be called
// concurrently.
type People interface {
	// Stored returns the stored facts, or nil without any. If it returns an error, flags that
	// could depend on the facts fail.
	Stored(ctx context.Context, q Query) (*Stored, error)
}

// Continuity stores the identifier with which a person was first bucketed.
type Continuity interface {
	// Overrides returns the identifiers stored for a person by flag key. With an anonymous
	// id, it first stores that id for both persons, for every flag in flagKeys without an
	// identifier. If both persons have one, that of distinctID has precedence. It does not
	// store anything for an id that belongs to no person (§8.6), such as an empty one.
	Overrides(ctx context.Context, projectID int64, distinctID, anonymousID string, flagKeys []string) (map[string]string, error)
}

// Members provides the members of static cohorts.
type Members interface {
	// StaticMembers returns, by cohort, the distinct ids of all members, sorted and from one
	// point in time. An empty cohort has an empty list. The largest cohorts are left out if
	// they exceed the limit.
	StaticMembers(ctx context.Context, projectID int64, cohorts []int64, limit MembersLimit) (map[int64][]string, error)
}

// Locator returns the $geoip_ properties of an address, or nil if its location is unknown.
// The result is shared and must not be modified.
type Locator interface {
	Locate(ip netip.Addr) Properties
}

// Usage counts requests by organization and calendar month in UTC. Its methods may be called
// concurrently.
type Usage interface {
	// Spend adds n, which may be negative, and returns the new total of the month.
	Spend(ctx context.Context, organizationID string, at time.Time, n int64) (int64, error)
}

// StaticSource returns a Source for one project with constant definitions. It is intended for
// tests, examples and services with a file of flags.
func StaticSource(apiKey string, p Project, d Definitions) Source {
	p.APIKey, p.Revision = apiKey, cmp.Or(p.Revision, 1) // not zero, so that the definitions are only read at the start
	return staticSource{p, d}
}

// staticSource is the Source that StaticSource returns.
type staticSource struct {
	p Project
	d Definitions
}

func (s staticSource) ProjectByKey(_ context.Context, apiKey string) (Project, error) {
	if apiKey != s.p.APIKey {
		return Project{}, fmt.Errorf("%w %s", ErrUnknownKey, values.Quote(apiKey))
	}
	return s.p, nil
}

func (s staticSource) Definitions(context.Context, Project) (Definitions, error) { return s.d, nil }

// Memory implements People, Continuity and Members in memory, for tests, examples and servers
// without a database. The zero value is empty and ready to use. It is safe for concurrent
// use.
type Memory struct {
	mu      sync.RWMutex
	persons map[memoryKey]*memoryPerson
	groups  map[memoryKey]Properties
}

// memoryKey identifies a person or a group.
type memoryKey struct {
	project  int64
	kind, id string // kind is "" for persons, otherwise a group type
}

// memoryPerson is a person, who may have several distinct ids.
type memoryPerson struct {
	properties Properties
	createdAt  time.Time
	cohorts    []int64
	overrides  map[string]string
}

// AddPerson adds a person with all of the ids, or adds ids, properties and cohorts to the
// person with the first id. createdAt is only used for a new person. The maps are copied, but
// not the values in them.
func (m *Memory) AddPerson(project int64, createdAt time.Time, properties Properties, cohorts []int64, ids ...string) {
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
		p = &memoryPerson{createdAt: createdAt, properties: Properties{}, overrides: map[string]string{}}
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
func (m *Memory) AddGroup(project int64, groupType, key string, properties Properties) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.groups == nil {
		m.groups = map[memoryKey]Properties{}
	}
	m.groups[memoryKey{project, groupType, key}] = maps.Clone(properties)
}

// Stored implements [People].
func (m *Memory) Stored(_ context.Context, q Query) (*Stored, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if len(m.persons) == 0 && len(m.groups) == 0 {
		return nil, nil
	}
	out := &Stored{}
	if p := m.persons[memoryKey{q.ProjectID, "", values.TruncateID(q.DistinctID)}]; p != nil {
		out.Person, out.CreatedAt, out.Cohorts = p.properties, p.createdAt, p.cohorts
	}
	for groupType, key := range q.Groups {
		if props, ok := m.groups[memoryKey{q.ProjectID, groupType, key}]; ok {
			if out.Groups == nil {
				out.Groups = map[string]Properties{}
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
func (m *Memory) StaticMembers(_ context.Context, project int64, cohorts []int64, limit MembersLimit) (map[int64][]string, error) {
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
	return limit.trim(out), nil
}

var (
	_ People     = (*Memory)(nil)
	_ Continuity = (*Memory)(nil)
	_ Members    = (*Memory)(nil)
)
