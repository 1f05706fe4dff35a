package insights

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
)

// actorSet is the set of actors behind one number of an insight (§2.9.3).
type actorSet struct {
	// groupType is the type of the groups, or anyPeople if the actors are persons.
	groupType int
	members   []member
}

// member is an actor of an actorSet: a person, or the key of a group.
type member struct {
	person capture.UUID
	group  string
	// events is the number of events of the actor behind the number; distinctIDs are the distinct
	// ids of these events, at most maxActorDistinctIDs.
	events      int64
	distinctIDs []string
	// ids are the ids of these events, collected only if the run's wantIDs is set.
	ids []int64
	// appearances are the columns of retention in which the actor returned, including 0.
	appearances []int
}

// actorFinder finds a set of actors in a run.
type actorFinder func(r *run) (*actorSet, error)

// actorsPlan is implemented by plans whose numbers have actors behind them. n is the query that
// selects one of the numbers.
type actorsPlan interface {
	// ActorFinder parses the members of n that select the number.
	ActorFinder(n node) actorFinder
}

// Without these assertions, a plan whose method differs would be answered as if it had no actors.
var _, _, _, _, _ actorsPlan = (*trends)(nil), (*lifecycle)(nil), (*stickiness)(nil), (*funnelQuery)(nil), (*retentionQuery)(nil)

// sources parses queries that are part of another query.
type sources struct {
	// find returns the kind with a name.
	find func(name string) (kind, bool)
}

// actorsQueryKinds are the kinds of queries that select one number of another query, to list its
// actors.
var actorsQueryKinds = []string{"InsightActorsQuery", "FunnelsActorsQuery", "StickinessActorsQuery"}

// actorFinder parses a query that selects one number of an insight.
func (s sources) actorFinder(n node, p *Project) actorFinder {
	n.get("kind").choice("", actorsQueryKinds...)
	inner, plan := s.insight(n, p)
	if plan == nil {
		return nil
	}
	actors, ok := plan.(actorsPlan)
	if !ok {
		inner.get("kind").fail(notSupported, "A %s has no actors.", describe(inner.get("kind").value))
		return nil
	}
	return actors.ActorFinder(n)
}

// insight parses the source of a query about an insight. The plan is nil if there is a fault.
func (s sources) insight(n node, p *Project) (node, plan) {
	source := n.get("source")
	if source.isAbsent() {
		source.fail(required, "This field is required.")
		return source, nil
	}
	inner := unwrap(source.object())
	name := inner.get("kind").text("")
	kind, ok := s.find(name)
	if !ok {
		inner.get("kind").fail(invalidInput, "Query kind %s is not supported as a source.", describe(name))
		return inner, nil
	}
	return inner, kind.parse(inner, p)
}

// ActorFinder finds the actors of one bucket of a series.
func (t *trends) ActorFinder(n node) actorFinder {
	dayNode := n.get("day")
	switch {
	case t.display == total && !dayNode.isAbsent():
		dayNode.fail(invalidInput, "A single number has no day.")
	case t.display != total && dayNode.isAbsent():
		dayNode.fail(required, "Actors of a series over time need a day.")
	}
	when := readDate(dayNode, false)
	series := int(n.get("series").intInRange(0, int64(max(0, len(t.series)-1)), 0))
	previous := n.get("compare").choice("current", "current", "previous") == "previous"
	texts, anyValue := parseBreakdownValue(n.get("breakdown"))
	return func(r *run) (*actorSet, error) {
		p, err := t.current(r)
		if err != nil {
			return nil, err
		}
		// A single number has one bucket.
		bucket := 0
		if t.display != total {
			bucket = p.find(r.calendar().resolve(when, r.now).UnixMicro())
		}
		if previous {
			if p, err = r.previousPeriod(p, t.dates, t.compareTo); err != nil {
				return nil, err
			}
		}
		// The day is outside of the range, so there are no actors.
		if bucket < 0 || bucket >= max(1, p.len()) || p.len() == 0 {
			return &actorSet{groupType: t.series[series].math.group}, nil
		}
		return t.collectActors(r, p, series, bucket, texts, anyValue)
	}
}

// parseBreakdownValue parses a breakdown value in the form in which results contain it. anyValue is
// true if the query does not select a value.
func parseBreakdownValue(n node) (texts []string, anyValue bool) {
	list := []node{n}
	if _, ok := n.value.([]any); ok {
		list = n.list(maxFilters)
	}
	for _, v := range list {
		text, _ := textOf(string(v.raw()))
		texts = append(texts, text)
	}
	return texts, len(list) == 0 || n.isAbsent()
}

// collectActors scans the events of one series and returns the actors of a bucket.
func (t *trends) collectActors(r *run, p *period, series, bucket int, texts []string, anyValue bool) (*actorSet, error) {
	b := &binder{run: r}
	b.from, b.to = p.countedRange()
	values, common := t.breakdown.bind(b), t.conditions.bindOrNil(b)
	// In addition to what the series needs, members have distinct ids and ids of events.
	b.needs.columns |= DistinctIDs | IDs
	c := t.series[series].begin(b, t, p, common, values)
	// The collector replaces the tally of the series. Everything else is as for the result.
	found := &collector{c: c, inner: c.tally, bucket: bucket, found: map[cell]*member{}, actor: b.actor(t.series[series].math.group)}
	found.prepare(b, &t.series[series].math)
	if b.err != nil {
		return nil, b.err
	}
	c.use(found)
	if err := t.bins(r, b, []*counting{c}); err != nil {
		return nil, err
	}
	if err := sweep(r, b, []*counting{c}); err != nil {
		return nil, err
	}
	matches, err := t.matchValue(r, p, series, c, texts, anyValue)
	if err != nil {
		return nil, err
	}
	return found.actorSet(r, t.series[series].math.group, matches), nil
}

// matchValue returns a function that reports whether the breakdown value with a number is selected
// by texts. The value "other" selects all values that are not among the rows of the result, which
// have to be counted for that.
func (t *trends) matchValue(r *run, p *period, series int, c *counting, texts []string, anyValue bool) (func(value int) bool, error) {
	if t.breakdown == nil || anyValue {
		return func(int) bool { return true }, nil
	}
	if t.breakdown.byCohort {
		return func(v int) bool {
			text := "all"
			if id := t.breakdown.cohorts[v]; id != 0 {
				text = string(node{value: json.Number(formatNumber(float64(id)))}.raw())
			}
			return text == texts[0] || texts[0] == "0" && text == "all"
		}, nil
	}
	if !slices.Contains(texts, otherValue) {
		return func(v int) bool { return slices.Equal(c.index.values[v].texts, texts) }, nil
	}
	// Count the series as for the result, to find the values that have a row of their own.
	all, err := t.count(r, p)
	if err != nil {
		return nil, err
	}
	answer := &trendsAnswer{trends: t, run: r}
	rows := map[string]bool{}
	for _, row := range answer.limitRows(all[series]) {
		rows[strings.Join(row.value.texts, "\x00")] = true
	}
	return func(v int) bool { return !rows[strings.Join(c.index.values[v].texts, "\x00")] }, nil
}

// ActorFinder finds the persons with a status in a bucket.
func (l *lifecycle) ActorFinder(n node) actorFinder {
	status := slices.Index(lifecycleStatuses, n.get("status").choice("new", lifecycleStatuses...))
	if n.get("day").isAbsent() {
		n.get("day").fail(required, "Actors of a LifecycleQuery need a day.")
	}
	when := readDate(n.get("day"), false)
	return func(r *run) (*actorSet, error) {
		p, err := r.period(l.dates, l.interval)
		if err != nil {
			return nil, err
		}
		stays, err := l.stays(r, p)
		if err != nil {
			return nil, err
		}
		bucket := p.find(r.calendar().resolve(when, r.now).UnixMicro())
		out := &actorSet{groupType: -1}
		for _, s := range stays {
			if s.bucket == bucket && s.status == status {
				out.members = append(out.members, member{person: r.personID(s.person)})
			}
		}
		return out, nil
	}
}

// ActorFinder finds the actors that are active in a number of intervals: exactly, at least or at
// most as many.
func (s *stickiness) ActorFinder(n node) actorFinder {
	days := n.get("day").intInRange(1, maxBuckets, 1)
	series := int(n.get("series").intInRange(0, int64(max(0, len(s.series)-1)), 0))
	// In a cumulative result, a column includes all larger numbers of intervals.
	fallback := "exact"
	if s.cumulative {
		fallback = "gte"
	}
	operator := n.get("operator").choice(fallback, "exact", "gte", "lte")
	attr := fmt.Sprintf("%s__series__%d__math_hogql", n.get("source").attr, series)
	return func(r *run) (*actorSet, error) {
		p, err := r.period(s.dates, s.interval)
		if err != nil {
			return nil, err
		}
		active, keys, err := s.activeIn(&binder{run: r}, p, series)
		if err != nil {
			return nil, err
		}
		out := &actorSet{groupType: s.series[series].math.group}
		for who, n := range active {
			// Skip the actor unless the number is equal, or the operator permits a larger or
			// smaller number.
			if n := int64(n); n != days && (operator != "gte" || n < days) && (operator != "lte" || n > days) {
				continue
			}
			m := member{}
			switch {
			case keys == nil:
				m.person = r.personID(who)
			case out.groupType >= 0:
				m.group = keys.all[who]
			default: // the value of an expression
				id, ok := wire.ParseUUID(keys.all[who])
				if !ok {
					return nil, newError(notSupported, attr, "Actors of a series whose math is an expression are only available if the expression is a person id, such as person_id, not %s.", describe(keys.all[who]))
				}
				m.person = id
			}
			out.members = append(out.members, m)
		}
		return out, nil
	}
}
