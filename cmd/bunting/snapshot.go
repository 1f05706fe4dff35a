package main

import (
	"context"
	"io"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

// snapshot is httpapi.Config.Backup.
func (s *server) snapshot(ctx context.Context) (*httpapi.Backup, error) {
	snapshot, err := s.store.Snapshot(ctx)
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
func (s *server) backups() func(context.Context) (*httpapi.Backup, error) {
	if !s.store.HasFile() {
		return nil
	}
	return s.snapshot
}
