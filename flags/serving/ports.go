package serving

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/internal/values"
)

// This file declares the interfaces through which the package uses stores and other services,
// and a simple implementation of Source.

// Source provides definitions. Its methods may be called concurrently.
type Source interface {
	// ProjectByKey returns the project with a public key. It returns ErrUnknownKey if there
	// is no such project, and another error if the lookup failed.
	ProjectByKey(ctx context.Context, apiKey string) (flags.Project, error)
	// Definitions returns the definitions of p at p.Revision or a later revision.
	Definitions(ctx context.Context, p flags.Project) (flags.Definitions, error)
}

// Query is a query for the stored facts about a subject. Needs lists the facts that are used.
type Query struct {
	ProjectID int64
	// DistinctID is empty if the subject cannot be stored, such as a visitor without cookies.
	DistinctID string
	// Groups are the groups of the request with properties that are used, by type.
	Groups map[string]string
	Needs  *flags.Needs
}

// People provides stored persons, groups and static cohorts. Its methods may be called
// concurrently.
type People interface {
	// Stored returns the stored facts, or nil without any. If it returns an error, flags that
	// could depend on the facts fail.
	Stored(ctx context.Context, q Query) (*flags.Stored, error)
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
	StaticMembers(ctx context.Context, projectID int64, cohorts []int64, limit flags.MembersLimit) (map[int64][]string, error)
}

// Locator returns the $geoip_ properties of an address, or nil if its location is unknown.
// The result is shared and must not be modified.
type Locator interface {
	Locate(ip netip.Addr) flags.Properties
}

// Usage counts requests by organization and calendar month in UTC. Its methods may be called
// concurrently.
type Usage interface {
	// Spend adds n, which may be negative, and returns the new total of the month.
	Spend(ctx context.Context, organizationID string, at time.Time, n int64) (int64, error)
}

// StaticSource returns a Source for one project with constant definitions. It is intended for
// tests, examples and services with a file of flags.
func StaticSource(apiKey string, p flags.Project, d flags.Definitions) Source {
	p.APIKey, p.Revision = apiKey, cmp.Or(p.Revision, 1) // not zero, so that the definitions are only read at the start
	return staticSource{p, d}
}

// staticSource is the Source that StaticSource returns.
type staticSource struct {
	p flags.Project
	d flags.Definitions
}

func (s staticSource) ProjectByKey(_ context.Context, apiKey string) (flags.Project, error) {
	if apiKey != s.p.APIKey {
		return flags.Project{}, fmt.Errorf("%w %s", flags.ErrUnknownKey, values.Quote(apiKey))
	}
	return s.p, nil
}

func (s staticSource) Definitions(context.Context, flags.Project) (flags.Definitions, error) {
	return s.d, nil
}
