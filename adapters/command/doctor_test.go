package command

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/server"
)

// runDoctor returns the doctor's findings, keyed by check and level.
func runDoctor(t *testing.T, code int, args ...string) map[string]string {
	t.Helper()
	r := call(t, "", nil, append([]string{"doctor", "--json"}, args...)...)
	if r.Code != code {
		t.Errorf("exit code %d, want %d: %s", r.Code, code, r.Stderr)
	}
	return r.Findings(t)
}

// The doctor reports no faults of an intact server, whether it runs or not, and changes no files.
func TestDoctor_Sound(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	if got := runDoctor(t, 0, "--data", folder); !strings.Contains(got["database note"], "no database yet") {
		t.Errorf("before the first start: %v", got)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("the doctor has made the folder")
	}
	s := serve(t, time.Minute, "--data", folder)
	got := runDoctor(t, 0, "--data", folder)
	for check, want := range map[string]string{"database ok": "1 projects, 0 events; a server uses it", "schema ok": "the newest", "settings ok": "no unsafe settings"} {
		if !strings.Contains(got[check], want) {
			t.Errorf("%s: %q, want %q; all: %v", check, got[check], want, got)
		}
	}
	s.stop()
	s.wait(0)
	if got := runDoctor(t, 0, "--quick", "--data", folder); !strings.Contains(got["database ok"], "no server uses it") {
		t.Error(got)
	}
	call(t, "", nil, "doctor", "--data", folder).Want(t, 0, "ok       schema", "")
}

// The doctor reports a damaged file as a fault, and warns about files that other users may read.
func TestDoctor_Damage(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	s := serve(t, time.Minute, "--data", folder)
	s.stop()
	s.wait(0)
	path := filepath.Join(folder, server.DatabaseFile)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := runDoctor(t, 0, "--data", folder); !strings.Contains(got["files warning"], "chmod 600 "+path) {
		t.Error(got)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(text) / 2; i < len(text); i++ {
		text[i] ^= 0x5a
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := runDoctor(t, 1, "--data", folder); got["database fault"] == "" {
		t.Error(got)
	}
}

// The doctor says how many events of an earlier version are not converted yet.
func TestDoctor_Conversion(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	s := serve(t, time.Minute, "--data", folder)
	s.stop()
	s.wait(0)
	db, err := sql.Open("sqlite", filepath.Join(folder, server.DatabaseFile))
	if err == nil {
		_, err = db.Exec(`CREATE TABLE event_rows (id INTEGER PRIMARY KEY); INSERT INTO event_rows (id) VALUES (1), (2), (5);
			INSERT INTO places (name, id) VALUES ('event_rows', 0), ('event_index', 5), ('event_unconverted', 5)`)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if got := runDoctor(t, 0, "--data", folder); !strings.HasPrefix(got["conversion note"], "3 events of an earlier version are not converted yet") {
		t.Error(got)
	}
}

// The doctor says what the server sends by OTLP. A value with which the server would not start is a
// fault that names the variable and does not repeat secrets.
func TestDoctor_OTLP(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318"
	for _, c := range []struct {
		env                []string
		code               int
		check, want, serve string
	}{
		{nil, 0, "telemetry ok", "", ""},
		{[]string{endpoint}, 0, "telemetry ok", "the server sends traces, metrics, logs by OTLP", ""},
		{[]string{endpoint, "OTEL_LOGS_EXPORTER=none"}, 0, "telemetry ok", "the server sends traces, metrics by OTLP", ""},
		{[]string{endpoint, "OTEL_SDK_DISABLED=true"}, 0, "telemetry note", "the server sends nothing by OTLP", ""},
		{[]string{"OTEL_EXPORTER_OTLP_HEADERS=api-key=secret"}, 0, "telemetry note", "OTEL_EXPORTER_OTLP_ENDPOINT is not set", ""},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=secret:4318"}, 1, "telemetry fault", "the server does not start", "OTEL_EXPORTER_OTLP_ENDPOINT must be a URL such as http://localhost:4318"},
		{[]string{endpoint, "OTEL_EXPORTER_OTLP_HEADERS=secret"}, 1, "telemetry fault", "the server does not start", "OTEL_EXPORTER_OTLP_HEADERS must be NAME=VALUE"},
	} {
		r := call(t, "", c.env, "doctor", "--json", "--data", t.TempDir())
		text := r.Findings(t)[c.check]
		if r.Code != c.code || !strings.Contains(text, c.want) || !strings.Contains(text, c.serve) || (text == "") != (c.want == "") || strings.Contains(r.Stdout, "secret") {
			t.Errorf("%v: exit code %d, %s%s", c.env, r.Code, r.Stdout, r.Stderr)
		}
		if c.serve != "" {
			call(t, "", c.env, "serve", "--data", t.TempDir()).Want(t, 2, "", c.serve)
		}
	}
}
