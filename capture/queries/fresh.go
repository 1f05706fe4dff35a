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

// ages are how old an answer may be although events came in since (§5.2).
type ages struct{ usual, lazy time.Duration }

const day = 24 * time.Hour

var agesByInterval = map[string]ages{
	"minute": {5 * time.Minute, 15 * time.Minute},
	"hour":   {time.Hour, 2 * time.Hour},
	"day":    {6 * time.Hour, 12 * time.Hour},
	"week":   {day, day},
	"month":  {2 * day, 2 * day},
}

// timesCost is how many times as old as its computation took long an answer may be.
const timesCost = 10

// sharedAge is how much older than the data an answer for strangers may be (§1.9).
const sharedAge = time.Minute

// preparedQuery is a question that was understood, with what its answer rests on.
type preparedQuery struct {
	query   *insights.Query
	request *Request
	now     time.Time
	state   State
	key     string
	ages    ages
	// period is the number of the minute, hour or day in which the question was
	// asked: within it relative dates mean the same.
	period int64
}

// appearance are members of a query that change how it is shown, not what is
// computed.
var appearance = []string{"tags", "version", "response", "modifiersHash"}

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

// rangedKinds have buckets; the answers of all others move with every minute.
var rangedKinds = map[string]bool{"TrendsQuery": true, "FunnelsQuery": true, "RetentionQuery": true, "LifecycleQuery": true, "StickinessQuery": true}

var (
	hourly   = regexp.MustCompile(`^-?\d*h`)
	minutely = regexp.MustCompile(`^-?\d*[Ms]`)
)

// periodOf numbers the stretch of time in which relative dates stay the same. Days
// and hours are those of the clock of the project.
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

// matches says whether an answer is still right for the time for which it was computed:
// what a merge or an erasure has made wrong is never shown again.
func (a *preparedQuery) matches(e *entry) bool {
	return e.state.Rewritten == a.state.Rewritten && e.state.Revision == a.state.Revision
}

// isFresh says whether an answer that holds may be given as the answer of now (§1.6).
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
	return age < min(timesCost*e.cost, e.ages.usual)
}
