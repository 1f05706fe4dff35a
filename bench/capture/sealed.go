package main

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	// segmentsFolder is the folder of segments in a data folder.
	segmentsFolder = "segments"
	// sealAfter makes the server seal all events every ten seconds, and not only full blocks: thus
	// there are small files to merge, and at the end all events are in files.
	sealAfter = time.Second
	// sealPatience is the time limit until all events are in files.
	sealPatience = 10 * time.Minute
	// secondProject is the share of batches, every n-th, that belong to another project if events are
	// sealed. It has so few events that its files are small and merged.
	secondProject = 8
)

// The limits for the size of a store, in bytes an event.
const (
	mostSealed   = 150
	mostWithTail = 250
)

// disk is the size of a store with segments.
type disk struct {
	waiting       int   // events whose columns are in the database
	sealed        int   // events in files
	files, merged int   // number of files, and of merged ones
	fileBytes     int64 // size of the files
	used, free    int64 // bytes of used and free pages of the database
	// persons is the number of persons, personBytes the size of their tables and indexes, which is part
	// of used. Both are only of a store in which all events are sealed.
	persons, personBytes int64
	total                int64 // size of everything in the data folder
}

// readDisk reads the size of a store. data is empty, or the folder of all of its files.
func readDisk(database, data string) (d disk, err error) {
	db, err := sql.Open("sqlite", "file:"+database+"?mode=ro")
	if err != nil {
		return d, err
	}
	defer db.Close()
	var pages, freePages, pageSize int64
	for query, into := range map[string][]any{
		`SELECT COALESCE(SUM(events), 0) FROM event_chunks`:                                                                        {&d.waiting},
		`SELECT COUNT(*), COALESCE(SUM(generation > 1), 0), COALESCE(SUM(events), 0), COALESCE(SUM(bytes), 0) FROM event_segments`: {&d.files, &d.merged, &d.sealed, &d.fileBytes},
		`PRAGMA page_count`: {&pages}, `PRAGMA freelist_count`: {&freePages}, `PRAGMA page_size`: {&pageSize},
	} {
		if err := db.QueryRow(query).Scan(into...); err != nil {
			return d, fmt.Errorf("%s: %w", query, err)
		}
	}
	d.used, d.free = (pages-freePages)*pageSize, freePages*pageSize
	if data != "" {
		d.total, err = folderSize(data)
	}
	return d, err
}

// personTables is a condition for the names of the tables and indexes of persons.
const personTables = `name LIKE '%person%' OR name LIKE '%distinct_id%'`

// readPersons reads the number and the size of persons.
func (d *disk) readPersons(database string) error {
	db, err := sql.Open("sqlite", "file:"+database+"?mode=ro")
	if err != nil {
		return err
	}
	defer db.Close()
	err = db.QueryRow(`SELECT COUNT(*) FROM persons`).Scan(&d.persons)
	if err == nil {
		err = db.QueryRow(`SELECT COALESCE(SUM(pgsize), 0) FROM dbstat WHERE ` + personTables).Scan(&d.personBytes)
	}
	return err
}

// waitSealed waits until all events are in files, and their columns are no longer in the database.
func waitSealed(database, data string) (d disk, err error) {
	for deadline := time.Now().Add(sealPatience); ; time.Sleep(time.Second / 4) {
		if d, err = readDisk(database, data); err != nil {
			return d, err
		}
		if d.waiting == 0 {
			time.Sleep(settle) // files may be merged after this
			if d, err = readDisk(database, data); err == nil {
				err = d.readPersons(database)
			}
			return d, err
		}
		if time.Now().After(deadline) {
			return d, fmt.Errorf("%d events are in no file after %s", d.waiting, sealPatience)
		}
	}
}

// perEvent returns a size divided by the number of all events.
func (d *disk) perEvent(size int64) int64 { return size / int64(max(d.sealed+d.waiting, 1)) }

// folderSize returns the size of all files in a folder and the folders in it.
func folderSize(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return ignoreError(err, fs.ErrNotExist)
		}
		info, err := e.Info()
		if err == nil {
			n += info.Size()
		}
		return ignoreError(err, fs.ErrNotExist) // it was removed meanwhile
	})
	return n, err
}

// readSealing reads the size of the measured store, waits until all events are sealed, and reads it again.
func (m *measured) readSealing(p *process, data string) (err error) {
	file := filepath.Join(data, databaseFile)
	for _, name := range []string{file, filepath.Join(data, segmentsFolder)} {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) { // another server, or PostgreSQL
			return nil
		}
	}
	if m.tail, err = readDisk(file, data); err != nil {
		return err
	}
	before, err := p.cpu()
	if err != nil {
		return err
	}
	if m.disk, err = waitSealed(file, data); err != nil {
		return err
	}
	after, err := p.cpu()
	m.sealing = after - before
	return err
}

// diskRows adds the rows of the size of a store with segments.
func (t *table) diskRows(version string, m *measured) {
	share := 100 * float64(m.tail.sealed) / float64(max(m.tail.sealed+m.tail.waiting, 1))
	t.figure(version+"events in files at the end of the load", fmt.Sprintf("%.0f %%", share))
	t.figure(version+"files, of which merged", fmt.Sprintf("%d, %d", m.disk.files, m.disk.merged))
	t.figure(version+"CPU of sealing an event, of those that were sealed later", micros(each(m.sealing, m.tail.waiting)))
	tail := m.disk.perEvent(m.tail.total - m.disk.personBytes)
	t.figure(version+"disk an event at the end of the load, without persons", inBytes(tail))
	t.judge("≤ 250", tail <= mostWithTail)
	t.sealedRows(version, &m.disk)
}

// sealedRows adds the rows of the size of a store in which all events are sealed.
func (t *table) sealedRows(prefix string, d *disk) {
	events := d.fileBytes + d.used - d.personBytes
	t.figure(prefix+"disk an event when all are sealed, without persons", inBytes(d.perEvent(events)))
	t.judge("≤ 150", d.perEvent(events) <= mostSealed)
	t.figure(prefix+"of it in files", inBytes(d.perEvent(d.fileBytes)))
	t.figure(prefix+"of it in the database", inBytes(d.perEvent(d.used-d.personBytes)))
	t.figure(fmt.Sprintf("%sin the database a person (%d)", prefix, d.persons), inBytes(d.personBytes/max(d.persons, 1)))
	t.figure(prefix+"free pages of the database, used by later events", megabytes(d.free))
}

func inBytes(n int64) string { return fmt.Sprintf("%d B", n) }
