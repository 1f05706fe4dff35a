package sqlstore_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
)

// A database is a file or a PostgreSQL URL. Its tables are created when it is opened.
func ExampleOpen() {
	folder, err := os.MkdirTemp("", "sqlstore")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	ctx := context.Background()
	store, err := sqlstore.Open(ctx, "sqlite:"+filepath.Join(folder, "bunting.db"), sqlstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = sqlstore.Open(ctx, "sqlite:"+filepath.Join(folder, "bunting.db"), sqlstore.Config{})
	fmt.Println("one process at a time:", err != nil)
	fmt.Println(store.Close())
	// Output:
	// one process at a time: true
	// <nil>
}

// A backup is consistent while the store continues to write.
func ExampleBackup() {
	folder, err := os.MkdirTemp("", "sqlstore")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	ctx, from, to := context.Background(), filepath.Join(folder, "bunting.db"), filepath.Join(folder, "copy.db")
	store, err := sqlstore.Open(ctx, "sqlite:"+from, sqlstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	copied, err := sqlstore.Backup(ctx, from, "", to, func(string, int64, int64) {})
	if err != nil {
		log.Fatal(err)
	}
	info, err := os.Stat(to)
	fmt.Println(info.Size() == copied.Size, err)
	// Output: true <nil>
}
