package server_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/server"
)

const (
	upgrades   = "../../testdata/upgrade"
	upgradeKey = "phx_ofthedatabeforetheupgrade00000000000"
	dumpFile   = "postgres.sql"
)

var writeUpgrade = flag.String("write-upgrade", "", "write the data of this version to testdata/upgrade")

// upgradeStep is a request and its response.
type upgradeStep struct {
	As      string          `json:"as"` // "none" is without a key, an empty text with the owner's
	Request string          `json:"request"`
	Body    json.RawMessage `json:"body"`
	Status  int             `json:"status"`
	Want    any             `json:"want"` // a part of the response
}

// upgradeSteps returns the requests that write data, and the requests that read it.
func upgradeSteps(t *testing.T) (write, answers []upgradeStep) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(upgrades, "requests.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Source         string
		Write, Answers []upgradeStep
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		t.Fatal(err)
	}
	return file.Write, file.Answers
}

// follow sends requests to a server that it opens, and closes the server.
func follow(t *testing.T, o server.Options, steps []upgradeStep) {
	t.Helper()
	o.APIKey, o.OwnerKey = "phc_upgrade", func() (server.OwnerKey, error) {
		return server.OwnerKey{Text: upgradeKey, Show: func(string) error { return nil }}, nil
	}
	s := open(t, o)
	defer closeServer(t, s)
	for _, step := range steps {
		method, path, _ := strings.Cut(step.Request, " ")
		key := upgradeKey
		if step.As == "none" {
			key = ""
		}
		status, body := ask(t, s, method, path, key, string(step.Body))
		var got any
		if step.Want != nil {
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Errorf("%s: %v", step.Request, err)
			}
		}
		if diff := gocmp.Diff(step.Want, partOf(step.Want, got)); status != step.Status || diff != "" {
			t.Errorf("%s %s: %d, want %d (-want +got):\n%s\n%s", step.Request, step.Body, status, step.Status, diff, body)
		}
	}
}

// partOf returns the part of a JSON value that has the members of a wanted value.
func partOf(want, got any) any {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return got
		}
		part := map[string]any{}
		for name, v := range w {
			if member, there := g[name]; there {
				part[name] = partOf(v, member)
			}
		}
		return part
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return got
		}
		part := make([]any, len(w))
		for i := range w {
			part[i] = partOf(w[i], g[i])
		}
		return part
	}
	return got
}

// A new database, and the databases of all earlier versions, in SQLite and PostgreSQL, return the
// same answers: flags, persons, groups, events, queries and objects. Events that were stored before the
// upgrade are not stored twice, and new objects get new numbers.
func TestUpgrade(t *testing.T) {
	write, answers := upgradeSteps(t)
	if *writeUpgrade != "" {
		writeVersion(t, filepath.Join(upgrades, *writeUpgrade), write)
	}
	t.Run("new", func(t *testing.T) {
		o := server.Options{Data: t.TempDir()}
		follow(t, o, write)
		follow(t, o, answers)
	})
	versions, err := filepath.Glob(filepath.Join(upgrades, "v*"))
	if err != nil || len(versions) == 0 {
		t.Fatal("no versions", err)
	}
	for _, version := range versions {
		t.Run(filepath.Base(version)+"/sqlite", func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			if err := os.CopyFS(data, os.DirFS(filepath.Join(version, "data"))); err != nil {
				t.Fatal(err)
			}
			follow(t, server.Options{Data: data}, answers)
		})
		t.Run(filepath.Base(version)+"/postgres", func(t *testing.T) {
			dump, err := os.ReadFile(filepath.Join(version, dumpFile))
			if err != nil {
				t.Fatal(err)
			}
			database := pgtest.Postgres(t)
			conn, err := pgx.Connect(t.Context(), database)
			if err != nil {
				t.Fatal(err)
			}
			_, err = conn.Exec(t.Context(), string(dump))
			if err := cmp.Or(err, conn.Close(t.Context())); err != nil {
				t.Fatal(err)
			}
			follow(t, server.Options{Database: database}, answers)
		})
	}
}

// psqlOnly matches the lines of a dump that are for psql or for one version of PostgreSQL, and
// comments.
var psqlOnly = regexp.MustCompile(`(?m)^(\\.*|--.*|SET .*|)\n`)

// writeVersion writes the data of the current version to a folder.
func writeVersion(t *testing.T, dir string, write []upgradeStep) {
	t.Helper()
	data, database := filepath.Join(dir, "data"), pgtest.Postgres(t)
	if err := os.Mkdir(dir, 0o750); err != nil {
		t.Fatal("the data of a version is never replaced: ", err)
	}
	follow(t, server.Options{Data: data}, write)
	if err := os.Remove(filepath.Join(data, server.DatabaseFile+".lock")); err != nil {
		t.Fatal(err)
	}
	follow(t, server.Options{Database: database}, write)
	dump, err := exec.CommandContext(t.Context(), "pg_dump", "--dbname="+database, "--inserts", "--no-owner", "--no-privileges").Output()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, dumpFile), psqlOnly.ReplaceAll(dump, nil), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
