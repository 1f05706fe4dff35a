// Package filesource reads definitions from files and renews them when the
// files change.
//
// A file is a definitions file (organization and projects), a bare definitions payload
// as PostHog serves it, for one project whose key [Config.APIKey] gives, or for tests
// one of fixtures, which says what each flag answers. What stands in the files is always taken as a whole:
// a file that cannot be read, is half written, is gone, or names a project of
// another file leaves its last good state in use, and is tried again whenever
// something changes.
//
// Changes are seen through events on the folder of each file, which covers
// editors that rename a new file over the old one and the symbolic links of
// Kubernetes, and through a slow look at every file, for file systems and
// symbolic links that give no events. The look reads a file when its size, its times or
// the file itself are others, and every 30 seconds whatever they are.
//
// Bounds: a file has at most 256 MiB. Nothing is written.
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
)

var _ flags.Source = (*Source)(nil)

// Defaults of Config.
const (
	defaultDebounce = 50 * time.Millisecond
	defaultPoll     = 2 * time.Second
)

// Config says which files are read. Only Files is required.
type Config struct {
	// Files are paths, relative ones from the working directory. A project may
	// stand in one of them only.
	Files []string
	// APIKey is the project key of a bare payload. Empty: such a file is an
	// error.
	APIKey string
	// Documents: documents of flags as code are read, too. Their ids hold only for
	// one reading, so nothing may be kept by them.
	Documents bool
	// Debounce is the quiet time after a change before the file is read,
	// 50 milliseconds when zero.
	Debounce time.Duration
	// Poll is how often files are looked at without an event, 2 seconds when
	// zero.
	Poll time.Duration
	// OnChange is called after each change that was taken into use or refused,
	// from the goroutine that watches; it must not call Close. Nil: nobody is
	// told.
	OnChange func()
	// Logger gets changes, refusals, and the faults of definitions. Nil: nothing
	// is logged.
	Logger *slog.Logger
	// Now is the clock of Status, time.Now when nil.
	Now func() time.Time
}

// Source serves the projects of the files. It is safe for any number of
// goroutines. One that Open has not made, such as nil, has none.
type Source struct {
	config  Config
	current atomic.Pointer[snapshot] // nil: Open has not made it
	memory  flags.Memory

	mu       sync.Mutex // one round of looking at a time; guards what follows
	files    []*file
	revision int64 // the highest given so far
	people   map[person]bool

	watcher *fsnotify.Watcher // nil: only the poll sees changes
	stop    chan struct{}
	stopped chan struct{}
	once    sync.Once
}

// person is a member of a static cohort that Memory knows.
type person struct {
	project int64
	id      string
}

// Open reads all files and watches them until Close. It fails when one of them
// cannot be read or two of them name one project.
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
	// Watching begins before reading, so that no change falls between the two.
	s.startWatching(newWatcher)
	if err := s.readAll(); err != nil {
		s.closeWatcher()
		return nil, err
	}
	go s.watch()
	return s, nil
}

// readAll reads every file; at the start nothing may be wrong.
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

// snapshot is what is in use.
func (s *Source) snapshot() *snapshot {
	if s != nil {
		if current := s.current.Load(); current != nil {
			return current
		}
	}
	return &snapshot{}
}

// Close ends the watching. What was read stays in use.
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

// ProjectByKey finds a project by its public key: flags.ErrUnknownKey when no
// file has it.
func (s *Source) ProjectByKey(_ context.Context, apiKey string) (flags.Project, error) {
	p := s.snapshot().projects[apiKey]
	if p == nil {
		return flags.Project{}, fmt.Errorf("%w: no definitions file has it", flags.ErrUnknownKey)
	}
	return p.Project, nil
}

// Definitions are the newest of a project.
func (s *Source) Definitions(_ context.Context, p flags.Project) (flags.Definitions, error) {
	found := s.snapshot().projects[p.APIKey]
	if found == nil {
		return flags.Definitions{}, fmt.Errorf("%w: no definitions file has it", flags.ErrUnknownKey)
	}
	return found.Definitions, nil
}

// Projects are those of all files, in the order of the files.
func (s *Source) Projects() []flags.Project { return slices.Clone(s.snapshot().order) }

// Key tells what a personal or secret key opens: its scopes, which a secret key
// does not need, and the API keys of its projects. The slices are shared and
// must not be changed.
func (s *Source) Key(key string) (secret bool, scopes, projects []string, ok bool) {
	g := s.snapshot().grants[key]
	if g == nil {
		return false, nil, nil, false
	}
	return g.secret, g.scopes, g.projects, true
}

// Refresh reads every file now, and takes into use what has changed. An error says
// which files could not be: their last good state stays.
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

// HasKeys reports whether the files hold personal or secret keys.
func (s *Source) HasKeys() bool { return len(s.snapshot().grants) > 0 }

// Content is the state of a file that is in use, and the text it was read from.
type Content struct {
	Path string
	File flags.File
	Text []byte
}

// Contents are the files in the order of Config.Files.
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

// Memory knows the members of static cohorts as persons, so that there is
// somebody to keep experience continuity for. What it has kept survives every
// change of the files and ends with the process.
func (s *Source) Memory() *flags.Memory {
	if s == nil {
		return nil
	}
	return &s.memory
}

// Fault is a fault in the definitions of a project.
type Fault struct {
	Project string // its API key
	*flags.DefinitionError
}

// FileStatus is how a file stands.
type FileStatus struct {
	Path string
	// LoadedAt is when the state in use was read.
	LoadedAt time.Time
	// Err says why a newer state of the file is not in use, since ErrAt. Nil: what
	// is in use is the newest.
	Err   error
	ErrAt time.Time
	// Projects and Flags count what is in use, Faults is what is wrong in it.
	Projects, Flags int
	Faults          []Fault
	// Loads and Failures count states that were taken into use and states that
	// were refused, since the start.
	Loads, Failures uint64
}

// Status tells how each file stands, in the order of Config.Files.
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
