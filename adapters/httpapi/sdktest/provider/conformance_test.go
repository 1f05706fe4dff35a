package provider

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cucumber/godog"
)

// exception is a scenario that does not apply, by a prefix of its name, type and flag: the failing
// check, and the reason.
type exception struct{ scenario, failsAt, reason string }

// exceptions must not contain scenarios that pass or that fail at another check.
var exceptions = []exception{
	{"Resolves zero value with targeting using default", "the resolved details value", noValue},
	{"Empty evaluation context", "the resolved details value", noValue},
	{"Null context values", "the resolved details value", noValue},
	{"Flag metadata in evaluation details", "the metadata", ownMetadata},
	{"Returns metadata", "the metadata", ownMetadata},
	{"Returns no metadata", "the metadata", "every decision's metadata has the flag's id and version (interface.md)"},
	{"Type mismatch error String boolean-flag", "the resolved details value", "a flag with variants is a boolean and, as a text, its variant: boolean-flag has the variant on elsewhere in the features"},
	{"CACHED reason", "the reason is", "each evaluation decides in the process; nothing is cached"},
}

const (
	noValue     = "a flag that no condition takes is off and has no value of its own: the reason is DEFAULT, the value the default of the code"
	ownMetadata = "flags have no metadata that people write; what they would say is the payload"
)

// OpenFeature's specification, Appendix B: the conformance features of testdata/openfeature pass,
// except scenarios that do not apply.
func TestProvider_AppendixB(t *testing.T) {
	type result struct {
		name string
		err  error
	}
	var results []result
	suite := godog.TestSuite{
		ScenarioInitializer: func(sc *godog.ScenarioContext) {
			w := newWorld(t)
			w.steps(sc)
			sc.After(func(ctx context.Context, s *godog.Scenario, err error) (context.Context, error) {
				results = append(results, result{s.Name + " " + w.typ + " " + w.flag, err})
				return ctx, w.close()
			})
		},
		Options: &godog.Options{Format: "progress", Output: io.Discard, Paths: []string{"testdata/openfeature"}, Strict: true},
	}
	suite.Run()
	needed, passed := map[string]bool{}, 0
	for _, r := range results {
		i := slices.IndexFunc(exceptions, func(n exception) bool { return strings.HasPrefix(r.name, n.scenario) })
		switch {
		case i < 0 && r.err == nil:
			passed++
		case i < 0:
			t.Errorf("%s: %v", r.name, r.err)
		case r.err == nil || !strings.Contains(r.err.Error(), exceptions[i].failsAt):
			t.Errorf("%s: %v, want an error at %s", r.name, r.err, exceptions[i].failsAt)
		default:
			needed[exceptions[i].scenario] = true
		}
	}
	for _, n := range exceptions {
		if !needed[n.scenario] {
			t.Errorf("%s: no scenario is so, where %s", n.scenario, n.reason)
		}
	}
	// Counted in the feature files: rows of outlines and single scenarios.
	if len(results) != 119 || passed != 95 {
		t.Errorf("%d scenarios, %d pass", len(results), passed)
	}
}
