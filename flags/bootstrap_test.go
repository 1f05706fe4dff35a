package flags_test

import (
	"bytes"
	"context"
	"encoding/json"
	"html/template"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
)

// browserFlags has one flag for each case of what a browser receives or must not receive.
const browserFlags = `{"flags": [
	{"id": 1, "key": "on", "active": true, "filters": {"groups": [{}], "payloads": {"true": "{\"limit\": 10}"}}},
	{"id": 2, "key": "off", "active": true, "filters": {"groups": [{"rollout_percentage": 0}], "payloads": {"true": "1"}}},
	{"id": 3, "key": "color", "active": true, "evaluation_runtime": "client", "filters": {"groups": [{"variant": "blue"}],
		"multivariate": {"variants": [{"key": "red", "rollout_percentage": 50}, {"key": "blue", "rollout_percentage": 50}]}, "payloads": {"blue": "[1, 2]"}}},
	{"id": 4, "key": "for-pro", "active": true, "filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}]}]}},
	{"id": 5, "key": "inactive", "active": false, "filters": {"groups": [{}]}},
	{"id": 6, "key": "broken", "active": true, "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "operator": "in", "value": 99}]}]}},
	{"id": 7, "key": "secret-price", "active": true, "evaluation_runtime": "server", "version": 424242, "filters": {"groups": [{"variant": "secret-variant"}],
		"multivariate": {"variants": [{"key": "secret-variant", "rollout_percentage": 100}]}, "payloads": {"secret-variant": "\"secret-payload\""}}},
	{"id": 8, "key": "behind-it", "active": true, "filters": {"groups": [{"properties": [{"key": "7", "type": "flag", "operator": "flag_evaluates_to", "value": true}]}]}},
	{"id": 9, "key": "secret-config", "active": true, "evaluation_runtime": "server", "is_remote_configuration": true, "filters": {"groups": [{}], "payloads": {"true": "\"secret-setting\""}}},
	{"id": 10, "key": "theme", "active": true, "is_remote_configuration": true, "filters": {"groups": [{}], "payloads": {"true": "\"dark\""}}}
]}`

// A browser receives the flags that the server itself would send: those for clients and for
// all runtimes (flags.md §9.9), with values in posthog-js's form and the decoded payloads of
// enabled flags (§3.7). Flags that fail or are undecided are left out, so that the server
// answers them.
func TestBootstrap(t *testing.T) {
	for name, r := range snapshotReaders(t, browserFlags) {
		sub := &flags.Subject{DistinctID: "u", DeviceID: "d", Partial: true, Person: flags.Properties{}}
		got, err := json.Marshal(r.For(context.Background(), sub).Bootstrap())
		if err != nil {
			t.Fatal(err)
		}
		want := `{"distinctID":"u","isIdentifiedID":true,` +
			`"featureFlags":{"behind-it":false,"color":"blue","off":false,"on":true,"theme":true},` +
			`"featureFlagPayloads":{"color":[1,2],"on":{"limit":10},"theme":"dark"}}`
		if string(got) != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
		for _, tt := range []struct {
			sub  flags.Subject
			want string
		}{
			{flags.Subject{DistinctID: "d", DeviceID: "d"}, `{"distinctID":"d"}`},
			{flags.Subject{DistinctID: "u"}, `{"distinctID":"u"}`},
			{flags.Subject{}, `{}`},
		} {
			b := r.For(context.Background(), &tt.sub).Bootstrap()
			b.FeatureFlags, b.FeatureFlagPayloads = nil, nil
			if got, _ := json.Marshal(b); string(got) != tt.want {
				t.Errorf("%s: %s, want %s", name, got, tt.want)
			}
		}
	}
}

// No data of a flag for servers reaches a browser: neither its key, value, variant, payload
// nor version, even if it was read before, if a flag for browsers depends on it, and for
// every subject.
func TestBootstrap_KeepsServersFlags(t *testing.T) {
	for name, r := range snapshotReaders(t, browserFlags) {
		for _, sub := range []*flags.Subject{
			{DistinctID: "u"}, {DistinctID: "u", Partial: true}, {DistinctID: "u", Person: flags.Properties{"secret-price": "secret-variant", "$lib": "web"}},
			{DistinctID: "secret-price"},
		} {
			s := r.For(context.Background(), sub)
			if got := s.String("secret-price", ""); got != "secret-variant" {
				t.Fatalf("%s: the server itself reads %q", name, got)
			}
			s.Detail("secret-config")
			subject := *sub
			text, err := json.Marshal(s.Bootstrap())
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Replace(string(text), `"distinctID":"`+subject.DistinctID+`"`, "", 1) + string(s.OFREP())
			for _, secret := range []string{"secret", "424242"} {
				if strings.Contains(all, secret) {
					t.Errorf("%s, %+v: %s is in %s", name, subject, secret, all)
				}
			}
			if !strings.Contains(all, "behind-it") || !strings.Contains(all, "color") {
				t.Errorf("the browser's own flags are not in %s", all)
			}
		}
	}
}

// The form is that of OFREP's response for all flags: value, reason, and an error code for a
// flag that failed (OFREP 0.3, ADR 6).
func TestOFREP(t *testing.T) {
	type entry struct {
		Key, Reason, ErrorCode, Variant string
		Value                           any
	}
	for name, r := range snapshotReaders(t, browserFlags) {
		var got struct {
			Flags    []entry
			Metadata map[string]any
		}
		if err := json.Unmarshal(r.For(context.Background(), &flags.Subject{DistinctID: "u"}).OFREP(), &got); err != nil {
			t.Fatal(err)
		}
		want := []entry{
			{Key: "on", Reason: "STATIC", Value: true},
			{Key: "off", Reason: "SPLIT", Value: false},
			{Key: "color", Reason: "STATIC", Variant: "blue", Value: "blue"},
			{Key: "for-pro", Reason: "DEFAULT", Value: false},
			{Key: "broken", ErrorCode: "PARSE_ERROR"},
			{Key: "theme", Reason: "STATIC", Value: "dark"},
			{Key: "behind-it", Reason: "DEFAULT", Value: false}, // follows the flag that it depends on
		}
		if diff := cmp.Diff(want, got.Flags); diff != "" || got.Metadata["errorsWhileComputingFlags"] != true {
			t.Errorf("%s: %v (-want +got)\n%s", name, got.Metadata, diff)
		}
	}
}

// Neither form can end the script that contains it, whatever the keys, variants and payloads
// are.
func TestBootstrap_InScript(t *testing.T) {
	const hostile = `{"flags": [{"id": 1, "key": "</script><b>", "active": true, "filters": {"groups": [{"variant": "<!--<script>"}],
		"multivariate": {"variants": [{"key": "<!--<script>", "rollout_percentage": 100}]}, "payloads": {"<!--<script>": "{\"a\": \"</script>&\u2028\"}"}}}]}`
	page := template.Must(template.New("").Parse(`<script>let a = {{.Bootstrap}}, b = {{.OFREP}}</script>`))
	s := flags.Compile(parse(t, hostile)).Reader().For(context.Background(), &flags.Subject{DistinctID: "</script>"})
	var out bytes.Buffer
	if err := page.Execute(&out, s); err != nil {
		t.Fatal(err)
	}
	bare, err := json.Marshal(s.Bootstrap())
	if err != nil {
		t.Fatal(err)
	}
	inside := strings.TrimSuffix(strings.TrimPrefix(out.String(), "<script>"), "</script>") + string(bare) + string(s.OFREP())
	if strings.ContainsAny(inside, "<>&\u2028") {
		t.Error(inside)
	}
	if s.Bootstrap().FeatureFlags["</script><b>"] != "<!--<script>" {
		t.Error(s.Bootstrap())
	}
}
