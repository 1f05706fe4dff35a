package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// postgresServer is a PostgreSQL server of this program, with default settings: fsync is on.
type postgresServer struct {
	bin, dir string
	asRoot   bool
	made     int
	stopped  atomic.Bool
}

var errNoPostgres = errors.New("no PostgreSQL is installed")

// startPostgres starts a PostgreSQL server in a folder directly below the system's temporary
// folder. PostgreSQL refuses to run as root; then it runs as the user postgres.
func startPostgres() (*postgresServer, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is valid
	slices.Sort(found)
	if len(found) == 0 {
		path, err := exec.LookPath("initdb")
		if err != nil {
			return nil, errNoPostgres
		}
		found = []string{path}
	}
	s := &postgresServer{bin: filepath.Dir(found[len(found)-1]), asRoot: os.Getuid() == 0}
	var err error
	if s.dir, err = os.MkdirTemp("", "bunting-bench-pg-"); err != nil {
		return nil, err
	}
	if s.asRoot {
		if err := giveToPostgres(s.dir); err != nil {
			return nil, err
		}
	}
	err = s.run("initdb", "-D", s.data(), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync")
	if err == nil {
		err = s.run("pg_ctl", "-D", s.data(), "-l", filepath.Join(s.dir, "log"), "-w", "-o", "-c listen_addresses='' -k "+s.dir, "start")
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	return s, nil
}

func (s *postgresServer) data() string { return filepath.Join(s.dir, "data") }

// run runs one of PostgreSQL's programs.
func (s *postgresServer) run(name string, args ...string) error {
	args = append([]string{filepath.Join(s.bin, name)}, args...)
	if s.asRoot {
		args = append([]string{"runuser", "-u", "postgres", "--"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = s.dir
	// Not a pipe, which the server that pg_ctl starts would keep open.
	log, err := os.Create(filepath.Join(s.dir, name+".out"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(log.Name())
		return fmt.Errorf("%s: %w: %s", name, err, text)
	}
	return nil
}

// database creates an empty database and returns its URL.
func (s *postgresServer) database() (string, error) {
	s.made++
	name := "bench" + strconv.Itoa(s.made)
	err := s.run("createdb", "-h", s.dir, "-U", "postgres", name)
	return "postgres:///" + name + "?user=postgres&host=" + s.dir, err
}

// cpu returns the CPU time of all processes of the server so far, and 0 if s is nil.
func (s *postgresServer) cpu() (sum time.Duration, err error) {
	if s == nil {
		return 0, nil
	}
	text, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	main, err := strconv.Atoi(first)
	if err != nil {
		return 0, err
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, path := range processes {
		pid, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			return 0, err
		}
		switch stat, err := readStat(pid); {
		case err != nil: // it has ended
		case pid == main:
			sum += stat.own + stat.dead
		case stat.parent == main:
			sum += stat.own
		}
	}
	return sum, nil
}

func (s *postgresServer) stop() error {
	if s.stopped.Swap(true) {
		return nil
	}
	return errors.Join(s.run("pg_ctl", "-D", s.data(), "-m", "fast", "-w", "stop"), os.RemoveAll(s.dir))
}

func giveToPostgres(dir string) error {
	u, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	return os.Chown(dir, uid, gid)
}

// measurePostgres sends the batches to a server on PostgreSQL, and to one on SQLite for comparison.
func (b *bench) measurePostgres() (err error) {
	s, err := startPostgres()
	if errors.Is(err, errNoPostgres) {
		b.table.section("batches on PostgreSQL: not measured, %v", err)
		return nil
	}
	if err != nil {
		return err
	}
	b.table.section("the same batches on %s, fsync on; other: on SQLite", s.version())
	b.postgres = s
	defer func() {
		b.postgres = nil
		err = errors.Join(err, s.stop())
	}()
	b.atEnd(func() { _ = s.stop() }) // no effect if it has ended
	before, err := persons(0)
	if err != nil {
		return err
	}
	requests, err := batches(b.count(batchSize), func(*generator) {})
	if err != nil {
		return err
	}
	l := load{connections: batchConnections, requests: requests, until: b.config.time, check: checkAccepted}
	var us, sqlite []*measured
	for range b.config.rounds {
		m, err := b.measure("batches on PostgreSQL", func() (*process, string, error) {
			url, err := s.database()
			if err != nil {
				return nil, "", err
			}
			return b.ours(url)
		}, before, l)
		if err != nil {
			return err
		}
		us = append(us, m)
		if m, err = b.measure("batches on SQLite", b.sqlite, before, l); err != nil {
			return err
		}
		sqlite = append(sqlite, m)
	}
	ours, other := medianRun(us), medianRun(sqlite)
	t := b.table
	t.compare("events", ours.rate(), other.rate(), perSecond)
	t.compare("CPU of Bunting's process an event", each(ours.cpu, ours.events), each(other.cpu, other.events), micros)
	t.figure("CPU of PostgreSQL an event", micros(each(ours.database, ours.events)))
	t.figure("acknowledgement at full load p50", millis(ours.quantile(0.5)))
	t.figure("acknowledgement at full load p99", millis(ours.quantile(0.99)))
	t.figure("resident at most", megabytes(ours.peak))
	t.judge("≤ 256 MB", ours.peak <= mostResident)
	return nil
}

// version returns the version that PostgreSQL prints.
func (s *postgresServer) version() string {
	out, _ := exec.Command(filepath.Join(s.bin, "postgres"), "--version").Output()
	return strings.TrimSpace(string(out))
}
