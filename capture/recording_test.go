package capture

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCapture_7_Bodies(t *testing.T) {
	const (
		properties = `"$snapshot_data":[{"type":4}],"$session_id":"01a1-B","distinct_id":"u"`
		item       = `{"event":"$snapshot","properties":{"token":"phc_x",` + properties + `}}`
		bare       = `{"event":"$snapshot","properties":{` + properties + `}}`
	)
	without := func(what string) string { return "[" + strings.Replace(item, what, "", 1) + "]" }
	invalid := func(attr, detail string) *wantRefusal {
		return &wantRefusal{"invalid", "invalid_payload", detail, attr}
	}
	noSession := invalid("$session_id", "replay event submitted without session id")
	badSession := invalid("$session_id", "replay event submitted with invalid session id: it may have at most 70 letters, digits and hyphens")
	session := func(id string) string { return "[" + strings.Replace(item, `"01a1-B"`, id, 1) + "]" }
	for _, c := range []struct {
		name, body string
		items      int
		refusal    *wantRefusal
	}{
		{"list", "[" + item + "]", 1, nil},
		{"list of three", "[" + item + "," + bare + "," + bare + "]", 3, nil},
		{"one", item, 1, nil},
		{"batch", `{"batch":[` + item + `,` + bare + `]}`, 2, nil},
		{"two batches, the last counts", `{"batch":[{}],"batch":[` + item + `]}`, 1, nil},
		{"batch with a token", `{"batch":[` + bare + `],"api_key":"phc_x"}`, 1, nil},
		{"batch's token wins", `{"api_key":"phc_x","batch":[{"api_key":"phc_y",` + bare[1:] + `]}`, 1, nil},
		{"token and distinct id at the top, as iOS sends them", `[{"api_key":"phc_x","distinct_id":"u","properties":{"$snapshot_data":{},"$session_id":"a"}}]`, 1, nil},
		{"binary text is left alone", `[` + strings.Replace(item, `{"type":4}`, `"\u001f\u008b\ud800"`, 1) + `]`, 1, nil},
		{"empty list", "[]", 0, &wantRefusal{"invalid", "no_data", "request holds no event", ""}},
		{"empty batch", `{"batch":[]}`, 0, &wantRefusal{"invalid", "no_data", "request holds no event", ""}},
		{"empty body", "", 0, &wantRefusal{"invalid", "no_data", "request missing data payload", ""}},
		{"not JSON", "[" + item, 0, invalid("", fmt.Sprintf("failed to parse request: expected a comma or the end of the list at byte %d", len("["+item)))},
		{"half a word", "nul", 0, invalid("", "failed to parse request: expected a value at byte 0")},
		{"half an item", `[{"a"`, 0, invalid("", "failed to parse request: expected a colon at byte 5")},
		{"half a batch", `{"batch":[`, 0, invalid("", "failed to parse request: expected a value at byte 10")},
		{"null", "null", 0, invalid("", "failed to parse request: the body is neither a list nor an object")},
		{"item that is no object", "[" + item + ",5]", 0, invalid("", "failed to parse request: item 1 is not an object")},
		{"no token", "[" + bare + "]", 0, &wantRefusal{"unauthorized", "missing_api_key", "event submitted without an api_key", ""}},
		{"the token is that of the first item", "[" + bare + "," + item + "]", 0, &wantRefusal{"unauthorized", "missing_api_key", "event submitted without an api_key", ""}},
		{"bad token", strings.Replace(item, "phc_x", "phx_x", 1), 0, &wantRefusal{"unauthorized", "invalid_api_key", "API key is not valid: personal_api_key", ""}},
		{"no distinct id", without(`,"distinct_id":"u"`), 0, invalid("distinct_id", "event submitted without a distinct_id")},
		{"18.4 no session id", without(`"$session_id":"01a1-B",`), 0, noSession},
		{"session id null", session("null"), 0, noSession},
		{"session id number", session("5"), 0, badSession},
		{"session id empty", session(`""`), 0, badSession},
		{"session id with other letters", session(`"a_b"`), 0, badSession},
		{"session id of 70 characters", session(`"` + strings.Repeat("a", 70) + `"`), 1, nil},
		{"session id of 71 characters", session(`"` + strings.Repeat("a", 71) + `"`), 0, badSession},
		{"no snapshot data", without(`"$snapshot_data":[{"type":4}],`), 0, invalid("$snapshot_data", "replay event submitted without snapshot data (item 0)")},
		{"no snapshot data in the second", "[" + item + `,{"properties":{"$snapshot_data":"x"}}]`, 0, invalid("$snapshot_data", "replay event submitted without snapshot data (item 1)")},
		{"properties null", `{"api_key":"phc_x","distinct_id":"u","properties":null}`, 0, noSession},
	} {
		t.Run(c.name, func(t *testing.T) {
			token, items, err := DecodeRecording(c.body)
			if diff := cmp.Diff(c.refusal, refusalOf(t, err)); diff != "" {
				t.Fatalf("refusal (-want +got)\n%s", diff)
			}
			if err == nil && (token != "phc_x" || items != c.items) {
				t.Errorf("token %q and %d items, want phc_x and %d", token, items, c.items)
			}
		})
	}
}
