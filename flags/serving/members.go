package serving

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/flags"
	lru "github.com/hashicorp/golang-lru/v2"
)

// memberProjects is the number of projects for which the last payload with members is cached.
// Beyond it, the least recently used one is evicted.
const memberProjects = 64

// memberShare limits the cost of reading members: at most one part in memberShare of the time
// is spent on it.
const memberShare = 10

// memberRegistry caches payloads with members and renews them.
type memberRegistry struct {
	source   Members
	now      func() time.Time
	projects *lru.Cache[int64, *memberEntry]
	stats    *counters
}

// memberEntry is the entry of one project. Its payload is replaced, never modified.
type memberEntry struct {
	renewal[memberPayload]
	good atomic.Int64 // how long the last payload remains valid, in nanoseconds
}

// memberPayload is a payload with members, and the inputs that it was built from.
type memberPayload struct {
	served servedPayload
	base   string            // version of the payload without members
	sum    [sha256.Size]byte // checksum of the members
}

func newMemberRegistry(source Members, now func() time.Time, stats *counters) *memberRegistry {
	projects, _ := lru.New[int64, *memberEntry](memberProjects) // returns an error only for sizes below 1
	return &memberRegistry{source: source, now: now, projects: projects, stats: stats}
}

// serve returns base with its members. One caller at a time reads members, while other
// callers receive the last payload. Callers wait if there is no payload yet or their base is
// newer.
func (r *memberRegistry) serve(ctx context.Context, projectID int64, base servedPayload, now time.Time) (servedPayload, error) {
	e, ok := r.projects.Get(projectID)
	if !ok {
		e = getOrAdd(r.projects, projectID, &memberEntry{renewal: renewal[memberPayload]{token: make(chan struct{}, 1)}})
	}
	p, err := e.get(ctx, func() (*memberPayload, freshness) {
		p := e.last.Load()
		switch {
		case p == nil || p.base != base.version:
			return p, outdated
		case isRecent(e.checked.Load(), now, time.Duration(e.good.Load())):
			return p, current
		}
		return p, aging
	}, func() (*memberPayload, error) { return r.renew(ctx, projectID, e, base, now) })
	if p == nil {
		return servedPayload{}, err
	}
	return p.served, nil
}

// renew reads the members from the store. If that fails, the last payload remains.
func (r *memberRegistry) renew(ctx context.Context, projectID int64, e *memberEntry, base servedPayload, now time.Time) (*memberPayload, error) {
	last := e.last.Load()
	began := r.now()
	cohorts := base.statics[:min(len(base.statics), maxMemberCohorts)]
	members := map[int64][]string{}
	var err error
	if len(cohorts) > 0 {
		members, err = r.source.StaticMembers(ctx, projectID, cohorts, flags.MembersLimit{IDs: maxMemberIDs, Bytes: maxMemberBytes})
	}
	e.good.Store(max(int64(revisionAge), memberShare*int64(r.now().Sub(began))))
	e.checked.Store(now.UnixNano())
	if err != nil {
		r.stats.storeErrors.Add(1)
		return last, errors.Join(flags.ErrUnavailable, err)
	}
	sum := sumMembers(members)
	if last != nil && last.base == base.version && last.sum == sum {
		return last, nil
	}
	body, err := withMembers(base.body, members)
	if err != nil {
		return nil, err
	}
	last = &memberPayload{servedPayload{body, versionOf(body), base.statics}, base.version, sum}
	e.last.Store(last)
	return last, nil
}
