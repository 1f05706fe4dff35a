package capture_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
)

// An event of this process is stored or dropped by the same rules as one that a client sent
// (§3, §4.4).
func TestIntake_Capture(t *testing.T) {
	var stored []*capture.Batch
	full := errors.New("the sink is full")
	var sinkErr error
	intake, err := capture.NewIntake(capture.IntakeConfig{
		Keys:     capture.StaticKeys(capture.Project{ID: 7, APIKey: "phc_x"}),
		Appender: capture.AppenderFunc(func(_ context.Context, b *capture.Batch) error { stored = append(stored, b); return sinkErr }),
	})
	if err != nil {
		t.Fatal(err)
	}
	send := func(key, id, event string, properties map[string]any) error {
		stored = nil
		return intake.Capture(t.Context(), key, id, event, properties)
	}
	if err := send("phc_x", "ana", "ordered", map[string]any{"total": 49, "note": "<&>", "$set": map[string]any{"plan": "pro"}, "$groups": map[string]any{"company": "acme"}}); err != nil {
		t.Fatal(err)
	}
	e := stored[0].Events[0]
	plan, _ := e.Set.Get("plan")
	if stored[0].ProjectID != 7 || e.Name != "ordered" || e.DistinctID != "ana" || plan != `"pro"` ||
		len(e.Groups) != 1 || !strings.Contains(e.Properties, `"total":49`) || !strings.Contains(e.Properties, `"<&>"`) {
		t.Errorf("%+v", e)
	}
	var dropped *capture.DropError
	for name, tt := range map[string]struct {
		key, id, event string
		properties     map[string]any
		says           string
	}{
		"an unknown key":     {"phc_nobody", "ana", "e", nil, "unknown project key"},
		"no key":             {"", "ana", "e", nil, "key"},
		"no distinct id":     {"phc_x", "", "e", nil, "missing_distinct_id"},
		"no name":            {"phc_x", "ana", "", nil, "missing_event_name"},
		"no form in JSON":    {"phc_x", "ana", "e", map[string]any{"x": math.NaN()}, "cannot be encoded as JSON"},
		"larger than 1 MB":   {"phc_x", "ana", "e", map[string]any{"x": strings.Repeat("x", wire.MaxEventOf("e"))}, "maximum event size"},
		"not taken just now": {"phc_x", "ana", "e", nil, "cannot be stored"},
	} {
		if sinkErr = nil; name == "not taken just now" {
			sinkErr = full
		}
		err := send(tt.key, tt.id, tt.event, tt.properties)
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", name, err, tt.says)
		}
		if is := errors.As(err, &dropped); is != strings.Contains(tt.says, "_") {
			t.Errorf("%s: %v is dropped: %v", name, err, is)
		}
	}
	var noIntake *capture.Intake
	if err := noIntake.Capture(t.Context(), "phc_x", "ana", "e", nil); !errors.Is(err, capture.ErrUnavailable) {
		t.Errorf("without an intake: %v", err)
	}
}
