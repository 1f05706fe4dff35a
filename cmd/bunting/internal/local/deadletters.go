package local

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/adapters/natsstream"
	"github.com/bunting-flags/bunting/cmd/bunting/internal/cli"
	"github.com/bunting-flags/bunting/cmd/bunting/internal/settings"
)

func deadLettersHelp() string {
	return `Usage: bunting deadletters --stream URL [--stream-creds FILE] [--id ID] list|requeue|drop

Events that were taken in over --stream and that the database refuses, or that
cannot be read, are kept for 90 days, at most a gigabyte of them, and counted in
/metrics (bunting_capture_stream_dead_letters). list shows them, oldest first: id, time,
events, projects. requeue gives them back to the stream, to be recorded again;
drop deletes them. Both take all, or with --id one.

  --stream URL
        as serve has it (BUNTING_STREAM)
  --stream-creds FILE
        as serve has it (BUNTING_STREAM_CREDS)
  --id ID
        only this one
`
}

// deadLetters lists, requeues or drops dead letters.
func deadLetters(ctx context.Context, p *cli.Program, args []string) error {
	fs := cli.NewFlags("deadletters")
	url := fs.String("stream", p.Env["BUNTING_STREAM"], "")
	creds := fs.String("stream-creds", p.Env["BUNTING_STREAM_CREDS"], "")
	only := fs.String("id", "", "")
	rest, err := cli.ParseArgs(fs, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return cli.BadUsage("deadletters", "want one of list, requeue, drop")
	}
	if *url == "" {
		return cli.BadUsage("deadletters", "name the stream with --stream URL")
	}
	if err := settings.CheckStream(*url); err != nil {
		return cli.BadUsage("deadletters", "--stream: %v", err)
	}
	var s *natsstream.Stream
	act, ok := map[string]func(*natsstream.DeadLetter) error{
		"list":    func(d *natsstream.DeadLetter) error { return p.Print(deadLetterLine(d)) },
		"requeue": func(d *natsstream.DeadLetter) error { return s.Requeue(ctx, d) },
		"drop":    func(d *natsstream.DeadLetter) error { return s.Drop(ctx, d) },
	}[rest[0]]
	if !ok {
		return cli.BadUsage("deadletters", "want list, requeue or drop, not %q", rest[0])
	}
	if s, err = natsstream.Connect(ctx, natsstream.Config{URL: *url, Creds: *creds}); err != nil {
		return err
	}
	defer s.Close()
	n := 0
	err = s.DeadLetters(ctx, func(d *natsstream.DeadLetter) error {
		if *only != "" && d.ID.String() != *only {
			return nil
		}
		n++
		return act(d)
	})
	switch {
	case err != nil:
		return err
	case *only != "" && n == 0:
		return errors.New("there is no dead letter " + *only)
	case rest[0] == "list" && n > 0:
		return nil
	}
	return p.Print(fmt.Sprintf("%d dead letters\n", n))
}

func deadLetterLine(d *natsstream.DeadLetter) string {
	at := d.At.UTC().Format(time.RFC3339)
	if d.Fault != nil {
		return fmt.Sprintf("%s  %s  unreadable: %v\n", d.ID, at, d.Fault)
	}
	events, projects := 0, map[int64]bool{}
	for _, b := range d.Batches {
		events += len(b.Events)
		projects[b.ProjectID] = true
	}
	line := fmt.Sprintf("%s  %s  %d events  project", d.ID, at, events)
	for id := range projects { // a few at most: they share a message
		line += fmt.Sprintf(" %d", id)
	}
	return line + "\n"
}
