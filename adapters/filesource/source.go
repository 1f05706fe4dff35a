// Package filesource reads definitions from files and renews them when the files change.
//
// A file is a definitions file (organization and projects), a bare definitions payload as PostHog
// serves it, for one project with the key in [Config.APIKey], or, for tests, a file of fixtures
// with the value of each flag. A file is always applied as a whole: if it cannot be read, is
// incomplete, is missing, or has a project of another file, its last good state remains in use, and
// it is retried whenever something changes.
//
// Changes are detected by events on the folder of each file, which covers editors that rename a new
// file over the old one and the symbolic links of Kubernetes, and by polling, for file systems and
// symbolic links that produce no events. A poll reads a file if its size, its times or the file
// itself have changed, and every 30 seconds in any case.
//
// A file may have at most 256 MiB. The package writes no files.
package filesource

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

var _ serving.Source = (*Source)(nil)

// Defaults of Config.
const (
	defaultDebounce = 50 * time.Millisecond
	defaultPoll     = 2 * time.Second
)

// Config configures a Source. Only Files is required.
type Config struct {
	// Files are paths, absolute or relative to the working directory. A project may be in one of
	// them only.
	Files []string
	// APIKey is the project key of a bare payload. If empty, such a file is an error.
	APIKey string
	// Documents allows documents of flags as code. Their ids are valid for one read only, so data
	// must not be stored under them.
	Documents bool
	// Debounce is the time without further changes before a changed file is read, by default 50
	// milliseconds.
	Debounce time.Duration
	// Poll is how often files are checked without an event, by default 2 seconds.
	Poll time.Duration
	// OnChange is called after each change that was applied or rejected, from the goroutine that
	// watches the files. It must not call Close. If nil, changes are not reported.
	OnChange func()
	// Logger receives changes, rejections, and the faults of definitions. If nil, nothing is
	// logged.
	Logger *slog.Logger
	// Now is the clock of Status, by default time.Now.
	Now func() time.Time
}

// Source serves the projects of the files. It is safe for concurrent use. A Source that Open did
// not create, such as nil, has no projects.
type Source struct {
	config  Config
	current atomic.Pointer[snapshot] // nil if Open did not create the Source
	memory  serving.Memory

	mu       sync.Mutex // held during a check of the files; guards the fields below
	files    []*file
	revision int64 // the highest revision so far
	people   map[person]bool

	watcher *fsnotify.Watcher // nil if changes are detected by polling only
	stop    chan struct{}
	stopped chan struct{}
	once    sync.Once
}

// person is a member of a static cohort that was added to the memory.
type person struct {
	project int64
	id      string
}

// Open reads all files and watches them until Close. It fails if one of them cannot be read or two
// of them have the same project.
func Open(c Config) (*Source, error) { return open(c, fsnotify.NewWatcher) }

func open(c Config, newWatcher func() (*fsnotify.Watcher, error)) (*Source, error) {
	if len(c.Files) == 0 {
		return nil, errors.New("filesource: Config.Files is empty")
	}
	if c.Debounce <= 0 {
		c.Debounce = defaultDebounce
	}
	if c.Poll <= 0 {
		c.Poll = defaultPoll
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Source{config: c, people: map[person]bool{}, stop: make(chan struct{}), stopped: make(chan struct{})}
	seen := map[string]bool{}
	for _, path := range c.Files {
		if seen[filepath.Clean(path)] {
			return nil, fmt.Errorf("%s: is given twice", path)
		}
		seen[filepath.Clean(path)] = true
		s.files = append(s.files, &file{path: path})
	}
	// Watching starts before reading, so that no change is missed between the two.
	s.startWatching(newWatcher)
	if err := s.readAll(); err != nil {
		s.closeWatcher()
		return nil, err
	}
	go s.watch()
	return s, nil
}

// readAll reads every file. It is used at the start, when every error is returned.
func (s *Source) readAll() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var problems []error
	for _, f := range s.files {
		f.readIfChanged(s, true)
		problems = append(problems, f.err)
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	if err := checkConflicts(s.files); err != nil {
		return err
	}
	s.activate()
	return nil
}

// snapshot returns the state in use, which is empty if Open did not create the Source.
func (s *Source) snapshot() *snapshot {
	if s != nil {
		if current := s.current.Load(); current != nil {
			return current
		}
	}
	return &snapshot{}
}

// Close stops watching. The last state remains in use.
func (s *Source) Close() error {
	if s == nil || s.stop == nil {
		return nil
	}
	s.once.Do(func() {
		close(s.stop)
		<-s.stopped
	})
	return nil
}

// ProjectByKey returns a project by its public key. The error is flags.ErrUnknownKey if no file has
// it.
func (s *Source) ProjectByKey(_ context.Context, apiKey string) (flags.Project, error) {
	p := s.snapshot().projects[apiKey]
	if p == nil {
		return flags.Project{}, fmt.Errorf("%w: no definitions file has it", flags.ErrUnknownKey)
	}
	return p.Project, nil
}

// Definitions returns the current definitions of a project.
func (s *Source) Definitions(_ context.Context, p flags.Project) (flags.Definitions, error) {
	found := s.snapshot().projects[p.APIKey]
	if found == nil {
		return flags.Definitions{}, fmt.Errorf("%w: no definitions file has it", flags.ErrUnknownKey)
	}
	return found.Definitions, nil
}

// Projects returns the projects of all files, in the order of the files.
func (s *Source) Projects() []flags.Project { return slices.Clone(s.snapshot().order) }

// Key returns the access of a personal or secret key: its scopes, which only a personal key has,
// and the API keys of its projects. The slices are shared and must not be modified.
func (s *Source) Key(key string) (secret bool, scopes, projects []string, ok bool) {
	g := s.snapshot().grants[key]
	if g == nil {
		return false, nil, nil, false
	}
	return g.secret, g.scopes, g.projects, true
}

// Refresh reads every file now, and applies the changes. The error names the files that cannot be
// used: their last good state remains.
func (s *Source) Refresh() error {
	if s == nil {
		return nil
	}
	s.refresh(true)
	var problems []error
	for _, f := range s.Status() {
		if f.Err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", f.Path, f.Err))
		}
	}
	return errors.Join(problems...)
}

// HasKeys reports whether the files have personal or secret keys.
func (s *Source) HasKeys() bool { return len(s.snapshot().grants) > 0 }

// Content is the state of a file that is in use, and the text from which it was parsed.
type Content struct {
	Path string
	File flags.File
	Text []byte
}

// Contents returns the files in the order of Config.Files.
func (s *Source) Contents() []Content {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Content, len(s.files))
	for i, f := range s.files {
		out[i] = Content{f.path, f.good, f.goodText}
	}
	return out
}

// Memory returns the memory that has the members of static cohorts as persons, so that experience
// continuity works for them. Its data survives every change of the files and ends with the process.
func (s *Source) Memory() *serving.Memory {
	if s == nil {
		return nil
	}
	return &s.memory
}

// Fault is a fault in the definitions of a project.
type Fault struct {
	Project string // the project's API key
	*flags.DefinitionError
}

// FileStatus is the state of a file.
type FileStatus struct {
	Path string
	// LoadedAt is when the state in use was read.
	LoadedAt time.Time
	// Err is why a newer state of the file is not in use, since ErrAt. If it is nil, the newest
	// state is in use.
	Err   error
	ErrAt time.Time
	// Projects and Flags count those of the state in use, Faults are the faults in it.
	Projects, Flags int
	Faults          []Fault
	// Loads and Failures count the states that were applied and rejected since the start.
	Loads, Failures uint64
}

// Status returns the state of each file, in the order of Config.Files.
func (s *Source) Status() []FileStatus {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.current.Load()
	out := make([]FileStatus, len(s.files))
	for i, f := range s.files {
		st := FileStatus{Path: f.path, LoadedAt: f.goodAt, Err: f.err, ErrAt: f.errAt, Loads: f.loads, Failures: f.failures}
		for _, p := range f.good.Projects {
			st.Projects++
			st.Flags += len(p.Definitions.Flags)
			st.Faults = append(st.Faults, now.projects[p.APIKey].faults...)
		}
		out[i] = st
	}
	return out
}
