package capture

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture/jsontext"
)

// recordedBodies are real bodies of SDKs, shortened.
var recordedBodies = []string{
	`{"api_key":"phc_x","batch":[{"uuid":"01a1f996-8fd8-7737-8d21-48ac9c8fd259","event":"$autocapture","properties":{"$os":"Linux","distinct_id":"a","$elements_chain":"button:attr__id=\"b\"","token":"phc_x","$process_person_profile":false},"timestamp":"2026-11-20T15:32:36.440Z"}],"sent_at":"2026-11-20T15:32:39.441Z"}`,
	`{"api_key":"phc_x","batch":[{"uuid":"01a1f996-8fd8-7737-8d21-48ac9c8fd25a","event":"$identify","properties":{"distinct_id":"u","$anon_distinct_id":"a","token":"phc_x"},"$set":{"email":"ada@example.com"},"$set_once":{"$initial_referrer":"$direct"},"timestamp":"2026-11-20T15:32:36.440Z"}]}`,
	`{"api_key":"phc_x","batch":[{"distinct_id":"user_1","event":"purchase","properties":{"price":9.5,"$groups":{"company":"acme"},"$lib":"posthog-node"},"type":"capture","library":"posthog-node","timestamp":"2026-01-02T03:04:05.678Z","uuid":"0190d0c0-0000-7000-8000-000000000001"}],"historical_migration":true,"sent_at":"2026-11-20T15:28:20.697Z"}`,
	`{"api_key":"phc_x","batch":[{"type":"alias","library":"posthog-go","timestamp":"2026-11-20T15:29:20.459744924Z","event":"$create_alias","properties":{"distinct_id":"user_1","alias":"user_1_alias"},"$set":null,"uuid":""}]}`,
	`[{"api_key":"phc_x","event":"a","distinct_id":" u ","offset":1500.5},5,null]`,
	`{"token":"phc_x","$distinct_id":42,"$set":{"a":1}}`,
	`{"created_at":"2026-11-20T15:28:20.697Z","batch":[{"event":"anon event","uuid":"01a1f992-a8d3-74d2-ba35-7b9732477691","distinct_id":"anon_1","timestamp":"2026-11-20T15:28:20.691Z","session_id":"s","options":{"process_person_profile":false,"product_tour_id":5},"properties":{"$is_server":true}}]}`,
	`[{"uuid":"01a1f997-ba2b-7cde-a839-41ea5025377a","event":"$snapshot","properties":{"$snapshot_bytes":4916,"$snapshot_data":[{"type":2,"data":"\u001f\u008b\b"}],"$session_id":"01a1f997-ab81","token":"phc_x","distinct_id":"a"},"timestamp":"2026-11-20T15:33:49.179Z"}]`,
	"\ufeff{\"a\":\"\\ud800\\\\ud800\"}",
}

func FuzzDecode(f *testing.F) {
	for _, body := range recordedBodies {
		f.Add(body, false)
	}
	var file struct{ Cases []bodyCase }
	readData(f, "decode.json", &file)
	for _, c := range file.Cases {
		f.Add(c.body(), c.Engage)
	}
	f.Fuzz(func(t *testing.T, body string, engage bool) {
		s, err := Decode(body, DecodeOptions{Engage: engage})
		if err != nil {
			checkRefusal(t, err)
			return
		}
		if len(s.Items) == 0 || len(s.Items) > len(body) {
			t.Fatalf("%d items", len(s.Items))
		}
		for i := range s.Items {
			it := &s.Items[i]
			checkItem(t, it)
			if utf8.RuneCountInString(it.DistinctID) > maxID {
				t.Errorf("distinct id %q is too long", it.DistinctID)
			}
		}
		if len(s.Tokens) > 2 || len(s.Tokens) == 2 && s.Tokens[0] == s.Tokens[1] {
			t.Errorf("tokens %q", s.Tokens)
		}
		if token, err := s.Token(); err != nil {
			checkRefusal(t, err)
		} else if again, err := CheckToken(token); err != nil || again != token || len(token) > maxToken {
			t.Errorf("token %q, again %q (%v)", token, again, err)
		}
		checkLikeList(t, body, s)
	})
}

// checkLikeList checks that the items of a batch are the same as those of its list as a body
// (§3.1).
func checkLikeList(t *testing.T, body string, s *Submission) {
	o, err := ParseObject(jsontext.ReplaceHalfPairs(strings.TrimPrefix(body, "\ufeff")))
	if err != nil {
		return
	}
	if batch, ok := o.Get("batch"); ok && batch[0] == '[' {
		list, err := Decode(batch, DecodeOptions{})
		if err != nil {
			t.Fatalf("the list alone: %v", err)
		}
		if diff := cmp.Diff(list.Items, s.Items); diff != "" {
			t.Errorf("(-list +batch)\n%s", diff)
		}
	}
}

func checkItem(t *testing.T, it *Item) {
	for _, s := range []string{it.Name, it.DistinctID} {
		if strings.ContainsRune(s, 0) || !utf8.ValidString(s) || s != "" && strings.TrimSpace(s) == "" {
			t.Errorf("%q is not clean", s)
		}
	}
	size := 0
	for _, list := range [][]Member{it.Properties, it.Set, it.SetOnce, it.Overrides} {
		keys := map[string]bool{}
		for _, m := range list {
			size += len(m.Value)
			if !json.Valid([]byte(m.Value)) || keys[m.Key] {
				t.Errorf("member %q: %q, seen %v", m.Key, m.Value, keys[m.Key])
			}
			keys[m.Key] = true
		}
		if cap(list) != len(list) {
			t.Error("a list of members has room to run into the next one")
		}
	}
	if it.Overrides == nil && size > it.Size {
		t.Errorf("%d bytes of values in an item of %d", size, it.Size)
	}
	eventTime(it, time.Unix(1e9, 0), time.Time{}, false)
}

func checkRefusal(t *testing.T, err error) {
	var r *Refusal
	if !errors.As(err, &r) || r.Code == "" || r.Detail == "" || !utf8.ValidString(r.Detail) {
		t.Errorf("%#v is no proper refusal", err)
	}
}

func FuzzDecodeV1(f *testing.F) {
	cases := v1Cases(f)
	for _, body := range recordedBodies {
		f.Add(body, "posthog-node/5.70.0", "1")
	}
	for _, c := range cases {
		f.Add(c.body(), c.Headers["sdk_info"], c.Headers["attempt"])
	}
	f.Fuzz(func(t *testing.T, body, sdkInfo, attempt string) {
		h := cases[0].Headers.headers()
		h.SdkInfo, h.Attempt = sdkInfo, attempt
		s, err := DecodeV1(body, h, nil)
		if err != nil {
			if e := v1ErrorOf(t, err); e.Status < 400 || e.Status > 499 || e.Tag == "" || !utf8.ValidString(e.Description) {
				t.Errorf("%+v is no proper error", e)
			}
			return
		}
		ids := map[UUID]bool{}
		for i := range s.Items {
			it := &s.Items[i]
			checkItem(t, it)
			if it.UUID.IsZero() || ids[it.UUID] {
				t.Errorf("uuid %s twice, or none", it.UUID)
			}
			ids[it.UUID] = true
			if (it.Name == "" || it.DistinctID == "") && it.Fault == NotDropped {
				t.Errorf("%q of %q has no fault", it.Name, it.DistinctID)
			}
		}
		if len(s.Items) == 0 || s.SentAt.IsZero() {
			t.Errorf("%d items, sent at %v", len(s.Items), s.SentAt)
		}
	})
}

func FuzzDecodeRecording(f *testing.F) {
	for _, body := range recordedBodies {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		token, items, err := DecodeRecording(body)
		if err != nil {
			checkRefusal(t, err)
			return
		}
		if again, err := CheckToken(token); err != nil || again != token || items < 1 {
			t.Errorf("token %q, again %q (%v), %d items", token, again, err, items)
		}
		// A body of recordings is also a valid body of §3.
		if _, err := Decode(body, DecodeOptions{}); err != nil {
			t.Errorf("Decode: %v", err)
		}
	})
}
