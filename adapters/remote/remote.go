// Package remote decides flags inside other Go services, with definitions that it
// fetches over HTTP from a Bunting server or from PostHog, whose wire is the same.
//
// A [Source] keeps a project's definitions current and is never without those it
// had: a copy on disk, a bundle of the program, the network. A [Client] stands on
// one: it decides, reads values with a default, and sends exposures and events
// back.
//
// # When the server cannot be had
//
// No failure takes definitions away. One attempt is made at a time.
//
// A server that answers with anything but definitions (401, 402, 403, 429, 5xx, a
// body that is cut or no definitions) is asked again after a random share of 1
// second, then of 2, 4, … up to 30 seconds ("full jitter"), and never before its
// Retry-After (at most an hour is waited).
//
// A server that gives no answer at all (refused, no route, silence) costs nothing
// to look for, and what matters is to notice soon that it is back: once a second it
// gets a HEAD request, which needs no key, is answered before anything is looked
// up, and is given up after 0.9 seconds. As soon as one is answered with less than
// 500, definitions are asked for. Each process begins at a random moment of the second, so a
// server that comes back meets its clients spread over a second, most of which it
// can answer with 304. Where even HEAD takes longer, a whole attempt is made after
// every 60.
package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Config says whose flags are decided, and how. URL, ProjectKey and Key are
// required.
type Config struct {
	// URL is the server's, such as https://flags.example.com. It may have a path
	// in front of /flags/definitions.
	URL string
	// ProjectKey is the project's public key, phc_….
	ProjectKey string
	// Key opens the definitions: a project's secret key, phs_…, or a personal key,
	// phx_…, with the scope feature_flag:read.
	Key string

	// Dir is the folder of the copy of the last good definitions; its name is made of
	// URL and ProjectKey. Processes may share it: the last who writes wins. Empty:
	// bunting in the user's cache folder (os.UserCacheDir). A folder that cannot be
	// used is told to Logger once, and the Source goes on without a copy.
	Dir string
	// NoCopy keeps no copy on disk.
	NoCopy bool
	// Bundle are definitions that the program brings along (go:embed): a payload of
	// /flags/definitions or a definitions file of one project. It is read only where
	// there is no copy that can be used: a copy wins, even over a newer bundle. One
	// that cannot be read does not fail Open, it is told to Logger and Status; a
	// test of the program can check it with flags.ParseDefinitions. Nil: none.
	Bundle []byte

	// Poll is how often changes are asked for where there is no stream, DefaultPoll
	// when zero; each wait is up to a tenth shorter or longer.
	Poll time.Duration
	// NoStream asks for changes by polling alone.
	NoStream bool

	// Timeout bounds one request, DefaultTimeout when zero. Of a stream it bounds the
	// time until it begins.
	Timeout time.Duration
	// HTTPClient makes requests, one with the defaults of net/http when nil. Its
	// Timeout must be zero: streams are long.
	HTTPClient *http.Client
	// Logger is told what an operator may want to know. Nil: nobody is told.
	Logger *slog.Logger
	// Now is the clock of Status, time.Now when nil. Nothing waits by it: it may be
	// set back.
	Now func() time.Time

	ClientConfig

	knobs *knobs // nil outside tests
}

// Defaults of Config.
const (
	DefaultPoll    = 30 * time.Second
	DefaultTimeout = 10 * time.Second
)

// knobs are the times that are not for users to choose, and how time passes.
type knobs struct {
	// silence is how long a stream may be silent: two keep-alives.
	silence time.Duration
	// streamAgain is how long a server that offers no stream is not asked for one.
	streamAgain time.Duration
	// probe is the time from one look for a server that gives no answer to the
	// next, probeLimit how long one may take, probes how many are made before a
	// whole attempt.
	probe, probeLimit time.Duration
	probes            int
	// elapsed is the time since the start, by a clock that nobody sets.
	elapsed func() time.Duration
	// wait returns after a time, or when the context ends.
	wait func(context.Context, time.Duration)
	// random is in [0, 1).
	random func() float64
}

func realKnobs() *knobs {
	start := time.Now()
	return &knobs{
		silence: 30 * time.Second, streamAgain: 10 * time.Minute,
		probe: time.Second, probeLimit: 900 * time.Millisecond, probes: 60,
		elapsed: func() time.Duration { return time.Since(start) },
		wait: func(ctx context.Context, d time.Duration) {
			timer := time.NewTimer(d)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
		},
		random: rand.Float64,
	}
}

// complete checks a Config and fills in defaults.
func (c *Config) complete() error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil: // which repeats the whole text, a password too
		var inURL *url.Error
		if errors.As(err, &inURL) {
			err = inURL.Err
		}
		return fmt.Errorf("remote: Config.URL cannot be read: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("remote: Config.URL is %q, want one such as https://flags.example.com", c.URL)
	case strings.ContainsAny(c.URL, "?#") || u.User != nil:
		return errors.New("remote: Config.URL has a query, a fragment or a user: leave them out")
	case c.ProjectKey == "":
		return errors.New("remote: Config.ProjectKey is empty, want the project's public key, phc_…")
	case c.Key == "":
		return errors.New("remote: Config.Key is empty, want a project's secret key, phs_…, or a personal key, phx_…")
	case strings.ContainsFunc(c.Key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("remote: Config.Key has a character that no key has, such as the end of a line")
	case c.Poll < 0 || c.Timeout < 0:
		return errors.New("remote: Config.Poll and Config.Timeout must not be negative")
	case c.HTTPClient != nil && c.HTTPClient.Timeout != 0:
		return errors.New("remote: Config.HTTPClient has a Timeout, which would cut streams: use Config.Timeout")
	}
	c.URL = strings.TrimRight(c.URL, "/")
	if c.Poll == 0 {
		c.Poll = DefaultPoll
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.knobs == nil {
		c.knobs = realKnobs()
	}
	return nil
}
