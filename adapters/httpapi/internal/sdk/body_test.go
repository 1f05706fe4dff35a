package sdk

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/unpack"
)

// parse parses a body into a flagsBody, without its buffers for later requests.
func parse(body string) (flagsBody, *problem.Body) {
	var b flagsBody
	err := parseFlagsBody([]byte(body), &b)
	b.spare, b.scratch = nil, nil
	return b, err
}

var sameBody = cmp.Options{cmp.AllowUnexported(flagsBody{}), cmpopts.EquateEmpty()}

// Every recorded POST /flags of an official SDK is parsed as the recorder decoded it.
func TestFlags_9_4_RecordedRequests(t *testing.T) {
	files, err := filepath.Glob("../../../../testdata/http/recorded/*POST-flags.json")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var pooled flagsBody
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var record struct {
			URL     string
			Headers map[string]string
			Raw     []byte         `json:"raw_body_base64"`
			Decoded map[string]any `json:"body_decoded"`
		}
		if err := json.Unmarshal(raw, &record); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		_, query, _ := strings.Cut(record.URL, "?")
		q := parseQuery(query)
		if !q.HasV || q.V != 2 {
			t.Errorf("%s: %+v", file, q)
		}
		body, bad := unpack.Body(record.Raw, record.Headers["content-type"], record.Headers["content-encoding"], q.Compression, 0, nil, nil)
		if bad != nil {
			t.Errorf("%s: %v", file, bad)
			continue
		}
		pooled.reset()
		if bad = parseFlagsBody(body, &pooled); bad != nil {
			t.Errorf("%s: %v", file, bad)
			continue
		}
		for _, m := range pooled.GroupProperties {
			asFloats(m)
		}
		asFloats(pooled.PersonProperties)
		got := pooled
		got.spare, got.scratch = nil, nil
		if diff := cmp.Diff(expectedOf(record.Decoded), got, sameBody); diff != "" {
			t.Errorf("%s (-recorded +read)\n%s", file, diff)
		}
	}
}

// expectedOf returns the fields of §9.4 from a decoded body as the SDKs send it.
func expectedOf(d map[string]any) flagsBody {
	text := func(name string) string { s, _ := d[name].(string); return s }
	object := func(v any) map[string]any { m, _ := v.(map[string]any); return m }
	want := flagsBody{
		Token: text("token") + text("api_key"), DistinctID: text("distinct_id"), HasDistinctID: true,
		PersonProperties: object(d["person_properties"]), AnonDistinctID: text("$anon_distinct_id"),
		DeviceID: text("$device_id"), EvaluationRuntime: text("evaluation_runtime"),
		Groups: map[string]string{}, GroupProperties: map[string]map[string]any{},
	}
	want.GeoIPDisable, _ = d["geoip_disable"].(bool)
	for k, v := range object(d["groups"]) {
		want.Groups[k] = v.(string)
	}
	for k, v := range object(d["group_properties"]) {
		want.GroupProperties[k] = object(v)
	}
	keys, has := d["flag_keys_to_evaluate"].([]any)
	want.HasFlagKeys = has
	for _, k := range keys {
		want.FlagKeys = append(want.FlagKeys, k.(string))
	}
	return want
}

func TestFlags_9_4_Fields(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want flagsBody
	}{
		"nothing": {`{}`, flagsBody{}},
		"every first name": {
			`{"token":"t","distinct_id":"d","person_properties":{"a":1},"groups":{"g":"k"},"group_properties":{"g":{"b":true}},
			"$anon_distinct_id":"n","$device_id":"v","geoip_disable":true,"disable_flags":false,"flag_keys":["x","y"],
			"evaluation_contexts":["c"],"evaluation_runtime":"server","timezone":"UTC","cookieless_hash_extra":"e","ip_address":"::1","sent_at":[{}]}`,
			flagsBody{Token: "t", HasDistinctID: true, DistinctID: "d", PersonProperties: map[string]any{"a": int64(1)},
				Groups: map[string]string{"g": "k"}, GroupProperties: map[string]map[string]any{"g": {"b": true}},
				AnonDistinctID: "n", DeviceID: "v", GeoIPDisable: true, HasFlagKeys: true, FlagKeys: []string{"x", "y"},
				EvaluationContexts: []string{"c"}, EvaluationRuntime: "server"},
		},
		"every second name": {
			`{"$token":"t","$distinct_id":"d","$properties":{"a":1},"$groups":{"g":"k"},"$group_properties":{"g":{"b":true}},
			"anon_distinct_id":"n","device_id":"v","flag_keys_to_evaluate":["x"],"evaluation_environments":["c"]}`,
			flagsBody{Token: "t", HasDistinctID: true, DistinctID: "d", PersonProperties: map[string]any{"a": int64(1)},
				Groups: map[string]string{"g": "k"}, GroupProperties: map[string]map[string]any{"g": {"b": true}},
				AnonDistinctID: "n", DeviceID: "v", HasFlagKeys: true, FlagKeys: []string{"x"}, EvaluationContexts: []string{"c"}},
		},
		"every field null": {
			`{"token":null,"distinct_id":null,"person_properties":null,"groups":null,"group_properties":null,"$anon_distinct_id":null,
			"$device_id":null,"geoip_disable":null,"disable_flags":null,"flag_keys":null,"evaluation_contexts":null,"evaluation_runtime":null,"timezone":null}`,
			flagsBody{},
		},
		"row 116":             {`{"api_key":"k","distinct_id":123}`, flagsBody{Token: "k", HasDistinctID: true, DistinctID: "123"}},
		"row 117, null":       {`{"token":"k","distinct_id":null}`, flagsBody{Token: "k"}},
		"row 117, disabled":   {`{"token":"k","disable_flags":true}`, flagsBody{Token: "k", DisableFlags: true}},
		"row 123":             {`{"flag_keys":[]}`, flagsBody{HasFlagKeys: true}},
		"row 25":              {`{"device_id":"","person_properties":{"$device_id":"d1"}}`, flagsBody{PersonProperties: map[string]any{"$device_id": "d1"}}},
		"empty id":            {`{"distinct_id":""}`, flagsBody{HasDistinctID: true}},
		"float id":            {`{"distinct_id":123.45}`, flagsBody{HasDistinctID: true, DistinctID: "123.45"}},
		"float id, rewritten": {`{"distinct_id":1e3}`, flagsBody{HasDistinctID: true, DistinctID: "1000.0"}},
		"large id":            {`{"distinct_id":18446744073709551615}`, flagsBody{HasDistinctID: true, DistinctID: "18446744073709551615"}},
		"escaped names":       {`{"to\u006ben":"t\u0021"}`, flagsBody{Token: "t!"}},

		"token before api_key":        {`{"api_key":"a","$token":"b","token":"c"}`, flagsBody{Token: "c"}},
		"$token before api_key":       {`{"$token":"b","api_key":"a"}`, flagsBody{Token: "b"}},
		"empty token":                 {`{"token":"","api_key":"a"}`, flagsBody{Token: "a"}},
		"null token":                  {`{"api_key":"a","token":null}`, flagsBody{Token: "a"}},
		"same name twice":             {`{"token":"a","token":"b"}`, flagsBody{Token: "b"}},
		"same name, then null":        {`{"token":"a","token":null}`, flagsBody{}},
		"better name wipes":           {`{"$properties":{"a":1},"person_properties":{"b":2}}`, flagsBody{PersonProperties: map[string]any{"b": int64(2)}}},
		"worse name is passed over":   {`{"groups":{"a":"1"},"$groups":{"b":"2"}}`, flagsBody{Groups: map[string]string{"a": "1"}}},
		"worse name of a wrong type":  {`{"$distinct_id":{},"distinct_id":"d"}`, flagsBody{HasDistinctID: true, DistinctID: "d"}},
		"worse name, wrong type last": {`{"distinct_id":"d","$distinct_id":{}}`, flagsBody{HasDistinctID: true, DistinctID: "d"}},
		"flag_keys twice":             {`{"flag_keys":["a","b"],"flag_keys":["c"]}`, flagsBody{HasFlagKeys: true, FlagKeys: []string{"c"}}},

		"13.2 item 11":               {`{"distinct_id":{"a":1},"disable_flags":true}`, flagsBody{DisableFlags: true}},
		"13.2 item 11, other order":  {`{"disable_flags":true,"distinct_id":[]}`, flagsBody{DisableFlags: true}},
		"7: group keys":              {`{"groups":{"n":42,"f":1.50,"e":"","z":null,"b":true,"o":{"x":1},"l":[1],"s":"k"}}`, flagsBody{Groups: map[string]string{"n": "42", "f": "1.5", "s": "k"}}},
		"7: group key taken back":    {`{"groups":{"a":"x","a":null}}`, flagsBody{Groups: map[string]string{}}},
		"group properties, twice":    {`{"group_properties":{"g":{"a":1},"g":{"b":2}}}`, flagsBody{GroupProperties: map[string]map[string]any{"g": {"b": int64(2)}}}},
		"property twice":             {`{"person_properties":{"a":1,"a":{"b":[null,1.0,"x"]}}}`, flagsBody{PersonProperties: map[string]any{"a": map[string]any{"b": []any{nil, json.Number("1.0"), "x"}}}}},
		"runtime is not judged here": {`{"evaluation_runtime":"CLIENT"}`, flagsBody{EvaluationRuntime: "CLIENT"}},
	} {
		got, err := parse(c.body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(c.want, got, sameBody); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// Rows 10 and 11 of §12.1, and similar lengths at the limit.
func TestFlags_2_4_DistinctIDIsCut(t *testing.T) {
	for _, c := range []struct{ id, want string }{
		{strings.Repeat("a", 200), strings.Repeat("a", 200)},
		{strings.Repeat("a", 201), strings.Repeat("a", 200)},
		{strings.Repeat("é", 200), strings.Repeat("é", 200)},
		{strings.Repeat("é", 201), strings.Repeat("é", 200)},
		{strings.Repeat("🦔", 201) + "a", strings.Repeat("🦔", 200)},
		{strings.Repeat("🦔", 51), strings.Repeat("🦔", 51)},
	} {
		if got, err := parse(`{"distinct_id":"` + c.id + `"}`); err != nil || got.DistinctID != c.want {
			t.Errorf("%d bytes: got %d, want %d, %v", len(c.id), len(got.DistinctID), len(c.want), err)
		}
	}
}

// The service's tests of NaN and infinities, and other JSON that is not strict.
func TestFlags_9_3_LenientBodies(t *testing.T) {
	person := func(m map[string]any) flagsBody {
		return flagsBody{Token: "t", HasDistinctID: true, DistinctID: "u", PersonProperties: m}
	}
	for text, want := range map[string]flagsBody{
		`{"token":"t","distinct_id":"u","person_properties":{"score":NaN,"max":Infinity,"min":-Infinity,"n":42.5,"s":"NaN is not a number"}}`: person(
			map[string]any{"score": nil, "max": nil, "min": nil, "n": 42.5, "s": "NaN is not a number"}),
		`{token:'t',distinct_id:'u',person_properties:{list:[1,NaN,+2,],},} // end`:      person(map[string]any{"list": []any{int64(1), nil, int64(2)}}),
		`{"token":"t","distinct_id":"u","person_properties":{"x":"\ud800"}}`:             person(map[string]any{"x": "\ufffd"}),
		"\ufeff{\"token\":\"t\",\"distinct_id\":\"u\"}":                                  person(nil),
		"{\"token\":\"t\",\"distinct_id\":\"u\",\"person_properties\":{\"x\":\"\xff\"}}": person(map[string]any{"x": "\ufffd"}),
		`{"token":"t","distinct_id":NaN}`:                                                {Token: "t"},
		`{"token":"t",distinct_id:0x10}`:                                                 {Token: "t", HasDistinctID: true, DistinctID: "16"},
		`{"token":"t","groups":{"a":Infinity,"b":+7}}`:                                   {Token: "t", Groups: map[string]string{"b": "7"}},
		base64.StdEncoding.EncodeToString([]byte(`{"token":"t"}`)):                       {Token: "t"},
		base64.RawStdEncoding.EncodeToString([]byte(`{token:'t',}`)):                     {Token: "t"},
		`eyJ0b2tlbiI6ICJ0ZXN0IiwgImRpc3RpbmN0X2lkIjogInVzZXIifQo%3D`:                     {Token: "test", HasDistinctID: true, DistinctID: "user"},
		" \n" + base64.StdEncoding.EncodeToString([]byte(` {"token":"t"}`)):              {Token: "t"},
	} {
		got, err := parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if diff := cmp.Diff(want, got, sameBody); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
	}
}

// Offsets are counted by hand.
func TestFlags_9_11_UndecodableBodies(t *testing.T) {
	for _, c := range []struct {
		body, attr string
		offset     int
	}{
		{``, "", 0},
		{`   `, "", 3},
		{`null`, "", 0},
		{`[]`, "", 0},
		{`"x"`, "", 0},
		{`{`, "", 1},
		{`not json {{{`, "", 0},
		{`{"token":"t"} x`, "", 14},
		{`{"token":"t",,}`, "", 13},
		{`{"person_properties":{"age":}}`, "person_properties.age", 28},
		{`{"groups":{"a":}}`, "groups.a", 15},
		{`{"group_properties":{"a":{"b":]}}}`, "group_properties.a.b", 30},
		{`{"flag_keys":["a",}`, "flag_keys.1", 18},
		{`{"other":{"a":[0,?]}}`, "other.a.1", 17},
		{`{"distinct_id":true}`, "distinct_id", 15},
		{`{"distinct_id":{"a":1}}`, "distinct_id", 15}, // row 118
		{`{"distinct_id":[]}`, "distinct_id", 15},
		{`{"$distinct_id":false,"disable_flags":false}`, "$distinct_id", 16},
		{`{"token":5}`, "token", 9},
		{`{"person_properties":[]}`, "person_properties", 21},
		{`{"$properties":"x"}`, "$properties", 15},
		{`{"groups":[]}`, "groups", 10},
		{`{"group_properties":{"a":null}}`, "group_properties.a", 25},
		{`{"group_properties":{"a":{},"b":"x","c":1}}`, "group_properties.b", 32},
		{`{"group_properties":7}`, "group_properties", 20},
		{`{"$anon_distinct_id":1}`, "$anon_distinct_id", 21},
		{`{"$device_id":1}`, "$device_id", 14},
		{`{"geoip_disable":"true"}`, "geoip_disable", 17},
		{`{"geoip_disable":1}`, "geoip_disable", 17},
		{`{"disable_flags":"true"}`, "disable_flags", 17},
		{`{"flag_keys":"a"}`, "flag_keys", 13},
		{`{"flag_keys":["a",1]}`, "flag_keys.1", 18},
		{`{"flag_keys":[null]}`, "flag_keys.0", 14},
		{`{"evaluation_contexts":{}}`, "evaluation_contexts", 23},
		{`{"evaluation_runtime":1}`, "evaluation_runtime", 22},
		{`{"timezone":1}`, "timezone", 12},
	} {
		const text = "Failed to decode request: invalid JSON. Please check your request format and try again. At byte %d"
		_, err := parse(c.body)
		if err == nil {
			t.Errorf("%s is accepted", c.body)
		} else if err.Status != 400 || err.Attr != c.attr || !strings.HasPrefix(err.Detail, fmt.Sprintf(text, c.offset)) {
			t.Errorf("%s: %d %q at %q", c.body, err.Status, err.Detail, err.Attr)
		}
	}
}

// Lines and columns are counted from 1, in characters; bytes from 0.
func TestFlags_9_11_LineAndColumn(t *testing.T) {
	for body, want := range map[string]string{
		"{\n  \"token\": 5}":                     "At byte 13, token: expected a string. That is line 2 column 12.",
		"{\"é\": 1,\r\n\"distinct_id\": [1]}":    "That is line 2 column 16.",
		`{"token": "phc_a", "distinct_id": tru}`: "That is line 1 column 35.",
	} {
		_, err := parse(body)
		if err == nil || !strings.Contains(err.Detail, want) {
			t.Errorf("%q: %v; want %q in it", body, err, want)
		}
	}
}

func TestFlags_9_11_PlaceInBase64(t *testing.T) {
	_, err := parse(base64.StdEncoding.EncodeToString([]byte(`{"token":5}`)))
	if err == nil || err.Attr != "token" || !strings.Contains(err.Detail, "At byte 9, token: expected a string (counted in") {
		t.Errorf("%v", err)
	}
}

func TestFlags_9_11_PlaceIsBounded(t *testing.T) {
	long := "x" + strings.Repeat("é", 5000)
	_, err := parse(`{"person_properties":{"` + long + `":?}}`)
	if err == nil || len(err.Attr) > 100 || len(err.Detail) > 300 || !utf8.ValidString(err.Attr) {
		t.Errorf("%v", err)
	}
	_, err = parse(strings.Repeat(`{"`+long+`":`, 130))
	if err == nil || len(err.Detail) > 1500 {
		t.Errorf("%d bytes", len(err.Detail))
	}
}

// As in serde_json the last of equal names wins, so a later null removes a value.
func TestFlags_9_4_LaterNullWins(t *testing.T) {
	values := `"token":"t","distinct_id":"d","person_properties":{"a":1},"groups":{"g":"k"},"group_properties":{"g":{"b":true}},` +
		`"$anon_distinct_id":"n","$device_id":"v","geoip_disable":true,"disable_flags":true,"flag_keys":["x"],` +
		`"evaluation_contexts":["c"],"evaluation_runtime":"server","timezone":"UTC"`
	nulls := ""
	for _, name := range strings.Fields("token distinct_id person_properties groups group_properties $anon_distinct_id $device_id " +
		"geoip_disable disable_flags flag_keys evaluation_contexts evaluation_runtime timezone") {
		nulls += `,"` + name + `":null`
	}
	got, err := parse("{" + values + nulls + "}")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(flagsBody{}, got, sameBody); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A pooled body must not contain data of a previous request, even if that was parsed partially.
func TestFlags_9_4_Reset(t *testing.T) {
	full := `{"token":"t","distinct_id":"d","person_properties":{"a":1,"s":"x\ny"},"groups":{"g":"k"},"group_properties":{"g":{"b":true},"h":{"c":1}},
		"$anon_distinct_id":"n","$device_id":"v","geoip_disable":true,"disable_flags":true,"flag_keys":["x"],"evaluation_contexts":["c"],"evaluation_runtime":"server"}`
	var b flagsBody
	for range 3 {
		if err := parseFlagsBody([]byte(full), &b); err != nil {
			t.Fatal(err)
		}
		if len(b.PersonProperties) != 2 || len(b.GroupProperties) != 2 || len(b.FlagKeys) != 1 {
			t.Fatalf("%+v", b)
		}
		b.reset()
		if diff := cmp.Diff(flagsBody{}, b, sameBody, cmpopts.IgnoreFields(flagsBody{}, "spare", "scratch")); diff != "" {
			t.Fatal(diff)
		}
		for _, m := range b.spare {
			if len(m) != 0 {
				t.Fatalf("spare map holds %v", m)
			}
		}
	}
	// Strict parsing stops at NaN after it has set fields.
	if err := parseFlagsBody([]byte(`{"$properties":{"a":1},"flag_keys":["x"],"token":NaN}`), &b); err != nil {
		t.Fatal(err)
	}
	if len(b.PersonProperties) != 1 || len(b.FlagKeys) != 1 {
		t.Errorf("%+v", b)
	}
	b.reset()
	big := map[string]any{}
	for i := range pooledCapacity + 1 {
		big[fmt.Sprint(i)] = i
	}
	b.PersonProperties, b.FlagKeys, b.scratch = big, make([]string, pooledCapacity+1), make([]byte, scratchCapacity+1)
	if b.reset(); b.PersonProperties != nil || b.FlagKeys != nil || b.scratch != nil {
		t.Error("a large request's storage is kept")
	}
}

// Buffers that a request made large and then emptied are also released: a map that was large
// remains slow to clear.
func TestFlags_9_4_ResetAfterTakingBack(t *testing.T) {
	members := func(value string) string {
		var s strings.Builder
		for i := range pooledCapacity + 1 {
			fmt.Fprintf(&s, `"k%d":%s,`, i, value)
		}
		return strings.TrimSuffix(s.String(), ",")
	}
	list := `["` + strings.Repeat(`x","`, pooledCapacity) + `x"]`
	for name, body := range map[string]string{
		"person_properties":        `"person_properties":{` + members("1") + `},"person_properties":null`,
		"groups":                   `"groups":{` + members(`"g"`) + `},"groups":null`,
		"groups one by one":        `"groups":{` + members(`"g"`) + `,` + members("null") + `}`,
		"groups by a better name":  `"$groups":{` + members(`"g"`) + `,` + members("null") + `},"groups":null`,
		"group_properties":         `"group_properties":{` + members("{}") + `},"group_properties":null`,
		"flag_keys":                `"flag_keys":` + list + `,"flag_keys":null`,
		"evaluation_contexts":      `"evaluation_contexts":` + list + `,"evaluation_contexts":null`,
		"not taken back, for once": `"groups":{` + members(`"g"`) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			var b flagsBody
			if err := parseFlagsBody([]byte(`{`+body+`}`), &b); err != nil {
				t.Fatal(err)
			}
			b.reset()
			if b.PersonProperties != nil || b.Groups != nil || b.GroupProperties != nil || b.FlagKeys != nil || b.EvaluationContexts != nil {
				t.Error("its storage is kept")
			}
		})
	}
	// Ordinary buffers are reused, and a member that was set to null is absent.
	var b flagsBody
	if err := parseFlagsBody([]byte(`{"groups":{"a":"x","b":"y","a":null}}`), &b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"b": "y"}, b.Groups); diff != "" {
		t.Error(diff)
	}
	if b.reset(); b.Groups == nil {
		t.Error("a small map is let go")
	}
}

// Values must not change when the caller reuses its buffer.
func TestFlags_9_4_BodyIsCopied(t *testing.T) {
	var b flagsBody
	buf := []byte(`{"token":"tok","distinct_id":"dist","person_properties":{"key":"value","esc":"a\tb"}}`)
	if err := parseFlagsBody(buf, &b); err != nil {
		t.Fatal(err)
	}
	for i := range buf {
		buf[i] = 'X'
	}
	if b.Token != "tok" || b.DistinctID != "dist" || !cmp.Equal(b.PersonProperties, map[string]any{"key": "value", "esc": "a\tb"}) {
		t.Errorf("%+v", b)
	}
}

// asFloats converts every number of an object to float64, like encoding/json.
func asFloats(m map[string]any) {
	text, _ := json.Marshal(m) // it was JSON
	clear(m)
	_ = json.Unmarshal(text, &m)
}
