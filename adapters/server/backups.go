package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/internal/backups"
	"github.com/bunting-flags/bunting/adapters/internal/metrics"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
)

var errNothingToBackUp = errors.New("Options.Backup is for a data folder, and nothing is stored: set Options.Data, or leave out Options.Backup")

// openBackups prepares the backups of the SQLite file, if they are configured.
func (p *parts) openBackups() error {
	if p.Backup == "" {
		return nil
	}
	file := p.store.File()
	switch {
	case file == "" && strings.HasPrefix(p.DatabaseURL(), "sqlite:"):
		return errNothingToBackUp
	case file == "":
		return errors.New("Options.Backup is for SQLite: back up PostgreSQL with its own programs, with pg_dump or by archiving its write-ahead log (pgBackRest, WAL-G), and leave out Options.Backup")
	}
	if p.BackupInterval < time.Minute {
		return fmt.Errorf("Options.BackupInterval is %s, want a minute or more", p.BackupInterval)
	}
	key, err := backups.ReadKey(p.BackupKey)
	if err != nil {
		return fmt.Errorf("Options.BackupKey: %w", err)
	}
	p.backup, err = backups.New(backups.Config{
		Address: p.Backup, Key: key, Interval: p.BackupInterval, Keep: p.BackupKeep,
		Temp: file + ".backup", SourceFile: file + ".backup-id", Copy: p.copyDatabase, Done: p.backedUp, Trace: p.traceBackup,
	})
	if err != nil {
		return fmt.Errorf("Options.Backup: %w", err)
	}
	return nil
}

// backupReserve is the space of the disk that the copy of a database must leave free.
const backupReserve = noDisk

// copyDatabase implements backups.Config.Copy.
func (p *parts) copyDatabase(ctx context.Context, to string) (backups.Copied, error) {
	size := p.store.Size(ctx)
	if needed := size.Database + size.WAL + max(size.Segments, 0); size.Free >= 0 && size.Free < needed+backupReserve {
		return backups.Copied{}, fmt.Errorf("the copy in the data folder needs %s, and %s must stay free; %s are free", bytesText(needed), bytesText(backupReserve), bytesText(size.Free))
	}
	c, err := sqlstore.Backup(ctx, p.store.File(), p.Segments, to, func(string, int64, int64) {})
	return backups.Copied{Size: c.Size, At: c.At, Schema: c.Schema, Events: c.Events, SHA256: c.SHA256}, err
}

// snapshot implements httpapi.Config.Backup.
func (p *parts) snapshot(ctx context.Context) (*httpapi.Backup, error) {
	snapshot, err := p.store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return &httpapi.Backup{
		Name: downloadName(snapshot.At),
		Size: snapshot.Size, Close: snapshot.Close,
		Copy: func(ctx context.Context, w io.Writer) error { return snapshot.Copy(ctx, w, nil) },
	}, nil
}

func downloadName(at time.Time) string {
	return "bunting-" + at.UTC().Format("20060102T150405Z") + ".db"
}

// copyWithSegments implements httpapi.Config.Backup for a store with segment files: these are added to a
// copy of the database in the data folder, which is sent and then removed.
func (p *parts) copyWithSegments(ctx context.Context) (*httpapi.Backup, error) {
	path := p.store.File() + ".download"
	for _, old := range []string{path, path + ".part"} { // of a killed process
		if err := os.Remove(old); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	copied, err := p.copyDatabase(ctx, path)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return &httpapi.Backup{
		Name: downloadName(copied.At), Size: copied.Size,
		Close: func() error { return errors.Join(file.Close(), os.Remove(path)) },
		Copy: func(_ context.Context, w io.Writer) error {
			_, err := io.Copy(w, file) // fails when the client has left
			return err
		},
	}, nil
}

// backups returns the function for backups over HTTP, which is nil if the store is not a file.
func (p *parts) backups() func(context.Context) (*httpapi.Backup, error) {
	switch {
	case p.store.File() == "":
		return nil
	case p.Segments != "":
		return p.copyWithSegments
	}
	return p.snapshot
}

// backedUp counts and logs a backup.
func (p *parts) backedUp(b backups.Backup, err error) {
	p.jobs.count(jobBackups, err)
	s := p.backup.Status()
	if err != nil {
		p.log.Error("backup failed, it will be tried again", "error", err, "age", s.Age().Round(time.Second))
		return
	}
	p.log.Info("backup written and checked", "name", b.Name, "bytes", b.Size, "to", s.Address)
	if s.Retention != nil {
		p.log.Warn("old backups could not be deleted", "error", s.Retention)
	}
}

func (p *parts) backupMetrics() metrics.Backups {
	s := p.backup.Status()
	return metrics.Backups{Age: s.Age(), Interval: s.Interval, Bytes: s.Bytes}
}

// A backup is late after this number of intervals, and a reason for a bad state after the second.
const lateBackup, lostBackup = 2, 6

// backupHealth checks the age of the last good backup, and whether the last attempt has failed.
func backupHealth(_ context.Context, v *healthView) finding {
	s := v.backup.Status()
	f := good("backup_none", nil)
	if !s.Last.IsZero() {
		f = good("backup_last", values{"at": s.Last, "written_bytes": size(s.Bytes)})
	}
	switch age := s.Age(); {
	case age > lostBackup*s.Interval:
		f.state = healthBad
	case age > lateBackup*s.Interval, s.Failure != nil, s.Retention != nil:
		f.state = healthWarn
	}
	switch {
	case s.Failure != nil:
		f.details, f.advice = append(f.details, say("backup_failed", values{"error": s.Failure.Error()})), "backup_retried"
	case f.state != "" && s.Age() > lateBackup*s.Interval:
		f.details, f.advice = append(f.details, say("backup_due", values{"every_seconds": s.Interval})), "backup_slow"
	case s.Retention != nil:
		f.details, f.advice = append(f.details, say("backup_kept", values{"error": s.Retention.Error()})), "backup_delete"
	}
	return f
}
