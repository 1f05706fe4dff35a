package flags_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/flags"
)

func fileWith(variant string) string {
	return `{"flags": [{"id": 1, "key": "f", "active": true, "filters": {"groups": [{"variant": "` + variant + `"}], "multivariate": {"variants": [{"key": "` + variant + `", "rollout_percentage": 100}]}}}]}`
}

// A file is followed: a new version is in use within a second, an invalid one is reported and
// leaves the last valid definitions in use, and after Close the file is not read.
func TestOpen_Follows(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	path := filepath.Join(t.TempDir(), "flags.json")
	write := func(text string) { // atomically, like editors and deployments
		if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
	}
	write(fileWith("one"))
	synctest.Test(t, func(t *testing.T) {
		var reports []string
		r, err := flags.Open(path, func(err error) {
			if err == nil {
				reports = append(reports, "in use")
				return
			}
			reports = append(reports, strings.ReplaceAll(err.Error(), path, "FILE"))
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, sub := context.Background(), &flags.Subject{DistinctID: "u"}
		for _, step := range []struct {
			name        string
			do          func()
			want, fault string
		}{
			{"nothing", func() {}, "one", ""},
			{"another", func() { write(fileWith("two")) }, "two", ""},
			{"as long, in place", func() { _ = os.WriteFile(path, []byte(fileWith("six")), 0o600) }, "six", ""},
			{"half written", func() { write(fileWith("three")[:40]) }, "six", "FILE: line 1 column 40: the document ends in the middle"},
			{"again", func() { write(fileWith("three")[:40]) }, "six", "FILE: line 1 column 40: the document ends in the middle"},
			{"gone", func() { _ = os.Remove(path) }, "six", "FILE: no such file or directory"},
			{"back", func() { write(fileWith("six")) }, "six", ""},
			{"a folder", func() { _ = os.Remove(path); _ = os.Mkdir(path, 0o700) }, "six", "FILE: is not a regular file"},
			{"a file again", func() { _ = os.Remove(path); write(fileWith("four")) }, "four", ""},
		} {
			step.do()
			time.Sleep(time.Second)
			synctest.Wait()
			if got := r.String(ctx, "f", sub, "none"); got != step.want {
				t.Errorf("%s: %s, want %s", step.name, got, step.want)
			}
			fault := ""
			if err := r.Err(); err != nil {
				fault = strings.TrimPrefix(strings.ReplaceAll(err.Error(), path, "FILE"), "flags: ")
			}
			if fault != step.fault {
				t.Errorf("%s: fault %q, want %q", step.name, fault, step.fault)
			}
		}
		for range 2 {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		if v, d := r.BoolDetail(ctx, "f", sub, true); !v || !errors.Is(d.Err, flags.ErrClosed) {
			t.Errorf("%v, %v", v, d.Err)
		}
		want := []string{
			"in use", "in use", "flags: FILE: line 1 column 40: the document ends in the middle", "flags: FILE: no such file or directory",
			"in use", "flags: FILE: is not a regular file", "in use",
		}
		if strings.Join(reports, "\n") != strings.Join(want, "\n") {
			t.Errorf("told\n%s\nwant\n%s", strings.Join(reports, "\n"), strings.Join(want, "\n"))
		}
	})
}

// A file that cannot be used at the start is an error and leaves no goroutine.
func TestOpen_Refuses(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	if _, err := flags.Open(filepath.Join(dir, "nix.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	path := filepath.Join(dir, "bad.json")
	if err := os.WriteFile(path, []byte("{\n  \"flags\": [,]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := flags.Open(path)
	var place *flags.DefinitionError
	if err == nil || !strings.Contains(err.Error(), "bad.json: line 2 column 13") || !errors.As(err, &place) || place.Path != "line 2 column 13" {
		t.Error(err)
	}
	if _, err := flags.ParseDefinitions([]byte(`{"flags": []`)); !errors.As(err, &place) || place.Path != "line 1 column 12" {
		t.Error(err)
	}
	for text, path := range map[string]string{
		`{"flags": 5}`: "flags", "": "line 1 column 1", `{}`: "flags", `{"projects": []}`: "projects",
		`{"flags": []} []`: "line 1 column 15", `[`: "line 1 column 1", "{\"flags\": \"\xff\"}": "flags",
	} {
		place = nil
		if _, err := flags.Static([]byte(text)); !errors.As(err, &place) || place.Path != path {
			t.Errorf("%q: %v at %+v, want it at %s", text, err, place, path)
		}
	}
}

func TestStatic(t *testing.T) {
	r, err := flags.Static([]byte(fileWith("wide")))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.String(context.Background(), "f", &flags.Subject{DistinctID: "u"}, ""); got != "wide" {
		t.Error(got)
	}
}
