package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/settings"
	"github.com/bunting-flags/bunting/adapters/internal/natsstream"
)

const deadLettersHelp = `Usage: bunting deadletters --stream URL [--stream-creds FILE] [--id ID] list|requeue|drop

Events that arrived through --stream and that the database refused, or that cannot
be read, are kept as dead letters for 90 days, at most a gigabyte of them, and
counted in /metrics (bunting_capture_stream_dead_letters). list shows them, oldest
first: id, time, events, projects. requeue puts them back into the stream, to be
recorded again; drop deletes them. Both apply to all dead letters, or with --id to
one.

  --stream URL
        as for serve (BUNTING_STREAM)
  --stream-creds FILE
        as for serve (BUNTING_STREAM_CREDS)
  --id ID
        only this dead letter
`

// deadLetters lists, requeues or deletes dead letters.
func deadLetters(ctx context.Context, p *cli.Program, args []string) error {
	fs := cli.NewFlags("deadletters")
	url := fs.String("stream", p.Env["BUNTING_STREAM"], "")
	creds := fs.String("stream-creds", p.Env["BUNTING_STREAM_CREDS"], "")
	only := fs.String("id", "", "")
	remaining, err := cli.ParseArgs(fs, args)
	if err != nil {
		return err
	}
	if len(remaining) != 1 {
		return cli.BadUsage("deadletters", "give one of list, requeue and drop")
	}
	if *url == "" {
		return cli.BadUsage("deadletters", "name the stream with --stream URL")
	}
	if err := settings.CheckStream(*url); err != nil {
		return cli.BadUsage("deadletters", "--stream: %v", err)
	}
	act, ok := map[string]func(*natsstream.Stream, *natsstream.DeadLetter) error{
		"list":    func(_ *natsstream.Stream, d *natsstream.DeadLetter) error { return p.Print(deadLetterLine(d)) },
		"requeue": func(s *natsstream.Stream, d *natsstream.DeadLetter) error { return s.Requeue(ctx, d) },
		"drop":    func(s *natsstream.Stream, d *natsstream.DeadLetter) error { return s.Delete(ctx, d) },
	}[remaining[0]]
	if !ok {
		return cli.BadUsage("deadletters", "unknown action %q, must be list, requeue or drop", remaining[0])
	}
	stream, err := natsstream.Connect(ctx, natsstream.Config{URL: *url, Creds: *creds})
	if err != nil {
		return err
	}
	defer stream.Close()
	n := 0
	err = stream.DeadLetters(ctx, func(d *natsstream.DeadLetter) error {
		if *only != "" && d.ID.String() != *only {
			return nil
		}
		n++
		return act(stream, d)
	})
	switch {
	case err != nil:
		return err
	case *only != "" && n == 0:
		return errors.New("there is no dead letter " + *only)
	case remaining[0] == "list" && n > 0:
		return nil
	}
	return p.Print(fmt.Sprintf("%d dead letters\n", n))
}

// deadLetterLine describes a dead letter: its events and their projects, or why it cannot be parsed.
func deadLetterLine(d *natsstream.DeadLetter) string {
	start := fmt.Sprintf("%s  %s  ", d.ID, d.At.UTC().Format(time.RFC3339))
	if d.Fault != nil {
		return start + fmt.Sprintf("unreadable: %v\n", d.Fault)
	}
	events, projects := 0, []int64{} // a few at most: they share a message
	for _, b := range d.Batches {
		events += len(b.Events)
		projects = append(projects, b.ProjectID)
	}
	slices.Sort(projects)
	line := start + fmt.Sprintf("%d events  project", events)
	for _, id := range slices.Compact(projects) {
		line += fmt.Sprintf(" %d", id)
	}
	return line + "\n"
}
