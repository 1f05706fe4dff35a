package remote_test

import (
	"fmt"
	"testing"

	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
)

// houseFlags are the flags that the Client's tests evaluate.
const houseFlags = `
	{"id": 1, "key": "on", "active": true, "version": 3, "has_experiment": false, "filters": {"groups": [{"properties": [], "rollout_percentage": 100}], "payloads": {"true": "{\"limit\": 10}"}}},
	{"id": 2, "key": "off", "active": true, "version": 1, "filters": {"groups": [{"properties": [], "rollout_percentage": 0}]}},
	{"id": 3, "key": "color", "active": true, "version": 7, "has_experiment": true, "filters": {"groups": [{"properties": [], "rollout_percentage": 100, "variant": "blue"}],
		"multivariate": {"variants": [{"key": "red", "rollout_percentage": 50}, {"key": "blue", "rollout_percentage": 50}]}, "payloads": {"blue": "hello"}}},
	{"id": 4, "key": "for-pro", "active": true, "version": 1, "filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}], "rollout_percentage": 100}]}},
	{"id": 5, "key": "inactive", "active": false, "version": 1, "filters": {"groups": [{"properties": [], "rollout_percentage": 100}]}},
	{"id": 6, "key": "size", "active": true, "version": 1, "filters": {"groups": [{"properties": [], "rollout_percentage": 100, "variant": "12.5"}],
		"multivariate": {"variants": [{"key": "12.5", "rollout_percentage": 100}]}}},
	{"id": 7, "key": "limit", "active": true, "version": 1, "filters": {"groups": [{"properties": [], "rollout_percentage": 100}], "payloads": {"true": "42"}}},
	{"id": 8, "key": "same", "active": true, "version": 1, "ensure_experience_continuity": true, "filters": {"groups": [{"properties": [], "rollout_percentage": 50}]}},
	{"id": 9, "key": "for-gold", "active": true, "version": 1, "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "operator": "in", "value": 13}], "rollout_percentage": 100}]}},
	{"id": 10, "key": "broken", "active": true, "version": 1, "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "operator": "in", "value": 99}], "rollout_percentage": 100}]}}`

// localSet returns the flags as a Client has them: one is withheld, and the members of the static
// cohort are unknown.
func localSet(t testing.TB, members string) *flags.Set {
	t.Helper()
	d, err := flags.ParseDefinitions([]byte(`{"flags": [` + houseFlags + `]` + members + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return flags.Compile(d)
}

const unknownMembers = `, "static_cohorts": [13]`

func clientOn(t testing.TB, c remote.Config, set *flags.Set) *remote.Client {
	t.Helper()
	client, err := remote.NewClientOn(c, set)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close(t.Context()) }) // the context is over by then, so unsent events are dropped
	return client
}

// show formats a decision as one word.
func show(d flags.Decision, found bool, err error) string {
	switch {
	case err != nil:
		return "error: " + err.Error()
	case !found:
		return "no such flag"
	case d.Undecided != nil:
		return d.Undecided.Error()
	case d.Failed():
		return "failed: " + d.Reason.Code.String()
	}
	return fmt.Sprint(d.Value())
}
