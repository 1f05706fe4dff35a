package convert

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
)

// corpus is a document of another system, users, and the values that the system's own engine
// returned for each of them. The file names the engine.
type corpus struct {
	Format, Engine, Version string
	Input                   json.RawMessage
	Users                   []corpusUser
	// Answers are the values by flag, in the order of the users. Null is the caller's default.
	Answers map[string][]json.RawMessage
}

type corpusUser struct {
	ID         string
	Attributes map[string]any
	// Odd are attributes of a type that the rules do not expect: if the attribute has a note about
	// it, values may differ.
	Odd []string
}

func readCorpusFile(t testing.TB, format string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/convert/" + format + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func readCorpus(t *testing.T, format string) *corpus {
	t.Helper()
	var c corpus
	dec := json.NewDecoder(bytes.NewReader(readCorpusFile(t, format)))
	dec.UseNumber()
	if err := dec.Decode(&c); err != nil {
		t.Fatal(err)
	}
	return &c
}

// omittedFlags are the flags of each corpus that must be left out, with a part of the reason. All
// other flags must be converted.
var omittedFlags = map[string]map[string]string{
	"launchdarkly": {
		"op-sv-bad": "not a version", "op-unknown-op": "is an unknown operator", "op-kind": "tests the kind of a context",
		"op-kind-org": "only contexts of the kind user", "org-targets": "only contexts of the kind user", "op-reserved": "is reserved here",
		"op-matches-word": `has \b or \B`, "op-matches-bad": "not a regular expression in Go's syntax", "op-ref-deep": "reads a member of an attribute",
		"pre-null-off": "users who do not meet a prerequisite would get the caller's default", "no-serve": "serves no variation",
		"bad-variation": "no variation with this number", "circle-a": "circle of prerequisites", "circle-b": "circle of prerequisites",
		"pre-left-out": `depends on the flag "op-kind"`, "segment-circle": "circle of segments", "segment-big": "big segment",
		"segment-weighted": "share of the users", "deleted": "is deleted", "share": "depends on the source's hash",
	},
	"growthbook": {
		"c-eq-list": "a list or an object", "c-all": `"$all" is an unknown operator`, "c-unknown": `"$near" is an unknown operator`, "c-v-short": "not a version of the form",
		"c-in-scalar": "must be a list", "c-deep": "reads a member of an attribute", "c-lt-text": "the order of texts", "c-saved-group": `"$savedGroup" is an unknown operator`,
		"c-size": `"$size" is an unknown operator`, "c-elem": `"$elemMatch" is an unknown operator`, "c-type": `"$type" is an unknown operator`, "c-reserved": "is reserved here",
		"c-regex-bad": "not a regular expression in Go's syntax", "c-not-null": "must be an object", "coverage-half": "depends on the source's hash",
		"coverage-attr": "only the id can be hashed", "range-part": "depends on the source's hash", "exp": "depends on the source's hash",
		"exp-namespace": "depends on the source's hash", "circle-a": "circle of prerequisites",
		"circle-b": "circle of prerequisites", "parent-left-out": `depends on the flag "c-type"`, "parent-missing": "there is no feature",
	},
	"flipt": {
		"v-split": "depends on the source's hash", "v-bad-key": "cannot be the key of a variant",
		"threshold": "depends on the source's hash",
	},
}

func TestEngines_EqualAnswers(t *testing.T) {
	for format, omitted := range omittedFlags {
		t.Run(format, func(t *testing.T) {
			c := readCorpus(t, format)
			f, _ := Find(format)
			result, err := f.Read([]Input{{format, c.Input}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			notes := map[string][]string{}
			for _, l := range result.Omissions {
				if l.IsFlagOmitted {
					got[l.Flag] = l.Place + ": " + l.Reason
				} else {
					notes[l.Flag] = append(notes[l.Flag], l.Reason)
				}
			}
			for key := range c.Answers {
				want, isOmitted := omitted[key]
				switch reason, is := got[key]; {
				case is && !isOmitted:
					t.Errorf("flag %s is left out: %s", key, reason)
				case is != isOmitted || !strings.Contains(reason, want):
					t.Errorf("flag %s is left out for %q, want a reason with %q", key, reason, want)
				case is == slices.Contains(result.Converted, key):
					t.Errorf("flag %s is both left out and converted, or neither", key)
				}
			}
			compareAnswers(t, c, result, notes)
		})
	}
}

// compareAnswers evaluates the result for every user, from memory and from the written file.
func compareAnswers(t *testing.T, c *corpus, result *Result, own map[string][]string) {
	t.Helper()
	text, err := result.Document()
	if err != nil {
		t.Fatal(err)
	}
	read, err := flags.ParseFile(text)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for name, d := range map[string]flags.Definitions{"memory": result.File.Projects[0].Definitions, "file": read.Projects[0].Definitions} {
		set := flags.Compile(d)
		notes := inherit(d, own)
		if faults := set.Faults(); len(faults) > 0 {
			t.Fatalf("%s: faults: %v", name, faults)
		}
		var out flags.Decisions
		for i, u := range c.Users {
			sub := flags.Subject{DistinctID: u.ID, Person: u.Attributes}
			set.Select(&sub, time.Unix(1_750_000_000, 0), &flags.Selection{Runtime: "all"}, &out)
			for _, key := range result.Converted {
				mayDiffer := func(attribute string) bool {
					return slices.ContainsFunc(notes[key], func(n string) bool { return strings.Contains(n, `"`+attribute+`"`) })
				}
				if slices.ContainsFunc(u.Odd, mayDiffer) {
					continue
				}
				compared++
				isOff := slices.ContainsFunc(own[key], func(n string) bool { return strings.Contains(n, "is off here") })
				if diff := cmp.Diff(plain(t, c.Answers[key][i], isOff), answerOf(t, c.Format, out.Find(key))); diff != "" {
					t.Errorf("%s: flag %s for %s %v (-%s +ours):\n%s", name, key, u.ID, u.Attributes, c.Engine, diff)
				}
			}
		}
	}
	if minCompared := len(c.Users) * len(result.Converted); compared < minCompared {
		t.Errorf("%d answers were compared, want at least %d", compared, minCompared)
	}
}

// inherit adds to each flag the notes of the flags that it depends on.
func inherit(d flags.Definitions, own map[string][]string) map[string][]string {
	byID, all := map[string]*flags.Flag{}, map[string][]string{}
	for i := range d.Flags {
		byID[strconv.FormatInt(d.Flags[i].ID, 10)] = &d.Flags[i]
	}
	var collect func(f *flags.Flag) []string
	collect = func(f *flags.Flag) []string {
		out := slices.Clone(own[f.Key])
		for _, c := range f.Conditions {
			for _, p := range c.Properties {
				if p.Type == flags.FlagProperty {
					out = append(out, collect(byID[p.Key])...)
				}
			}
		}
		return out
	}
	for _, f := range byID {
		all[f.Key] = collect(f)
	}
	return all
}

func plain(t *testing.T, raw json.RawMessage, nullIsOff bool) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	if v == nil && nullIsOff {
		return false
	}
	return v
}

// answerOf returns our value in the source's form: the payload, else the variant, else on or off.
// If there is no value it is the caller's default.
func answerOf(t *testing.T, format string, d *flags.Decision) any {
	t.Helper()
	switch {
	case d == nil:
		return nil
	case format == "flipt" && d.Variant != "": // its values are the key and the attachment
		a := map[string]any{"variant": d.Variant, "attachment": nil}
		if d.Payload != nil {
			a["attachment"] = payloadOf(t, d)
		}
		return a
	case d.Failed() || d.Undecided != nil:
		return "failed"
	case d.Payload == nil:
		return d.Value()
	}
	return payloadOf(t, d)
}

func payloadOf(t *testing.T, d *flags.Decision) any {
	t.Helper()
	var text string
	if err := json.Unmarshal(d.Payload, &text); err != nil {
		t.Fatal(err)
	}
	return plain(t, json.RawMessage(text), false)
}
