package flags

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

// DeciderConfig says what a Decider stands on. Only Source is required.
type DeciderConfig struct {
	Source Source
	// LastGood is asked for projects of which nothing is known while Source cannot
	// be asked; as soon as that can be, what it says counts. Nil: nobody is asked.
	LastGood Source
	// People: nil means that nothing is stored.
	People People
	// Continuity: nil means that identifiers are not kept over identify.
	Continuity Continuity
	// Locator: nil means that addresses are not located.
	Locator Locator
	// Members: nil means that payloads do not carry the members of static cohorts.
	Members Members
	// Usage: nil counts in memory, from zero at every start.
	Usage Usage
	// Lot is how many requests are claimed from Usage at a time, 100 when
	// zero or negative.
	Lot int64
	// Now is the clock, time.Now when nil.
	Now func() time.Time
}

// Decider answers requests: it finds the project, asks the ports for what the
// flags need, and evaluates. It is safe for any number of goroutines. Nil, and one that
// [NewDecider] has not made, answer ErrNotReady, which is ErrUnavailable too.
type Decider struct {
	config   DeciderConfig
	registry *registry
	quota    *quota
	members  *memberRegistry // nil without Members
	stats    counters
}

// NewDecider makes a Decider. It fails without a Source.
func NewDecider(c DeciderConfig) (*Decider, error) {
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

// Request is one question. It is only read.
type Request struct {
	// APIKey is the project's public key.
	APIKey string
	// Subject is whom it is about, as the request says; Stored and Located are
	// filled in by the Decider.
	Subject Subject
	// NoDistinctID: the request names nobody, which is ErrNoDistinctID unless
	// DisableFlags is set. (An empty distinct id is a distinct id.)
	NoDistinctID bool
	// IP is the address to locate, the zero value for none. IPFromHeader says
	// that a header names it, so that it wins over stored properties.
	IP           netip.Addr
	IPFromHeader bool
	// GeoIPDisable: the address is not located.
	GeoIPDisable bool
	// DisableFlags asks for no flags: nothing is evaluated and nothing counted.
	DisableFlags bool
	// Selection says which flags are to be answered. Without its Runtime, flags
	// that are for servers or for clients only are left out.
	Selection Selection
	// At is a time that Explain decides for, with what is stored now; zero: now.
	At time.Time
	// Set is what Explain decides with; nil: the project's flags.
	Set *Set
}

// Answer is what a request gets. The zero value is ready; using one again saves
// allocations, but not for two requests at once.
type Answer struct {
	Decisions Decisions
	Project   Project
	// Set is the project's flags, nil after an error of the look-up.
	Set *Set
	// QuotaLimited: nothing was evaluated, the organization's month is spent or
	// the resource is paused.
	QuotaLimited bool
	// At is the time of the evaluation.
	At time.Time
}

// Decide answers a request. Its errors are ErrUnknownKey, ErrNoDistinctID and
// ErrUnavailable; everything else that goes wrong fails single flags.
func (d *Decider) Decide(ctx context.Context, r *Request, out *Answer) error {
	ctx = wire.Context(ctx)
	r, out = orEmptyRequest(r, out)
	now := d.Now()
	l, err := d.prepare(ctx, r, out, now)
	if err != nil || r.DisableFlags || out.QuotaLimited {
		return err
	}
	sub := r.Subject
	var stored Stored
	if err := d.facts(ctx, l, r, &sub, &stored); err != nil {
		d.stats.storeErrors.Add(1)
	}
	l.set.Select(&sub, now, &r.Selection, &out.Decisions)
	d.stats.requests.Add(1)
	d.stats.decisions.Add(uint64(len(out.Decisions.List)))
	return nil
}

// orEmptyRequest stands in for what a caller left out: a request for nothing, memory of its own.
func orEmptyRequest(r *Request, out *Answer) (*Request, *Answer) {
	if r == nil {
		r = new(Request)
	}
	if out == nil {
		out = new(Answer)
	}
	return r, out
}

// get finds a project and its flags. They may be the last ones while others read the
// new ones.
func (d *Decider) get(ctx context.Context, apiKey string, now time.Time) (*liveProject, error) {
	return d.find(ctx, apiKey, now, false)
}

// find is get that waits, with newest, for changes that were announced before.
func (d *Decider) find(ctx context.Context, apiKey string, now time.Time, newest bool) (*liveProject, error) {
	if d == nil || d.registry == nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, ErrNotReady)
	}
	return d.registry.get(ctx, apiKey, now, newest)
}

// Preview is Decide for those who look after flags: it counts nothing, and neither
// quota nor DisableFlags stops it. Its errors are ErrUnknownKey and ErrUnavailable.
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
	var stored Stored
	_ = d.facts(ctx, l, r, &sub, &stored) // a failure shows in the decisions
	l.set.Select(&sub, now, &r.Selection, &out.Decisions)
	return nil
}

// Explain answers for one flag and tells why. It counts nothing, and neither
// quota nor DisableFlags stops it. Its errors are ErrUnknownKey and
// ErrUnavailable.
func (d *Decider) Explain(ctx context.Context, r *Request, key string) (*Trace, error) {
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
	var stored Stored
	_ = d.facts(ctx, l, r, &sub, &stored) // a failure shows in the trace
	at := r.At
	if at.IsZero() {
		at = now
	}
	return l.set.Explain(key, &sub, at, r.Selection), nil
}

// Renew makes the next request read a project's definitions again if they have
// changed, without waiting until it is looked at anyway, a second after the last
// time. While it does, decisions stand on what was known; payloads wait for what is
// new. 0 is all projects.
func (d *Decider) Renew(projectID int64) {
	if d != nil && d.registry != nil {
		d.registry.expire(projectID)
	}
}

// prepare finds the project and checks everything that comes before an
// evaluation, in the order of §9.10.
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
		return nil, ErrNoDistinctID
	}
	limited := l.project.paused("feature_flags")
	if limit := l.project.FlagLimit; limit != nil && !limited {
		cost := int64(0) // free where no billable flag is asked for (§10.1)
		if l.set.hasBillable(&r.Selection) {
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

// facts asks the ports for what the flags need and the request does not say. An
// error is also noted in stored, where it fails the flags that it concerns.
func (d *Decider) facts(ctx context.Context, l *liveProject, r *Request, sub *Subject, stored *Stored) error {
	needs := l.set.Needs()
	if needs.Located && !r.GeoIPDisable && d.config.Locator != nil && r.IP.IsValid() {
		sub.Located, sub.LocatedByPeer = d.config.Locator.Locate(r.IP), !r.IPFromHeader
	}
	var failed error
	if d.config.People != nil {
		groups := neededGroups(needs, sub)
		if len(groups) > 0 || !needs.IsPersonCovered(sub.Person) {
			found, err := d.config.People.Stored(ctx, Query{l.project.ID, sub.storedID(), groups, needs})
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
	if d.config.Continuity != nil && l.set.continuityMatters(&r.Selection) {
		overrides, err := d.config.Continuity.Overrides(ctx, l.project.ID, sub.storedID(), sub.anonymousID(), needs.Continuity)
		stored.Overrides = overrides
		if err != nil {
			failed = errors.Join(failed, err)
			stored.OverridesFailure = HashKeyOverrideError
		}
		sub.Stored = stored
	}
	return failed
}

func failureOf(err error) ReasonCode {
	if errors.Is(err, context.DeadlineExceeded) {
		return StatementTimeout
	}
	return DatabaseError
}

// neededGroups are the request's groups whose stored properties matter.
func neededGroups(needs *Needs, sub *Subject) map[string]string {
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

// Now is the Decider's clock.
func (d *Decider) Now() time.Time {
	if d == nil || d.config.Now == nil {
		return time.Now()
	}
	return d.config.Now()
}

// Project finds a project and its compiled flags without deciding anything. Its
// errors are ErrUnknownKey and ErrUnavailable.
func (d *Decider) Project(ctx context.Context, apiKey string) (Project, *Set, error) {
	l, err := d.get(wire.Context(ctx), apiKey, d.Now())
	if err != nil {
		return Project{}, nil, err
	}
	return l.project, l.set, nil
}

// Payload returns the definitions of a project as SDKs that evaluate locally
// read them (§1.8), and a version that changes when they do. It is made once a
// revision, is shared and must not be changed. Errors are ErrUnknownKey,
// ErrUnavailable and those of [Definitions.Payload].
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

// MembersPayload is Payload with the members of static cohorts, as
// static_cohort_members: the distinct ids by cohort, of every cohort that fits
// (decision 5). They are read at most once a second and project, and again when
// the definitions have changed. Without Members it is Payload.
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

// CountPayload counts a download of definitions as ten requests; false when the
// quota does not allow it (§10.1).
func (d *Decider) CountPayload(ctx context.Context, p *Project) bool {
	if d == nil || p == nil || p.paused("feature_flags") {
		return false
	}
	return p.FlagLimit == nil || d.quota.consume(wire.Context(ctx), p.OrganizationID, *p.FlagLimit, d.config.Now(), DefinitionsCost)
}

// ReservePayloads claims what n downloads will count in one go, so that
// CountPayload does not ask Usage for each few of them.
func (d *Decider) ReservePayloads(ctx context.Context, p *Project, n int) {
	if d != nil && p != nil && p.FlagLimit != nil && !p.paused("feature_flags") {
		d.quota.reserve(wire.Context(ctx), p.OrganizationID, *p.FlagLimit, d.config.Now(), int64(n)*DefinitionsCost)
	}
}

// RemoteConfig returns a remote configuration flag's value, by key or id. False
// when there is no such flag or it is not one (§1.8). Errors are ErrUnknownKey and
// ErrUnavailable.
func (d *Decider) RemoteConfig(ctx context.Context, apiKey, flag string) (value []byte, ok bool, err error) {
	l, err := d.get(wire.Context(ctx), apiKey, d.Now())
	if err != nil {
		return nil, false, err
	}
	value, ok = l.defs.remoteConfig(flag)
	return value, ok, nil
}
