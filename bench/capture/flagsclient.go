package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// flagsCommand is the hidden first argument with which this program runs as a client that requests flags on
// one connection. The other arguments are the address of the server and the duration. It begins when its
// standard input ends, and prints a flagsResult.
const flagsCommand = "request-flags"

// flagsRate is the number of requests for flags in a second. They are sent at fixed times: a client that waits
// for each response sends most of its requests while the server has nothing else to do.
const flagsRate = 200

// flagsResult is the result of requestFlags as JSON.
type flagsResult struct {
	Elapsed   time.Duration
	Latencies []time.Duration // sorted
}

// requestFlags requests the flags of known persons in turn.
func requestFlags(args []string) error {
	if len(args) != 2 {
		return errors.New("want an address and a duration")
	}
	length, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	l := load{address: args[0], connections: 1, until: length, repeats: true, perSecond: flagsRate, check: checkDecided}
	for i := range rememberedPersons {
		l.requests = append(l.requests, flagsRequest(projectKey, personID(i), ""))
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	r, err := l.run()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(flagsResult{r.elapsed, r.latencies})
}

// flagsLoad returns a function that requests flags from a process of its own. In this process the requests
// would wait for the clients of other loads, which have the same scheduler and garbage collector.
func flagsLoad(address string, length time.Duration) (run func() (*result, error), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, flagsCommand, address, length.String())
	cmd.Stderr = os.Stderr
	begin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() (*result, error) {
		err := begin.Close()
		var r flagsResult
		if decodeErr := json.NewDecoder(out).Decode(&r); decodeErr != nil {
			err = errors.Join(err, fmt.Errorf("requests for flags: %w", decodeErr))
		}
		if err = errors.Join(err, cmd.Wait()); err != nil {
			return nil, err
		}
		n := len(r.Latencies)
		return &result{requests: n, elapsed: r.Elapsed, latencies: r.Latencies}, nil
	}, nil
}
