// Package litestreamtest runs Litestream with the real server: a replica must have the same data as
// the database, whoever is stopped or killed, although both move pages of SQLite's log.
package litestreamtest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/benbjohnson/litestream/file"
)

var long = flag.Bool("long", false, "run Litestream's own program, with its default settings, under load for minutes")

// These variables of the environment have the database, the folder of the replica and the pace for the
// process that runs Litestream.
const (
	databaseVariable = "LITESTREAM_TEST_DATABASE"
	replicaVariable  = "LITESTREAM_TEST_REPLICA"
	paceVariable     = "LITESTREAM_TEST_PACE"
)

// A pace is how often Litestream reads the log and runs checkpoints.
type pace string

const (
	standard pace = "standard" // each second, and a checkpoint after 1000 pages
	fast     pace = "fast"     // 50 times a second, and a checkpoint after 100 pages
)

// TestMain runs Litestream instead of the tests in a process that startLitestream has started.
func TestMain(m *testing.M) {
	if path := os.Getenv(databaseVariable); path != "" {
		if err := replicate(path, os.Getenv(replicaVariable)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(func() int {
		var err error
		if programs, err = os.MkdirTemp("", "bunting-litestream-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(programs) }()
		return m.Run()
	}())
}

// replicate replicates a database to a folder until the process gets SIGTERM, as the command
// litestream replicate does.
func replicate(path, folder string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	db := litestream.NewDB(path)
	client := file.NewReplicaClient(folder)
	db.Replica = litestream.NewReplicaWithClient(db, client)
	if pace(os.Getenv(paceVariable)) == fast {
		db.MonitorInterval, db.MinCheckpointPageN, db.Replica.SyncInterval = 20*time.Millisecond, 100, 20*time.Millisecond
	}
	client.Replica = db.Replica
	store := litestream.NewStore([]*litestream.DB{db}, litestream.DefaultCompactionLevels)
	if err := store.Open(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return store.Close(context.Background())
}

// startLitestream starts a process that replicates the database of a data folder to another folder.
// It returns when the replica has a file more.
func startLitestream(t *testing.T, data, replica string, at pace) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), databaseVariable+"="+filepath.Join(data, "bunting.db"), replicaVariable+"="+replica, paceVariable+"="+string(at))
	before := files(replica)
	p := start(t, cmd)
	p.await(t, "Litestream writes to the replica", func() bool { return files(replica) > before })
	return p
}

// files returns the number of files in Litestream's format below a folder.
func files(folder string) (n int) {
	_ = filepath.WalkDir(folder, func(path string, _ os.DirEntry, _ error) error {
		if filepath.Ext(path) == ".ltx" {
			n++
		}
		return nil
	})
	return n
}

// restore restores a replica into a new data folder, which it returns. bunting restore and bunting
// doctor check the database.
func restore(t *testing.T, replica string) (data string) {
	t.Helper()
	opt := litestream.NewRestoreOptions()
	opt.OutputPath = filepath.Join(t.TempDir(), "restored.db")
	if err := litestream.NewReplicaWithClient(nil, file.NewReplicaClient(replica)).Restore(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	data = filepath.Join(t.TempDir(), "data")
	run(t, program(t), "restore", "--input", opt.OutputPath, "--data", data)
	run(t, program(t), "doctor", "--data", data)
	return data
}
