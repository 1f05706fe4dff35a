package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/settings"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/adapters/server"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// RecoverKey creates a key for an owner directly in the stored data of a server. It needs no
// authorization, since users with write access to the data can change everything anyway.
func RecoverKey(ctx context.Context, p *cli.Program, args []string) error {
	fs := cli.NewFlags("keys")
	data := fs.String("data", cmp.Or(p.Env["BUNTING_DATA"], "bunting-data"), "")
	database := fs.String("database", p.Env["BUNTING_DATABASE"], "")
	segments := fs.String("segments", p.Env["BUNTING_SEGMENTS"], "")
	email := fs.String("email", "", "")
	if err := cli.NoArgs(fs, args); err != nil {
		return err
	}
	c := &settings.Config{Options: server.Options{Data: *data, Database: *database}}
	if c.Database == "" {
		// A missing file must not be created: it would be a new, empty server.
		if _, err := os.Stat(filepath.Join(c.Data, server.DatabaseFile)); err != nil {
			return fmt.Errorf("--data: %w; name the data folder of the server, or its database with --database", err)
		}
	}
	store, err := sqlstore.Open(ctx, c.DatabaseURL(), sqlstore.Config{Logger: slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})), Segments: *segments})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }() // committed data is safe even if Close fails
	service, err := rooms.Open(rooms.Config{Store: store.Management()})
	if err != nil {
		return err
	}
	isPrinted := false
	err = service.Organizations.RecoverKey(ctx, *email, func(owner string, k *management.KeyRecord, key string) error {
		text := fmt.Sprintf("%s\n\nThis is key %s (%s) of %s. Keep it: it is not shown again.\n", key, k.ID, k.Label, owner)
		if err := p.Print(text); err != nil {
			return fmt.Errorf("the key could not be printed, so no key was created: %w", err)
		}
		isPrinted = true
		return nil
	})
	if err != nil && isPrinted {
		err = fmt.Errorf("the key above was not created and does not work: %w", err)
	}
	if errors.Is(err, organizations.ErrNoOwner) {
		return errors.New("there is no owner yet: the first start of the server creates an owner with a key")
	}
	return err
}
