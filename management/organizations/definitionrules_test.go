package organizations_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/organizations"
)

// nameCalls returns the calls of descriptions of names. A path is a name; seen are the times when
// events used names last, which the call see sets.
func (w *world) nameCalls(t *testing.T) ruletest.Calls {
	ctx, seen := t.Context(), map[string]time.Time{}
	vocabularies := map[string]organizations.Vocabulary{"event": w.Organizations.EventNames, "property": w.Organizations.PropertyNames}
	defined := func(path string) (organizations.Vocabulary, organizations.DefinedName) {
		kind, name, _ := strings.Cut(path, " ")
		return vocabularies[kind], organizations.DefinedName{ID: "id of " + name, Name: name, SeenAt: seen[name]}
	}
	calls := w.calls(t)
	calls["see"] = func(_ callScope, path, _ string) (any, error) { seen[path] = w.Clock; return nil, nil }
	calls["describename"] = func(scope callScope, path, b string) (any, error) {
		vocabulary, d := defined(path)
		return nil, vocabulary.Describe(ctx, scope, d, ruletest.Body(t, b))
	}
	calls["forget"] = func(scope callScope, path, _ string) (any, error) {
		vocabulary, d := defined(path)
		return nil, vocabulary.Forget(ctx, scope, d)
	}
	// name returns the description of a name, null without one.
	calls["name"] = func(scope callScope, path, _ string) (any, error) {
		vocabulary, d := defined(path)
		list, err := vocabulary.Details(ctx, scope.Project.ID)
		details, ok := list[d.ID]
		if err != nil || !ok {
			return nil, err
		}
		return map[string]any{"details": details, "type": details.PropertyType, "forgotten": details.IsForgotten(d.SeenAt)}, nil
	}
	return calls
}

// Descriptions of events and properties follow clients.md §10.
func TestDefinitions_Rules(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{"fields": nameRows, "bodies": nameFieldRows, "verified and hidden": verifiedNameRows, "deletion": forgetRows, "places": namePlaceRows} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, memstore.ExternalData{}, false)
			w.Run(t, w.nameCalls(t), rows)
		})
	}
}

var nameRows = []ruletest.Row{
	{"clients §10 none", "bob", "name event buy", ``, `null`},
	{"clients §10 PATCH", "bob", "describename event buy", `{"description":"Somebody buys","tags":[" Shop ","shop","","b"]}`, `null`},
	{"clients §10 PATCH", "bob", "name event buy", ``, `{"details":{"description":"Somebody buys","tags":["shop","b"],"verified":false,"verified_at":null,"verified_by":null,"hidden":false,"updated_at":"2026-01-02T12:00:02Z","updated_by":{"first_name":"bob"}},"type":null,"forgotten":false}`},
	{"§5.11", "bob", "log EventDefinition", ``, `{"activity":"updated","item_id":"id of buy","user":{"first_name":"bob"},"detail":{"name":"buy","changes":[{"field":"description","before":null,"after":"Somebody buys"},{"field":"tags","before":null,"after":["shop","b"]}]}}`},
	{"clients §10 absent fields stay", "cyd", "describename event buy", `{"tags":[]}`, `null`},
	{"clients §10 absent fields stay", "bob", "name event buy", ``, `{"details":{"description":"Somebody buys","tags":[],"updated_by":{"first_name":"cyd"}}}`},
	{"clients §10 null", "bob", "describename event buy", `{"description":null}`, `null`},
	{"clients §10 null", "bob", "name event buy", ``, `{"details":{"description":null}}`},
	{"clients §10 property_type", "bob", "describename property price", `{"property_type":"Numeric"}`, `null`},
	{"clients §10 property_type", "bob", "name property price", ``, `{"type":"Numeric"}`},
	{"clients §10 property_type", "bob", "describename property price", `{"property_type":null}`, `null`},
	{"clients §10 property_type", "bob", "name property price", ``, `{"type":null}`},
	{"events have no property_type", "bob", "describename event buy", `{"property_type":"Numeric"}`, `null`},
	{"events have no property_type", "bob", "name event buy", ``, `{"type":null}`},
	{"§5.11 nothing was changed", "bob", "describename event buy", `{"tags":[]}`, `null`},
	{"§5.11 nothing was changed", "bob", "log EventDefinition", ``, `{"detail":{"changes":[{"field":"description","action":"deleted"}]}}`},
}

// manyTags returns a list of n tags.
func manyTags(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"t%d"`, i)
	}
	return `[` + strings.Join(list, ",") + `]`
}

var nameFieldRows = rows(
	each("clients §10", "bob", "describename event buy",
		[2]string{`{"description":` + chars(4096) + `}`, `null`},
		[2]string{`{"description":` + chars(4097) + `}`, `400 max_length description Ensure this field has no more than 4096 characters.`},
		[2]string{`{"tags":[` + chars(255) + `]}`, `null`},
		[2]string{`{"tags":["a",` + chars(256) + `]}`, `400 max_length tags__1 Ensure this field has no more than 255 characters.`},
		[2]string{`{"tags":` + manyTags(100) + `}`, `null`},
		[2]string{`{"tags":` + manyTags(101) + `}`, `400 max_length tags Ensure this field has no more than 100 elements.`},
		[2]string{`{"tags":` + strings.Replace(manyTags(100), `[`, `["t0",`, 1) + `}`, `null`}, // 100 different tags
		[2]string{`{"tags":"a"}`, `400 not_a_list tags`},
		[2]string{`{"tags":null}`, `400 null tags`},
		[2]string{`{"verified":"perhaps"}`, `400 invalid_input verified Must be a valid boolean.`},
		[2]string{`{"verified":true,"hidden":true}`, `400 invalid_input - An event cannot be both hidden and verified`},
		[2]string{`[]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
	),
	each("clients §10", "bob", "describename property price",
		[2]string{`{"property_type":"Duration"}`, `400 invalid_choice property_type "Duration" is not a valid choice.`},
		[2]string{`{"property_type":"numeric"}`, `400 invalid_choice property_type`},
		[2]string{`{"verified":true,"hidden":true}`, `400 invalid_input - A property cannot be both hidden and verified`},
	),
	[]ruletest.Row{{"nothing was stored", "bob", "name property price", ``, `null`}},
)

var verifiedNameRows = []ruletest.Row{
	{"clients §10 verified", "bob", "describename event buy", `{"verified":true}`, `null`},
	{"clients §10 verified", "bob", "name event buy", ``, `{"details":{"verified":true,"verified_at":"2026-01-02T12:00:01Z","verified_by":{"first_name":"bob"},"hidden":false}}`},
	{"the first who verifies counts", "cyd", "describename event buy", `{"verified":true}`, `null`},
	{"the first who verifies counts", "bob", "name event buy", ``, `{"details":{"verified_at":"2026-01-02T12:00:01Z","verified_by":{"first_name":"bob"}}}`},
	{"hidden is not verified", "bob", "describename event buy", `{"hidden":true}`, `null`},
	{"hidden is not verified", "bob", "name event buy", ``, `{"details":{"verified":false,"verified_at":null,"verified_by":null,"hidden":true}}`},
	{"verified is not hidden", "cyd", "describename event buy", `{"verified":true}`, `null`},
	{"verified is not hidden", "bob", "name event buy", ``, `{"details":{"verified":true,"verified_at":"2026-01-02T12:00:07Z","verified_by":{"first_name":"cyd"},"hidden":false}}`},
	{"hidden: false changes nothing", "bob", "describename event buy", `{"hidden":false}`, `null`},
	{"hidden: false changes nothing", "bob", "name event buy", ``, `{"details":{"verified":true,"hidden":false}}`},
	{"one of them may be false", "bob", "describename event buy", `{"verified":false,"hidden":true}`, `null`},
	{"one of them may be false", "bob", "name event buy", ``, `{"details":{"verified":false,"verified_at":null,"hidden":true}}`},
	{"neither", "bob", "describename event buy", `{"hidden":false}`, `null`},
	{"neither", "bob", "name event buy", ``, `{"details":{"verified":false,"hidden":false}}`},
}

// clients.md §10: a deleted name reappears with the next event that uses it.
var forgetRows = []ruletest.Row{
	{"", "bob", "see buy", ``, `null`},
	{"", "bob", "describename event buy", `{"description":"x","verified":true}`, `null`},
	{"clients §10 DELETE", "bob", "forget event buy", ``, `null`},
	{"clients §10 DELETE", "bob", "name event buy", ``, `{"details":{"description":null,"tags":[],"verified":false,"verified_by":null},"forgotten":true}`},
	{"§5.11", "bob", "log EventDefinition", ``, `{"activity":"deleted","detail":{"name":"buy"}}`},
	{"clients §10 it is gone", "bob", "describename event buy", `{"description":"y"}`, notFound},
	{"clients §10 it is gone", "bob", "forget event buy", ``, notFound},
	{"clients §10 seen again", "bob", "see buy", ``, `null`},
	{"clients §10 seen again", "bob", "name event buy", ``, `{"details":{"description":null},"forgotten":false}`},
	{"clients §10 seen again", "bob", "describename event buy", `{"tags":["t"]}`, `null`},
	{"clients §10 seen again", "bob", "name event buy", ``, `{"details":{"description":null,"tags":["t"],"verified":false},"forgotten":false}`},
	{"one that was never described", "bob", "forget event other", ``, `null`},
	{"one that was never described", "bob", "name event other", ``, `{"forgotten":true}`},
}

var namePlaceRows = []ruletest.Row{
	{"", "bob", "describename event buy", `{"description":"x"}`, `null`},
	{"of a project", "dan", "name event buy", ``, `null`},
	{"of a vocabulary", "bob", "name property buy", ``, `null`},
	{"of a project", "dan", "describename event buy", `{"description":"y"}`, `null`},
	{"of a project", "bob", "name event buy", ``, `{"details":{"description":"x"}}`},
}

// An event at the time of the deletion does not restore a name, a later one does.
func TestDefinitionDetails_IsForgotten(t *testing.T) {
	w := newWorld(t, memstore.ExternalData{}, false)
	w.Run(t, w.nameCalls(t), []ruletest.Row{{"deleted at 12:00:01", "bob", "forget event buy", ``, `null`}})
	list, err := w.Organizations.EventNames.Details(t.Context(), ruletest.Project)
	if err != nil {
		t.Fatal(err)
	}
	details := list["id of buy"]
	for after, want := range map[time.Duration]bool{0: true, time.Second: true, time.Second + time.Microsecond: false} {
		if got := details.IsForgotten(ruletest.Start.Add(after)); got != want {
			t.Errorf("seen %v after the start: %v, want %v", after, got, want)
		}
	}
	if (&organizations.DefinitionDetails{}).IsForgotten(time.Time{}) {
		t.Error("a name that was never deleted")
	}
}

// §5.4: the labels of group types.
func TestGroupTypes_Rules(t *testing.T) {
	w := newWorld(t, memstore.ExternalData{GroupTypes: map[int64]map[int]string{ruletest.Project: {0: "company", 4: "team"}}}, false)
	w.Run(t, w.calls(t), rows(
		each("§5.4", "bob", "label",
			[2]string{`[]`, `{}`},
			[2]string{`[{"group_type_index":4,"name_singular":` + chars(400) + `}]`, `{"4":{"name_singular":` + chars(400) + `,"name_plural":null}}`},
			[2]string{`[{"group_type_index":4,"name_singular":` + chars(401) + `}]`, `400 max_length __0__name_singular Ensure this field has no more than 400 characters.`},
			[2]string{`[{"group_type_index":0},{"group_type_index":4,"name_plural":` + chars(401) + `}]`, `400 max_length __1__name_plural`},
			[2]string{`[{"group_type_index":4,"name_singular":null,"name_plural":""}]`, `{"4":{"name_singular":null,"name_plural":""}}`},
			[2]string{`[{"group_type_index":0,"name_singular":"a"},{"group_type_index":0,"name_plural":"b"}]`, `{"0":{"name_singular":"a","name_plural":"b"},"4":{"name_plural":""}}`},
			[2]string{`[{"group_type_index":-1}]`, `400 does_not_exist __0__group_type_index Invalid pk "-1" - object does not exist.`},
			[2]string{`[{"group_type_index":"x"}]`, `400 invalid_input __0__group_type_index A valid integer is required.`},
			[2]string{`[null]`, `400 invalid_input - Invalid data. Expected a dictionary, but got NoneType.`},
			[2]string{`[` + strings.Repeat(`{},`, management.MaxItems) + `{}]`, `400 max_length - Ensure this field has no more than 10000 elements.`},
		),
		[]ruletest.Row{
			{"§5.4 of a project", "dan", "labels", ``, `{}`},
			{"§5.4 of a project", "dan", "label", `[{"group_type_index":0}]`, `400 does_not_exist __0__group_type_index`},
			{"§5.4", "bob", "labels", ``, `{"0":{"name_singular":"a","name_plural":"b"},"4":{"name_singular":null,"name_plural":""}}`},
		},
	))
}
