package filesource

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// maxDebounces is the maximum wait for a file that keeps changing, as a multiple of Debounce.
const maxDebounces = 10

// startWatching registers for file events. If that fails, changes are still detected by polling,
// only later.
func (s *Source) startWatching(newWatcher func() (*fsnotify.Watcher, error)) {
	w, err := newWatcher()
	if err != nil {
		s.config.Logger.Warn("no file events are available, files are checked periodically", "every", s.config.Poll, "error", err)
		return
	}
	s.watcher = w
	for dir, err := range s.watchFolders() {
		s.config.Logger.Warn("no file events are available for this folder, its files are checked periodically", "folder", dir, "every", s.config.Poll, "error", err)
	}
}

// watchFolders watches the folder of each file, also a folder that was replaced. It returns the
// folders that cannot be watched.
func (s *Source) watchFolders() map[string]error {
	failed := map[string]error{}
	if s.watcher == nil {
		return failed
	}
	for _, f := range s.files {
		dir := filepath.Dir(f.path)
		if err := s.watcher.Add(dir); err != nil {
			failed[dir] = err
		}
	}
	return failed
}

func (s *Source) closeWatcher() {
	if s.watcher != nil {
		_ = s.watcher.Close()
	}
}

// watch waits for events and polls, until Close.
func (s *Source) watch() {
	defer close(s.stopped)
	defer s.closeWatcher()
	poll := time.NewTicker(s.config.Poll)
	defer poll.Stop()
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	defer quiet.Stop()
	var events <-chan fsnotify.Event
	var errs <-chan error
	if s.watcher != nil {
		events, errs = s.watcher.Events, s.watcher.Errors
	}
	var since time.Time // time of the first event since the last refresh
	force := false
	wait := func() {
		now := time.Now()
		if since.IsZero() {
			since = now
		}
		quiet.Reset(min(s.config.Debounce, since.Add(maxDebounces*s.config.Debounce).Sub(now)))
	}
	for {
		select {
		case <-s.stop:
			return
		case e, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			force = force || s.isOwnFile(e.Name)
			wait()
		case err, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			s.config.Logger.Warn("file events were lost, reading all files", "error", err)
			force = true
			wait()
		case <-quiet.C:
			s.refresh(force)
			since, force = time.Time{}, false
		case <-poll.C:
			s.watchFolders()
			s.refresh(false)
		}
	}
}

// isOwnFile reports whether an event is about one of the files. Other events in a folder cause a
// check, but do not force a read of files that seem unchanged.
func (s *Source) isOwnFile(event string) bool {
	return slices.ContainsFunc(s.files, func(f *file) bool { return filepath.Clean(f.path) == filepath.Clean(event) })
}

// refresh checks every file and applies changes.
func (s *Source) refresh(force bool) {
	s.mu.Lock()
	changed := false
	for _, f := range s.files {
		changed = f.readIfChanged(s, force) || changed
	}
	if changed {
		s.activate()
	}
	s.mu.Unlock()
	if changed && s.config.OnChange != nil {
		s.config.OnChange()
	}
}
