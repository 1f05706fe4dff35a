package flags_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
)

type hookKey string

// Each kind of read calls the hooks: Before in order; After in reverse order with the context
// from Before, the value, the fallback and the detail. The evaluation has that context too.
func TestHooks(t *testing.T) {
	var calls []string
	hook := func(name string) flags.Hook {
		return flags.Hook{
			Before: func(ctx context.Context, r *flags.Read) context.Context {
				calls = append(calls, fmt.Sprintf("%s before %s %s %v %v", name, r.Key, r.Subject.DistinctID, r.Fallback, r.Value))
				return context.WithValue(ctx, hookKey(name), name+"'s")
			},
			After: func(ctx context.Context, r *flags.Read) {
				calls = append(calls, fmt.Sprintf("%s after %v %v %v %v", name, ctx.Value(hookKey(name)), r.Fallback, r.Value, r.Detail.Err))
			},
		}
	}
	inner := flags.NewReader(func(ctx context.Context, key string, _ *flags.Subject, out *flags.Detail) {
		calls = append(calls, fmt.Sprint("decide ", ctx.Value(hookKey("a")), ctx.Value(hookKey("b"))))
		if key == "nix" {
			out.Err = flags.ErrUnknownFlag
			return
		}
		out.Enabled, out.Variant, out.Payload = true, "blue", []byte("3")
	}, nil)
	r := flags.WithHooks(inner, hook("a"), flags.Hook{}, flags.Hook{Before: func(context.Context, *flags.Read) context.Context { return nil }}, hook("b"))
	ctx, sub := context.Background(), &flags.Subject{DistinctID: "u"}
	around := func(key, fallback, value, err string) []string {
		return []string{
			"a before " + key + " u " + fallback + " <nil>", "b before " + key + " u " + fallback + " <nil>", "decide a'sb's",
			"b after b's " + fallback + " " + value + " " + err, "a after a's " + fallback + " " + value + " " + err,
		}
	}
	for name, tt := range map[string]struct {
		read func(r flags.Reader)
		want []string
	}{
		"Bool":       {func(r flags.Reader) { r.Bool(ctx, "f", sub, false) }, around("f", "false", "true", "<nil>")},
		"BoolDetail": {func(r flags.Reader) { r.BoolDetail(ctx, "nix", sub, true) }, around("nix", "true", "true", flags.ErrUnknownFlag.Error())},
		"String":     {func(r flags.Reader) { r.String(ctx, "f", sub, "none") }, around("f", "none", "blue", "<nil>")},
		"Number":     {func(r flags.Reader) { r.Number(ctx, "f", sub, 1) }, around("f", "1", "3", "<nil>")},
		"JSON":       {func(r flags.Reader) { r.JSON(ctx, "f", sub, nil) }, around("f", "[]", "[51]", "<nil>")},
		"JSON[T]":    {func(r flags.Reader) { flags.JSON(ctx, r, "f", sub, 9) }, around("f", "[]", "[51]", "<nil>")},
		"a snapshot's first read alone": {func(r flags.Reader) {
			s := r.For(ctx, sub)
			s.Bool("f", false)
			s.String("f", "none")
		}, around("f", "false", "true", "<nil>")},
		"one around the other": {func(flags.Reader) {
			flags.WithHooks(flags.WithHooks(inner, hook("b")), hook("a")).For(ctx, sub).Bool("f", false)
		}, around("f", "false", "true", "<nil>")},
	} {
		if calls = nil; true {
			tt.read(r)
		}
		if diff := cmp.Diff(tt.want, calls); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	if flags.WithHooks(inner) != inner {
		t.Error("without hooks there is something around the Reader")
	}
}

// An After function may read and track the flag that it is called for.
func TestHooks_OfSnapshotReadIt(t *testing.T) {
	var s *flags.Snapshot
	seen := false
	r := flags.WithHooks(flags.Compile(parse(t, readFlags)).Reader(), flags.Hook{After: func(context.Context, *flags.Read) {
		seen = s.Bool("on", false) && errors.Is(s.Track("read", nil), errors.ErrUnsupported)
	}})
	s = r.For(context.Background(), &flags.Subject{DistinctID: "u"})
	if !s.Bool("on", false) || !seen {
		t.Error("off")
	}
}

// Reads in OpenFeature's terms (types, "Resolution Reason" and "Error Code").
func TestDetail_OpenFeature(t *testing.T) {
	r, ctx := flags.Compile(parse(t, readFlags)).Reader(), context.Background()
	closed := flags.NewReader(func(_ context.Context, _ string, _ *flags.Subject, out *flags.Detail) { out.Err = flags.ErrClosed }, nil)
	for _, tt := range []struct {
		r    flags.Reader
		key  string
		sub  *flags.Subject
		want []string
	}{
		{r, "on", &flags.Subject{DistinctID: "u"}, []string{"ERROR", "TYPE_MISMATCH"}},
		{r, "color", &flags.Subject{DistinctID: "u"}, []string{"STATIC", ""}},
		{r, "nix", &flags.Subject{DistinctID: "u"}, []string{"ERROR", "FLAG_NOT_FOUND"}},
		{r, "inactive", &flags.Subject{DistinctID: "u"}, []string{"DISABLED", ""}},
		{r, "broken", &flags.Subject{DistinctID: "u"}, []string{"ERROR", "PARSE_ERROR"}},
		{r, "for-pro", &flags.Subject{DistinctID: "u", Partial: true}, []string{"ERROR", "INVALID_CONTEXT"}},
		{r, "color", nil, []string{"ERROR", "TARGETING_KEY_MISSING"}},
		{flags.NewReader(nil, nil), "on", nil, []string{"ERROR", "PROVIDER_NOT_READY"}},
		{closed, "on", nil, []string{"ERROR", "GENERAL"}},
	} {
		_, d := tt.r.StringDetail(ctx, tt.key, tt.sub, "")
		if reason, code := d.OpenFeature(); !slices.Equal([]string{reason, code}, tt.want) {
			t.Errorf("%s: %s %s, want %v", tt.key, reason, code, tt.want)
		}
	}
}
