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

// Source keeps the definitions of one project. It is safe for any number of
// goroutines; reading takes no lock.
type Source struct {
	c      Config
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

var _ flags.Source = (*Source)(nil)

// known is what a Source has. It never changes: a change makes another.
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

// Open starts a Source. It answers from the copy on disk, or the bundle, before it
// returns; the network is only asked afterwards. It fails on a Config that cannot
// work, never for what cannot be had.
func Open(c Config) (*Source, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	s := &Source{
		c: c, ready: make(chan struct{}),
		copies: make(chan saved, 1), news: make(chan struct{}, 1),
	}
	s.status.since = c.Now()
	s.client, s.ours = httpClient(c.HTTPClient)
	s.loadCopy()
	if s.known.Load() == nil && c.Bundle != nil {
		if err := s.take(c.Bundle, "", FromBundle, time.Time{}); err != nil {
			s.failed(fmt.Errorf("remote: Config.Bundle: %w", err))
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop, s.over = stop, ctx.Done()
	s.done.Go(func() { s.run(ctx) })
	s.done.Go(s.saveCopies)
	s.done.Go(func() { s.tell(ctx) })
	return s, nil
}

// take puts definitions into use, unless they are those that are. After an error
// all is as before.
func (s *Source) take(text []byte, version string, from Origin, at time.Time) error {
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
	d, err := flags.ParseDefinitions(text)
	if err != nil {
		return err
	}
	if len(d.Flags) == 0 && !listsFlags(text) {
		return errors.New("the answer has no list of flags: it is no definitions")
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

// listsFlags tells a project without flags from an answer that says nothing of flags.
func listsFlags(text []byte) bool {
	var list struct{ Flags, Projects json.RawMessage }
	return json.Unmarshal(text, &list) == nil && (list.Projects != nil || list.Flags != nil && string(list.Flags) != "null")
}

// Set is the project's flags as they are known now, nil while nothing is.
func (s *Source) Set() *flags.Set {
	if k := s.known.Load(); k != nil {
		return k.set
	}
	return nil
}

// WaitForReady waits until there are definitions, or the context ends. Its error
// has the context's cause and why the last attempt failed.
func (s *Source) WaitForReady(ctx context.Context) error {
	if s.known.Load() != nil {
		return nil
	}
	select {
	case <-s.ready:
		return nil
	case <-s.over:
		return errClosed
	case <-ctx.Done():
		if err := s.Status().LastError; err != nil {
			return fmt.Errorf("remote: no definitions yet: %w; the last attempt: %w", context.Cause(ctx), err)
		}
		return fmt.Errorf("remote: no definitions yet: %w", context.Cause(ctx))
	}
}

// ProjectByKey implements flags.Source. The Revision counts the changes that this
// process has seen. While nothing is known it fails with flags.ErrUnavailable.
func (s *Source) ProjectByKey(_ context.Context, apiKey string) (flags.Project, error) {
	if apiKey != s.c.ProjectKey {
		return flags.Project{}, flags.ErrUnknownKey
	}
	k := s.known.Load()
	if k == nil {
		return flags.Project{}, errors.Join(flags.ErrUnavailable, s.Status().LastError)
	}
	return k.project, nil
}

// Definitions implements flags.Source: those that are known now. They are shared
// and must not be changed.
func (s *Source) Definitions(_ context.Context, p flags.Project) (flags.Definitions, error) {
	k := s.known.Load()
	switch {
	case p.APIKey != s.c.ProjectKey:
		return flags.Definitions{}, flags.ErrUnknownKey
	case k == nil:
		return flags.Definitions{}, errors.Join(flags.ErrUnavailable, s.Status().LastError)
	}
	return k.defs, nil
}

// Close ends requests and streams, lets a copy that is being written be written, and waits for
// the Source's goroutines; what was known stays readable. It may be called again,
// and not from a function of OnChange.
func (s *Source) Close() error {
	s.stop()
	s.done.Wait()
	if s.ours {
		s.client.CloseIdleConnections()
	}
	return nil
}
