package database

import (
	"context"
	"embed"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// scripts returns the migrations in order, with the words in double braces replaced
// by the dialect's.
func (d *Dialect) scripts() ([]*goose.Migration, error) {
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
		up := goose.GoFunc{RunTx: migration(version, fill.Replace(string(text)))}
		out = append(out, goose.NewGoMigration(version, &up, nil))
	}
	return out, nil
}

// Migrations returns the migrations of the schema. They must not run while another
// process migrates.
func (db *DB) Migrations() (*goose.Provider, error) {
	list, err := db.Dialect.scripts()
	if err != nil {
		return nil, err
	}
	// The registry and the logger of package goose are global, and are not used.
	return goose.NewProvider(db.Dialect.goose, db.Write, nil,
		goose.WithDisableGlobalRegistry(true), goose.WithGoMigrations(list...), goose.WithLogger(goose.NopLogger()))
}

// Migrate migrates the schema to the newest version, each migration in a transaction of
// its own. If several servers start at the same time, one of them migrates while the
// rest wait. It returns the error of CheckSchema if the schema is newer than the newest
// migration of this binary.
func (db *DB) Migrate(ctx context.Context, logger *slog.Logger) error {
	unlock, err := db.Dialect.LockSchema(ctx, db.Write)
	if err != nil {
		return err
	}
	defer unlock()
	provider, err := db.Migrations()
	if err != nil {
		return err
	}
	current, newest, err := provider.GetVersions(ctx)
	if err != nil {
		return err
	}
	if current > newest {
		return CheckSchema(current, MigratedBy(ctx, db.Write))
	}
	if current == newest {
		return nil
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("schema %d could not be upgraded to %d: %w", current, newest, err)
	}
	logger.Info("database schema upgraded", "schema", newest, "was", current, "by", binaryVersion())
	return nil
}

// SchemaVersion selects the version of the schema of a database, as goose stores it.
const SchemaVersion = `SELECT MAX(version_id) FROM goose_db_version WHERE is_applied`

// NewestSchema returns the version of the schema that this binary migrates to.
var NewestSchema = sync.OnceValue(func() (newest int64) {
	files, _ := migrationFiles.ReadDir("migrations") // embedded in the binary
	for _, f := range files {
		if version, err := goose.NumericComponent(f.Name()); err == nil {
			newest = max(newest, version)
		}
	}
	return newest
})
