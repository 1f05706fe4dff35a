package ofprovider_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/isolated"
	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/adapters/ofprovider"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const definitions = `{"group_type_mapping": {"0": "company"}, "flags": [
	{"id": 1, "key": "on", "version": 7, "active": true, "filters": {"groups": [{}], "payloads": {"true": "{\"max\": 5}"}}},
	{"id": 2, "key": "pro", "active": true, "filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": ["pro"]}]}], "payloads": {"true": "5"}}},
	{"id": 3, "key": "layout", "active": true, "filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": ["pro"]}], "variant": "two"}],
		"multivariate": {"variants": [{"key": "one", "rollout_percentage": 100}, {"key": "two", "rollout_percentage": 0}]}, "payloads": {"two": "[1, 2]"}}},
	{"id": 4, "key": "large", "active": true, "filters": {"aggregation_group_type_index": 0, "groups": [{"properties": [
		{"key": "size", "type": "group", "group_type_index": 0, "operator": "exact", "value": "large"}]}]}},
	{"id": 5, "key": "price", "active": true, "is_remote_configuration": true, "filters": {"groups": [{}], "payloads": {"true": 2.5}}},
	{"id": 6, "key": "title", "active": true, "is_remote_configuration": true, "filters": {"groups": [{}], "payloads": {"true": "\"12\""}}},
	{"id": 7, "key": "switch", "active": true, "is_remote_configuration": true, "filters": {"groups": [{}], "payloads": {"true": "false"}}},
	{"id": 8, "key": "nothing", "active": true, "is_remote_configuration": true, "filters": {"groups": [{}]}},
	{"id": 9, "key": "paused", "active": false, "filters": {"groups": [{}]}},
	{"id": 10, "key": "broken", "active": true, "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "operator": "in", "value": 99}]}]}},
	{"id": 11, "key": "clients", "active": true, "evaluation_runtime": "client", "filters": {"groups": [{}]}},
	{"id": 12, "key": "since", "active": true, "filters": {"groups": [{"properties": [{"key": "joined", "type": "person", "operator": "is_date_after", "value": "2026-01-01"}]}]}},
	{"id": 13, "key": "device", "active": true, "bucketing_identifier": "device_id", "filters": {"groups": [{"rollout_percentage": 99.999}]}}
]}`

const apiKey = "phc_test"

func parsed(t testing.TB, text string) flags.Definitions {
	t.Helper()
	d, err := flags.ParseDefinitions([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func decider(t testing.TB, source serving.Source) *serving.Decider {
	t.Helper()
	d, err := serving.NewDecider(serving.Config{Source: source})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// client returns OpenFeature's client with the provider set and ready.
func client(t testing.TB, p *ofprovider.Provider) *openfeature.Client {
	t.Helper()
	api := isolated.NewAPI()
	if err := api.SetProviderAndWait(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Shutdown(context.Background()) })
	return api.NewClient()
}

func static(t testing.TB) *openfeature.Client {
	t.Helper()
	return client(t, ofprovider.New(decider(t, serving.StaticSource(apiKey, flags.Project{ID: 1}, parsed(t, definitions))), apiKey))
}

type members = map[string]any

var (
	someone = openfeature.NewEvaluationContext("u", nil)
	pro     = openfeature.NewEvaluationContext("u", members{"plan": "pro"})
)

// outcome is the SDK's result of an evaluation.
type outcome struct {
	Value   any
	Variant string
	Reason  openfeature.Reason
	Code    openfeature.ErrorCode
}

// evaluate evaluates a flag with the type of the default.
func evaluate(c *openfeature.Client, flag string, fallback any, ec openfeature.EvaluationContext) (outcome, openfeature.ResolutionDetail) {
	ctx := context.Background()
	var value any
	var d openfeature.ResolutionDetail
	switch v := fallback.(type) {
	case bool:
		got, _ := c.BooleanValueDetails(ctx, flag, v, ec)
		value, d = got.Value, got.ResolutionDetail
	case string:
		got, _ := c.StringValueDetails(ctx, flag, v, ec)
		value, d = got.Value, got.ResolutionDetail
	case int64:
		got, _ := c.IntValueDetails(ctx, flag, v, ec)
		value, d = got.Value, got.ResolutionDetail
	case float64:
		got, _ := c.FloatValueDetails(ctx, flag, v, ec)
		value, d = got.Value, got.ResolutionDetail
	default:
		got, _ := c.ObjectValueDetails(ctx, flag, v, ec)
		value, d = got.Value, got.ResolutionDetail
	}
	return outcome{value, d.Variant, d.Reason, d.ErrorCode}, d
}

// Requirements 2.2.3 to 2.2.7: values of each type, variants, reasons, and an error code with the
// default if there is an error, and only then.
func TestProvider_2_2_Values(t *testing.T) {
	c := static(t)
	noValues := members{"default": true}
	for _, r := range []struct {
		flag     string
		fallback any
		ec       openfeature.EvaluationContext
		want     outcome
	}{
		{"on", false, someone, outcome{true, "", "STATIC", ""}},
		{"pro", false, pro, outcome{true, "", "TARGETING_MATCH", ""}},
		{"pro", true, someone, outcome{false, "", "DEFAULT", ""}},
		{"layout", false, pro, outcome{true, "two", "TARGETING_MATCH", ""}},
		{"layout", true, someone, outcome{false, "", "DEFAULT", ""}},
		{"switch", true, someone, outcome{false, "", "STATIC", ""}},
		{"price", true, someone, outcome{true, "", "ERROR", "TYPE_MISMATCH"}},
		{"paused", true, someone, outcome{true, "", "DISABLED", ""}},
		{"nothing", true, someone, outcome{true, "", "STATIC", ""}},

		{"layout", "none", pro, outcome{"two", "two", "TARGETING_MATCH", ""}},
		{"layout", "none", someone, outcome{"none", "", "DEFAULT", ""}},
		{"title", "none", someone, outcome{"12", "", "STATIC", ""}},
		{"switch", "none", someone, outcome{"false", "", "STATIC", ""}},
		{"pro", "none", someone, outcome{"none", "", "DEFAULT", ""}},
		{"on", "none", someone, outcome{"none", "", "ERROR", "TYPE_MISMATCH"}},
		{"price", "none", someone, outcome{"none", "", "ERROR", "TYPE_MISMATCH"}},

		{"pro", int64(1), pro, outcome{int64(5), "", "TARGETING_MATCH", ""}},
		{"pro", int64(1), someone, outcome{int64(1), "", "DEFAULT", ""}},
		{"price", int64(1), someone, outcome{int64(1), "", "ERROR", "TYPE_MISMATCH"}},
		{"on", int64(1), someone, outcome{int64(1), "", "ERROR", "TYPE_MISMATCH"}},
		{"price", 1.0, someone, outcome{2.5, "", "STATIC", ""}},
		{"pro", 1.0, pro, outcome{5.0, "", "TARGETING_MATCH", ""}},
		{"switch", 1.0, someone, outcome{1.0, "", "ERROR", "TYPE_MISMATCH"}},
		{"on", noValues, someone, outcome{members{"max": 5.0}, "", "STATIC", ""}},
		{"layout", noValues, pro, outcome{[]any{1.0, 2.0}, "two", "TARGETING_MATCH", ""}},
		{"layout", noValues, someone, outcome{noValues, "", "DEFAULT", ""}},
		{"price", noValues, someone, outcome{noValues, "", "ERROR", "TYPE_MISMATCH"}},
		{"large", noValues, openfeature.NewEvaluationContext("u", members{"groups": members{"company": "a"}, "group_properties": members{"company": members{"size": "large"}}}), outcome{noValues, "", "ERROR", "TYPE_MISMATCH"}},

		{"nowhere", true, someone, outcome{true, "", "ERROR", "FLAG_NOT_FOUND"}},
		{"clients", true, someone, outcome{true, "", "ERROR", "FLAG_NOT_FOUND"}},
		{"broken", true, someone, outcome{true, "", "ERROR", "PARSE_ERROR"}},
		{"on", false, openfeature.NewTargetlessEvaluationContext(nil), outcome{false, "", "ERROR", "TARGETING_KEY_MISSING"}},
	} {
		if got, d := evaluate(c, r.flag, r.fallback, r.ec); cmp.Diff(r.want, got) != "" {
			t.Errorf("%s as %T: %+v, want %+v (%s)", r.flag, r.fallback, got, r.want, d.ErrorMessage)
		}
	}
}

// Requirement 2.2.9: the metadata is the same as in OFREP.
func TestProvider_2_2_9_Metadata(t *testing.T) {
	c := static(t)
	_, d := evaluate(c, "on", false, someone)
	want := openfeature.FlagMetadata{"id": int64(1), "version": int64(7), "reason_code": "condition_match", "condition_index": int64(0), "payload": `{"max": 5}`}
	if diff := cmp.Diff(want, d.FlagMetadata); diff != "" {
		t.Error(diff)
	}
	if _, d := evaluate(c, "broken", false, someone); d.FlagMetadata["reason_code"] != "dependency_not_found_cohort" || d.ErrorMessage != "Cohort dependency not found" {
		t.Errorf("%+v", d)
	}
}

// The members of a context with a meaning of their own, and all other members, are read as in
// OFREP.
func TestProvider_3_1_Context(t *testing.T) {
	c := static(t)
	large := members{"company": members{"size": "large"}}
	for name, r := range map[string]struct {
		flag string
		ec   members
		want outcome
	}{
		"groups of any":       {"large", members{"groups": members{"company": "acme"}, "group_properties": large}, outcome{true, "", "TARGETING_MATCH", ""}},
		"groups of strings":   {"large", members{"groups": map[string]string{"company": "acme"}, "group_properties": map[string]map[string]any{"company": {"size": "large"}}}, outcome{true, "", "TARGETING_MATCH", ""}},
		"a group by a number": {"large", members{"groups": members{"company": 5}, "group_properties": large}, outcome{true, "", "TARGETING_MATCH", ""}},
		"no usable key":       {"large", members{"groups": members{"company": nil}, "group_properties": large}, outcome{false, "", "DEFAULT", ""}},
		"nil is absent":       {"on", members{"groups": nil, "group_properties": nil, "$anon_distinct_id": nil, "$geoip_disable": 1}, outcome{true, "", "STATIC", ""}},
		"groups of text":      {"on", members{"groups": "acme"}, outcome{false, "", "ERROR", "INVALID_CONTEXT"}},
		"properties of text":  {"on", members{"group_properties": members{"company": "x"}}, outcome{false, "", "ERROR", "INVALID_CONTEXT"}},
		"an id that is none":  {"on", members{"$anon_distinct_id": 5}, outcome{false, "", "ERROR", "INVALID_CONTEXT"}},
		"a time":              {"since", members{"joined": time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)}, outcome{true, "", "TARGETING_MATCH", ""}},
		"an earlier time":     {"since", members{"joined": time.Date(2025, 7, 1, 0, 0, 0, 0, time.UTC)}, outcome{false, "", "DEFAULT", ""}},
		"a device":            {"device", members{"$device_id": "d"}, outcome{true, "", "SPLIT", ""}},
		"no device":           {"device", nil, outcome{false, "", "SPLIT", ""}},
		"odd Go values":       {"pro", members{"plan": named("pro"), "ch": make(chan int), "m": map[int]int{1: 2}, "p": new(int)}, outcome{true, "", "TARGETING_MATCH", ""}},
		"no form in JSON":     {"pro", members{"plan": func() {}}, outcome{false, "", "ERROR", "INVALID_CONTEXT"}},
		"a pointer to text":   {"pro", members{"plan": &proText}, outcome{true, "", "TARGETING_MATCH", ""}},
	} {
		if got, d := evaluate(c, r.flag, false, openfeature.NewEvaluationContext("u", r.ec)); cmp.Diff(r.want, got) != "" {
			t.Errorf("%s: %+v, want %+v (%s)", name, got, r.want, d.ErrorMessage)
		}
	}
}

// A context without a targeting key, which on the wire would be in every rollout, results in the
// default and TARGETING_KEY_MISSING; tracking reports flags.ErrNoDistinctID.
func TestProvider_3_1_NoTargetingKey(t *testing.T) {
	c := &anyClient{decide: func(*flags.Subject) (flags.Decision, bool, error) {
		t.Error("the client is asked")
		return flags.Decision{}, false, nil
	}}
	var notified error
	p := ofprovider.NewRemote(ofprovider.Config{Client: c, OnTrackError: func(err error) { notified = err }})
	for _, flat := range []openfeature.FlattenedContext{nil, {"plan": "pro"}, {"targetingKey": ""}, {"targetingKey": nil}} {
		if d := p.BooleanEvaluation(context.Background(), "f", true, flat); !d.Value || d.ResolutionDetail().ErrorCode != openfeature.TargetingKeyMissingCode ||
			!strings.Contains(d.Error().Error(), flags.ErrNoDistinctID.Error()) {
			t.Errorf("%v: %+v", flat, d)
		}
	}
	p.Track(context.Background(), "e", openfeature.NewTargetlessEvaluationContext(nil), openfeature.TrackingEventDetails{})
	if !errors.Is(notified, flags.ErrNoDistinctID) || len(c.sent) > 0 {
		t.Errorf("tracking: %v", notified)
	}
}

// named is a string type, and proText a string to point to.
type named string

var proText = "pro"

// Groups and their properties of any Go type are converted as encoding/json encodes them (decision
// 32).
func TestProvider_3_1_GoTypes(t *testing.T) {
	type company struct {
		Plan named `json:"plan"`
	}
	c := &anyClient{decide: func(sub *flags.Subject) (flags.Decision, bool, error) {
		if diff := cmp.Diff(map[string]string{"company": "acme", "team": "5"}, sub.Groups); diff != "" {
			t.Errorf("groups (-want +got)\n%s", diff)
		}
		if got := sub.GroupProperties["company"]["plan"]; got != "pro" {
			t.Errorf("the group's plan is %#v", got)
		}
		return flags.Decision{Enabled: true, Reason: flags.Reason{Code: flags.ConditionMatch}}, true, nil
	}}
	p := ofprovider.NewRemote(ofprovider.Config{Client: c})
	for name, flat := range map[string]openfeature.FlattenedContext{
		"named": {"targetingKey": "u", "groups": map[named]any{"company": named("acme"), "team": 5.0}, "group_properties": map[named]company{"company": {"pro"}}},
		"mixed": {"targetingKey": "u", "groups": map[string]any{"company": named("acme"), "team": int8(5)}, "group_properties": map[string]any{"company": &company{"pro"}, "team": nil}},
	} {
		if d := p.BooleanEvaluation(context.Background(), "f", false, flat); !d.Value {
			t.Errorf("%s: %+v", name, d)
		}
	}
	bad := openfeature.FlattenedContext{"targetingKey": "u", "groups": map[string]any{"company": make(chan int)}}
	if d := p.BooleanEvaluation(context.Background(), "f", false, bad); d.Value || d.Error() == nil || !strings.Contains(d.Error().Error(), "groups") {
		t.Errorf("a channel as a group: %+v", d)
	}
}

// anyClient is a client of any kind, such as adapters/remote's.
type anyClient struct {
	decide func(sub *flags.Subject) (flags.Decision, bool, error)
	ready  error
	sent   []any
	flush  int
}

func (s *anyClient) Decide(_ context.Context, _ string, sub *flags.Subject) (flags.Decision, bool, error) {
	return s.decide(sub)
}

func (s *anyClient) WaitForReady(context.Context) error { return s.ready }
func (s *anyClient) Flush(context.Context) error        { s.flush++; return nil }

func (s *anyClient) Track(_ context.Context, distinctID, event string, properties map[string]any, groups map[string]string) error {
	s.sent = append(s.sent, distinctID, event, properties, groups)
	return errors.New("the queue is full")
}

// partial returns a client that evaluates without the stored facts.
func partial(t testing.TB) *anyClient {
	set := flags.Compile(parsed(t, definitions))
	return &anyClient{decide: func(sub *flags.Subject) (flags.Decision, bool, error) {
		var out flags.Decisions
		sub.Partial = true
		d, ok := set.EvaluateFlag("pro", sub, time.Now(), &out)
		return d, ok, nil
	}}
}

// Requirement 2.2.7: an undecided flag has the default, with the missing fact in the message and
// the metadata.
func TestProvider_2_2_7_Undecided(t *testing.T) {
	c := client(t, ofprovider.NewRemote(ofprovider.Config{Client: partial(t)}))
	got, d := evaluate(c, "pro", true, someone)
	if want := (outcome{true, "", "ERROR", "INVALID_CONTEXT"}); got != want || !strings.Contains(d.ErrorMessage, `unknown person property "plan"`) ||
		d.FlagMetadata["undecided_fact"] != "person property" || d.FlagMetadata["undecided_name"] != "plan" {
		t.Errorf("%+v %+v", got, d)
	}
	if got, _ := evaluate(c, "pro", false, pro); got.Value != true || got.Reason != "TARGETING_MATCH" {
		t.Errorf("with the property: %+v", got)
	}
}

// Requirement 2.2.7: an error or a panic of the client is GENERAL.
func TestProvider_2_2_7_Failures(t *testing.T) {
	s := &anyClient{decide: func(*flags.Subject) (flags.Decision, bool, error) {
		return flags.Decision{}, false, errors.New("not now")
	}}
	c := client(t, ofprovider.NewRemote(ofprovider.Config{Client: s}))
	if got, d := evaluate(c, "pro", true, someone); got.Code != "GENERAL" || got.Value != true || d.ErrorMessage != "not now" {
		t.Errorf("%+v %+v", got, d)
	}
	s.decide = func(*flags.Subject) (flags.Decision, bool, error) { panic("a mistake") }
	if got, d := evaluate(c, "pro", true, someone); got.Code != "GENERAL" || got.Value != true || d.ErrorMessage != "panic: a mistake" {
		t.Errorf("%+v %+v", got, d)
	}
}

// Over the quota, flags are not evaluated (decision 11).
func TestProvider_2_2_7_Quota(t *testing.T) {
	c := client(t, ofprovider.New(decider(t, serving.StaticSource(apiKey, flags.Project{ID: 1, QuotaLimited: []string{"feature_flags"}}, parsed(t, definitions))), apiKey))
	if got, d := evaluate(c, "on", false, someone); got.Code != "GENERAL" || !strings.Contains(d.ErrorMessage, "quota") {
		t.Errorf("%+v %+v", got, d)
	}
}

// Requirement 2.7.1: tracking calls the client, with the person and the groups.
func TestProvider_2_7_1_Tracking(t *testing.T) {
	s := partial(t)
	var failed []string
	c := client(t, ofprovider.NewRemote(ofprovider.Config{Client: s, OnTrackError: func(err error) { failed = append(failed, err.Error()) }}))
	ec := openfeature.NewEvaluationContext("u", members{"plan": "pro", "groups": members{"company": "acme"}})
	c.Track(t.Context(), "bought", ec, openfeature.NewTrackingEventDetails(9.5).Add("currency", "EUR"))
	c.Track(t.Context(), "seen", someone, openfeature.TrackingEventDetails{})
	c.Track(t.Context(), "lost", openfeature.NewTargetlessEvaluationContext(nil), openfeature.TrackingEventDetails{})
	want := []any{
		"u", "bought", members{"currency": "EUR", "value": 9.5}, map[string]string{"company": "acme"},
		"u", "seen", members{}, map[string]string(nil),
	}
	if diff := cmp.Diff(want, s.sent); diff != "" {
		t.Error(diff)
	}
	if len(failed) != 3 || !strings.Contains(failed[0], "the queue is full") || !strings.Contains(failed[2], "TARGETING_KEY_MISSING") {
		t.Errorf("%q", failed)
	}
	static(t).Track(t.Context(), "nowhere to go", someone, openfeature.NewTrackingEventDetails(1))
}
