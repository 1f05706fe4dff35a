package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"strings"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations returns the migrations in order, with the words in double braces replaced
// by the dialect's.
func (d *dialect) migrations() ([]*goose.Migration, error) {
	words := make([]string, 0, 2*len(d.words))
	for word, means := range d.words {
		words = append(words, "{{"+word+"}}", means)
	}
	fill := strings.NewReplacer(words...)
	files, err := migrationFiles.ReadDir("migrations")
	if err != nil {
		return nil, err
	}
	out := make([]*goose.Migration, 0, len(files))
	for _, f := range files {
		version, err := goose.NumericComponent(f.Name())
		if err != nil {
			return nil, err
		}
		text, err := migrationFiles.ReadFile("migrations/" + f.Name())
		if err != nil {
			return nil, err
		}
		script := fill.Replace(string(text))
		up := goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, script)
			return err
		}}
		out = append(out, goose.NewGoMigration(version, &up, nil))
	}
	return out, nil
}

// migrate migrates the schema to the newest version, each migration in a transaction of
// its own. If several servers start at the same time, one of them migrates while the
// rest wait. It returns an error if the schema is newer than the newest migration of
// this binary.
func (s *Store) migrate(ctx context.Context) error {
	list, err := s.dialect.migrations()
	if err != nil {
		return err
	}
	unlock, err := s.dialect.lockSchema(ctx, s.write)
	if err != nil {
		return err
	}
	defer unlock()
	// The registry and the logger of package goose are global, and are not used.
	provider, err := goose.NewProvider(s.dialect.goose, s.write, nil,
		goose.WithDisableGlobalRegistry(true), goose.WithGoMigrations(list...), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return err
	}
	current, newest, err := provider.GetVersions(ctx)
	if err != nil {
		return err
	}
	if current > newest {
		return fmt.Errorf("it was written by a newer version of bunting (schema %d, this version supports up to %d): run that version, or restore a backup", current, newest)
	}
	if current == newest {
		return nil
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("schema %d could not be upgraded to %d: %w", current, newest, err)
	}
	s.logger.Info("database schema upgraded", "schema", newest, "was", current)
	return nil
}
