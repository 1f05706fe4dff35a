package queries

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"time"

	"github.com/bunting-flags/bunting/capture/insights"
	"github.com/bunting-flags/bunting/flags/wire"
)

const day = 24 * time.Hour

// agesByInterval has the ages by the interval of the query.
var agesByInterval = map[string]ages{
	"minute": {5 * time.Minute, 15 * time.Minute},
	"hour":   {time.Hour, 2 * time.Hour},
	"day":    {6 * time.Hour, 12 * time.Hour},
	"week":   {day, day},
	"month":  {2 * day, 2 * day},
}

// maxAgeFactor limits the age of a result to a multiple of the duration of its computation.
const maxAgeFactor = 10

// sharedAge is the greatest age of a result for public links, independent of its cost (§1.9).
const sharedAge = time.Minute

// preparedQuery is a parsed query together with everything that determines whether a result
// is valid for it.
type preparedQuery struct {
	query   *insights.Query
	request *Request
	now     time.Time
	state   State
	key     string
	ages    ages
	// period is the number of the minute, hour or day of the request. Relative dates have the
	// same meaning within a period.
	period int64
}

// appearance has the members of a query that affect the display of the result but not the
// result itself. They are not part of the cache key.
var appearance = []string{"tags", "version", "response", "modifiersHash"}

// newPreparedQuery computes the cache key, the ages and the period of a query. The key
// contains the query and all settings that its result depends on.
func newPreparedQuery(q *insights.Query, r *Request, now time.Time, state State) *preparedQuery {
	a := &preparedQuery{query: q, request: r, now: now, state: state}
	source, _ := wire.Value(q.Source).(map[string]any)
	for _, name := range appearance {
		delete(source, name)
	}
	p := r.Project
	zone := p.Location
	if zone == nil {
		zone = time.UTC
	}
	tests := ""
	if q.Experiment != nil || bytes.Contains(q.Source, []byte(`"filterTestAccounts"`)) {
		tests = string(p.TestAccountFilters)
	}
	sum := sha256.Sum256(wire.MustEncode([]any{p.ID, source, zone.String(), p.PropertyMatchingVersion, int(p.WeekStart), tests, p.PersonMode, string(p.PathCleaning), p.PersonDisplay, p.Actions, q.Experiment, q.Issues}))
	a.key = "cache_" + hex.EncodeToString(sum[:16])
	interval, _ := source["interval"].(string)
	a.ages = agesByInterval[interval]
	_, ranged := rangedKinds[q.Kind]
	if a.ages == (ages{}) {
		a.ages = agesByInterval["minute"]
		if ranged {
			a.ages = agesByInterval["day"]
		}
	}
	a.period = periodOf(now.In(zone), interval, ranged, source)
	return a
}

// rangedKinds are the kinds of queries whose results are divided into intervals. Results of
// other kinds are valid for one minute only.
var rangedKinds = map[string]bool{"TrendsQuery": true, "FunnelsQuery": true, "RetentionQuery": true, "LifecycleQuery": true, "StickinessQuery": true}

// hourly and minutely match relative dates with a unit of hours, and of minutes or seconds.
var (
	hourly   = regexp.MustCompile(`^-?\d*h`)
	minutely = regexp.MustCompile(`^-?\d*[Ms]`)
)

// periodOf returns the number of the period in which relative dates keep their meaning. Days
// and hours are those of the project's time zone.
func periodOf(local time.Time, interval string, ranged bool, source map[string]any) int64 {
	if !ranged {
		return local.Unix() / 60
	}
	dates, _ := source["dateRange"].(map[string]any)
	for _, name := range []string{"date_from", "date_to"} {
		switch text, _ := dates[name].(string); {
		case minutely.MatchString(text):
			interval = "minute"
		case hourly.MatchString(text) && interval != "minute":
			interval = "hour"
		}
	}
	switch _, offset := local.Zone(); interval {
	case "minute", "second":
		return local.Unix() / 60
	case "hour":
		return local.Unix() / 3600
	default:
		return (local.Unix() + int64(offset)) / 86400
	}
}

// matches reports whether a result is still correct for the time at which it was computed. It
// is false after a merge or an erasure, so that a result from before is not used.
func (a *preparedQuery) matches(e *entry) bool {
	return e.state.Rewritten == a.state.Rewritten && e.state.Revision == a.state.Revision
}

// isFresh reports whether a result that matches may be returned as a current result (§1.6).
func (a *preparedQuery) isFresh(e *entry, lazy bool) bool {
	age := a.now.Sub(e.computedAt)
	switch {
	case e.period != a.period:
		return false
	case e.state.Events == a.state.Events:
		return true
	case a.request.Shared:
		return age < sharedAge
	case lazy && age < e.ages.lazy:
		return true
	}
	return age < min(maxAgeFactor*e.cost, e.ages.usual)
}
