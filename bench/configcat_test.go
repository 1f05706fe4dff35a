package bench

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	configcat "github.com/configcat/go-sdk/v9"
)

// ccUser is a struct of the caller, which ConfigCat documents as the efficient way to pass a user.
// It has no Beta, since the SDK rejects bool fields and no workload reads it.
type ccUser struct {
	Identifier, Country, Email, Plan string
	Age                              float64
}

func ccFrom(u *User) *ccUser {
	return &ccUser{Identifier: u.ID, Country: u.Country, Email: u.Email, Plan: u.Plan, Age: u.Age}
}

// ccNames maps property keys to the names of ccUser's fields.
var ccNames = map[string]string{"country": "Country", "email": "Email", "plan": "Plan", "age": "Age"}

var ccOperators = map[string]configcat.Comparator{
	"exact":     configcat.OpOneOf,
	"is_not":    configcat.OpNotOneOf,
	"icontains": configcat.OpContains,
	"gte":       configcat.OpGreaterEqNum,
}

// ccSetting translates a row into ConfigCat's config JSON. A text setting with the value "" is an
// off flag with variants.
func ccSetting(f Flag) map[string]any {
	type m = map[string]any
	off, shares, kind := m{"b": false}, []Variant{{Share: 100}}, int(configcat.BoolSetting)
	value := func(Variant) m { return m{"b": true} }
	if len(f.Variants) > 0 {
		off, shares, kind = m{"s": ""}, f.Variants, int(configcat.StringSetting)
		value = func(v Variant) m { return m{"s": v.Key} }
	}
	setting := m{"t": kind, "v": off, "i": "off"}
	var rules []m
	for _, c := range f.Conditions {
		var options []m
		if c.Rollout < 100 || len(shares) > 1 {
			for _, s := range shares {
				options = append(options, m{"p": int(math.Round(s.Share * c.Rollout / 100)), "v": value(s), "i": "on"})
			}
			if c.Rollout < 100 {
				options = append(options, m{"p": int(math.Round(100 - c.Rollout)), "v": off, "i": "off"})
			}
		}
		if len(c.Properties) == 0 {
			setting["p"] = options
			continue
		}
		var tests []m
		for _, p := range c.Properties {
			test := m{"a": ccNames[p.Key], "c": int(ccOperators[p.Operator])}
			switch v := p.Value.(type) {
			case []string:
				test["l"] = v
			case string:
				test["l"] = []string{v}
			default:
				test["d"] = v
			}
			tests = append(tests, m{"u": test})
		}
		rule := m{"c": tests}
		if options != nil {
			rule["p"] = options
		} else {
			rule["s"] = m{"v": value(Variant{}), "i": "on"}
		}
		rules = append(rules, rule)
	}
	setting["r"] = rules
	return setting
}

// ccLog fails the benchmark on each error that the SDK logs.
type ccLog struct{ tb testing.TB }

func (ccLog) Debugf(string, ...any)            {}
func (ccLog) Infof(string, ...any)             {}
func (ccLog) Warnf(string, ...any)             {}
func (l ccLog) Errorf(format string, a ...any) { l.tb.Errorf(format, a...) }

func loadConfigCat(tb testing.TB, w Workload) contender {
	settings := map[string]any{}
	for _, f := range w.Flags {
		settings[f.Key] = ccSetting(f)
	}
	data, err := json.Marshal(map[string]any{"p": map[string]any{"s": "salt"}, "f": settings})
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), "config.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
	client := configcat.NewCustomClient(configcat.Config{
		PollingMode:   configcat.Manual,
		Logger:        ccLog{tb},
		LogLevel:      configcat.LogLevelError,
		FlagOverrides: &configcat.FlagOverrides{FilePath: path, Behavior: configcat.LocalOnly},
	})
	tb.Cleanup(client.Close)
	if err := client.Refresh(context.Background()); err != nil { // reads the file; LocalOnly disables the network
		tb.Fatal(err)
	}

	// A snapshot caches its decisions, so each operation creates a new one.
	var c contender
	c.answers = func(u *User) []Answer {
		values, got := client.Snapshot(ccFrom(u)).GetAllValues(), make([]Answer, len(w.Flags))
		for i, f := range w.Flags {
			switch v := values[f.Key].(type) {
			case bool:
				got[i] = Answer{On: v}
			case string:
				got[i] = Answer{v != "", v}
			default:
				got[i] = Answer{Variant: "no value"}
			}
		}
		return got
	}
	c.worker = func() func() {
		u, key := ccFrom(&Ana), w.Flags[0].Key
		if w.Single() {
			return func() { _ = client.Snapshot(u).GetValue(key) }
		}
		return func() { _ = client.Snapshot(u).GetAllValues() }
	}
	return c
}

func BenchmarkConfigCat(b *testing.B) { race(b, loadConfigCat, possible) }
