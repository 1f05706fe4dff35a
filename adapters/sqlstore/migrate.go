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

// migrations are the files in order, with the dialect's words filled in.
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

// migrate brings the schema up to date, one migration a transaction. Where
// several servers start at once one of them does it while the others wait.
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
		return fmt.Errorf("it was written by a newer version of bunting (schema %d, this one knows %d): run that version, or restore a backup", current, newest)
	}
	if current == newest {
		return nil
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("schema %d could not be brought up to %d: %w", current, newest, err)
	}
	s.logger.Info("database schema is up to date", "schema", newest, "was", current)
	return nil
}
