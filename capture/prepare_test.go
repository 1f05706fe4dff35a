package capture

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags/wire"
)

// prepareCase is a row of testdata/capture/prepare.json. Only the members in want are
// compared, but want.stored is the complete object.
type prepareCase struct {
	Clause, Name string
	Item         struct {
		Event      string
		DistinctID *string `json:"distinct_id"` // "u" if absent
		UUID       string
		Timestamp  string
		Properties json.RawMessage
		Overrides  json.RawMessage
		Set        json.RawMessage `json:"$set"`
		SetOnce    json.RawMessage `json:"$set_once"`
	}
	Given struct {
		IP         string
		SentAt     time.Time `json:"sent_at"`
		Secret     bool
		Anonymize  bool
		Historical bool
		V1         bool
		Places     map[string][][2]string // by address
	}
	Want map[string]json.RawMessage
}

// places is a Locator with a few addresses.
type places map[string][][2]string

func (p places) Details(ip netip.Addr) [][2]string { return p[ip.String()] }

var prepareTime = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func testPreparer() *preparer {
	return &preparer{
		project: &Project{ID: 1},
		now:     prepareTime,
		random:  func() [10]byte { return [10]byte{1, 2, 3} },
		seen:    newSeenNames(),
	}
}

// item returns the item of the case in the form of the decoder.
func (c *prepareCase) item() *Item {
	it := &Item{
		Name: c.Item.Event, DistinctID: "u", Timestamp: c.Item.Timestamp,
		Properties: appendMembers(nil, string(c.Item.Properties)),
		Overrides:  appendMembers(nil, string(c.Item.Overrides)),
		Set:        appendMembers(nil, string(c.Item.Set)),
		SetOnce:    appendMembers(nil, string(c.Item.SetOnce)),
		Size:       len(c.Item.Properties) + 100,
	}
	if c.Item.DistinctID != nil {
		it.DistinctID = *c.Item.DistinctID
	}
	it.UUID, _ = wire.ParseUUID(c.Item.UUID)
	return it
}

func (c *prepareCase) preparer() *preparer {
	p := testPreparer()
	p.sentAt, p.historical, p.v1 = c.Given.SentAt, c.Given.Historical, c.Given.V1
	p.project.Secret, p.project.AnonymizeIPs = c.Given.Secret, c.Given.Anonymize
	if c.Given.IP != "" {
		p.ip = netip.MustParseAddr(c.Given.IP)
	}
	if c.Given.Places != nil {
		p.locator = places(c.Given.Places)
	}
	return p
}

// outcome returns the result of prepare, with the names in want.
func outcome(reason DropReason, out *Batch) map[string]any {
	warnings, details := []string{}, []string{}
	for _, w := range out.Warnings {
		warnings = append(warnings, string(w.Type))
		details = append(details, w.Detail)
	}
	got := map[string]any{"drop": reason, "warnings": warnings, "details": details}
	if len(out.Events) == 0 {
		return got
	}
	e := out.Events[0]
	got["name"] = e.Name
	got["stored"] = json.RawMessage(e.Properties)
	got["elements_chain"] = e.ElementsChain
	got["timestamp"] = e.Timestamp
	got["uuid"] = e.UUID
	got["historical"] = e.Historical
	got["personless"] = e.Personless
	got["kind"] = [...]string{"ordinary", "identify", "alias", "merge", "set", "group", "untouching"}[e.Kind]
	got["set"], got["set_once"], got["unset"] = e.Set, e.SetOnce, e.Unset
	got["other"] = nil
	if e.HasOther {
		got["other"] = e.Other
	}
	groups := [][2]string{}
	for _, g := range e.Groups {
		groups = append(groups, [2]string{g.Type, g.Key})
	}
	got["groups"] = groups
	got["group"] = nil
	if e.Group != nil {
		got["group"] = []any{e.Group.Type, e.Group.Key, e.Group.Set}
	}
	got["flag"] = nil
	if e.Flag != nil {
		got["flag"] = []string{e.Flag.Flag, e.Flag.Value}
	}
	return got
}

// The expected values are from the clauses that the test data names.
func TestCapture_Prepare(t *testing.T) {
	data, err := os.ReadFile("../testdata/capture/prepare.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []prepareCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Clause+"/"+c.Name, func(t *testing.T) {
			var out Batch
			got := outcome(c.preparer().prepare(c.item(), &out), &out)
			if len(c.Want) == 0 {
				t.Fatal("the case expects nothing")
			}
			for name, want := range c.Want {
				value, ok := got[name]
				if !ok {
					t.Errorf("%s: no event (%v)", name, got["drop"])
					continue
				}
				if diff := cmp.Diff(generic(t, want), generic(t, value)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			if _, ok := c.Want["warnings"]; !ok && len(out.Warnings) > 0 {
				t.Errorf("warnings %v", got["warnings"])
			}
			if _, ok := c.Want["drop"]; !ok && got["drop"] != NotDropped {
				t.Errorf("dropped: %v", got["drop"])
			}
		})
	}
}

// generic returns a value as encoding/json decodes it.
func generic(t testing.TB, v any) (out any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Names of 200 characters are stored, longer names are truncated in v0 and rejected in v1
// (§3.7). Characters are not bytes.
func TestCapture_3_7_LongNames(t *testing.T) {
	for _, c := range []struct {
		n      int
		v1     bool
		want   int
		reason DropReason
	}{
		{200, false, 200, NotDropped}, {300, false, 200, NotDropped},
		{200, true, 200, NotDropped}, {201, true, 0, eventNameTooLong},
	} {
		p := testPreparer()
		p.v1 = c.v1
		var out Batch
		reason := p.prepare(&Item{Name: strings.Repeat("é", c.n), DistinctID: "u"}, &out)
		if reason != c.reason {
			t.Errorf("%d characters, v1 %v: reason %q, want %q", c.n, c.v1, reason, c.reason)
		}
		if reason == NotDropped && out.Events[0].Name != strings.Repeat("é", c.want) {
			t.Errorf("%d characters, v1 %v: %d characters", c.n, c.v1, len([]rune(out.Events[0].Name)))
		}
	}
}

// A group key of 400 characters is accepted, one of 401 is not (§11.3).
func TestCapture_11_3_LongGroupKeys(t *testing.T) {
	for n, want := range map[int]DropReason{400: NotDropped, 401: groupKeyTooLong} {
		var out Batch
		got := testPreparer().prepare(&Item{Name: "$groupidentify", DistinctID: "u", Properties: []Member{
			{"$group_type", `"company"`}, {"$group_key", wire.Quote(strings.Repeat("ü", n))},
		}}, &out)
		if got != want {
			t.Errorf("%d characters: %q, want %q", n, got, want)
		}
	}
}

// The events of a batch share a buffer, and preparing an event must not change earlier
// events.
func TestCapture_PrepareSharedMemory(t *testing.T) {
	p := testPreparer()
	p.sentAt = prepareTime
	var out Batch
	for i := range 500 {
		it := &Item{Name: "e", DistinctID: "u", Size: i % 7 * 100, Properties: []Member{{"n", fmt.Sprint(i)}},
			Set: []Member{{"s", fmt.Sprint(i)}}}
		if reason := p.prepare(it, &out); reason != NotDropped {
			t.Fatal(reason)
		}
	}
	for i, e := range out.Events {
		want := fmt.Sprintf(`{"n":%d,"$sent_at":"2026-01-01T12:00:00.000Z","$set":{"s":%d}}`, i, i)
		if e.Properties != want {
			t.Fatalf("event %d: %s, want %s", i, e.Properties, want)
		}
	}
}

// §13.7: only booleans are allowed, wherever in the item the mode is.
func TestCapture_13_7_CookielessFault(t *testing.T) {
	for value, want := range map[string]bool{"true": false, "false": false, `"true"`: true, "null": true, "1": true, "{}": true} {
		m := []Member{{"$cookieless_mode", value}}
		if got := hasCookielessFault(&Item{Properties: m}); got != want {
			t.Errorf("property %s: %v", value, got)
		}
		if got := hasCookielessFault(&Item{Overrides: m, Properties: []Member{{"$cookieless_mode", "[]"}}}); got != want {
			t.Errorf("override %s: %v", value, got)
		}
	}
	if hasCookielessFault(&Item{}) {
		t.Error("absent")
	}
}

// Warnings of the same type and user are counted together (§4.5).
func TestCapture_4_5_WarningsAddUp(t *testing.T) {
	p := testPreparer()
	var out Batch
	for _, id := range []string{"a", "a", "b"} {
		p.prepare(&Item{Name: "e", DistinctID: id, Properties: []Member{{"$process_person_profile", "0"}}}, &out)
	}
	if len(out.Warnings) != 2 || out.Warnings[0].Count != 2 || out.Warnings[1].DistinctID != "b" {
		t.Errorf("%+v", out.Warnings)
	}
}
