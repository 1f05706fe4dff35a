package flags_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// readFlags has a flag for each possible result of a read.
const readFlags = `{"flags": [
	{"id": 1, "key": "on", "active": true, "filters": {"groups": [{}], "payloads": {"true": "{\"limit\": 10}"}}},
	{"id": 2, "key": "off", "active": true, "filters": {"groups": [{"rollout_percentage": 0}], "payloads": {"true": "1"}}},
	{"id": 3, "key": "color", "active": true, "version": 7, "filters": {"groups": [{"variant": "blue"}],
		"multivariate": {"variants": [{"key": "red", "rollout_percentage": 50}, {"key": "blue", "rollout_percentage": 50}]}, "payloads": {"blue": "hello"}}},
	{"id": 4, "key": "for-pro", "active": true, "filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}]}]}},
	{"id": 5, "key": "inactive", "active": false, "filters": {"groups": [{}]}},
	{"id": 6, "key": "size", "active": true, "filters": {"groups": [{"variant": "12.5"}], "multivariate": {"variants": [{"key": "12.5", "rollout_percentage": 100}]}}},
	{"id": 7, "key": "limit", "active": true, "filters": {"groups": [{}], "payloads": {"true": "42"}}},
	{"id": 8, "key": "broken", "active": true, "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "operator": "in", "value": 99}]}]}},
	{"id": 9, "key": "round", "active": true, "filters": {"groups": [{"properties": [{"key": "9", "type": "flag", "operator": "flag_evaluates_to", "value": true}]}]}},
	{"id": 10, "key": "config", "active": true, "is_remote_configuration": true, "filters": {"groups": [{}], "payloads": {"true": "\"plain\""}}},
	{"id": 11, "key": "switch", "active": true, "is_remote_configuration": true, "filters": {"groups": [{}], "payloads": {"true": false}}},
	{"id": 14, "key": "quoted", "active": true, "filters": {"groups": [{}], "payloads": {"true": "\"5\""}}},
	{"id": 15, "key": "quoted-config", "active": true, "is_remote_configuration": true, "filters": {"groups": [{}], "payloads": {"true": "\"5\""}}},
	{"id": 16, "key": "quoted-variant", "active": true, "filters": {"groups": [{"variant": "7"}], "multivariate": {"variants": [{"key": "7", "rollout_percentage": 100}]}, "payloads": {"7": "\"5\""}}},
	{"id": 12, "key": "server", "active": true, "evaluation_runtime": "server", "filters": {"groups": [{}]}},
	{"id": 13, "key": "client", "active": true, "evaluation_runtime": "client", "filters": {"groups": [{}]}}
]}`

// readCase is a read and its expected result: want is the value, and why the error.
type readCase struct {
	name      string
	got, want any
	err, why  error
}

func checkReads(t *testing.T, cases []readCase) {
	t.Helper()
	for _, tt := range cases {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
		if !errors.Is(tt.err, tt.why) || tt.why == nil && tt.err != nil {
			t.Errorf("%s: %v, want %v", tt.name, tt.err, tt.why)
		}
	}
}

func expectRead[T any](name string, got T, d flags.Detail) func(want T, why error) readCase {
	return func(want T, why error) readCase { return readCase{name, got, want, d.Err, why} }
}

type limits struct {
	Limit int `json:"limit"`
}

// Reads of a Set and of a Decider in the process, which evaluates as for servers, have the
// same results. The expected values follow from the definitions; payloads that are strings
// with JSON are decoded (flags.md §3.7).
func TestReader_Reads(t *testing.T) {
	d, ctx, sub := parse(t, readFlags), context.Background(), &flags.Subject{DistinctID: "u"}
	decider, err := serving.NewDecider(serving.Config{Source: serving.StaticSource("phc_x", flags.Project{ID: 1}, d)})
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]flags.Reader{"Set": flags.Compile(d).Reader(), "Decider": decider.Reader("phc_x", flags.Selection{})} {
		boolean := func(key string, fallback bool) func(bool, error) readCase {
			v, detail := r.BoolDetail(ctx, key, sub, fallback)
			if short := r.Bool(ctx, key, sub, fallback); short != v {
				t.Errorf("%s: Bool is %v, BoolDetail %v", key, short, v)
			}
			return expectRead("bool "+key, v, detail)
		}
		text := func(key string) func(string, error) readCase {
			v, detail := r.StringDetail(ctx, key, sub, "green")
			if short := r.String(ctx, key, sub, "green"); short != v {
				t.Errorf("%s: String is %v, StringDetail %v", key, short, v)
			}
			return expectRead("string "+key, v, detail)
		}
		number := func(key string) func(float64, error) readCase {
			v, detail := r.NumberDetail(ctx, key, sub, 1)
			if short := r.Number(ctx, key, sub, 1); short != v {
				t.Errorf("%s: Number is %v, NumberDetail %v", key, short, v)
			}
			return expectRead("number "+key, v, detail)
		}
		raw := func(key string) func(json.RawMessage, error) readCase {
			v, detail := r.JSONDetail(ctx, key, sub, json.RawMessage("[]"))
			if short := r.JSON(ctx, key, sub, json.RawMessage("[]")); string(short) != string(v) {
				t.Errorf("%s: JSON is %s, JSONDetail %s", key, short, v)
			}
			return expectRead("JSON "+key, v, detail)
		}
		object, objectDetail := flags.JSONDetail(ctx, r, "on", sub, limits{1})
		mismatch, mismatchDetail := flags.JSONDetail(ctx, r, "limit", sub, "")
		quoted, quotedDetail := flags.JSONDetail(ctx, r, "quoted", sub, 1.0)
		list, listDetail := flags.JSONDetail(ctx, r, "on", sub, []int{1})
		off, offDetail := flags.JSONDetail(ctx, r, "off", sub, limits{1})
		t.Run(name, func(t *testing.T) {
			checkReads(t, []readCase{
				boolean("on", false)(true, nil),
				boolean("color", false)(true, nil),
				boolean("off", true)(false, nil),
				boolean("server", false)(true, nil),
				boolean("nix", true)(true, flags.ErrUnknownFlag),
				boolean("inactive", true)(true, flags.ErrUnknownFlag),
				boolean("broken", true)(true, flags.ErrFailed),
				boolean("round", true)(true, flags.ErrFailed),
				boolean("switch", true)(false, nil),
				boolean("config", true)(true, flags.ErrWrongKind),
				text("color")("blue", nil),
				text("on")("green", flags.ErrWrongKind),
				text("off")("green", nil),
				text("config")("plain", nil),
				text("switch")("green", flags.ErrWrongKind),
				number("limit")(42, nil),
				number("size")(12.5, nil),
				number("color")(1, flags.ErrWrongKind),
				number("quoted")(1, flags.ErrWrongKind), // a string in JSON is not a number
				number("quoted-config")(1, flags.ErrWrongKind),
				number("quoted-variant")(1, flags.ErrWrongKind),
				expectRead("a text as a number", quoted, quotedDetail)(1, flags.ErrWrongKind),
				number("server")(1, flags.ErrWrongKind),
				number("off")(1, nil),
				raw("on")(json.RawMessage(`{"limit": 10}`), nil),
				raw("color")(json.RawMessage(`"hello"`), nil),
				raw("off")(json.RawMessage("[]"), nil),
				raw("size")(json.RawMessage("[]"), flags.ErrWrongKind),
				expectRead("an object", object, objectDetail)(limits{10}, nil),
				expectRead("the text of a number", mismatch, mismatchDetail)("42", nil),
				expectRead("another type", list, listDetail)([]int{1}, flags.ErrWrongKind),
				expectRead("off", off, offDetail)(limits{1}, nil),
			})
			var place *json.UnmarshalTypeError
			if !errors.As(listDetail.Err, &place) || place.Offset == 0 {
				t.Errorf("the place is not told: %v", listDetail.Err)
			}
			_, detail := r.StringDetail(ctx, "color", sub, "")
			if detail.Key != "color" || detail.Version != 7 || detail.Reason.Code != flags.ConditionMatch || string(detail.Payload) != `"hello"` {
				t.Errorf("%+v", detail)
			}
			if _, detail = r.BoolDetail(ctx, "inactive", sub, true); detail.Reason.Code != flags.FlagDisabled || detail.Key != "inactive" {
				t.Errorf("%+v", detail)
			}
			var undecided *flags.Undecided
			if v, detail := r.BoolDetail(ctx, "for-pro", &flags.Subject{DistinctID: "u", Partial: true}, true); !v || !errors.As(detail.Err, &undecided) || undecided.Name != "plan" {
				t.Errorf("%v, %+v", v, detail)
			}
			for _, unidentified := range []*flags.Subject{nil, {}} {
				if v, detail := r.BoolDetail(ctx, "on", unidentified, false); v || !errors.Is(detail.Err, flags.ErrNoDistinctID) {
					t.Errorf("%v, %v", v, detail.Err)
				}
			}
		})
	}
}

// A Decider evaluates as for servers by default (flags.md §9.9), and reports why it has no
// result.
func TestReader_OfDecider(t *testing.T) {
	ctx, sub, paused := context.Background(), &flags.Subject{DistinctID: "u"}, flags.Project{ID: 1, QuotaLimited: []string{"feature_flags"}}
	open := func(p flags.Project) *serving.Decider {
		d, err := serving.NewDecider(serving.Config{Source: serving.StaticSource("phc_x", p, parse(t, readFlags))})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := open(flags.Project{ID: 1})
	read := func(name string, r flags.Reader, key string) func(bool, error) readCase {
		v, detail := r.BoolDetail(ctx, key, sub, false)
		return expectRead(name, v, detail)
	}
	checkReads(t, []readCase{
		read("for servers", d.Reader("phc_x", flags.Selection{}), "server")(true, nil),
		read("for clients, by a server", d.Reader("phc_x", flags.Selection{}), "client")(false, flags.ErrUnknownFlag),
		read("for clients", d.Reader("phc_x", flags.Selection{Runtime: "client"}), "client")(true, nil),
		read("for servers, by a client", d.Reader("phc_x", flags.Selection{Runtime: "client"}), "server")(false, flags.ErrUnknownFlag),
		read("another key", d.Reader("phc_y", flags.Selection{}), "on")(false, flags.ErrUnknownKey),
		read("paused", open(paused).Reader("phc_x", flags.Selection{}), "on")(false, flags.ErrQuotaLimited),
		read("no Decider", (*serving.Decider)(nil).Reader("phc_x", flags.Selection{}), "on")(false, flags.ErrNotReady),
		read("no Set", (*flags.Set)(nil).Reader(), "on")(false, flags.ErrNotReady),
		read("no function", flags.NewReader(nil, nil), "on")(false, flags.ErrNotReady),
	})
}

// A custom Reader sets the decision; everything else works as for other Readers.
func TestReader_Custom(t *testing.T) {
	r := flags.NewReader(func(_ context.Context, key string, _ *flags.Subject, out *flags.Detail) {
		switch key {
		case "size":
			out.Enabled, out.Variant, out.Payload = true, "wide", json.RawMessage(`"3"`)
		case "away":
			out.Err = flags.ErrUnavailable
		case "open":
			out.Undecided = &flags.Undecided{Fact: "person property", Name: "plan"}
		}
	}, nil)
	ctx, sub := context.Background(), &flags.Subject{DistinctID: "u"}
	if got := r.String(ctx, "size", sub, ""); got != "wide" {
		t.Error(got)
	}
	if got := flags.JSON(ctx, r, "size", sub, 0); got != 3 {
		t.Error(got)
	}
	if _, d := r.BoolDetail(ctx, "away", sub, false); !errors.Is(d.Err, flags.ErrUnavailable) {
		t.Error(d.Err)
	}
	if _, d := r.BoolDetail(ctx, "open", sub, false); d.Err == nil || !strings.Contains(d.Err.Error(), "plan") {
		t.Error(d.Err)
	}
	if v, d := r.BoolDetail(ctx, "other", sub, true); v || d.Err != nil || d.Variant != "" {
		t.Errorf("what was decided before shows: %v, %+v", v, d)
	}
}

// Later reads do not overwrite results that a caller retains, also with concurrent reads.
func TestReader_HeldAndShared(t *testing.T) {
	r, ctx, sub := flags.Compile(parse(t, readFlags)).Reader(), context.Background(), &flags.Subject{DistinctID: "u"}
	_, held := r.JSONDetail(ctx, "on", sub, nil)
	before := held.Key + string(held.Payload) + held.Reason.Description()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				if !r.Bool(ctx, "on", sub, false) || r.Bool(ctx, "off", sub, true) || r.String(ctx, "color", sub, "") != "blue" || r.Number(ctx, "limit", sub, 0) != 42 {
					t.Error("a wrong value")
					return
				}
			}
		})
	}
	all.Wait()
	if after := held.Key + string(held.Payload) + held.Reason.Description(); after != before || held.Key != "on" {
		t.Errorf("%s was %s", after, before)
	}
}

// Bool, and String of a variant, do not allocate after the first reads.
func BenchmarkReaderNoAlloc(b *testing.B) {
	r, ctx, sub := flags.Compile(parse(b, readFlags)).Reader(), context.Background(), &flags.Subject{DistinctID: "u", Person: flags.Properties{"plan": "pro"}}
	b.Run("Bool", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if !r.Bool(ctx, "for-pro", sub, false) {
				b.Fatal("off")
			}
		}
	})
	b.Run("String", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if r.String(ctx, "color", sub, "") != "blue" {
				b.Fatal("not blue")
			}
		}
	})
}
