package convert

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// rejectedFlags are the flags of the corpora that must be left out, with a part of the reason. All
// other flags must be converted.
var rejectedFlags = map[string]map[string]string{
	"gofeatureflag": {
		"share": "hash", "progressive": "changes with time", "scheduled": "changes with time", "experiment": "changes with time",
		"nested": "no members here", "text-order": "uses gt", "bucketing-key": "caller's default",
		"glued-lines": "cannot be read at character 14",
	},
	"flagd": {
		"share": "hash", "unknown-variant": "not a variant", "callers-default": "caller's default", "parts": "no members here",
		"arithmetic": "uses +", "time": "depends on the time", "text-order": "something other than numbers",
	},
	"unleash": {
		"half": "hash", "two-variants": "hash", "grandchild": "depends on a feature that depends", "child-of-half": `the flag "half"`,
		"date": "depends on the time", "address": `"remoteAddress"`, "own-strategy": `"moonPhase"`, "missing-segment": "not in this file",
		"word-boundary": `\b`,
	},
}

// Values equal those that the engines named in the corpora returned for every user.
func TestServices_EqualAnswers(t *testing.T) {
	for name, reasons := range rejectedFlags {
		t.Run(name, func(t *testing.T) {
			c := readCorpus(t, name)
			result := convertOne(t, name, c.Input, Options{Now: time.Date(2023, 12, 31, 0, 0, 0, 0, time.UTC)}) // before the dates in the file of GO Feature Flag
			got := omittedReasons(result)
			for key := range c.Answers {
				want, isOmitted := reasons[key]
				switch reason, is := got[key]; {
				case is != isOmitted || !strings.Contains(reason, want):
					t.Errorf("flag %s is left out for %q, want a reason with %q", key, reason, want)
				case is == slices.Contains(result.Converted, key):
					t.Errorf("flag %s is both left out and converted, or neither", key)
				}
			}
			compareAnswers(t, c, result, notesOf(result))
		})
	}
}

func convertOne(t *testing.T, format string, data []byte, o Options) *Result {
	t.Helper()
	f, ok := Find(format)
	if !ok {
		t.Fatalf("there is no format %s", format)
	}
	r, err := f.Read([]Input{{format, data}}, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func notesOf(r *Result) map[string][]string {
	out := map[string][]string{}
	for _, l := range r.Omissions {
		if !l.IsFlagOmitted {
			out[l.Flag] = append(out[l.Flag], l.Reason)
		}
	}
	return out
}

// omittedReasons returns the reasons of the flags that were left out.
func omittedReasons(r *Result) map[string]string {
	out := map[string]string{}
	for _, l := range r.Omissions {
		if l.IsFlagOmitted {
			out[l.Flag] = l.Place + ": " + l.Reason
		}
	}
	return out
}

func readTestdata(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/convert/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
