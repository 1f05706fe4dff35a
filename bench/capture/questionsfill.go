package main

import (
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/adapters/server"
)

const (
	// databaseFile is the name of the database in a data folder.
	databaseFile = server.DatabaseFile
	// bareFile is the end of the name of the file with a row for each event, and sealedFolder that of the
	// folder of segments.
	bareFile     = ".rows"
	sealedFolder = ".segments"
	// filling is the end of the names of files that are not complete.
	filling = ".filling"
)

// fillQuestions stores n events of the mix with a server, spread over 30 days, in the database file. With
// segments, all of them are sealed at the end, and a run that was interrupted is continued; otherwise the same
// events are stored as rows.
func (b *bench) fillQuestions(n int, file string) error {
	made := []string{file, file + bareFile}
	if b.config.sealed {
		made = []string{file, file + sealedFolder}
	}
	stored, err := b.interrupted(made, file)
	if err != nil {
		return err
	}
	b.table.section("filling the store with %d events of the mix, from %d", n, stored)
	p, err := b.serveFile(file+filling, b.config.sealed)
	if err != nil {
		return err
	}
	err = b.fillFile(stored, n, file+filling, p)
	if err := errors.Join(err, p.stop()); err != nil {
		return err
	}
	if b.config.sealed {
		if err := b.sealFile(file + filling); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(file + filling + ".lock"); err != nil {
		return err
	}
	for _, name := range made {
		if err := os.Rename(strings.Replace(name, file, file+filling, 1), name); err != nil {
			return err
		}
	}
	return nil
}

// interrupted returns how many events a run that was interrupted has stored. Without segments it removes them.
func (b *bench) interrupted(made []string, file string) (int, error) {
	if _, err := os.Stat(file + filling); err == nil && b.config.sealed {
		d, err := readDisk(file+filling, "")
		return d.sealed + d.waiting, err
	}
	for _, name := range append(made, file+"-wal", file+"-shm") {
		if err := os.RemoveAll(strings.Replace(name, file, file+filling, 1)); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// serveFile starts a server on a database file, with a folder of segments if sealed is set. A file that exists
// has its definitions.
func (b *bench) serveFile(file string, sealed bool, more ...string) (*process, error) {
	args := append([]string{"--database", "sqlite:" + file}, more...)
	if sealed {
		args = append(args, "--segments", file+sealedFolder)
	}
	if _, err := os.Stat(file); err == nil {
		b.servers++
		data := filepath.Join(b.dir, "data"+strconv.Itoa(b.servers))
		return b.launch("ours", b.program, append([]string{"serve", "--listen", "127.0.0.1:0", "--data", data, "--log-level", "warn"}, args...)...)
	}
	p, _, err := b.serve(b.program, false, args...)
	return p, err
}

// fillFile sends events to a server until it has n, and stores them as rows in another file if they are not
// sealed. The server has stored some before.
func (b *bench) fillFile(stored, n int, file string, p *process) error {
	var others []string
	if !b.config.sealed {
		var stored atomic.Int64
		rows, err := openBareStore(file+bareFile, groupEvents, &stored)
		if err != nil {
			return err
		}
		defer rows.close()
		bare := httptest.NewServer(&bareServer{store: rows.append})
		defer bare.Close()
		others = append(others, strings.TrimPrefix(bare.URL, "http://"))
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	_, err := b.fill(stored, n, func(g *generator, from int) {
		// Each core's generator writes every second batch.
		each := questionDays * 24 * time.Hour / time.Duration(n)
		g.clock, g.tick, g.visitor = start.Add(time.Duration(from)*each), each*time.Duration(runtime.GOMAXPROCS(0)), true
	}, p, others...)
	time.Sleep(settle)
	return err
}

// sealFile starts a server that writes the remaining events of a database file into segments.
func (b *bench) sealFile(file string) error {
	p, err := b.serveFile(file, true, "--segments-after", sealAfter.String())
	if err != nil {
		return err
	}
	_, err = waitSealed(file, "")
	return errors.Join(err, p.stop())
}

// linkSealed makes a copy of a folder of segments, whose files never change.
func linkSealed(to, from string) error {
	return filepath.WalkDir(from, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		switch {
		case e.IsDir():
			return os.MkdirAll(target, 0o700)
		case filepath.Ext(path) == ".parquet" && os.Link(path, target) == nil:
			return nil
		}
		return copyFile(target, path) // to another disk, or a file with the owner or a lock
	})
}
