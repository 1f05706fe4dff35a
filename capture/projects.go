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
	// projectAge is how long a project is served before it is looked up again.
	projectAge = time.Second
	// projectKeys bounds the projects that are remembered, and the unknown keys
	// beside them.
	projectKeys = 4096
)

// projects remembers projects by token, and for as long that there is none. A
// flood of unknown keys drives no project out.
type projects struct {
	keys    Keys
	cached  *lru.Cache[string, *cachedProject]
	unknown *lru.Cache[string, time.Time]
}

type cachedProject struct {
	mu        sync.Mutex
	project   Project
	checkedAt time.Time
	renewing  bool // somebody looks it up again
}

func newProjects(keys Keys) *projects {
	p := &projects{keys: keys}
	p.cached, _ = lru.New[string, *cachedProject](projectKeys)
	p.unknown, _ = lru.New[string, time.Time](projectKeys)
	return p
}

// get finds a project. While the store cannot be asked, what was known last
// stands.
func (p *projects) get(ctx context.Context, token string, now time.Time) (Project, error) {
	if k, ok := p.cached.Get(token); ok {
		return p.refresh(ctx, token, k, now)
	}
	if at, ok := p.unknown.Get(token); ok && isRecent(at, now) {
		return Project{}, ErrUnknownKey
	}
	return p.find(ctx, token, now)
}

func isRecent(checkedAt, now time.Time) bool {
	age := now.Sub(checkedAt)
	return -projectAge < age && age < projectAge
}

func (p *projects) refresh(ctx context.Context, token string, k *cachedProject, now time.Time) (Project, error) {
	k.mu.Lock()
	old, current := k.project, isRecent(k.checkedAt, now) || k.renewing
	k.renewing = k.renewing || !current
	k.mu.Unlock()
	if current { // or somebody is looking it up: what was known does for the others
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

// warningLimiter tells whether something may be said again for a project: at most once a
// minute.
type warningLimiter struct{ last *lru.Cache[int64, time.Time] }

func newWarningLimiter() *warningLimiter {
	last, _ := lru.New[int64, time.Time](projectKeys)
	return &warningLimiter{last}
}

func (o *warningLimiter) allow(project int64, now time.Time) bool {
	if at, ok := o.last.Get(project); ok && now.Sub(at) < time.Minute {
		return false
	}
	o.last.Add(project, now)
	return true
}
