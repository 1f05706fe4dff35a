// Package bench compares the flag engine with a hand-written limit and with other engines.
// README.md describes how to run it and how to read the results.
package bench

import (
	"encoding/json"
	"fmt"
)

// User is the subject of every workload, as a plain struct. The limit reads its fields directly;
// every engine gets the same values in its own form.
type User struct {
	ID      string
	Country string // two capital letters
	Email   string // lower case
	Plan    string // "free", "pro" or "team"
	Age     float64
	Beta    bool
}

// Properties returns the five person properties in the form of decoded JSON.
func (u *User) Properties() map[string]any {
	return map[string]any{"country": u.Country, "email": u.Email, "plan": u.Plan, "age": u.Age, "beta": u.Beta}
}

// Ana is the user that is timed: she matches the third condition of W2, and the condition of W3.
var Ana = User{ID: "user-4711", Country: "FR", Email: "ana@example.com", Plan: "pro", Age: 34, Beta: true}

// Users returns n different users, Ana first. They differ in every property that a workload reads,
// so that some of them reach each branch of each flag.
func Users(n int) []User {
	users := []User{Ana}
	countries := []string{"US", "FR", "DE", "GB", "JP"}
	domains := []string{"example.com", "corp.test", "mail.test"}
	plans := []string{"free", "pro", "team"}
	for i := 1; i < n; i++ {
		users = append(users, User{
			ID:      fmt.Sprintf("user-%d", i),
			Country: countries[i%len(countries)],
			Email:   fmt.Sprintf("person%d@%s", i, domains[i%len(domains)]),
			Plan:    plans[(i/2)%len(plans)],
			Age:     float64(14 + i%50),
			Beta:    i%2 == 0,
		})
	}
	return users
}

// Property is one filter. Value is a []string, a string or a float64.
type Property struct {
	Key, Operator string
	Value         any
}

// Condition is one condition set. Rollout is in per cent. Only the last condition of a flag has a
// rollout below 100, because the engines differ in the evaluation after a rollout miss, on which
// the workloads must not depend.
type Condition struct {
	Properties []Property
	Rollout    float64
}

// Variant is one variant; the shares of a flag, in per cent, sum to 100.
type Variant struct {
	Key   string
	Share float64
}

// Answer is the outcome of one flag. Variant is empty for a boolean flag.
type Answer struct {
	On      bool
	Variant string
}

// Flag is one row: the definition for every engine, and the same decision written by hand.
type Flag struct {
	Key string
	kind
}

// kind is the shape of a flag. limit is its decision in plain Go, with the numbers of the
// conditions written out.
type kind struct {
	Conditions []Condition
	Variants   []Variant
	limit      func(key string, u *User) Answer
}

func exact(key string, values ...string) Property { return Property{key, "exact", values} }

var (
	americans   = exact("country", "US", "CA", "MX", "BR", "AR", "CL", "CO", "PE", "UY", "PA")
	japanese    = exact("country", "JP", "KR")
	paying      = exact("plan", "pro", "team")
	notFree     = Property{"plan", "is_not", []string{"free"}}
	corporate   = Property{"email", "icontains", "@corp.test"}
	fromExample = Property{"email", "icontains", "@example.com"}
	thirtyUp    = Property{"age", "gte", 30.0}
	adult       = Property{"age", "gte", 18.0}

	half       = kind{[]Condition{{nil, 50}}, nil, limitHalf}
	tenth      = kind{[]Condition{{[]Property{adult}, 10}}, nil, limitTenth}
	threeWays  = kind{[]Condition{{[]Property{americans}, 100}, {[]Property{corporate}, 100}, {[]Property{thirtyUp}, 100}}, nil, limitThreeWays}
	fourFold   = kind{[]Condition{{[]Property{paying}, 100}}, []Variant{{"control", 25}, {"blue", 25}, {"green", 25}, {"red", 25}}, limitFourFold}
	split      = kind{[]Condition{{nil, 100}}, []Variant{{"control", 50}, {"test", 50}}, limitSplit}
	payingPart = kind{[]Condition{{[]Property{paying}, 40}}, nil, limitPayingPart}
	trial      = kind{[]Condition{{[]Property{notFree}, 60}}, []Variant{{"a", 50}, {"b", 30}, {"c", 20}}, limitTrial}
	twoTests   = kind{[]Condition{{[]Property{fromExample, adult}, 75}}, nil, limitTwoTests}
	farAway    = kind{[]Condition{{[]Property{japanese}, 100}}, nil, limitFarAway}
	notFreePct = kind{[]Condition{{[]Property{notFree}, 30}}, nil, limitNotFreePart}

	mix = []kind{half, threeWays, fourFold, payingPart, tenth, split, twoTests, farAway, trial, notFreePct}
)

// Mixed returns n flags, each kind of the mix in turn. For Ana about 86 of 100 hashes are needed:
// most of the cost of a bulk evaluation is SHA-1, as in real projects.
func Mixed(n int) []Flag {
	flags := make([]Flag, n)
	for i := range flags {
		flags[i] = Flag{fmt.Sprintf("mixed-flag-%04d", i), mix[i%len(mix)]}
	}
	return flags
}

// Workload is one row of the table. A single flag is requested by its key; several flags are all
// evaluated together. Parallel runs it on all cores.
type Workload struct {
	Name     string
	Flags    []Flag
	Parallel bool
}

// Single reports whether the workload requests one flag by key.
func (w Workload) Single() bool { return len(w.Flags) == 1 }

// Workloads returns W1 to W6.
func Workloads() []Workload {
	third := []Flag{{"three-conditions", threeWays}}
	return []Workload{
		{Name: "W1", Flags: []Flag{{"simple-rollout", half}}},
		{Name: "W2", Flags: third},
		{Name: "W3", Flags: []Flag{{"four-variants", fourFold}}},
		{Name: "W4", Flags: Mixed(100)},
		{Name: "W5", Flags: Mixed(1000)},
		{Name: "W6", Flags: third, Parallel: true},
	}
}

// Definitions returns the flags as a PostHog definitions payload (spec/flags.md §1.8).
func Definitions(flags []Flag) []byte {
	type m = map[string]any
	records := make([]m, len(flags))
	for i, f := range flags {
		groups := make([]m, len(f.Conditions))
		for j, c := range f.Conditions {
			properties := make([]m, len(c.Properties))
			for k, p := range c.Properties {
				properties[k] = m{"key": p.Key, "type": "person", "operator": p.Operator, "value": p.Value}
			}
			groups[j] = m{"properties": properties, "rollout_percentage": c.Rollout}
		}
		filters := m{"groups": groups}
		if len(f.Variants) > 0 {
			variants := make([]m, len(f.Variants))
			for j, v := range f.Variants {
				variants[j] = m{"key": v.Key, "rollout_percentage": v.Share}
			}
			filters["multivariate"] = m{"variants": variants}
		}
		records[i] = m{"id": i + 1, "team_id": 1, "key": f.Key, "active": true, "version": 1, "filters": filters}
	}
	data, err := json.Marshal(m{"flags": records, "group_type_mapping": m{}, "cohorts": m{}})
	if err != nil {
		panic(err) // all values of the table can be encoded
	}
	return data
}

// Expected appends the limit's answers for u, in the order of flags, to out.
func Expected(flags []Flag, u *User, out []Answer) []Answer {
	for i := range flags {
		out = append(out, flags[i].limit(flags[i].Key, u))
	}
	return out
}
