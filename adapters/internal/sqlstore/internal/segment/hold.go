package segment

import (
	"errors"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// holdFile is the name of the file with the lock that keeps segments from being removed. Backups,
// which may be other processes, share the lock; a removal needs it exclusively.
const holdFile = "hold.lock"

// removeAgain is the time until files that could not be removed because of a backup are removed.
const removeAgain = 10 * time.Second

// remover removes files of a folder while no process holds the folder.
type remover struct {
	lockPath  string // empty if nobody can hold the folder
	removeNow func(name string) error

	mu      sync.Mutex
	names   []string // of files that are to be removed
	again   *time.Timer
	stopped bool
}

func newRemover(lockPath string, removeNow func(name string) error) *remover {
	return &remover{lockPath: lockPath, removeNow: removeNow}
}

// errNoHold is the error for a bucket that several servers use.
var errNoHold = errors.New("the files of a bucket that belongs to a PostgreSQL database cannot be kept during a copy")

func (r *remover) lock() *flock.Flock { return flock.New(r.lockPath, flock.SetPermissions(0o600)) }

// Hold keeps the files of the folder until release is called: files that this process or another
// process removes remain until then.
func (r *remover) Hold() (release func() error, err error) {
	if r.lockPath == "" {
		return nil, errNoHold
	}
	lock := r.lock()
	if err := lock.RLock(); err != nil {
		return nil, err
	}
	return lock.Close, nil
}

// Remove removes a segment or an unfinished file. While a process holds the folder, the file remains,
// and is removed soon afterwards; if this process ends before, it remains. Files with a descriptor can
// still be read while they are in use. It is no error if there is no such file.
func (r *remover) Remove(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names = append(r.names, name)
	return r.removeAll()
}

// removeAll removes the files, or tries again later if the folder is held. r must be locked.
func (r *remover) removeAll() (err error) {
	if r.lockPath != "" {
		lock := r.lock()
		isFree, err := lock.TryLock()
		if err != nil {
			return err
		}
		defer func() { _ = lock.Close() }()
		if !isFree {
			r.tryLater()
			return nil
		}
	}
	for _, name := range r.names {
		err = errors.Join(err, r.removeNow(name))
	}
	r.names = nil
	return err
}

// tryLater calls retry after some time.
func (r *remover) tryLater() {
	switch {
	case r.stopped:
	case r.again == nil:
		r.again = time.AfterFunc(removeAgain, r.retry)
	default:
		r.again.Reset(removeAgain)
	}
}

// retry removes the files that could not be removed before. Those with another error remain.
func (r *remover) retry() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.removeAll()
}

// stop ends the attempts to remove files.
func (r *remover) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped = true; r.again != nil {
		r.again.Stop()
	}
}
