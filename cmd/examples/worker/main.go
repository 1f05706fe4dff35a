// Command worker evaluates flags with the definitions of a server. It also starts without the
// server: with the definitions of its last run, or with built-in definitions.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
)

//go:embed flags.json
var builtIn []byte

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, "http://127.0.0.1:8000", time.Minute, func(line string) { fmt.Println(line) }); err != nil {
		log.Fatal(err)
	}
}

// run works once in each pause, until ctx is done.
func run(ctx context.Context, url string, pause time.Duration, done func(string)) error {
	// setup
	client, err := remote.New(remote.Config{URL: url, ProjectKey: "phc_demo", Key: "phs_demo", Bundle: builtIn})
	if err != nil {
		return err
	}
	// end of setup
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		job := &flags.Subject{DistinctID: "nightly"}
		how := client.String(ctx, "engine", job, "old")
		done("worked with the " + how + " engine")
		_ = client.Track(ctx, job.DistinctID, "worked", map[string]any{"engine": how}, nil)
		select {
		case <-tick.C:
		case <-ctx.Done():
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			return client.Close(within) // sends pending events
		}
	}
}
