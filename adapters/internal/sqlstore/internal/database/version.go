package database

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
)

// modulePath is the path of this module.
const modulePath = "github.com/bunting-flags/bunting"

// binaryVersion returns the version of this module in the running binary, as Go has
// stamped it: that of the program, or of the dependency of a program that embeds the
// server. It is "(devel)" if it is unknown.
var binaryVersion = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)"
	}
	modules := append([]*debug.Module{&info.Main}, info.Deps...)
	i := slices.IndexFunc(modules, func(m *debug.Module) bool { return m.Path == modulePath })
	if i < 0 {
		return "(devel)"
	}
	return cmp.Or(modules[i].Version, "(devel)")
})

// The version of bunting that has migrated the schema is stored in a record, which later
// versions must keep, because older ones read it.
const (
	versionKind = "schema"
	// VersionExcluded is a condition for all records except the version.
	VersionExcluded = `kind <> '` + versionKind + `'`
	saveVersion     = `INSERT INTO records (kind, parent, id, sort, hidden, data) VALUES ('` + versionKind + `', '', 'version', '', 0, $1)
		ON CONFLICT (kind, parent, id) DO UPDATE SET data = excluded.data`
	readVersion = `SELECT data FROM records WHERE kind = '` + versionKind + `' AND parent = '' AND id = 'version'`
	// recordsSchema is the schema that creates the table of records.
	recordsSchema = 2
)

// MigratedBy returns the version of bunting that migrated the schema of a database, or
// an empty string if it is unknown.
func MigratedBy(ctx context.Context, db Querier) (version string) {
	// A newer schema may have no such table.
	if err := db.QueryRowContext(ctx, readVersion).Scan(ScanJSON(&version)); err != nil {
		return ""
	}
	return version
}

// CheckSchema returns an error with both versions if the schema of a database, which the
// version by has migrated, is newer than the newest that this binary supports.
func CheckSchema(schema int64, by string) error {
	if schema <= NewestSchema() {
		return nil
	}
	writer, run := "a newer version of bunting", "that version"
	if by != "" {
		writer, run = "bunting "+by, by+" or a newer version"
	}
	return fmt.Errorf("it was written by %s (schema %d), and this is bunting %s, which supports schemas up to %d: run %s, or restore a backup of before the upgrade", writer, schema, binaryVersion(), NewestSchema(), run)
}

// migration runs the script of a migration and stores the version of this binary.
func migration(version int64, script string) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, script); err != nil || version < recordsSchema {
			return err
		}
		_, err := tx.ExecContext(ctx, saveVersion, JSONText(binaryVersion()))
		return err
	}
}
