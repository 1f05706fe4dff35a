package filesource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/flags"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// definitions is a file of one project with one flag of each key.
func definitions(id int, apiKey string, keys ...string) string {
	list := make([]string, len(keys))
	for i, key := range keys {
		list[i] = fmt.Sprintf(`{"id": %d, "key": %q, "active": true, "filters": {"groups": [{}]}}`, i+1, key)
	}
	return fmt.Sprintf(`{"projects": [{"id": %d, "api_key": %q, "flags": [%s]}]}`, id, apiKey, strings.Join(list, ", "))
}

// harness is a Source under test with its log and its calls of OnChange.
type harness struct {
	*Source
	t    *testing.T
	news chan struct{}
	log  *safeBuffer
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// noPoll is longer than any test, so that changes are detected by events only.
const noPoll = time.Hour

func start(t *testing.T, c Config, newWatcher func() (*fsnotify.Watcher, error)) *harness {
	t.Helper()
	h := &harness{t: t, news: make(chan struct{}, 1000), log: &safeBuffer{}}
	c.OnChange = func() { h.news <- struct{}{} }
	c.Logger = slog.New(slog.NewTextHandler(h.log, nil))
	if c.Debounce == 0 {
		c.Debounce = 5 * time.Millisecond
	}
	s, err := open(c, newWatcher)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	h.Source = s
	return h
}

// startByEvents and startByPoll start a Source with one way to detect changes.
func startByEvents(t *testing.T, files ...string) *harness {
	t.Helper()
	return start(t, Config{Files: files, Poll: noPoll}, fsnotify.NewWatcher)
}

func startByPoll(t *testing.T, files ...string) *harness {
	t.Helper()
	return start(t, Config{Files: files, Poll: 5 * time.Millisecond},
		func() (*fsnotify.Watcher, error) { return nil, errors.New("none on this file system") })
}

// waitUntil waits for changes until the condition is true.
func (h *harness) waitUntil(what string, condition func() bool) {
	h.t.Helper()
	deadline := time.After(time.Minute)
	for !condition() {
		select {
		case <-h.news:
		case <-deadline:
			h.t.Fatalf("waited in vain until %s; status %+v, log:\n%s", what, h.Status(), h.log)
		}
	}
}

// flagKeys returns the keys of a project's flags, or nil for an unknown project.
func (h *harness) flagKeys(apiKey string) []string {
	p, err := h.ProjectByKey(context.Background(), apiKey)
	if errors.Is(err, flags.ErrUnknownKey) {
		return nil
	}
	if err != nil {
		h.t.Fatal(err)
	}
	d, err := h.Definitions(context.Background(), p)
	if err != nil {
		h.t.Fatal(err)
	}
	keys := []string{}
	for _, f := range d.Flags {
		keys = append(keys, f.Key)
	}
	return keys
}

func (h *harness) hasFlags(apiKey string, keys ...string) func() bool {
	return func() bool { got := h.flagKeys(apiKey); return got != nil && slices.Equal(got, keys) }
}

func (h *harness) isFailing(i int, text string) func() bool {
	return func() bool { err := h.Status()[i].Err; return err != nil && strings.Contains(err.Error(), text) }
}

func (h *harness) revision(apiKey string) int64 {
	h.t.Helper()
	p, err := h.ProjectByKey(context.Background(), apiKey)
	if err != nil {
		h.t.Fatal(err)
	}
	return p.Revision
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// replace writes another file and renames it over the file, as editors do.
func replace(t *testing.T, path, text string) {
	t.Helper()
	write(t, path+".tmp", text)
	rename(t, path+".tmp", path)
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// watchers are the two ways to detect changes; each must be sufficient.
var watchers = map[string]func(*testing.T, ...string) *harness{"events": startByEvents, "poll": startByPoll}

func eachWatcher(t *testing.T, test func(t *testing.T, start func(*testing.T, ...string) *harness)) {
	for name, start := range watchers {
		t.Run(name, func(t *testing.T) { test(t, start) })
	}
}
