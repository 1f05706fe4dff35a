package serving

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Config configures a [Decider]. Only Source is required.
type Config struct {
	Source Source
	// LastGood provides the definitions of a project if Source fails and there are no earlier
	// definitions in memory. As soon as Source recovers, its definitions replace them. If
	// nil, such a project is unavailable.
	LastGood Source
	// People returns stored properties and cohorts. If nil, there are no stored properties.
	People People
	// Continuity stores identifiers across identify. If nil, they are not stored.
	Continuity Continuity
	// Locator locates IP addresses. If nil, addresses are not located.
	Locator Locator
	// Members returns the members of static cohorts. If nil, payloads do not include them.
	Members Members
	// Usage counts requests. If nil, they are counted in memory and the count starts at zero.
	Usage Usage
	// Lot is the number of requests that are claimed from Usage at a time. The default, for
	// zero and negative values, is 100.
	Lot int64
	// Now returns the current time. The default is time.Now.
	Now func() time.Time
}

// Decider answers flag requests: it finds the project, reads the facts that its flags need
// from the ports, and evaluates the flags. It is safe for concurrent use. The methods of a
// nil Decider, and of one that [NewDecider] did not make, return ErrNotReady, which also is
// ErrUnavailable.
type Decider struct {
	config   Config
	registry *registry
	quota    *quota
	members  *memberRegistry // nil if the configuration has no Members
	stats    counters
}

// NewDecider returns a Decider. It returns an error if c has no Source.
func NewDecider(c Config) (*Decider, error) {
	if c.Source == nil {
		return nil, errors.New("flags: a Decider needs a Source")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	d := &Decider{config: c, quota: newQuota(c.Usage, c.Lot)}
	d.registry = newRegistry(c.Source, c.LastGood, &d.stats)
	if c.Members != nil {
		d.members = newMemberRegistry(c.Members, c.Now, &d.stats)
	}
	return d, nil
}

// Request is a request for flags. The Decider does not modify it.
type Request struct {
	// APIKey is the public key of the project.
	APIKey string
	// Subject is the subject as the request describes it. The Decider fills in Stored and
	// Located in a copy.
	Subject flags.Subject
	// NoDistinctID means that the request has no distinct id, which is ErrNoDistinctID unless
	// DisableFlags is set. (An empty distinct id is a distinct id.)
	NoDistinctID bool
	// IP is the address to locate; the zero value means no address. IPFromHeader means that a
	// header contained the address, so that its location has precedence over stored
	// properties.
	IP           netip.Addr
	IPFromHeader bool
	// GeoIPDisable turns off the location of the address.
	GeoIPDisable bool
	// DisableFlags turns off evaluation: no flag is evaluated and no request is counted.
	DisableFlags bool
	// Selection selects the flags to evaluate. If its Runtime is empty, flags restricted to
	// servers or to clients are left out.
	Selection flags.Selection
	// At is the time that Explain evaluates for, with the properties stored now. If zero, it
	// is the current time.
	At time.Time
	// Set replaces the project's flags in Explain. If nil, the project's flags are used.
	Set *flags.Set
}

// Answer is the response to a [Request]. The zero value is ready to use. Reusing an Answer
// saves allocations; it must not be used by two requests at the same time.
type Answer struct {
	Decisions flags.Decisions
	Project   flags.Project
	// Set contains the project's flags. It is nil if the project could not be read.
	Set *flags.Set
	// QuotaLimited means that no flag was evaluated, because the organization's monthly quota
	// is used up or the resource is paused.
	QuotaLimited bool
	// At is the time of the evaluation.
	At time.Time
}

// Decide evaluates the flags of a request and writes the response to out. Its errors are
// ErrUnknownKey, ErrNoDistinctID and ErrUnavailable; all other problems fail single flags
// only.
func (d *Decider) Decide(ctx context.Context, r *Request, out *Answer) error {
	ctx = wire.Context(ctx)
	r, out = orEmptyRequest(r, out)
	now := d.Now()
	l, err := d.prepare(ctx, r, out, now)
	if err != nil || r.DisableFlags || out.QuotaLimited {
		return err
	}
	sub := r.Subject
	var stored flags.Stored
	if err := d.facts(ctx, l, r, &sub, &stored); err != nil {
		d.stats.storeErrors.Add(1)
	}
	l.set.Select(&sub, now, &r.Selection, &out.Decisions)
	d.stats.requests.Add(1)
	d.stats.decisions.Add(uint64(len(out.Decisions.List)))
	return nil
}

// orEmptyRequest replaces a nil request by an empty one and a nil answer by a new one.
func orEmptyRequest(r *Request, out *Answer) (*Request, *Answer) {
	if r == nil {
		r = new(Request)
	}
	if out == nil {
		out = new(Answer)
	}
	return r, out
}

// get looks up a project and its flags. The flags may be the previous ones while another
// goroutine reads new ones.
func (d *Decider) get(ctx context.Context, apiKey string, now time.Time) (*liveProject, error) {
	return d.find(ctx, apiKey, now, false)
}

// find is get that, if newest is true, waits for changes that were announced before the call.
func (d *Decider) find(ctx context.Context, apiKey string, now time.Time, newest bool) (*liveProject, error) {
	if d == nil || d.registry == nil {
		return nil, fmt.Errorf("%w: %w", flags.ErrUnavailable, flags.ErrNotReady)
	}
	return d.registry.get(ctx, apiKey, now, newest)
}

// Preview is like Decide, for administration: it does not count requests and ignores quota,
// NoDistinctID and DisableFlags. Its errors are ErrUnknownKey and ErrUnavailable.
func (d *Decider) Preview(ctx context.Context, r *Request, out *Answer) error {
	ctx = wire.Context(ctx)
	r, out = orEmptyRequest(r, out)
	now := d.Now()
	l, err := d.get(ctx, r.APIKey, now)
	if err != nil {
		return err
	}
	out.Project, out.Set, out.At, out.QuotaLimited = l.project, l.set, now, false
	sub := r.Subject
	var stored flags.Stored
	_ = d.facts(ctx, l, r, &sub, &stored) // failures are visible in the decisions
	l.set.Select(&sub, now, &r.Selection, &out.Decisions)
	return nil
}

// Explain evaluates one flag and returns a trace of the reasons. It does not count requests
// and ignores quota, NoDistinctID and DisableFlags. Its errors are ErrUnknownKey and
// ErrUnavailable.
func (d *Decider) Explain(ctx context.Context, r *Request, key string) (*flags.Trace, error) {
	ctx = wire.Context(ctx)
	r, _ = orEmptyRequest(r, nil)
	now := d.Now()
	l, err := d.get(ctx, r.APIKey, now)
	if err != nil {
		return nil, err
	}
	if r.Set != nil {
		l = &liveProject{project: l.project, set: r.Set}
	}
	sub := r.Subject
	var stored flags.Stored
	_ = d.facts(ctx, l, r, &sub, &stored) // failures are visible in the trace
	at := r.At
	if at.IsZero() {
		at = now
	}
	return l.set.Explain(key, &sub, at, r.Selection), nil
}

// Renew makes the next request check a project's definitions for changes at once. Otherwise
// they are checked one second after the last check. During the check, decisions use the
// previous definitions, while payloads wait for the new ones. The project id 0 means all
// projects.
func (d *Decider) Renew(projectID int64) {
	if d != nil && d.registry != nil {
		d.registry.expire(projectID)
	}
}

// prepare looks up the project and does all checks that precede an evaluation, in the order
// of §9.10.
func (d *Decider) prepare(ctx context.Context, r *Request, out *Answer, now time.Time) (*liveProject, error) {
	out.Decisions.List, out.Decisions.Errors = out.Decisions.List[:0], false
	out.QuotaLimited, out.At, out.Set = false, now, nil
	l, err := d.get(ctx, r.APIKey, now)
	if err != nil {
		return nil, err
	}
	out.Project, out.Set = l.project, l.set
	if r.DisableFlags {
		return l, nil
	}
	if r.NoDistinctID {
		return nil, flags.ErrNoDistinctID
	}
	limited := isPaused(&l.project)
	if limit := l.project.FlagLimit; limit != nil && !limited {
		cost := int64(0) // free if no billable flag is selected (§10.1)
		if l.set.IsBillable(&r.Selection) {
			cost = 1
		}
		limited = !d.quota.consume(ctx, l.project.OrganizationID, *limit, now, cost)
	}
	if limited {
		out.QuotaLimited = true
		d.stats.quotaLimited.Add(1)
	}
	return l, nil
}

// facts reads the facts that the flags need and the request does not contain from the ports,
// into sub and stored. It returns the errors of the ports, and also records them in stored,
// where they fail the flags concerned.
func (d *Decider) facts(ctx context.Context, l *liveProject, r *Request, sub *flags.Subject, stored *flags.Stored) error {
	needs := l.set.Needs()
	if needs.Located && !r.GeoIPDisable && d.config.Locator != nil && r.IP.IsValid() {
		sub.Located, sub.LocatedByPeer = d.config.Locator.Locate(r.IP), !r.IPFromHeader
	}
	var failed error
	if d.config.People != nil {
		groups := neededGroups(needs, sub)
		if len(groups) > 0 || !needs.IsPersonCovered(sub.Person) {
			distinctID, _ := sub.StoredIDs()
			found, err := d.config.People.Stored(ctx, Query{l.project.ID, distinctID, groups, needs})
			if found != nil {
				*stored = *found
			}
			if err != nil {
				failed = err
				stored.Failure = failureOf(err)
			}
			sub.Stored = stored
		}
	}
	if d.config.Continuity != nil && l.set.UsesContinuity(&r.Selection) {
		distinctID, anonymousID := sub.StoredIDs()
		overrides, err := d.config.Continuity.Overrides(ctx, l.project.ID, distinctID, anonymousID, needs.Continuity)
		stored.Overrides = overrides
		if err != nil {
			failed = errors.Join(failed, err)
			stored.OverridesFailure = flags.HashKeyOverrideError
		}
		sub.Stored = stored
	}
	return failed
}

// isPaused reports whether an operator has paused the flags of a project.
func isPaused(p *flags.Project) bool { return slices.Contains(p.QuotaLimited, "feature_flags") }

// failureOf returns the reason code for an error of a store.
func failureOf(err error) flags.ReasonCode {
	if errors.Is(err, context.DeadlineExceeded) {
		return flags.StatementTimeout
	}
	return flags.DatabaseError
}

// neededGroups returns the groups of the request, by type, for which the flags need stored
// properties.
func neededGroups(needs *flags.Needs, sub *flags.Subject) map[string]string {
	var groups map[string]string
	for _, groupType := range needs.GroupTypes {
		if key := sub.Groups[groupType]; key != "" {
			if groups == nil {
				groups = map[string]string{}
			}
			groups[groupType] = key
		}
	}
	return groups
}

// Now returns the current time by the Decider's clock.
func (d *Decider) Now() time.Time {
	if d == nil || d.config.Now == nil {
		return time.Now()
	}
	return d.config.Now()
}

// Project returns a project and its compiled flags without an evaluation. Its errors are
// ErrUnknownKey and ErrUnavailable.
func (d *Decider) Project(ctx context.Context, apiKey string) (flags.Project, *flags.Set, error) {
	l, err := d.get(wire.Context(ctx), apiKey, d.Now())
	if err != nil {
		return flags.Project{}, nil, err
	}
	return l.project, l.set, nil
}

// Payload returns the definitions of a project in the format for SDKs that evaluate locally
// (§1.8), and a version that changes with them. The payload is cached for each revision, is
// shared and must not be modified. Its errors are ErrUnknownKey, ErrUnavailable and the
// errors of [flags.Definitions.Payload].
func (d *Decider) Payload(ctx context.Context, apiKey string) (payload []byte, version string, err error) {
	l, err := d.find(wire.Context(ctx), apiKey, d.Now(), true)
	if err != nil {
		return nil, "", err
	}
	served, err := l.served()
	if err != nil {
		return nil, "", err
	}
	return served.body, served.version, nil
}

// MembersPayload is like Payload, with the members of static cohorts added as
// static_cohort_members: the distinct ids by cohort, for every cohort that fits (decision 5).
// The members are read at most every second for each project, and when the definitions have
// changed. Without [Config].Members it is Payload.
func (d *Decider) MembersPayload(ctx context.Context, apiKey string) (payload []byte, version string, err error) {
	ctx, now := wire.Context(ctx), d.Now()
	l, err := d.find(ctx, apiKey, now, true)
	if err != nil {
		return nil, "", err
	}
	served, err := l.served()
	if err == nil && d.members != nil {
		served, err = d.members.serve(ctx, l.project.ID, served, now)
	}
	if err != nil {
		return nil, "", err
	}
	return served.body, served.version, nil
}

// CountPayload counts a download of definitions as ten requests. It returns false if the
// quota does not allow the download (§10.1).
func (d *Decider) CountPayload(ctx context.Context, p *flags.Project) bool {
	if d == nil || p == nil || isPaused(p) {
		return false
	}
	return p.FlagLimit == nil || d.quota.consume(wire.Context(ctx), p.OrganizationID, *p.FlagLimit, d.config.Now(), DefinitionsCost)
}

// ReservePayloads claims the cost of n downloads from Usage in one call, so that CountPayload
// does not call Usage for each few of them.
func (d *Decider) ReservePayloads(ctx context.Context, p *flags.Project, n int) {
	if d != nil && p != nil && p.FlagLimit != nil && !isPaused(p) {
		d.quota.reserve(wire.Context(ctx), p.OrganizationID, *p.FlagLimit, d.config.Now(), int64(n)*DefinitionsCost)
	}
}

// RemoteConfig returns the value of a remote configuration flag, by key or id. ok is false if
// there is no such flag or it is of another kind (§1.8). Its errors are ErrUnknownKey and
// ErrUnavailable.
func (d *Decider) RemoteConfig(ctx context.Context, apiKey, flag string) (value []byte, ok bool, err error) {
	l, err := d.get(wire.Context(ctx), apiKey, d.Now())
	if err != nil {
		return nil, false, err
	}
	value, ok = l.defs.RemoteConfig(flag)
	return value, ok, nil
}
