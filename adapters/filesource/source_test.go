package filesource

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

func TestSource_WrittenInPlace(t *testing.T) {
	eachWatcher(t, func(t *testing.T, start func(*testing.T, ...string) *harness) {
		path := filepath.Join(t.TempDir(), "flags.json")
		write(t, path, definitions(1, "phc_a", "one"))
		h := start(t, path)
		if !h.hasFlags("phc_a", "one")() {
			t.Fatal("not loaded at the start")
		}
		before := h.revision("phc_a")
		write(t, path, definitions(1, "phc_a", "two")) // the same length
		h.waitUntil("the new flag is there", h.hasFlags("phc_a", "two"))
		if after := h.revision("phc_a"); after <= before {
			t.Errorf("revision %d after %d, want a larger one", after, before)
		}
	})
}

func TestSource_RenamedOver(t *testing.T) {
	eachWatcher(t, func(t *testing.T, start func(*testing.T, ...string) *harness) {
		path := filepath.Join(t.TempDir(), "flags.json")
		write(t, path, definitions(1, "phc_a", "v0"))
		h := start(t, path)
		for i := 1; i < 4; i++ { // the watch survives the first replacement
			key := fmt.Sprintf("v%d", i)
			replace(t, path, definitions(1, "phc_a", key))
			h.waitUntil(key+" is there", h.hasFlags("phc_a", key))
		}
	})
}

func TestSource_DeletedAndRestored(t *testing.T) {
	eachWatcher(t, func(t *testing.T, start func(*testing.T, ...string) *harness) {
		path := filepath.Join(t.TempDir(), "flags.json")
		write(t, path, definitions(1, "phc_a", "one"))
		h := start(t, path)
		before := h.revision("phc_a")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		h.waitUntil("the loss is noticed", h.isFailing(0, "file does not exist"))
		if !h.hasFlags("phc_a", "one")() {
			t.Error("the last good state is gone")
		}
		if !strings.Contains(h.log.String(), "level=WARN") {
			t.Errorf("no warning in the log:\n%s", h.log)
		}
		write(t, path, definitions(1, "phc_a", "one"))
		h.waitUntil("the file is back", func() bool { return h.Status()[0].Err == nil })
		if after := h.revision("phc_a"); after != before {
			t.Errorf("revision %d after %d: nothing has changed", after, before)
		}
		write(t, path, definitions(1, "phc_a", "two"))
		h.waitUntil("the new flag is there", h.hasFlags("phc_a", "two"))
	})
}

func TestSource_FolderReplaced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "conf")
	path := filepath.Join(dir, "flags.json")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, path, definitions(1, "phc_a", "one"))
	h := start(t, Config{Files: []string{path}, Poll: 20 * time.Millisecond}, fsnotify.NewWatcher)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	h.waitUntil("the loss is noticed", h.isFailing(0, "file does not exist"))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, path, definitions(1, "phc_a", "two"))
	h.waitUntil("the new flag is there", h.hasFlags("phc_a", "two"))
	replace(t, path, definitions(1, "phc_a", "three"))
	h.waitUntil("the next one too", h.hasFlags("phc_a", "three"))
}

// In a Kubernetes volume the file is a link through ..data, which is replaced by a rename.
func TestSource_KubernetesVolume(t *testing.T) {
	eachWatcher(t, func(t *testing.T, start func(*testing.T, ...string) *harness) {
		dir := t.TempDir()
		version := func(name, key string) {
			if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, name, "flags.json"), definitions(1, "phc_a", key))
		}
		version("..1", "one")
		symlink(t, "..1", filepath.Join(dir, "..data"))
		path := filepath.Join(dir, "flags.json")
		symlink(t, filepath.Join("..data", "flags.json"), path)
		h := start(t, path)
		for i, key := range []string{"two", "three"} {
			name := fmt.Sprintf("..%d", i+2)
			version(name, key)
			symlink(t, name, filepath.Join(dir, "..data_tmp"))
			rename(t, filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data"))
			if err := os.RemoveAll(filepath.Join(dir, fmt.Sprintf("..%d", i+1))); err != nil {
				t.Fatal(err)
			}
			h.waitUntil(key+" is there", h.hasFlags("phc_a", key))
		}
	})
}

func TestSource_LinkIntoAnotherFolder(t *testing.T) { // without events, polling detects it
	target, link := filepath.Join(t.TempDir(), "target.json"), filepath.Join(t.TempDir(), "flags.json")
	write(t, target, definitions(1, "phc_a", "one"))
	symlink(t, target, link)
	h := start(t, Config{Files: []string{link}, Poll: 10 * time.Millisecond}, fsnotify.NewWatcher)
	write(t, target, definitions(1, "phc_a", "two"))
	h.waitUntil("the new flag is there", h.hasFlags("phc_a", "two"))
}

func TestSource_HalfWritten(t *testing.T) {
	eachWatcher(t, func(t *testing.T, start func(*testing.T, ...string) *harness) {
		path := filepath.Join(t.TempDir(), "flags.json")
		write(t, path, definitions(1, "phc_a", "one"))
		h := start(t, path)
		full := definitions(1, "phc_a", "one", "two")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		half := len(full) / 2
		if _, err := f.WriteString(full[:half]); err != nil {
			t.Fatal(err)
		}
		h.waitUntil("the half is refused", h.isFailing(0, "the document ends in the middle"))
		if !h.hasFlags("phc_a", "one")() {
			t.Error("the last good state is gone")
		}
		if _, err := f.WriteString(full[half:]); err != nil {
			t.Fatal(err)
		}
		h.waitUntil("the whole is there", h.hasFlags("phc_a", "one", "two"))
		if st := h.Status()[0]; st.Err != nil || st.Loads != 2 || st.Failures == 0 || st.Flags != 2 {
			t.Errorf("status %+v, want no error, two loads, a failure, two flags", st)
		}
	})
}

func TestSource_UnreadableFileBecomesADirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	write(t, path, definitions(1, "phc_a", "one"))
	h := startByEvents(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	h.waitUntil("the folder is refused", h.isFailing(0, "not a regular file"))
	if !h.hasFlags("phc_a", "one")() {
		t.Error("the last good state is gone")
	}
}

func TestSource_ProjectsComeAndGo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	two := `{"projects": [{"id": 1, "api_key": "phc_a"}, {"id": 2, "api_key": "phc_b", "flags": []}]}`
	write(t, path, two)
	h := startByEvents(t, path)
	first := h.revision("phc_b")
	write(t, path, `{"projects": [{"id": 1, "api_key": "phc_a"}]}`)
	h.waitUntil("phc_b is unknown", func() bool { return h.flagKeys("phc_b") == nil })
	if _, err := h.Definitions(context.Background(), flags.Project{APIKey: "phc_b"}); !errors.Is(err, flags.ErrUnknownKey) {
		t.Errorf("Definitions of a project that is gone: %v, want ErrUnknownKey", err)
	}
	if got := len(h.Projects()); got != 1 {
		t.Errorf("%d projects, want 1", got)
	}
	write(t, path, two)
	h.waitUntil("phc_b is back", h.hasFlags("phc_b"))
	if again := h.revision("phc_b"); again <= first {
		t.Errorf("revision %d after %d, want a larger one", again, first)
	}
}

func TestSource_RevisionGrowsOnlyForTheChangedProject(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "a.json"), filepath.Join(t.TempDir(), "b.json")
	write(t, a, definitions(1, "phc_a", "one"))
	write(t, b, definitions(2, "phc_b", "one"))
	h := startByEvents(t, a, b)
	revA, revB := h.revision("phc_a"), h.revision("phc_b")
	write(t, b, definitions(2, "phc_b", "two"))
	h.waitUntil("the new flag is there", h.hasFlags("phc_b", "two"))
	if got := h.revision("phc_a"); got != revA {
		t.Errorf("phc_a: revision %d, want %d as before", got, revA)
	}
	if got := h.revision("phc_b"); got != revB+1 {
		t.Errorf("phc_b: revision %d, want %d", got, revB+1)
	}
	// A name and a quota are not part of the definitions.
	write(t, b, strings.Replace(definitions(2, "phc_b", "two"), `"id": 2`, `"id": 2, "name": "B", "quota_limited": ["feature_flags"]`, 1))
	h.waitUntil("the name is there", func() bool { p, _ := h.ProjectByKey(context.Background(), "phc_b"); return p.Name == "B" })
	if got := h.revision("phc_b"); got != revB+1 {
		t.Errorf("phc_b: revision %d, want %d as before", got, revB+1)
	}
}

// A decider with the source uses a change of the file.
func TestSource_DeciderSeesChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	write(t, path, definitions(1, "phc_a", "one"))
	h := startByEvents(t, path)
	now := time.Unix(1, 0)
	d, err := serving.NewDecider(serving.Config{Source: h.Source, People: h.Memory(), Continuity: h.Memory(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	ask := func() (keys []string, err error) {
		var out serving.Answer
		err = d.Decide(context.Background(), &serving.Request{APIKey: "phc_a", Subject: flags.Subject{DistinctID: "u"}}, &out)
		for _, d := range out.Decisions.List {
			keys = append(keys, d.Key)
		}
		return keys, err
	}
	if keys, err := ask(); err != nil || !slices.Equal(keys, []string{"one"}) {
		t.Fatalf("before: %v, %v", keys, err)
	}
	replace(t, path, definitions(1, "phc_a", "two"))
	h.waitUntil("the new flag is there", h.hasFlags("phc_a", "two"))
	now = now.Add(time.Minute) // the registry reads the source once a second
	if keys, err := ask(); err != nil || !slices.Equal(keys, []string{"two"}) {
		t.Fatalf("after: %v, %v", keys, err)
	}
	replace(t, path, definitions(1, "phc_other", "two"))
	h.waitUntil("the project is gone", func() bool { return h.flagKeys("phc_a") == nil })
	now = now.Add(time.Minute)
	if _, err := ask(); !errors.Is(err, flags.ErrUnknownKey) {
		t.Fatalf("of a project that is gone: %v, want ErrUnknownKey", err)
	}
}

func TestSource_WithoutEventsLogs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	write(t, path, definitions(1, "phc_a", "one"))
	h := startByPoll(t, path)
	if log := h.log.String(); !strings.Contains(log, "no file events") {
		t.Errorf("log %q does not say that there are no events", log)
	}
}

func TestSource_Close(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	write(t, path, definitions(1, "phc_a", "one"))
	h := startByEvents(t, path)
	for range 2 { // a second call has no effect
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !h.hasFlags("phc_a", "one")() {
		t.Error("what was read is gone")
	}
}

func TestSource_ReadersWhileFilesChange(t *testing.T) { // for the race detector
	path := filepath.Join(t.TempDir(), "flags.json")
	write(t, path, definitions(1, "phc_a", "v0"))
	h := startByEvents(t, path)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				p, err := h.ProjectByKey(context.Background(), "phc_a")
				if err == nil {
					_, err = h.Definitions(context.Background(), p)
				}
				if err != nil {
					t.Error(err)
					return
				}
				h.Status()
				h.Projects()
				h.Key("phx_a")
			}
		})
	}
	for i := 1; i < 5; i++ {
		key := fmt.Sprintf("v%d", i)
		replace(t, path, definitions(1, "phc_a", key))
		h.waitUntil(key+" is there", h.hasFlags("phc_a", key))
	}
	close(stop)
	readers.Wait()
}

func TestSource_Status(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	write(t, path, `{"projects": [{"id": 1, "api_key": "phc_a", "flags": [{"id": 1, "key": "bad", "active": true, "filters": {"groups": [
		{"properties": [{"key": "x", "type": "person", "operator": "resembles", "value": "y"}]}]}}]}]}`)
	h := start(t, Config{Files: []string{path}, Poll: noPoll, Now: func() time.Time { return now }}, fsnotify.NewWatcher)
	st := h.Status()
	want := []FileStatus{{Path: path, LoadedAt: now, Projects: 1, Flags: 1, Loads: 1, Faults: []Fault{{"phc_a", &flags.DefinitionError{
		FlagID: 1, Flag: "bad", Path: "flags[0].filters.groups[0].properties[0].operator", Code: flags.FlagDataParsingError,
		Problem: `unknown operator "resembles"`,
	}}}}}
	if diff := cmp.Diff(want, st); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if log := h.log.String(); !strings.Contains(log, "level=WARN") || !strings.Contains(log, "resembles") {
		t.Errorf("the fault is not in the log:\n%s", log)
	}
}
