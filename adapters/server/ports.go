package server

import (
	"context"
	"errors"
	"io"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/sqlstore"
)

// keys looks personal and secret keys up.
type keys struct{ store *sqlstore.Store }

func (k keys) Key(ctx context.Context, text string) (httpapi.Key, error) {
	found, err := k.store.Key(ctx, text)
	if errors.Is(err, sqlstore.ErrUnknownKey) {
		return httpapi.Key{}, httpapi.ErrUnknownKey
	}
	key := httpapi.Key{Secret: found.Kind == sqlstore.SecretKey, Scopes: found.Scopes}
	for _, p := range found.Projects {
		key.Projects = append(key.Projects, p.APIKey)
	}
	return key, err
}

// snapshot is httpapi.Config.Backup.
func (p *parts) snapshot(ctx context.Context) (*httpapi.Backup, error) {
	snapshot, err := p.store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return &httpapi.Backup{
		Name: "bunting-" + snapshot.At.UTC().Format("20060102T150405Z") + ".db",
		Size: snapshot.Size, Close: snapshot.Close,
		Copy: func(ctx context.Context, w io.Writer) error { return snapshot.Copy(ctx, w, nil) },
	}, nil
}

// backups is snapshot where there is a file to copy, nil elsewhere.
func (p *parts) backups() func(context.Context) (*httpapi.Backup, error) {
	if !p.store.HasFile() {
		return nil
	}
	return p.snapshot
}
