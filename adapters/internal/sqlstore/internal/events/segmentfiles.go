package events

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// removedFile is the file of a segment that was replaced or deleted.
type removedFile struct {
	name string
	at   time.Time
}

// remove removes a file later.
func (l *Log) remove(name string) {
	l.removing.Lock()
	defer l.removing.Unlock()
	l.removed = append(l.removed, removedFile{name, time.Now()})
}

// removeFiles removes files that were replaced long enough ago. Files that cannot be removed are
// removed by Start.
func (l *Log) removeFiles() {
	l.removing.Lock()
	defer l.removing.Unlock()
	rest := l.removed[:0]
	for _, f := range l.removed {
		if time.Since(f.at) < l.seal.RemoveAfter || l.files.Remove(f.name) != nil {
			rest = append(rest, f)
		}
	}
	l.removed = rest
}

// startFiles checks that the files of all segments exist, and removes all other files.
func (l *Log) startFiles(ctx context.Context) error {
	list, err := listSegments(ctx, l.db.Write, `TRUE`)
	if err != nil {
		return fmt.Errorf("reading the list of segments: %w", err)
	}
	if l.files == nil {
		if len(list) > 0 {
			return ErrNoFolder
		}
		return nil
	}
	listed := map[string]bool{}
	for i := range list {
		listed[list[i].name] = true
		if err := l.files.CheckSize(list[i].name, list[i].bytes); err != nil {
			return err
		}
	}
	names, err := l.files.Names()
	for _, name := range names {
		if !listed[name] {
			err = errors.Join(err, l.files.Remove(name))
		}
	}
	return err
}
