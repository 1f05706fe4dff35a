package events

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// removedFile is the file of a segment that was replaced or deleted. It is removed after a time.
type removedFile struct {
	name  string
	after time.Time
}

// keepMerged is the factor by which files that were merged remain longer than files with erased events,
// for readers that wait for others, such as exports.
const keepMerged = 15

// remove removes a file later. isMerged is true if all its events are in another file. Otherwise files
// that were merged before do not remain longer than this one, because they may have the same events.
func (l *Log) remove(name string, isMerged bool) {
	now := time.Now()
	f := removedFile{name, now.Add(l.seal.RemoveAfter)}
	l.removing.Lock()
	defer l.removing.Unlock()
	for i := range l.removed {
		if !isMerged && l.removed[i].after.After(f.after) {
			l.removed[i].after = f.after
		}
	}
	if isMerged {
		f.after = now.Add(keepMerged * l.seal.RemoveAfter)
	}
	l.removed = append(l.removed, f)
}

// removeFiles removes files that were replaced long enough ago. Files that cannot be removed are
// removed by Start.
func (l *Log) removeFiles() {
	l.removing.Lock()
	defer l.removing.Unlock()
	rest := l.removed[:0]
	for _, f := range l.removed {
		if time.Now().Before(f.after) || l.files.Remove(f.name) != nil {
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
