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
)

// This file is all that flags asks of the world.

// Project is what is known of a project besides its flags.
type Project struct {
	ID             int64
	Name           string
	APIKey         string // public: it names the project in every request
	OrganizationID string
	// Revision grows by one with every change of a flag or cohort; a registry
	// that sees another one compiles again. Zero: unknown; then the definitions are
	// read each second and compared with what they were.
	Revision int64
	// FlagLimit is the organization's quota of flag requests in a UTC calendar
	// month. Nil: no limit.
	FlagLimit *int64
	// QuotaLimited pauses resources of this project at once.
	QuotaLimited []string
	// Browser is what the project's settings tell browsers, a JSON object: what
	// they may capture, and whether a survey is shown. Nothing here reads it. Empty:
	// nothing is chosen.
	Browser string
}

// paused reports whether an operator has paused a resource of the project.
func (p *Project) paused(resource string) bool { return slices.Contains(p.QuotaLimited, resource) }

// Source stores definitions.
type Source interface {
	// ProjectByKey finds a project by its public key: ErrUnknownKey if there is
	// none, another error if that could not be found out.
	ProjectByKey(ctx context.Context, apiKey string) (Project, error)
	// Definitions are those of p.Revision or later.
	Definitions(ctx context.Context, p Project) (Definitions, error)
}

// Query asks for what is stored about a subject. Needs says what of it matters.
type Query struct {
	ProjectID int64
	// DistinctID is empty where the request is about nobody who could be stored.
	DistinctID string
	// Groups are the groups of the request whose properties matter.
	Groups map[string]string
	Needs  *Needs
}

// People knows stored persons, groups and static cohorts.
type People interface {
	// Stored returns what is known, nil for nothing. With an error the flags that
	// could depend on it are answered as failed.
	Stored(ctx context.Context, q Query) (*Stored, error)
}

// Continuity stores the identifier under which a person was first bucketed.
type Continuity interface {
	// Overrides returns the identifiers stored for a person by flag key. With an
	// anonymous id it first stores that id for both persons, for every flag of
	// flagKeys that they have none for; where both have one, that of distinctID
	// wins. Nothing is stored for ids that belong to no person (§8.6), such as an empty
	// one.
	Overrides(ctx context.Context, projectID int64, distinctID, anonymousID string, flagKeys []string) (map[string]string, error)
}

// Members knows who is in static cohorts.
type Members interface {
	// StaticMembers returns, by cohort, every distinct id of every member, sorted,
	// all as of one moment. Nobody in a cohort is an empty list. Cohorts that do not
	// fit the limit any more, the largest ones, are left out.
	StaticMembers(ctx context.Context, projectID int64, cohorts []int64, limit MembersLimit) (map[int64][]string, error)
}

// MembersLimit bounds the members of all cohorts together: the number of distinct
// ids, and their length in bytes.
type MembersLimit struct{ IDs, Bytes int }

// Locator tells where an address is: the $geoip_ properties that are known, nil
// for none. The result is shared and must not be changed.
type Locator interface {
	Locate(ip netip.Addr) Properties
}

// Usage counts requests by organization and UTC calendar month.
type Usage interface {
	// Spend adds n, which may be negative, and returns the month's new total.
	Spend(ctx context.Context, organizationID string, at time.Time, n int64) (int64, error)
}

// StaticSource is a Source of one project whose definitions do not change: for
// tests, examples and services with a flag file.
func StaticSource(apiKey string, p Project, d Definitions) Source {
	p.APIKey, p.Revision = apiKey, cmp.Or(p.Revision, 1) // known: it does not change
	return staticSource{p, d}
}

type staticSource struct {
	p Project
	d Definitions
}

func (s staticSource) ProjectByKey(_ context.Context, apiKey string) (Project, error) {
	if apiKey != s.p.APIKey {
		return Project{}, fmt.Errorf("%w %s", ErrUnknownKey, quote(apiKey))
	}
	return s.p, nil
}

func (s staticSource) Definitions(context.Context, Project) (Definitions, error) { return s.d, nil }

// Memory is People and Continuity in memory: for tests, examples, and servers
// without a database. The zero value knows nobody.
type Memory struct {
	mu      sync.RWMutex
	persons map[memoryKey]*memoryPerson
	groups  map[memoryKey]Properties
}

type memoryKey struct {
	project  int64
	kind, id string // kind is "" for persons, else a group type
}

type memoryPerson struct {
	properties Properties
	createdAt  time.Time
	cohorts    []int64
	overrides  map[string]string
}

// AddPerson makes a person known under all of the ids, or adds ids and
// properties to the person who has the first. CreatedAt is that of the first
// call. The maps are copied, the values in them are not.
func (m *Memory) AddPerson(project int64, createdAt time.Time, properties Properties, cohorts []int64, ids ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(ids) == 0 {
		return
	}
	if m.persons == nil {
		m.persons = map[memoryKey]*memoryPerson{}
	}
	p := m.persons[memoryKey{project, "", truncate(ids[0])}]
	if p == nil {
		p = &memoryPerson{createdAt: createdAt, properties: Properties{}, overrides: map[string]string{}}
	}
	merged := maps.Clone(p.properties) // readers keep the old map
	maps.Copy(merged, properties)
	p.properties = merged
	p.cohorts = append(slices.Clip(p.cohorts), cohorts...)
	for _, id := range ids {
		m.persons[memoryKey{project, "", truncate(id)}] = p
	}
}

// AddGroup makes a group known, with these properties alone. The map is copied,
// the values in it are not.
func (m *Memory) AddGroup(project int64, groupType, key string, properties Properties) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.groups == nil {
		m.groups = map[memoryKey]Properties{}
	}
	m.groups[memoryKey{project, groupType, key}] = maps.Clone(properties)
}

// Stored implements People.
func (m *Memory) Stored(_ context.Context, q Query) (*Stored, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if len(m.persons) == 0 && len(m.groups) == 0 {
		return nil, nil
	}
	out := &Stored{}
	if p := m.persons[memoryKey{q.ProjectID, "", truncate(q.DistinctID)}]; p != nil {
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

// Overrides implements Continuity.
func (m *Memory) Overrides(_ context.Context, project int64, distinctID, anonymousID string, flagKeys []string) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]string{}
	// The person of the distinct id comes last: its rows win.
	for _, id := range []string{anonymousID, distinctID} {
		p := m.persons[memoryKey{project, "", truncate(id)}]
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

// StaticMembers implements Members.
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
