package copies

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/remote/lastgood"
)

// A folder of segments belongs to one database, because the files that the database does
// not list are removed, and those of another one may have the same names. Both have a
// random number: the folder in a file, the database in the table places.
const folderFile = "database"

// ClaimFolder returns an error if the folder dir of segments belongs to another database.
// If the folder is empty and the database lists no segment files, it belongs to the
// database from then on. dir may be empty.
func ClaimFolder(ctx context.Context, db *database.DB, dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	inFolder, err := readFolderNumber(dir)
	if err != nil {
		return err
	}
	inDatabase, err := folderNumber(ctx, db.Write)
	if err != nil || inDatabase != 0 && inFolder == inDatabase {
		return err
	}
	files, err := projectFolders(dir)
	if err != nil {
		return err
	}
	list, err := listSegments(ctx, db.Write, db.Dialect.SingleWriter)
	switch {
	case err != nil:
		return err
	case inFolder != 0 || len(files) > 0:
		return fmt.Errorf("the segment files in %s belong to another database: choose another folder with --segments", dir)
	case len(list) > 0:
		return fmt.Errorf("%s is not the folder of this database, which lists %d segment files: choose that one with --segments", dir, len(list))
	}
	return claim(ctx, db, dir)
}

// claim stores the number of a database in its folder of segments, and chooses one if it
// has none. Other servers may do the same at the same time.
func claim(ctx context.Context, db *database.DB, dir string) error {
	_, err := db.Write.ExecContext(ctx, `INSERT INTO places (name, id) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, database.PositionSegments, 1+rand.Int64N(1<<62))
	if err != nil {
		return err
	}
	number, err := folderNumber(ctx, db.Write)
	if err != nil {
		return err
	}
	return writeFolderNumber(dir, number)
}

// folderNumber returns the number of the folder of segments of a database, 0 if it has
// none.
func folderNumber(ctx context.Context, q database.Querier) (n int64, err error) {
	err = q.QueryRowContext(ctx, `SELECT id FROM places WHERE name = $1`, database.PositionSegments).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return n, err
}

// readFolderNumber returns the number in a folder of segments, 0 if it has none.
func readFolderNumber(dir string) (int64, error) {
	path := filepath.Join(dir, folderFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 16, 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%s does not have the number of a database", path)
	}
	return n, nil
}

func writeFolderNumber(dir string, n int64) error {
	return lastgood.Replace(filepath.Join(dir, folderFile), 0o600, fmt.Appendf(nil, "%016x\n", n))
}
