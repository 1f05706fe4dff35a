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
	known   *lru.Cache[string, *knownProject]
	unknown *lru.Cache[string, time.Time]
}

type knownProject struct {
	mu       sync.Mutex
	project  Project
	at       time.Time
	renewing bool // somebody looks it up again
}

func newProjects(keys Keys) *projects {
	p := &projects{keys: keys}
	p.known, _ = lru.New[string, *knownProject](projectKeys)
	p.unknown, _ = lru.New[string, time.Time](projectKeys)
	return p
}

// get finds a project. While the store cannot be asked, what was known last
// stands.
func (p *projects) get(ctx context.Context, token string, now time.Time) (Project, error) {
	if k, ok := p.known.Get(token); ok {
		return p.renew(ctx, token, k, now)
	}
	if at, ok := p.unknown.Get(token); ok && recent(at, now) {
		return Project{}, ErrUnknownKey
	}
	return p.find(ctx, token, now)
}

func recent(at, now time.Time) bool {
	age := now.Sub(at)
	return -projectAge < age && age < projectAge
}

func (p *projects) renew(ctx context.Context, token string, k *knownProject, now time.Time) (Project, error) {
	k.mu.Lock()
	old, fresh := k.project, recent(k.at, now) || k.renewing
	k.renewing = k.renewing || !fresh
	k.mu.Unlock()
	if fresh { // or somebody is looking it up: what was known does for the others
		return old, nil
	}
	project, err := p.keys.Project(ctx, token)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renewing = false
	switch {
	case errors.Is(err, ErrUnknownKey):
		p.known.Remove(token)
		p.unknown.Add(strings.Clone(token), now)
		return Project{}, err
	case err != nil:
		k.at = now
		return k.project, nil
	}
	k.project, k.at = project, now
	return project, nil
}

func (p *projects) find(ctx context.Context, token string, now time.Time) (Project, error) {
	project, err := p.keys.Project(ctx, token)
	switch {
	case errors.Is(err, ErrUnknownKey):
		p.unknown.Add(strings.Clone(token), now)
		return Project{}, err
	case err != nil:
		return Project{}, unavailable(err)
	}
	p.known.Add(strings.Clone(token), &knownProject{project: project, at: now})
	return project, nil
}

// once tells whether something may be said again for a project: at most once a
// minute.
type once struct{ said *lru.Cache[int64, time.Time] }

func newOnce() *once {
	said, _ := lru.New[int64, time.Time](projectKeys)
	return &once{said}
}

func (o *once) again(project int64, now time.Time) bool {
	if at, ok := o.said.Get(project); ok && now.Sub(at) < time.Minute {
		return false
	}
	o.said.Add(project, now)
	return true
}
