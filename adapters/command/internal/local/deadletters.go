package local

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/settings"
	"github.com/bunting-flags/bunting/adapters/server"
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
	act, ok := map[string]func(*server.DeadLetter) error{
		"list":    func(d *server.DeadLetter) error { return p.Print(deadLetterLine(d)) },
		"requeue": func(d *server.DeadLetter) error { return d.Requeue(ctx) },
		"drop":    func(d *server.DeadLetter) error { return d.Delete(ctx) },
	}[remaining[0]]
	if !ok {
		return cli.BadUsage("deadletters", "unknown action %q, must be list, requeue or drop", remaining[0])
	}
	n := 0
	err = server.DeadLetters(ctx, server.Stream{URL: *url, Creds: *creds}, func(d *server.DeadLetter) error {
		if *only != "" && d.ID != *only {
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
	case remaining[0] == "list" && n > 0:
		return nil
	}
	return p.Print(fmt.Sprintf("%d dead letters\n", n))
}

func deadLetterLine(d *server.DeadLetter) string {
	timestamp := d.At.UTC().Format(time.RFC3339)
	if d.Fault != nil {
		return fmt.Sprintf("%s  %s  unreadable: %v\n", d.ID, timestamp, d.Fault)
	}
	line := fmt.Sprintf("%s  %s  %d events  project", d.ID, timestamp, d.Events)
	for _, id := range d.Projects { // a few at most: they share a message
		line += fmt.Sprintf(" %d", id)
	}
	return line + "\n"
}
