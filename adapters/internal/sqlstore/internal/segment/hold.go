package segment

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// holdFile is the name of the file whose lock keeps segments from being removed. Backups, which
// may be other processes, share the lock; Remove needs it alone.
const holdFile = "hold.lock"

// removeAgain is the time until segments that could not be removed because of a backup are removed
// again.
const removeAgain = 10 * time.Second

func (f *Folder) holdLock() *flock.Flock {
	return flock.New(filepath.Join(f.dir, holdFile), flock.SetPermissions(0o600))
}

// Hold keeps the segments of the folder until release is called: those that this process or another
// one removes remain until then.
func (f *Folder) Hold() (release func() error, err error) {
	lock := f.holdLock()
	if err := lock.RLock(); err != nil {
		return nil, err
	}
	return lock.Close, nil
}

// Remove removes a segment or an unfinished file; while somebody holds the folder, soon after the
// end of that. Files that are open remain readable. It is no error if there is none. If the process
// ends before, the file remains.
func (f *Folder) Remove(name string) error {
	f.removing.Lock()
	defer f.removing.Unlock()
	f.removed = append(f.removed, name)
	return f.removeAll()
}

// removeAll removes what is to be removed. If the folder is held, it is tried again later.
// f.removing must be locked.
func (f *Folder) removeAll() (err error) {
	lock := f.holdLock()
	isFree, err := lock.TryLock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if !isFree {
		f.again.Reset(removeAgain)
		return nil
	}
	for _, name := range f.removed {
		err = errors.Join(err, f.removeNow(name))
	}
	f.removed = nil
	return err
}

// retry removes what was to be removed before. What cannot be removed then remains.
func (f *Folder) retry() {
	f.removing.Lock()
	defer f.removing.Unlock()
	_ = f.removeAll()
}

// stopRemoving ends the attempts to remove files. What is still held remains.
func (f *Folder) stopRemoving() {
	f.removing.Lock()
	defer f.removing.Unlock()
	f.removed = nil
	f.again.Stop()
}
