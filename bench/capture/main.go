// Command capture measures the intake of events: our server, built from the parent module, is
// compared with bare handlers. Each server is a separate process, and all run on one machine in one
// run. It prints one table.
//
// Usage: go run ./capture [-segments] [-only batches,singles,postgres,flags] [-time d] [-rounds n]
// [-older folder] [-big n] [-questions n] [-mixed n] [-questions-file file] [-soak d] [-strict]
// [-dir folder] [-module folder]
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// config contains the values of the command line's flags.
type config struct {
	time   time.Duration // of one load
	rounds int           // our server and the other alternate; the table contains medians
	big    int
	ask    int
	mixed  int
	file   string
	soak   time.Duration
	only   string
	dir    string
	module string
	older  string
	sealed bool
	// memory is the memory of the server in MB, or 0 for its default.
	memory int
	strict bool
}

func main() {
	commands := map[string]func(args []string) error{bareCommand: serveBare, flagsCommand: requestFlags}
	if len(os.Args) > 1 && commands[os.Args[1]] != nil {
		if err := commands[os.Args[1]](os.Args[2:]); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
			os.Exit(1)
		}
		return
	}
	var c config
	flag.DurationVar(&c.time, "time", 10*time.Second, "time of one load")
	flag.IntVar(&c.rounds, "rounds", 3, "rounds, ours and others in turn; the table shows medians")
	flag.StringVar(&c.only, "only", "batches,singles,postgres,flags", "what to measure; none for nothing of these")
	flag.IntVar(&c.big, "big", 0, "fill one SQLite file with so many events, such as 10000000, and read pages of it")
	flag.IntVar(&c.ask, "questions", 0, "ask questions about so many events, such as 1000000")
	flag.IntVar(&c.mixed, "mixed", 0, "only the last part of -questions: events and /flags together with questions and with each other")
	flag.StringVar(&c.file, "questions-file", "", "the file of the events of -questions and -mixed, made if it is not there and kept")
	flag.DurationVar(&c.soak, "soak", 0, "send random distinct ids for so long, such as 1h, and watch the memory")
	flag.StringVar(&c.dir, "dir", "", "folder on the disk to measure, the system's temporary one when empty")
	flag.StringVar(&c.module, "module", "..", "folder of the server's module")
	flag.StringVar(&c.older, "older", "", "folder of an older checkout, whose server gets the batches too")
	flag.BoolVar(&c.sealed, "segments", false, "the server seals events into Parquet files, with --segments")
	flag.IntVar(&c.memory, "memory", 0, "memory of the server in MB, its --memory; 0 for its default")
	flag.BoolVar(&c.strict, "strict", false, "exit 1 when a demand is not met")
	flag.Parse()
	met, err := measureAll(&c)
	if err != nil {
		fmt.Fprintln(os.Stderr, "capture:", err)
		os.Exit(1)
	}
	if c.strict && !met {
		os.Exit(1)
	}
}

// measureAll runs the selected measurements and prints the table, which is printed with partial
// results even after an error. met reports whether all limits are met.
func measureAll(c *config) (met bool, err error) {
	if c.rounds < 1 || c.time < time.Second || flag.NArg() > 0 {
		return false, errors.New("want one round and one second at least, and nothing but flags")
	}
	dir, err := os.MkdirTemp(c.dir, "bunting-bench-")
	if err != nil {
		return false, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return false, err
	}
	b := &bench{dir: dir, config: c, table: &table{}}
	b.atEnd(func() { _ = os.RemoveAll(dir) })
	defer b.end()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		b.end()
		os.Exit(130)
	}()
	parts := map[string]func() error{
		"batches": b.measureBatches, "singles": b.measureSingles, "postgres": b.measurePostgres, "flags": b.measureFlags,
		"none": func() error { return nil },
	}
	names := strings.Split(c.only, ",")
	for _, name := range names {
		if parts[name] == nil {
			return false, fmt.Errorf("-only %s: there are batches, singles, postgres, flags and none", name)
		}
	}
	if err := b.buildAll(); err != nil {
		return false, err
	}
	defer func() {
		fmt.Printf("%s, %d cores, %s\n", runtime.Version(), runtime.NumCPU(), runtime.GOARCH)
		b.table.print(os.Stdout)
	}()
	for _, name := range names {
		if err := parts[name](); err != nil {
			return false, err
		}
	}
	if c.big > 0 {
		if err := b.measureBig(c.big); err != nil {
			return false, err
		}
	}
	if n := max(c.ask, c.mixed); n > 0 {
		if err := b.measureQuestions(n, c.file); err != nil {
			return false, err
		}
	}
	if c.soak > 0 {
		if err := b.measureSoak(c.soak); err != nil {
			return false, err
		}
	}
	return !b.table.failed, nil
}
