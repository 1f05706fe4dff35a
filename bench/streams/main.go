// Command streams measures the streams of definitions: a real server, built from the parent module,
// and many clients with one connection each. It prints the memory that a client costs the server,
// the bytes that it receives in a minute without changes, and the time from a PATCH of a flag until
// every client has received it.
//
// Usage: go run ./streams [-clients n] [-flags n] [-changes n] [-idle d] [-module folder]
//
// Server and clients each need one file descriptor for each client.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"
)

type config struct {
	clients, flags, changes int
	idle                    time.Duration
	module                  string
}

func main() {
	var c config
	flag.IntVar(&c.clients, "clients", 10_000, "streams that are open at once")
	flag.IntVar(&c.flags, "flags", 20, "flags of the project")
	flag.IntVar(&c.changes, "changes", 20, "changes that are sent to all")
	flag.DurationVar(&c.idle, "idle", time.Minute, "how long nothing changes")
	flag.StringVar(&c.module, "module", "..", "folder of the server's module")
	flag.Parse()
	if err := run(&c); err != nil {
		fmt.Fprintln(os.Stderr, "streams:", err)
		os.Exit(1)
	}
}

func run(c *config) error {
	if err := raiseFiles(c.clients + 200); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bunting-streams-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := startServer(dir, c.module)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := s.makeFlags(c.flags); err != nil {
		return err
	}
	before, err := s.usage()
	if err != nil {
		return err
	}
	began := time.Now()
	all, err := connect(s, c.clients)
	if err != nil {
		return err
	}
	fmt.Printf("%d clients connected in %s, each with a payload of %d bytes\n", c.clients, time.Since(began).Round(time.Millisecond), all.list[0].size.Load())
	connected, err := s.usage()
	if err != nil {
		return err
	}
	connected.print("connected", before, c.clients)

	time.Sleep(c.idle / 4) // frees the memory that only connecting needed
	start, received := time.Now(), all.received()
	from, err := s.usage()
	if err != nil {
		return err
	}
	time.Sleep(c.idle)
	to, err := s.usage()
	if err != nil {
		return err
	}
	minutes := time.Since(start).Minutes()
	fmt.Printf("idle: %.1f bytes a minute and client, %.2f %% of a core, %.1f collections a minute\n",
		float64(all.received()-received)/minutes/float64(c.clients), 100*(to.cpu-from.cpu).Seconds()/(60*minutes), (to.collections-from.collections)/minutes)
	to.print("idle", before, c.clients)
	return changes(c, s, all, before, to)
}

// changes measures the time until changes of flags reach the clients.
func changes(c *config, s *server, all *clients, before, idle usage) error {
	var waits []time.Duration
	for i := range c.changes {
		got, err := s.change(i, all)
		if err != nil {
			return err
		}
		waits = append(waits, got...)
	}
	after, err := s.usage()
	if err != nil {
		return err
	}
	slices.Sort(waits)
	at := func(share float64) time.Duration {
		return waits[int(share*float64(len(waits)-1))].Round(100 * time.Microsecond)
	}
	fmt.Printf("from a PATCH until a client has it, %d changes: p50 %s, p99 %s, max %s\n", c.changes, at(0.5), at(0.99), at(1))
	fmt.Printf("a change to all: %.0f ms of CPU, %.2f collections\n",
		1000*(after.cpu-idle.cpu).Seconds()/float64(c.changes), (after.collections-idle.collections)/float64(c.changes))
	after.print("after the changes", before, c.clients)
	return nil
}

// print prints the growth of the server's usage since before.
func (u usage) print(when string, before usage, clients int) {
	each := func(now, then float64) float64 { return (now - then) / float64(clients) / 1024 }
	fmt.Printf("%s: resident %.1f MiB (%.1f KiB a client), heap in use %.1f MiB (%.1f KiB a client), stacks %.1f KiB a client, %.0f goroutines\n",
		when, u.resident/(1<<20), each(u.resident, before.resident), u.heap/(1<<20), each(u.heap, before.heap), each(u.stacks, before.stacks), u.goroutines)
}

// raiseFiles raises the limit of open files of this program and its child processes.
func raiseFiles(n int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	limit.Cur = limit.Max
	err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
	if limit.Cur < uint64(n) {
		return fmt.Errorf("%d files may be open, %d are needed: raise the limit, such as with ulimit -Hn", limit.Cur, n)
	}
	return err
}
