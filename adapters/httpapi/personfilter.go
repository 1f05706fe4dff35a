package httpapi

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// matchKey is the flag whose condition holds the filters of a request: operators
// mean the same here as in flags.
const matchKey = "match"

// maxFilters is how many filters one request may have.
const maxFilters = 50

// personFilters is a JSON list of the filters in a query: those of properties,
// and one for email. Empty: there are none.
func personFilters(params url.Values) (string, error) {
	list, err := filterList[json.RawMessage](params.Get("properties"))
	if err != nil {
		return "", err
	}
	if email := params.Get("email"); email != "" {
		filter, err := json.Marshal(map[string]string{"key": "email", "value": email, "operator": string(flags.Exact), "type": string(flags.PersonProperty)})
		if err != nil {
			return "", err
		}
		list = append(list, filter)
	}
	if err := checkFilters(len(list)); err != nil {
		return "", err
	}
	return filterText(list)
}

// filterText is a list of filters as JSON, empty for none.
func filterText[T any](list []T) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	all, err := json.Marshal(list)
	return string(all), err
}

func checkFilters(n int) error {
	if n > maxFilters {
		return invalid("properties", "properties has %d filters, at most %d are allowed.", n, maxFilters)
	}
	return nil
}

// filterList reads the JSON list of filters in a query.
func filterList[T any](text string) (list []T, err error) {
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, invalid("properties", "properties must be a JSON list of property filters: %s.", err)
	}
	return list, nil
}

// personMatcher compiles filters once for a request. What it makes is for one
// goroutine, and matches nobody once ctx has ended.
func personMatcher(ctx context.Context, filters string, now time.Time) (func(*capture.StoredPerson) bool, error) {
	set, properties, err := compileFilters(filters)
	if err != nil {
		return nil, err
	}
	wanted := wantedKeys(properties)
	var out flags.Decisions
	return func(p *capture.StoredPerson) bool {
		if ctx.Err() != nil {
			return false
		}
		sub := flags.Subject{Stored: &flags.Stored{Person: decodeProperties(p.Properties, wanted), CreatedAt: p.CreatedAt}}
		if len(p.DistinctIDs) > 0 {
			sub.DistinctID = p.DistinctIDs[0]
		}
		decision, ok := set.EvaluateFlag(matchKey, &sub, now, &out)
		return ok && decision.Enabled
	}, nil
}

// compileFilters makes the flag matchKey of a JSON list of filters of persons, and
// returns what it has read of them.
func compileFilters(filters string) (*flags.Set, []flags.Property, error) {
	d, err := flags.ParseDefinitions([]byte(`{"flags":[{"id":1,"key":"` + matchKey + `","active":true,"filters":{"groups":[{"properties":` + filters + `}]}}]}`))
	if err != nil {
		return nil, nil, invalid("properties", "%s", strings.TrimPrefix(err.Error(), "flags: "))
	}
	if d.Flags[0].Conditions != nil {
		for i, p := range d.Flags[0].Conditions[0].Properties {
			switch p.Type {
			case "", flags.PersonProperty, flags.PersonMetadata:
			default:
				return nil, nil, invalid("properties", "properties[%d].type: persons are found by filters of type person and person_metadata, not %q.", i, shorten(string(p.Type)))
			}
		}
	}
	set := flags.Compile(d)
	if faults := set.Faults(); len(faults) > 0 {
		return nil, nil, invalid("properties", "%s: %s", strings.TrimPrefix(faults[0].Path, "flags[0].filters.groups[0]."), faults[0].Problem)
	}
	return set, d.Flags[0].Conditions[0].Properties, nil
}

// wantedKeys are the properties that filters look at. $initial_x may be filled
// from $x or x (spec/flags.md §8.2).
func wantedKeys(filters []flags.Property) map[string]bool {
	keys := map[string]bool{}
	for _, f := range filters {
		keys[f.Key] = true
		if rest, ok := strings.CutPrefix(f.Key, "$initial_"); ok {
			keys[rest], keys["$"+rest] = true, true
		}
	}
	return keys
}

// decodeProperties makes Go values of the wanted properties, of all when wanted is
// nil. Numbers keep their
// form: 5 and 5.0 are different texts (spec/flags.md §4.2).
func decodeProperties(o capture.Object, wanted map[string]bool) flags.Properties {
	out := make(flags.Properties, len(wanted))
	for _, m := range o {
		if wanted != nil && !wanted[m.Key] {
			continue
		}
		var v any
		if wire.Decode([]byte(m.Value), &v) == nil {
			out[m.Key] = v
		}
	}
	return out
}
