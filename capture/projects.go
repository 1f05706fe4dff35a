package capture

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// projectAge is the time for which a cached project is used before it is read again.
	projectAge = time.Second
	// projectKeys is the size of the cache of projects, and of the separate cache of unknown
	// keys.
	projectKeys = 4096
)

// projects is a cache of projects by token. Unknown tokens are cached separately and for the
// same time, so that a flood of unknown keys does not displace projects.
type projects struct {
	keys    Keys
	cached  *lru.Cache[string, *cachedProject]
	unknown *lru.Cache[string, time.Time]
}

// cachedProject is an entry of the cache. mu protects the other fields.
type cachedProject struct {
	mu        sync.Mutex
	project   Project
	checkedAt time.Time
	renewing  bool // a goroutine is reading the project again
}

func newProjects(keys Keys) *projects {
	p := &projects{keys: keys}
	p.cached, _ = lru.New[string, *cachedProject](projectKeys)
	p.unknown, _ = lru.New[string, time.Time](projectKeys)
	return p
}

// get returns the project of a token. If a project cannot be read again because of an error,
// its cached value remains in use.
func (p *projects) get(ctx context.Context, token string, now time.Time) (Project, error) {
	if k, ok := p.cached.Get(token); ok {
		return p.refresh(ctx, token, k, now)
	}
	if at, ok := p.unknown.Get(token); ok && isRecent(at, now) {
		return Project{}, ErrUnknownKey
	}
	return p.find(ctx, token, now)
}

// isRecent reports whether an entry is younger than projectAge. It is false if the clock was
// set back by more than that.
func isRecent(checkedAt, now time.Time) bool {
	age := now.Sub(checkedAt)
	return -projectAge < age && age < projectAge
}

// refresh returns the cached project, and reads it again first if it is too old. Only one
// goroutine does so at a time; concurrent callers get the old value.
func (p *projects) refresh(ctx context.Context, token string, k *cachedProject, now time.Time) (Project, error) {
	k.mu.Lock()
	old, current := k.project, isRecent(k.checkedAt, now) || k.renewing
	k.renewing = k.renewing || !current
	k.mu.Unlock()
	if current { // or another goroutine is reading it: use the old value
		return old, nil
	}
	project, err := p.keys.Project(ctx, token)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renewing = false
	switch {
	case errors.Is(err, ErrUnknownKey):
		p.cached.Remove(token)
		p.unknown.Add(strings.Clone(token), now)
		return Project{}, err
	case err != nil:
		k.checkedAt = now
		return k.project, nil
	}
	k.project, k.checkedAt = project, now
	return project, nil
}

// find reads a project that is not cached. Tokens are cloned, because they may be substrings
// of a request.
func (p *projects) find(ctx context.Context, token string, now time.Time) (Project, error) {
	project, err := p.keys.Project(ctx, token)
	switch {
	case errors.Is(err, ErrUnknownKey):
		p.unknown.Add(strings.Clone(token), now)
		return Project{}, err
	case err != nil:
		return Project{}, wrapUnavailable(err)
	}
	p.cached.Add(strings.Clone(token), &cachedProject{project: project, checkedAt: now})
	return project, nil
}

// warningLimiter limits a warning to one per minute and project.
type warningLimiter struct{ last *lru.Cache[int64, time.Time] }

func newWarningLimiter() *warningLimiter {
	last, _ := lru.New[int64, time.Time](projectKeys)
	return &warningLimiter{last}
}

// allow reports whether the warning may be recorded now, and if so records the time.
func (o *warningLimiter) allow(project int64, now time.Time) bool {
	if at, ok := o.last.Get(project); ok && now.Sub(at) < time.Minute {
		return false
	}
	o.last.Add(project, now)
	return true
}
