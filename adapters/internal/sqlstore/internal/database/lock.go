package database

import (
	"fmt"

	"github.com/gofrs/flock"
)

// LockFile locks a SQLite file until unlock is called. It returns an error if another
// process has the lock. The operating system releases it when the process ends, however
// it ends.
func LockFile(path string) (unlock func() error, err error) {
	name := path + ".lock"
	l := flock.New(name, flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("database: the lock file %s cannot be used: %w", name, err)
	}
	if !ok {
		return nil, fmt.Errorf("database: %s is in use by another server, which holds %s: stop that one, or choose another file (several servers need PostgreSQL)", path, name)
	}
	return l.Close, nil
}
