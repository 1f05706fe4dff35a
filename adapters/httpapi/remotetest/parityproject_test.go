package remotetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// parityGenerator generates projects and users. If stored is false, no result depends on stored
// data.
type parityGenerator struct {
	*rand.Rand
	stored bool
}

func (g parityGenerator) one(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g parityGenerator, list ...T) T { return list[g.IntN(len(list))] }

type object = map[string]any

var (
	parityKeys     = []string{"plan", "age", "$browser", "$initial_browser", "version", "joined", "distinct_id", "email"}
	parityValues   = []any{"pro", "Free", "true", true, 1, 2.5, 30, "30", nil, "1.2.0", "2026-01-01", "2026-11-19T08:00:00Z", []any{"pro", 1}, "ana@example.com", object{"a": 1}, 30.0, float32(2.5), []any{30.0}}
	parityExpected = []any{"pro", "free", "true", true, 1, 2.5, "30", "30.0", "[30.0]", []any{"pro", "Free"}, []any{"true", 30}, "1.2.0", ">=1.0.0", "2026-01-01", "-7d", "^p.o", "@example.com"}
	parityOps      = []string{
		"exact", "is_not", "icontains", "not_icontains", "is_set", "is_not_set", "gt", "gte", "lt", "lte", "regex", "not_regex",
		"is_date_before", "is_date_after", "is_date_exact", "semver_eq", "semver_gt", "semver_neq", "semver_caret", "starts_with", "ends_with", "in", "not_in",
	}
	parityIDs = []string{"u0", "u1", "u2", "u3", "u4", "someone", "ÄÖÜ", "0", strings.Repeat("x", 250)}
)

// project returns the text of a definitions file and the data stored on the server.
func (g parityGenerator) project() ([]byte, *serving.Memory) {
	people := &serving.Memory{}
	p := object{"group_type_mapping": object{"0": "company", "1": "team"}}
	if g.one(20) {
		p["bucketing_hash"] = "murmur3"
	}
	if g.one(20) {
		p["property_matching_version"] = 2
	}
	p["timezone"] = pick(g, "UTC", "Europe/Vienna", "America/New_York")
	cohorts := object{
		"1": g.node(2), "2": g.node(1), "3": object{"is_static": true}, "4": object{"type": "AND", "values": []any{}},
		"5": object{"type": "OR", "values": []any{object{"key": "seen", "type": "behavioral", "value": "performed_event"}}},
	}
	list := []any{}
	for i := range 1 + g.IntN(8) {
		list = append(list, g.flag(i+1))
	}
	p["flags"], p["cohorts"] = list, cohorts
	for i, id := range parityIDs[:5] {
		member := []int64{}
		if i%2 == 0 {
			member = append(member, 3)
		}
		var properties flags.Properties
		if g.stored {
			properties = g.properties(parityKeys, 40)
		}
		people.AddPerson(1, parityTime.Add(-time.Hour), properties, member, id, id+"-other")
	}
	if g.stored {
		people.AddGroup(1, "company", "acme", g.properties(parityKeys, 40))
	}
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // a mistake of the generator
	}
	return text, people
}

func (g parityGenerator) flag(id int) object {
	filters := object{"early_exit": g.one(20)}
	f := object{
		"id": id, "key": fmt.Sprintf("f%d", id), "version": g.IntN(5), "active": !g.one(8), "filters": filters,
		"has_experiment": g.one(20), "evaluation_runtime": pick(g, "all", "all", "server", "client"),
	}
	switch {
	case g.one(15):
		f["bucketing_identifier"] = "device_id"
	case g.one(5):
		f["bucketing_hash"] = "murmur3"
	}
	if g.stored && g.one(10) {
		f["ensure_experience_continuity"] = true
	}
	if g.stored && g.one(3) {
		f["has_encrypted_payloads"] = true
	}
	if g.one(15) {
		filters["aggregation_group_type_index"] = g.IntN(3)
	}
	if g.one(10) {
		filters["holdout"] = object{"id": 7, "exclusion_percentage": pick(g, 0, 10, 50, 100)}
	}
	if g.stored && g.one(10) {
		filters["feature_enrollment"] = true
	}
	payloads := object{}
	if g.one(40) {
		share := pick(g, 0.0, 50, 100, 33.3)
		filters["multivariate"] = object{"variants": []any{object{"key": "a", "rollout_percentage": share}, object{"key": "b", "rollout_percentage": 100 - share}}}
		payloads["a"] = pick[any](g, `{"x": 1}`, "1", `"text"`, 3, object{"y": []any{1}})
	}
	if g.one(30) {
		payloads["true"] = pick[any](g, `{"on": true}`, "not json", 7, true)
	}
	filters["payloads"] = payloads
	groups := []any{}
	for range g.IntN(4) {
		c := object{}
		if g.one(60) {
			c["rollout_percentage"] = pick(g, 0.0, 10, 33.33, 50, 90, 100)
		}
		if g.one(20) {
			c["variant"] = pick(g, "a", "b", "none")
		}
		if g.one(10) {
			c["aggregation_group_type_index"] = pick[any](g, nil, 0, 1)
		}
		properties := []any{}
		for range g.IntN(3) {
			properties = append(properties, g.property(id))
		}
		c["properties"] = properties
		groups = append(groups, c)
	}
	filters["groups"] = groups
	return f
}

// property returns a condition for the flag with the number id, or for 0 a leaf of a cohort.
func (g parityGenerator) property(id int) object {
	n := g.IntN(100)
	switch {
	case id > 1 && n < 20: // depends on an earlier flag, so there are no cycles
		return object{"key": fmt.Sprint(1 + g.IntN(id-1)), "type": "flag", "operator": "flag_evaluates_to", "value": pick[any](g, true, false, "a", "b")}
	case id > 0 && n < 35:
		cohort := pick(g, 3, 4)
		if g.stored {
			cohort = 1 + g.IntN(6)
		}
		return object{"key": "id", "type": "cohort", "operator": pick(g, "in", "not_in"), "value": cohort}
	case !g.stored || n < 40:
		return object{"key": "distinct_id", "type": "person", "operator": pick(g, "exact", "is_not", "regex", "starts_with"), "value": pick[any](g, "u1", "^u", []any{"u0", "someone"})}
	case id > 0 && n < 50:
		return object{"key": pick(g, "plan", "$group_key"), "type": "group", "group_type_index": g.IntN(2), "operator": pick(g, parityOps...), "value": pick(g, parityExpected...)}
	}
	p := object{"key": pick(g, parityKeys...), "type": "person", "operator": pick(g, parityOps...), "value": pick(g, parityExpected...)}
	if g.one(15) {
		p["negation"] = true
	}
	return p
}

func (g parityGenerator) node(depth int) object {
	values := []any{}
	for range g.IntN(3) {
		switch {
		case depth > 0 && g.one(30):
			values = append(values, g.node(depth-1))
		case depth > 0 && g.one(25):
			values = append(values, object{"key": "id", "type": "cohort", "operator": pick(g, "in", "not_in"), "value": 2 + g.IntN(4), "negation": g.one(20)})
		default:
			values = append(values, g.property(0))
		}
	}
	return object{"type": pick(g, "AND", "OR"), "values": values}
}

func (g parityGenerator) properties(keys []string, percent int) flags.Properties {
	out := flags.Properties{}
	for _, key := range keys {
		if g.one(percent) && key != "distinct_id" {
			out[key] = pick(g, parityValues...)
		}
	}
	return out
}

func (g parityGenerator) subject() flags.Subject {
	sub := flags.Subject{DistinctID: pick(g, parityIDs...), Person: g.properties(parityKeys, 50)}
	if g.one(20) {
		sub.DistinctID = fmt.Sprintf("u%d-other", g.IntN(5))
	}
	if g.one(30) {
		sub.DeviceID = pick(g, "d1", "d2")
	}
	if g.stored && g.one(20) {
		sub.AnonymousID = "u4"
	}
	if g.one(50) {
		sub.Groups = map[string]string{"company": pick(g, "acme", "other", "")}
		if g.one(50) {
			sub.Groups["team"] = "t"
		}
	}
	if g.one(40) {
		sub.GroupProperties = map[string]flags.Properties{"company": g.properties([]string{"plan"}, 70), "team": g.properties([]string{"plan"}, 70)}
	}
	return sub
}
