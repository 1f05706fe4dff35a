package flags_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

type trackedEvent struct {
	event      string
	properties map[string]any
}

// trackedReader evaluates three flags and appends events to a list.
func trackedReader(events *[]trackedEvent) flags.Reader {
	answers := map[string]flags.Decision{
		"on": {Key: "on", Enabled: true}, "wide": {Key: "wide", Enabled: true, Variant: "wide-one"}, "off": {Key: "off"},
	}
	decide := func(_ context.Context, key string, _ *flags.Subject, out *flags.Detail) {
		var found bool
		if out.Decision, found = answers[key]; !found {
			out.Err = flags.ErrUnknownFlag
		}
	}
	return flags.NewReader(decide, func(_ context.Context, sub *flags.Subject) flags.SnapshotConfig {
		return flags.SnapshotConfig{
			Decide: func(ctx context.Context, key string, out *flags.Detail) { decide(ctx, key, sub, out) },
			Track: func(_ context.Context, event string, properties map[string]any) error {
				*events = append(*events, trackedEvent{event, properties})
				return nil
			},
		}
	})
}

// An event contains the values of the flags read before it, and the keys of enabled ones
// (capture.md, properties of SDKs: $feature/<key>, $active_feature_flags).
func TestSnapshot_Track(t *testing.T) {
	var events []trackedEvent
	reader := trackedReader(&events)
	s := reader.For(t.Context(), &flags.Subject{DistinctID: "u"})
	track := func(event string, properties map[string]any) {
		t.Helper()
		if err := s.Track(event, properties); err != nil {
			t.Fatal(err)
		}
	}
	track("first", nil)
	s.String("wide", "")
	s.Bool("on", false)
	s.Bool("off", false)
	s.Bool("unknown", false)
	own := map[string]any{"price": 3, "$feature/on": "own"}
	track("second", own)
	want := []trackedEvent{
		{"first", map[string]any{"$active_feature_flags": []string{}}},
		{"second", map[string]any{
			"$feature/on": "own", "$feature/wide": "wide-one", "$feature/off": false, "$active_feature_flags": []string{"on", "wide"}, "price": 3,
		}},
	}
	if !reflect.DeepEqual(events, want) {
		t.Errorf("sent %v, want %v", events, want)
	}
	if len(own) != 2 {
		t.Errorf("the caller's properties became %v", own)
	}
	if err := reader.For(t.Context(), &flags.Subject{}).Track("x", nil); !errors.Is(err, flags.ErrNoDistinctID) || len(events) != 2 {
		t.Errorf("nobody: %v, %d events", err, len(events))
	}
	if err := reader.For(t.Context(), nil).Track("x", nil); !errors.Is(err, flags.ErrNoDistinctID) {
		t.Errorf("no subject: %v", err)
	}
}

// If a Reader cannot send events, WithTrack adds that, with the subject and the flags read.
func TestWithTrack(t *testing.T) {
	fixed, err := flags.Static([]byte(fileWith("wide")))
	if err != nil {
		t.Fatal(err)
	}
	var distinctID string
	var got trackedEvent
	r := flags.WithTrack(fixed, func(_ context.Context, sub *flags.Subject, event string, properties map[string]any) error {
		distinctID, got = sub.DistinctID, trackedEvent{event, properties}
		return nil
	})
	s := r.For(t.Context(), &flags.Subject{DistinctID: "ana"})
	if v := s.String("f", ""); v != "wide" || s.Track("paid", map[string]any{"total": 5}) != nil {
		t.Fatal(v)
	}
	want := trackedEvent{"paid", map[string]any{"total": 5, "$feature/f": "wide", "$active_feature_flags": []string{"f"}}}
	if distinctID != "ana" || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, want %v", distinctID, got, want)
	}
	if err := flags.WithTrack(nil, nil).For(t.Context(), nil).Track("x", nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}
