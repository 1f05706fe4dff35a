package local

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/settings"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
)

const doctorHelp = `Usage: bunting doctor [--quick] [--json] [SETTINGS]

Checks the data and settings of a server, running or not, and changes nothing: the
integrity of the database (every page, every index) and of segment files, its
schema, the free disk space, the length of its log, who may read the files, unsafe
settings, and the variables of OpenTelemetry. Give the settings of serve on the
command line, in the environment or with --config; by default the folder
bunting-data is checked.

  --quick   do not compare indexes with tables, and check only the sizes of segment
            files: the full check takes long
  --json    print JSON: an array of {"check", "level", "text"}

Levels: ok, note, warning (works, but needs attention), fault. Exit code 1 if there
is a fault. Of PostgreSQL the schema, the stored events and the settings are checked.
`

// The levels of findings.
const (
	levelOK      = "ok"
	levelNote    = "note"
	levelWarning = "warning"
	levelFault   = "fault"
)

// finding is one line of the doctor's output.
type finding struct {
	Check string `json:"check"`
	Level string `json:"level"`
	Text  string `json:"text"`
}

// Limits of free disk space: below minFree the server is expected to fail; below warnFree, or the
// size of the database, there is no space for a backup or a night of events.
const (
	minFree  = 256 << 20
	warnFree = 1 << 30
	// longLog is the size of SQLite's write-ahead log above which it apparently cannot be
	// truncated.
	longLog = 512 << 20
)

// doctor implements the command doctor. It returns ErrReported if there is a fault.
func doctor(ctx context.Context, p *cli.Program, args []string, signals func(map[string]string) ([]string, error)) error {
	var quick, asJSON bool
	r, err := settings.ResolveAs(p, "doctor", args, func(fs *flag.FlagSet) {
		fs.BoolVar(&quick, "quick", false, "")
		fs.BoolVar(&asJSON, "json", false, "")
	})
	if err != nil {
		return err
	}
	found := slices.Concat(examineData(ctx, &r.Config, quick), unsafeSettings(r), otlpFindings(p.Env, signals))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	out := ""
	if asJSON {
		out, err = cli.Indent(found)
	} else {
		for _, f := range found {
			out += fmt.Sprintf("%-8s %-9s %s\n", f.Level, f.Check, f.Text)
		}
	}
	if err == nil {
		err = p.Print(out)
	}
	if err == nil && slices.ContainsFunc(found, func(f finding) bool { return f.Level == levelFault }) {
		err = cli.ErrReported
	}
	return err
}

// examineData examines the folder and the database.
func examineData(ctx context.Context, c *settings.Config, quick bool) (out []finding) {
	say := func(check, level, format string, args ...any) {
		out = append(out, finding{check, level, fmt.Sprintf(format, args...)})
	}
	if c.Database == "" {
		if info, err := os.Stat(c.Data); err == nil && info.Mode().Perm()&0o077 != 0 {
			say("folder", levelWarning, "other users can open the folder %s (%v): run chmod 700 %s", c.Data, info.Mode().Perm(), c.Data)
		}
	}
	e, err := sqlstore.Examine(ctx, c.DatabaseURL(), c.Segments, quick)
	switch {
	case errors.Is(err, sqlstore.ErrNoDatabase):
		say("database", levelNote, "%s: %v", e.URL, err)
		return out
	case err != nil:
		say("database", levelFault, "%s: %v", e.URL, err)
	case len(e.Faults) > 0:
		for _, fault := range e.Faults {
			say("database", levelFault, "%s is damaged: %s", e.URL, fault)
		}
		say("database", levelFault, "stop the server, keep the files as they are, and restore the last backup elsewhere (bunting restore)")
	default:
		state := "no server uses it"
		switch {
		case e.Postgres:
			state = "PostgreSQL"
		case e.InUse:
			state = "a server uses it"
		}
		say("database", levelOK, "%s is intact: %d projects, %d events; %s", e.URL, e.Projects, e.Events, state)
	}
	if err == nil && len(e.Faults) == 0 {
		out = append(out, schemaFinding(&e))
	}
	if e.Unconverted > 0 {
		say("conversion", levelNote, "%d events of an earlier version are not converted yet: the server does it in the background, and until then no events are erased, deleted by age, or written into segments", e.Unconverted)
	}
	if e.Moving {
		say("database", levelFault, "a move into it is not complete: run bunting move again")
	}
	for _, path := range e.Open {
		say("files", levelWarning, "other users can read %s: run chmod 600 %s", path, path)
	}
	return append(append(out, segmentFindings(&e, c.Segments)...), diskFindings(&e)...)
}

// segmentFindings returns the findings about the segment files in a folder.
func segmentFindings(e *sqlstore.Examination, folder string) (out []finding) {
	switch {
	case len(e.SegmentFaults) > 0:
		for _, fault := range e.SegmentFaults {
			out = append(out, finding{"segments", levelFault, fault})
		}
		if folder == "" {
			break
		}
		out = append(out, finding{"segments", levelFault, "if the folder is the right one, stop the server, keep the files as they are, and restore the last backup elsewhere (bunting restore)"})
	case e.Segments > 0:
		out = append(out, finding{"segments", levelOK, fmt.Sprintf("%d segment files with %d MiB are intact", e.Segments, e.SegmentBytes>>20)})
	}
	if n := len(e.Unlisted); n > 0 {
		out = append(out, finding{"segments", levelNote, fmt.Sprintf("%d files are not in use, such as %s: a server removes them at its start, and of PostgreSQL every hour", n, e.Unlisted[0])})
	}
	return out
}

func schemaFinding(e *sqlstore.Examination) finding {
	by := ""
	if e.MigratedBy != "" {
		by = ", made by bunting " + e.MigratedBy
	}
	switch {
	case e.NewerSchema != nil:
		return finding{"schema", levelFault, e.NewerSchema.Error()}
	case e.Schema < e.NewestSchema:
		return finding{"schema", levelNote, fmt.Sprintf("%d%s; the next start upgrades it to %d: make a backup first", e.Schema, by, e.NewestSchema)}
	}
	return finding{"schema", levelOK, fmt.Sprintf("%d, the newest%s", e.Schema, by)}
}

// diskFindings checks the disk and the files of SQLite. For PostgreSQL it returns no findings.
func diskFindings(e *sqlstore.Examination) (out []finding) {
	if e.Postgres {
		return nil
	}
	if e.Free >= 0 {
		f := finding{"disk", levelOK, fmt.Sprintf("%d MiB are free; the database has %d MiB, its log %d", e.Free>>20, e.Size>>20, e.Log>>20)}
		switch {
		case e.Free < minFree:
			f.Level, f.Text = levelFault, f.Text+": events will soon be refused, free some disk space"
		case e.Free < max(warnFree, e.Size+e.Log):
			f.Level, f.Text = levelWarning, f.Text+": not enough for a copy next to it"
		}
		out = append(out, f)
	}
	if e.Log > longLog {
		out = append(out, finding{"log", levelWarning, fmt.Sprintf("%d MiB: a backup is running, or another program has been reading the file for a long time", e.Log>>20)})
	}
	if e.Unindexed > 100_000 {
		out = append(out, finding{"index", levelNote, fmt.Sprintf("%d events are in no block yet: reading them back is slower until then", e.Unindexed)})
	}
	return out
}
