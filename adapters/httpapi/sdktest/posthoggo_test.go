package sdktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/posthog/posthog-go"

	"github.com/bunting-flags/bunting/flags"
)

// suite is a test of posthog-go: definitions, and the expected results.
type suite struct {
	Source      string          `json:"source"`
	Definitions json.RawMessage `json:"definitions"`
	Cases       []struct {
		subject
		Flag string `json:"flag"`
		Want any    `json:"want"` // false, true or a variant; nil if it is left to the server
	} `json:"cases"`
}

func readSuites(t testing.TB) []*suite {
	t.Helper()
	data, err := os.ReadFile("testdata/posthog-go/local.json")
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var all []*suite
	if err := dec.Decode(&all); err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for i := range s.Cases {
			if s.Cases[i].DistinctID == "" {
				s.Cases[i].DistinctID = "somebody"
			}
			s.Cases[i].goNumbers()
		}
	}
	return all
}

// expectedDifferences are the cases for which the specification differs from posthog-go's tests, by test
// and flag. A row that explains no difference fails the test.
var expectedDifferences = []struct{ source, flag, why string }{
	{"TestFlagDependenciesMalformedChain", "missing-chain-flag", "§1.8: the server works out every dependency_chain, also one that its source has not"},
	{"TestFeatureFlagWithOverrides", "flag-with-groups", "§7, §11: the key of groups overwrites a supplied $group_key"},
	{"TestMatchPropertyInvalidOperator", "case-1", "§13, case 80: a flag with an operator that nobody knows fails alone, and no client gets it"},
	{"TestMatchPropertyExactUsesBackendJSONRepresentation", "case-2", "decision 32: the float64 323 is the number 323"},
	{"TestMatchPropertyExactUsesBackendJSONRepresentation", "case-5", "decision 32: the float64 1e16 is the number 10000000000000000"},
	{"TestMatchPropertyExactFallsBackForAmbiguousFilterNumbers", "case-5", "decision 32: the float64 323 is the number 323"},
	{"TestMatchPropertySemverEq", "case-3", "§4.8: semver_eq looks at the pre-release"},
	{"TestCohortFlagDependencyExperienceContinuity", "target", flagLeaf},
	{"TestCohortFlagDependencyGroupContext", "target", flagLeaf},
	{"TestPropertyMatchingVersionReloadAndPropagation", "cohort-dependency", flagLeaf},
	{"TestGroupContextPersonFlagDependency", "target", flagLeaf},
	{"TestSameGroupFlagDependency", "target", flagLeaf},
	{"TestGroupContextPersonFlagDependency", "property-only", "§4.1: a cohort is about the person, also in a flag of groups"},
}

const flagLeaf = "§5.5: a cohort's leaf about a flag never matches"

// posthog-go's own tests of local evaluation pass for posthog-go with definitions from the server,
// and for a Set.
func TestGo_OwnSuite(t *testing.T) {
	s := serve(t)
	explained := make([]bool, len(expectedDifferences))
	cases := 0
	for i, own := range readSuites(t) {
		definitions, err := flags.ParseDefinitions(own.Definitions)
		if err != nil {
			t.Errorf("%s: %v", own.Source, err)
			continue
		}
		name := fmt.Sprintf("suite%d", i)
		p := s.add(flags.FileProject{
			Project: flags.Project{ID: int64(1000 + i), Name: name, APIKey: "phc_" + name}, Definitions: definitions, SecretKeys: []string{"phs_" + name},
		})
		client := goClient(t, s, p, local(p.SecretKeys[0]))
		var out flags.Decisions
		for _, c := range own.Cases {
			subject := &c.subject
			got, err := client.GetFeatureFlag(posthog.FeatureFlagPayload{
				Key: c.Flag, DistinctId: c.DistinctID, DeviceId: c.DeviceID, Groups: goGroups(subject, true),
				PersonProperties: posthog.Properties(c.Person), GroupProperties: goGroupProperties(subject), OnlyEvaluateLocally: true,
			})
			decided := c.Want
			if c.Want != nil { // otherwise the client leaves it to the server, with any result
				d, _ := p.Set.EvaluateFlag(c.Flag, subject.subject(), time.Now(), &out)
				decided = valueOf(&d)
			}
			cases++
			if got == c.Want && decided == c.Want {
				continue
			}
			row := slices.IndexFunc(expectedDifferences, func(o struct{ source, flag, why string }) bool { return o.source == own.Source && o.flag == c.Flag })
			if row < 0 {
				t.Errorf("%s, %s for %+v: posthog-go says %v (%v), the set %v, the test %v", own.Source, c.Flag, *subject, got, err, decided, c.Want)
				continue
			}
			explained[row] = true
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
	for i, o := range expectedDifferences {
		if !explained[i] {
			t.Errorf("%s, %s: nothing is otherwise (%s)", o.source, o.flag, o.why)
		}
	}
	if cases != 2924 { // the number in testdata/posthog-go/README.md
		t.Errorf("%d cases", cases)
	}
}

// valueOf returns a decision in the form of posthog-go.
func valueOf(d *flags.Decision) any {
	if d.Variant != "" {
		return d.Variant
	}
	return d.Enabled
}
