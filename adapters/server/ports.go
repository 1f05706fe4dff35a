package server

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/bunting-flags/bunting/adapters/filesource"
	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/flags"
)

// keys looks up personal and secret keys in the store.
type keys struct{ store *sqlstore.Store }

func (k keys) Key(ctx context.Context, text string) (httpapi.Key, error) {
	found, err := k.store.Key(ctx, text)
	if errors.Is(err, flags.ErrUnknownKey) {
		return httpapi.Key{}, flags.ErrUnknownKey
	}
	key := httpapi.Key{Secret: found.Secret, Scopes: found.Scopes}
	for _, p := range found.Projects {
		key.Projects = append(key.Projects, p.APIKey)
	}
	return key, err
}

// keys returns the keys of the store, or of the files if there is no store.
func (p *parts) keys() httpapi.Keys {
	if p.store == nil {
		return fileKeys{p.source}
	}
	return keys{p.store}
}

// fileKeys looks up the keys of definitions files.
type fileKeys struct{ source *filesource.Source }

func (k fileKeys) Key(_ context.Context, text string) (httpapi.Key, error) {
	secret, scopes, projects, ok := k.source.Key(text)
	if !ok {
		return httpapi.Key{}, flags.ErrUnknownKey
	}
	return httpapi.Key{Secret: secret, Scopes: scopes, Projects: projects}, nil
}

// projects returns all projects, sorted by id.
func (p *parts) projects(ctx context.Context) ([]flags.Project, error) {
	if p.store != nil {
		return p.store.Projects(ctx)
	}
	out := p.source.Projects()
	slices.SortFunc(out, func(a, b flags.Project) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}
