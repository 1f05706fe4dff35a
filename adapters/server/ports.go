package server

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"

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

// snapshot implements httpapi.Config.Backup.
func (p *parts) snapshot(ctx context.Context) (*httpapi.Backup, error) {
	snapshot, err := p.store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return &httpapi.Backup{
		Name: downloadName(snapshot.At),
		Size: snapshot.Size, Close: snapshot.Close,
		Copy: func(ctx context.Context, w io.Writer) error { return snapshot.Copy(ctx, w, nil) },
	}, nil
}

func downloadName(at time.Time) string {
	return "bunting-" + at.UTC().Format("20060102T150405Z") + ".db"
}

// wholeCopy implements httpapi.Config.Backup for a store with segment files: these are added to a
// copy of the database in the data folder, which is sent and then removed.
func (p *parts) wholeCopy(ctx context.Context) (*httpapi.Backup, error) {
	path := p.store.File() + ".download"
	for _, old := range []string{path, path + ".part"} { // of a killed process
		if err := os.Remove(old); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	copied, err := p.copyDatabase(ctx, path)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return &httpapi.Backup{
		Name: downloadName(copied.At), Size: copied.Size,
		Close: func() error { return errors.Join(file.Close(), os.Remove(path)) },
		Copy: func(_ context.Context, w io.Writer) error {
			_, err := io.Copy(w, file) // fails when the client has left
			return err
		},
	}, nil
}

// backups returns the function for backups over HTTP, which is nil if the store is not a file.
func (p *parts) backups() func(context.Context) (*httpapi.Backup, error) {
	switch {
	case p.store.File() == "":
		return nil
	case p.Segments != "":
		return p.wholeCopy
	}
	return p.snapshot
}
