package earlyaccess_test

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

func TestEarlyAccess_Flags(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{
		"bounds": featureBoundRows, "conditions": featureConditionRows, "access": featureAccessRows, "everybody": releasedRows, "other changes": featureChangeRows,
	})
}

var featureBoundRows = flagtest.Rows(
	[]ruletest.Row{{"§5.5", "bob", "feature", `{"name":"F","stage":"draft"}`, `{"name":"F"}`}},
	flagtest.Each("§5.5 documentation_url: at most 800", "bob", "changefeature <F>",
		[2]string{`{"documentation_url":"https://example.com/` + strings.Repeat("x", 780) + `"}`, `{"documentation_url":"(like) x$"}`},
		[2]string{`{"documentation_url":"https://example.com/` + strings.Repeat("x", 781) + `"}`, `400 max_length documentation_url Ensure this field has no more than 800 characters.`},
		[2]string{`{"documentation_url":"javascript:alert(1)"}`, `400 invalid_input documentation_url Enter a valid URL.`},
		[2]string{`{"documentation_url":null}`, `400 null documentation_url This field may not be null.`},
		[2]string{`{"description":null}`, `400 null description This field may not be null.`},
		[2]string{`{"name":` + flagtest.Text(201) + `}`, `400 max_length name Ensure this field has no more than 200 characters.`},
		[2]string{`{"stage":"released"}`, `400 invalid_choice stage "released" is not a valid choice.`},
		[2]string{`[]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
	),
	flagtest.Each("§5.5 the slug of a long name", "bob", "feature",
		[2]string{`{"name":` + flagtest.Text(200) + `,"stage":"draft"}`, `{"feature_flag":{"key":` + flagtest.Text(200) + `}}`},
		[2]string{`{"name":"A - B","stage":"draft"}`, `{"feature_flag":{"key":"a-b"}}`},
		[2]string{`{"name":"-_C_-","stage":"draft"}`, `{"feature_flag":{"key":"c"}}`},
		[2]string{`{"name":"Version 2","stage":"draft"}`, `{"feature_flag":{"key":"version-2","name":"Feature Flag for Feature Version 2"}}`},
	),
	[]ruletest.Row{
		{"§5.5 refusals create neither a feature nor a flag", "bob", "feature", `{"name":"a-b","stage":"beta"}`, `400 unique key There is already a feature flag with this key.`},
		{"§5.5 refusals create neither a feature nor a flag", "bob", "features", ``, `{"count":5}`},
		{"§5.5 refusals create neither a feature nor a flag", "bob", "list", ``, `{"count":5}`},
	},
)

// enrolledIn returns the super_groups of a flag with early access.
func enrolledIn(key string) string {
	return `"super_groups":[{"properties":[{"key":"$feature_enrollment/` + key + `","type":"person","operator":"exact","value":["true"]}],"rollout_percentage":100}]`
}

// The conditions, payloads and super groups of the flag belong to different owners: a change of one
// leaves the others.
var featureConditionRows = []ruletest.Row{
	{"§5.5", "bob", "create", `{"key":"a","filters":{"groups":[{"properties":[` + flagtest.Plan + `],"rollout_percentage":20}],"payloads":{"true":"7"}}}`, `{"id":1}`},
	{"§5.5 a flag that is there keeps its conditions", "bob", "feature", `{"name":"F","stage":"alpha","feature_flag_id":1}`, `{"feature_flag":{"version":2,"filters":{"groups":[{"properties":[{"key":"plan"}],"rollout_percentage":20}],"payloads":{"true":"7"},` + enrolledIn("a") + `}}}`},
	{"§5.5 another release stage is no version", "bob", "changefeature <F>", `{"stage":"beta"}`, `{"stage":"beta","feature_flag":{"version":2}}`},
	{"§5.5 a new name is no version", "bob", "changefeature <F>", `{"name":"G"}`, `{"feature_flag":{"version":2}}`},
	{"§5.1.1 features", "bob", "get 1", ``, `{"version":2,"features":[{"id":"<F>","name":"G"}]}`},
	{"§5.1.2 other conditions", "bob", "change 1", `{"filters":{"groups":[{"properties":[],"rollout_percentage":5}],` + enrolledIn("a") + `}}`, `{"version":3,"filters":{"groups":[{"rollout_percentage":5}],` + enrolledIn("a") + `}}`},
	{"§5.5 archived", "bob", "changefeature <F>", `{"stage":"archived"}`, `{"feature_flag":{"version":4,"filters":{"groups":[{"rollout_percentage":5}],"super_groups":null}}}`},
	{"§5.5 a draft is as an archived one", "bob", "changefeature <F>", `{"stage":"draft"}`, `{"feature_flag":{"version":4}}`},
	{"§5.5 switched off, it is still in early access", "bob", "change 1", `{"active":false}`, `{"active":false}`},
	{"§5.5 switched off, it is still in early access", "bob", "changefeature <F>", `{"stage":"general-availability"}`, `{"feature_flag":{"active":false,"version":6,"filters":{` + enrolledIn("a") + `}}}`},
	{"§5.5 without the feature", "bob", "dropfeature <F>", ``, `null`},
	{"§5.5 without the feature", "bob", "get 1", ``, `{"version":7,"active":false,"features":[],"filters":{"groups":[{"rollout_percentage":5}],"super_groups":null}}`},
	{"§5.5 a draft without a version", "bob", "feature", `{"name":"H","stage":"draft","feature_flag_id":1}`, `{"feature_flag":{"version":7}}`},
	{"§5.5 a draft without a version", "bob", "dropfeature <H>", ``, `null`},
	{"§5.5 a draft without a version", "bob", "get 1", ``, `{"version":7,"features":[]}`},
}

// cyd may view flag 1. A change of a feature that changes the flag needs the right to edit it.
var featureAccessRows = []ruletest.Row{
	{"clients.md §11.3", "bob", "create", `{"key":"a"}`, `{"id":1}`},
	{"clients.md §11.3", "ann", "rule feature_flag 1", `{"access_level":"viewer","organization_member":"CYD"}`, `{"access_level":"viewer"}`},
	{"clients.md §11.3 flags", "cyd", "feature", `{"name":"F","stage":"beta","feature_flag_id":1}`, flagtest.MayNotEdit},
	{"clients.md §11.3 flags", "bob", "get 1", ``, `{"version":1,"features":[]}`},
	{"clients.md §11.3 flags", "bob", "feature", `{"name":"F","stage":"beta","feature_flag_id":1}`, `{"name":"F"}`},
	{"clients.md §11.3 flags", "cyd", "changefeature <F>", `{"stage":"archived"}`, flagtest.MayNotEdit},
	{"clients.md §11.3 flags", "cyd", "dropfeature <F>", ``, flagtest.MayNotEdit},
	{"clients.md §11.3 a text is not the flag's", "cyd", "changefeature <F>", `{"description":"x"}`, `{"description":"x","stage":"beta"}`},
	{"clients.md §11.3 another release stage is not the flag's", "cyd", "changefeature <F>", `{"stage":"alpha"}`, `{"stage":"alpha"}`},
	{"clients.md §11.3 a hidden flag", "ann", "rule feature_flag 1", `{"access_level":"none","organization_member":"CYD"}`, `{"access_level":"none"}`},
	{"clients.md §11.3 a hidden flag", "cyd", "getfeature <F>", ``, `{"name":"F","feature_flag":null}`},
	{"clients.md §11.3 a hidden flag", "cyd", "features", ``, `{"results":[{"name":"F","feature_flag":null}]}`},
	{"clients.md §11.3 SDKs know no access rules", "cyd", "publicfeatures alpha", ``, `[{"name":"F","flagKey":"a"}]`},
	{"clients.md §11.3 viewers of flags create no flag", "ann", "rule", `{"access_level":"viewer","resource":"feature_flag"}`, `{"access_level":"viewer"}`},
	{"clients.md §11.3 viewers of flags create no flag", "cyd", "feature", `{"name":"G","stage":"draft"}`, flagtest.MayNotEdit},
	{"clients.md §11.3 viewers of flags create no flag", "bob", "id g", ``, `0`},
}

var releasedRows = []ruletest.Row{
	{"§5.5 the newest first", "bob", "feature", `{"name":"A","stage":"concept"}`, `{"name":"A"}`},
	{"§5.5 the newest first", "bob", "feature", `{"name":"B","stage":"concept"}`, `{"name":"B"}`},
	{"§5.5 each once, however often a stage is named", "bob", "publicfeatures concept concept", ``, `[{"name":"B"},{"name":"A"}]`},
	{"§5.5 exactly these members", "bob", "publicfeatures concept", ``, `[{"name":"B","description":"","documentationUrl":"","flagKey":"b","stage":"concept","feature_flag":"(absent)","created_at":"(absent)","documentation_url":"(absent)"},{"name":"A"}]`},
	{"§5.5 a flag that is off is still listed", "bob", "change 1", `{"active":false}`, `{"active":false}`},
	{"§5.5 a flag that is off is still listed", "bob", "publicfeatures concept", ``, `[{"name":"B"},{"name":"A","flagKey":"a"}]`},
	{"§5.5 a deleted feature is not", "bob", "dropfeature <B>", ``, `null`},
	{"§5.5 a deleted feature is not", "bob", "publicfeatures concept", ``, `[{"name":"A"}]`},
}

var featureChangeRows = []ruletest.Row{
	{"§5.5 PUT keeps what it does not name", "bob", "feature", `{"name":"F","stage":"beta","description":"d","documentation_url":"https://example.com"}`, `{"name":"F"}`},
	{"§5.5 PUT keeps what it does not name", "bob", "putfeature <F>", `{"name":"G","stage":"beta"}`, `{"name":"G","description":"d","documentation_url":"https://example.com","feature_flag":{"version":1}}`},
	{"§5.5 in the name of who changes it", "cyd", "changefeature <F>", `{"stage":"archived"}`, `{"feature_flag":{"version":2}}`},
	{"§5.5 in the name of who changes it", "bob", "get 1", ``, `{"created_by":{"first_name":"bob"},"last_modified_by":{"first_name":"cyd"},"updated_at":"2026-01-02T12:00:03Z"}`},
	{"§5.11 no change is no entry", "ann", "changefeature <F>", `{"stage":"archived"}`, `{"stage":"archived"}`},
	{"§5.11 no change is no entry", "bob", "log EarlyAccessFeature <F>", ``, `{"user":{"first_name":"cyd"}}`},
	{"§5.11 the flag of a deleted feature", "gus", "changefeature <F>", `{"stage":"beta"}`, `{"stage":"beta"}`},
	{"§5.11 the flag of a deleted feature", "ann", "dropfeature <F>", ``, `null`},
	{"§5.11 the flag of a deleted feature", "bob", "log FeatureFlag 1", ``, `{"activity":"updated","user":{"first_name":"ann"}}`},
	{"§5.5 the name of a deleted one", "bob", "feature", `{"name":"F","stage":"beta"}`, `400 unique key There is already a feature flag with this key.`},
}

// A feature cannot change a flag of a definitions file (decisions, "Definitions file"), and a
// failure of the store leaves neither a feature without a flag nor a flag without its feature.
func TestEarlyAccess_NothingHalfDone(t *testing.T) {
	faulty := &memstore.Faulty{After: -1}
	w := flagtest.FaultyWorld(t, faulty)
	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		d := management.Definition{ID: 1, Key: "filed", Origin: "flags.json", Record: []byte(`{"id":1,"key":"filed","active":true,"filters":{"groups":[{"properties":[]}]}}`)}
		return tx.PutDefinition(management.FlagDefinition, ruletest.Project, &d)
	})
	if err != nil {
		t.Fatal(err)
	}
	w.RunFaulty(t, flagtest.RoomCalls(t, w), []ruletest.Row{
		{"a flag of a file", "bob", "feature", `{"name":"F","stage":"draft","feature_flag_id":1}`, `409 conflict - The feature flag "filed" is defined in the file flags.json and can only be changed there.`},
		{"a new flag", "bob", "feature", `{"name":"F","stage":"beta"}`, `{"name":"F","feature_flag":{"id":2,"version":1}}`},
		{"a stage", "bob", "changefeature <F>", `{"stage":"archived"}`, `{"feature_flag":{"version":2}}`},
		{"no feature", "bob", "dropfeature <F>", ``, `null`},
		{"no feature", "bob", "get 2", ``, `{"features":[],"version":2}`},
		{"its flag", "bob", "feature", `{"name":"G","stage":"beta","feature_flag_id":2}`, `{"feature_flag":{"id":2,"version":3}}`},
		{"all features", "bob", "features", ``, `{"count":1}`},
	}, memstore.ErrDisk, func(after int) bool {
		failed := faulty.Failed
		faulty.After, faulty.Failed = after, false
		return failed
	})
}
