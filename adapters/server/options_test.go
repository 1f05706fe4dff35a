package server

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/capture/queries"
)

// Errors of listening say what to do, and keep their cause.
func TestListenError(t *testing.T) {
	t.Parallel()
	other := errors.New("unknown port")
	for cause, want := range map[error]string{
		syscall.EADDRINUSE:    "cannot listen on :80: another program uses this address: stop it, or choose another port with Options.Listen",
		syscall.EACCES:        "cannot listen on :80: ports below 1024 are reserved for the administrator: choose a higher port with Options.Listen",
		syscall.EADDRNOTAVAIL: "cannot listen on :80: this machine does not have this address: choose one of its addresses with Options.Listen",
		other:                 "cannot listen on :80: listen tcp: unknown port; see Options.Listen",
	} {
		err := listenError("Options.Listen", ":80", fmt.Errorf("listen tcp: %w", cause))
		if err.Error() != want || !errors.Is(err, cause) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Defaults of options, which do not replace a value that is set.
func TestOptions_Defaults(t *testing.T) {
	t.Parallel()
	got := Options{}.withDefaults()
	if got.OwnerEmail != DefaultOwnerEmail || got.Grace != 10*time.Second || got.Shadow.Sample != 1 || got.Logger == nil || got.ManagementLimits.Default != httpapi.DefaultManagementLimits().Default || got.Drain != 0 {
		t.Errorf("%+v", got)
	}
	logger := slog.New(slog.DiscardHandler)
	set := Options{OwnerEmail: "a@b.c", Grace: time.Second, Shadow: Shadow{Sample: 0.5}, Logger: logger, ManagementLimits: &httpapi.ManagementLimits{}}
	got = set.withDefaults()
	if got.OwnerEmail != "a@b.c" || got.Grace != time.Second || got.Shadow.Sample != 0.5 || got.Logger != logger || got.ManagementLimits != set.ManagementLimits {
		t.Errorf("%+v", got)
	}
	for _, c := range []struct {
		o              Options
		query, queries int64
	}{
		{Options{}, 256 << 20, 512 << 20},
		{Options{Memory: 1 << 30}, 1 << 30, 2 << 30},
		{Options{Memory: 1 << 30, Queries: queries.Limits{Memory: 5 << 20}}, 5 << 20, 2 << 30},
		{Options{Queries: queries.Limits{MemoryTotal: 7 << 20}}, 256 << 20, 7 << 20},
	} {
		if got := c.o.withDefaults().Queries; got.Memory != c.query || got.MemoryTotal != c.queries {
			t.Errorf("with a memory of %d: %+v", c.o.Memory, got)
		}
	}
	for want, o := range map[string]Options{
		"sqlite::memory:": {}, "sqlite:" + filepath.Join("data", "bunting.db"): {Data: "data"}, "postgres://h/db": {Database: "postgres://h/db"}, "postgres://h/d": {Database: "postgres://h/d", Data: "data"},
	} {
		if got := o.DatabaseURL(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Only a server of files, without capture and management, needs no store.
func TestOptions_NeedsNoStore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		options Options
		want    bool
	}{
		{Options{}, false}, {Options{Without: Capture}, false}, {Options{Without: Management}, false}, {Options{Without: Capture | Management}, true}, {Options{Without: Capture | Management | Exports}, true},
		{Options{Without: Capture | Management, Data: "data"}, false}, {Options{Without: Capture | Management, Database: "postgres://h/db"}, false},
	} {
		if got := c.options.needsNoStore(); got != c.want {
			t.Errorf("%+v: %v", c.options, got)
		}
	}
}
