package flags_test

import (
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

// changed returns definitions after a random change: flags are modified, added, removed and
// reordered; rarely a cohort, a group type or the time zone changes.
func (g generator) changed(d flags.Definitions) flags.Definitions {
	d.Flags = slices.Clone(d.Flags)
	for range 1 + g.Intn(2) {
		i := g.Intn(len(d.Flags))
		switch n := g.Intn(100); {
		case n < 50:
			d.Flags[i] = g.flag(int(d.Flags[i].ID))
		case n < 60:
			id := len(d.Flags) + 1 // the id of another flag if one was removed
			d.Flags = slices.Insert(d.Flags, i, g.flag(id))
		case n < 70 && len(d.Flags) > 1:
			d.Flags = slices.Delete(d.Flags, i, i+1)
		case n < 75:
			j := g.Intn(len(d.Flags))
			d.Flags[i], d.Flags[j] = d.Flags[j], d.Flags[i]
		case n < 78:
			d.Flags[i].ID = int64(1 + g.Intn(len(d.Flags)+1))
		case n < 81:
			d.Flags[i].Key = pick(g, "", "f1", "f2", "other")
		case n < 84:
			d.Flags[i].Deleted = !d.Flags[i].Deleted
		case n < 88:
			d.Flags[i].Contexts, d.Flags[i].Runtime = pick(g, nil, []string{"web"}), pick(g, "", "server")
		case n < 92:
			d.Cohorts = map[int64]flags.Cohort{1: {Tree: g.node(2)}, 2: d.Cohorts[2], 3: {Static: true, Members: []string{"u2"}}}
		case n < 95:
			d.GroupTypes = pick(g, map[int]string{0: "org"}, map[int]string{0: "team"}, nil)
		case n < 97:
			d.Timezone = pick(g, "", "Europe/Oslo", "nowhere")
		default:
			d.PropertyMatchingVersion, d.BucketingHash = pick(g, 1, 2), pick(g, flags.SHA1, flags.Murmur3)
		}
	}
	return d
}

// A set compiled from the previous one has the same results as a set compiled from scratch,
// after any number and kind of changes.
func TestRecompile_AnswersAsCompile(t *testing.T) {
	for seed := range int64(flags.Draws(300)) {
		g := generator{rand.New(rand.NewSource(seed))}
		d := g.definitions()
		for i := range 3 + g.Intn(6) {
			d.Flags = append(d.Flags, g.flag(len(d.Flags)+1+i%2)) // sometimes a duplicate id
		}
		set := flags.Compile(d)
		for step := range 8 {
			d = g.changed(d)
			before, full := set, flags.Compile(d)
			set = before.Recompile(d)
			checkSameSet(t, g, seed, step, &d, set, full)
		}
	}
}

// Flags that depend on other flags are reused at new indexes, unless a dependency now refers
// to a different flag.
func TestRecompile_DependenciesMove(t *testing.T) {
	asks := func(id int64, key, dependency string, chain ...string) flags.Flag {
		return flags.Flag{ID: id, Key: key, Active: true, Conditions: []flags.Condition{{Properties: []flags.Property{
			{Key: dependency, Type: flags.FlagProperty, Operator: flags.FlagEvaluatesTo, Value: true, HasValue: true, Chain: chain},
		}}}}
	}
	fixed := func(id int64, key string, rollout float64) flags.Flag {
		return flags.Flag{ID: id, Key: key, Active: true, Conditions: []flags.Condition{{Rollout: &rollout}}}
	}
	base := []flags.Flag{
		fixed(10, "on", 100), fixed(20, "off", 0), fixed(30, "77", 100), // a key that may become an id
		asks(40, "by id", "10"), asks(50, "by key", "off"), asks(60, "by number", "77"), asks(70, "by chain", "77", "77"), asks(80, "behind", "40"),
	}
	for name, change := range map[string]func(d []flags.Flag) []flags.Flag{
		"a new one before all":     func(d []flags.Flag) []flags.Flag { return slices.Insert(d, 0, fixed(1, "new", 100)) },
		"before, ids not in order": func(d []flags.Flag) []flags.Flag { return slices.Insert(d, 0, fixed(99, "new", 100)) },
		"the first one is gone":    func(d []flags.Flag) []flags.Flag { return d[1:] },
		"one that is asked by key": func(d []flags.Flag) []flags.Flag { return slices.Delete(d, 1, 2) },
		"one that asks":            func(d []flags.Flag) []flags.Flag { return slices.Delete(d, 3, 4) },
		"a number becomes an id":   func(d []flags.Flag) []flags.Flag { return slices.Insert(d, 7, fixed(77, "other", 0)) },
		"another one gets the id":  func(d []flags.Flag) []flags.Flag { d[0], d[1] = fixed(20, "on", 100), fixed(10, "off", 0); return d },
		"a second one of the key":  func(d []flags.Flag) []flags.Flag { return slices.Insert(d, 0, fixed(2, "on", 0)) },
		"a second one of the id":   func(d []flags.Flag) []flags.Flag { return slices.Insert(d, 0, fixed(10, "new", 0)) },
		"it changes and moves": func(d []flags.Flag) []flags.Flag {
			d[0] = fixed(10, "on", 0)
			return slices.Insert(d, 0, fixed(1, "new", 100))
		},
		"all the other way round": func(d []flags.Flag) []flags.Flag { slices.Reverse(d); return d },
		"a new one, and one switched off": func(d []flags.Flag) []flags.Flag {
			d[0].Active = false
			return append(d, fixed(90, "new", 100))
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := flags.Definitions{Flags: slices.Clone(base)}
			after := flags.Definitions{Flags: change(slices.Clone(base))}
			first, second := flags.Compile(before), flags.Compile(after)
			there := first.Recompile(after)
			back := there.Recompile(before)
			again := back.Recompile(after)
			g := generator{rand.New(rand.NewSource(1))}
			checkSameSet(t, g, 1, 1, &after, there, second)
			checkSameSet(t, g, 1, 2, &before, back, first)
			checkSameSet(t, g, 1, 3, &after, again, second)
		})
	}
}

// The id of a flag with a duplicate key refers to no flag, whether or not the flags are
// sorted by id.
func TestCompile_IDOfDuplicateKey(t *testing.T) {
	d := []flags.Flag{
		{ID: 1, Key: "a", Active: true, Conditions: []flags.Condition{{}}}, {ID: 2, Key: "a", Active: true, Conditions: []flags.Condition{{}}},
		{ID: 3, Key: "asks", Active: true, Conditions: []flags.Condition{{Properties: []flags.Property{
			{Key: "2", Type: flags.FlagProperty, Operator: flags.FlagEvaluatesTo, Value: true, HasValue: true},
		}}}},
	}
	for order, list := range map[string][]flags.Flag{"in order": d, "not in order": append(slices.Clone(d), flags.Flag{Key: "last"})} {
		var out flags.Decisions
		flags.Compile(flags.Definitions{Flags: list}).Evaluate(&flags.Subject{DistinctID: "u"}, testAt, &out)
		if got := out.Find("asks"); got == nil || got.Enabled || got.Reason.Code != flags.MissingDependency {
			t.Errorf("%s: %+v", order, got)
		}
	}
}

// checkSameSet compares the results of all methods of two sets.
func checkSameSet(t *testing.T, g generator, seed int64, step int, d *flags.Definitions, got, want *flags.Set) {
	t.Helper()
	same := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d, step %d: %s:\nrecompiled %+v\ncompiled   %+v", seed, step, what, got, want)
		}
	}
	same("faults", got.Faults(), want.Faults())
	needs := func(n *flags.Needs) string {
		return fmt.Sprint(n.Person, n.CreatedAt, n.Located, n.GroupTypes, n.Cohorts, n.Continuity, n.ContinuityMatters)
	}
	same("needs", needs(got.Needs()), needs(want.Needs()))
	same("dated, length", []any{got.HasDates(), got.Len()}, []any{want.HasDates(), want.Len()})
	all := slices.Collect(want.All())
	sort.Strings(all)
	others := slices.Collect(got.All())
	sort.Strings(others)
	same("all keys", others, all)
	var a, b flags.Decisions
	for range 3 {
		sub := g.subject(d)
		sel := flags.Selection{Runtime: pick(g, "all", "client", ""), Contexts: pick(g, nil, []string{"web"}, append(slices.Repeat([]string{"other"}, 20), "web"))}
		same("what is asked for", got.Needs().IsPersonCovered(sub.Person), want.Needs().IsPersonCovered(sub.Person))
		got.Select(&sub, testAt, &sel, &a)
		want.Select(&sub, testAt, &sel, &b)
		same("decisions", a.List, b.List)
		same("errors", a.Errors, b.Errors)
		for _, key := range all {
			same("standing", got.Status(key), want.Status(key))
			same("explanation of "+strconv.Quote(key), got.Explain(key, &sub, testAt, sel).String(), want.Explain(key, &sub, testAt, sel).String())
		}
	}
}
