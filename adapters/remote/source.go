package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// source keeps the definitions of one project. It is safe for any number of
// goroutines; reading takes no lock.
type source struct {
	c      *Config
	client *http.Client
	ours   bool // client's connections
	known  atomic.Pointer[known]
	ready  chan struct{} // closed when the first definitions are known

	status   keeper
	copies   chan saved    // what is to be written, the newest alone
	news     chan struct{} // a change, or an attempt that ended otherwise than the one before
	copyPath string        // empty: no copy is kept

	stop context.CancelFunc
	done sync.WaitGroup
	over <-chan struct{}
}

// known is what a source has. It never changes: a change makes another.
type known struct {
	set     *flags.Set
	defs    flags.Definitions
	project flags.Project // its Revision counts the changes of this process
	sum     [sha256.Size]byte
	version string // the ETag's bare value, empty: none
	from    Origin
	at      time.Time // when it was fetched, zero for a bundle
	faults  int
}

// open starts a source, with a Config that is complete. It has the copy on disk, or the
// bundle, before it returns; the network is only asked afterwards. It fails for a broken
// bundle alone, never for what cannot be had.
func open(c *Config) (*source, error) {
	s := &source{
		c: c, ready: make(chan struct{}),
		copies: make(chan saved, 1), news: make(chan struct{}, 1),
	}
	s.status.since, s.status.moved = c.Now(), make(chan struct{})
	s.client, s.ours = httpClient(c.HTTPClient)
	s.loadCopy()
	if err := s.takeBundle(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop, s.over = stop, ctx.Done()
	if !c.Offline {
		s.done.Go(func() { s.run(ctx) })
		s.done.Go(s.saveCopies)
		s.done.Go(func() { s.tell(ctx) })
	}
	return s, nil
}

// takeBundle takes the bundle into use where nothing else is, and reads it in any case.
func (s *source) takeBundle() (err error) {
	switch {
	case s.c.Bundle == nil:
	case s.known.Load() == nil:
		err = s.take(s.c.Bundle, "", FromBundle, time.Time{})
	default:
		_, err = readDefinitions(s.c.Bundle)
	}
	if err != nil {
		return fmt.Errorf("remote: Config.Bundle: %w", err)
	}
	return nil
}

// take puts definitions into use, unless they are those that are. After an error
// all is as before.
func (s *source) take(text []byte, version string, from Origin, at time.Time) error {
	sum := sha256.Sum256(bytes.TrimSpace(text)) // a stream brings no end of the line
	old := s.known.Load()
	if old != nil && old.sum == sum {
		if old.version != version {
			renamed := *old
			renamed.version = version
			s.known.Store(&renamed)
		}
		return nil
	}
	d, err := readDefinitions(text)
	if err != nil {
		return err
	}
	var before *flags.Set
	if old != nil {
		before = old.set
	}
	k := &known{set: before.Recompile(d), defs: d, sum: sum, version: version, from: from, at: at}
	k.faults = len(k.set.Faults())
	k.project = flags.Project{APIKey: s.c.ProjectKey, Revision: 1}
	if old != nil {
		k.project.Revision = old.project.Revision + 1
	}
	s.known.Store(k)
	if old == nil {
		close(s.ready)
	}
	return nil
}

// readDefinitions reads what has to be definitions.
func readDefinitions(text []byte) (flags.Definitions, error) {
	d, err := flags.ParseDefinitions(text)
	if err == nil && len(d.Flags) == 0 && !listsFlags(text) {
		err = errors.New("there is no list of flags: it is no definitions")
	}
	return d, err
}

// listsFlags tells a project without flags from an answer that says nothing of flags.
func listsFlags(text []byte) bool {
	var list struct{ Flags, Projects json.RawMessage }
	return json.Unmarshal(text, &list) == nil && (list.Projects != nil || list.Flags != nil && string(list.Flags) != "null")
}

// Set is the flags as they are known now, nil while nothing is.
func (s *source) Set() *flags.Set {
	if k := s.known.Load(); k != nil {
		return k.set
	}
	return nil
}

// WaitForReady is that of the Client.
func (s *source) WaitForReady(ctx context.Context) error {
	for {
		moved, last := s.status.last()
		var refused *StatusError
		switch {
		case s.known.Load() != nil:
			return nil
		case s.c.Offline:
			return fmt.Errorf("remote: %w, and Config.Offline asks nobody: bring them along in Config.Bundle", flags.ErrNotReady)
		case errors.As(last, &refused) && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden):
			return last
		}
		select {
		case <-s.ready:
		case <-moved:
		case <-s.over:
			return errClosed
		case <-ctx.Done():
			if last != nil {
				return fmt.Errorf("remote: no definitions yet: %w; the last attempt: %w", context.Cause(ctx), last)
			}
			return fmt.Errorf("remote: no definitions yet: %w", context.Cause(ctx))
		}
	}
}

// project is what a Decider asks for: flags.ErrUnavailable while nothing is known.
func (s *source) project(apiKey string) (*known, error) {
	k := s.known.Load()
	switch {
	case apiKey != s.c.ProjectKey:
		return nil, flags.ErrUnknownKey
	case k == nil:
		return nil, errors.Join(flags.ErrUnavailable, s.Status().LastError)
	}
	return k, nil
}

// Close ends requests and streams, lets a copy that is being written be written, and waits for
// the source's goroutines; what was known stays readable. It may be called again.
func (s *source) Close() error {
	s.stop()
	s.done.Wait()
	if s.ours {
		s.client.CloseIdleConnections()
	}
	return nil
}
