package sdk

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/streams"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/flags/wire"
)

// This file serves the event stream of OFREP (ADR 8 of the protocol), for clients that cache all
// flags: GET /ofrep/v1/events. The project's public key is in a header or in the parameter token,
// since a browser's EventSource cannot send headers. An event reports that the definitions have
// changed, not what has changed; the client then requests its flags. Event streams do not count
// against the quota.
//
//	retry: 1730                    the delay before reconnecting, in ms
//
//	id: 5f3c0a8e9d1b2c47           the current version; without data it is not an event
//
//	id: 6a4d1b9f0e2c3d58           after each change
//	event: message
//	data: {"type":"refetchEvaluation","etag":"6a4d1b9f0e2c3d58"}
//
//	:                              keep-alive: no change
//
// A client that reconnects with the id of another version in Last-Event-ID receives the event at
// once. So does a client without an id within seconds of a change, because its flags may be older
// than the change.

const (
	// recentChange is how long a change counts as recent. It is longer than the time between a
	// response with flags, which may be a second old, and the stream that the client opens after
	// it.
	recentChange = 5 * time.Second
	// renewalDelay is how long a request that needs newer definitions waits for others before the
	// definitions are read. It limits these reads to 20 a second per project.
	renewalDelay = 50 * time.Millisecond
	// maxPrefix is the maximum length in bytes of a path prefix in the stream's address.
	maxPrefix = 256
)

func (s *Service) getOFREPEvents(w http.ResponseWriter, r *http.Request) error {
	token := ofrepKey(r)
	if token == "" {
		token = parseQuery(r.URL.RawQuery).Token
	}
	if token == "" {
		return problemOFREPNoKey.With("Event streams also accept it in the parameter token.", "")
	}
	address := s.ClientIP(r)
	if s.limits.Enabled && !s.limits.IP.Allow(w, address.String()) {
		return &problemRateLimited
	}
	if s.Partial { // this process does not receive changes
		return &problem.Unavailable
	}
	project, _, err := s.Decider.Project(r.Context(), token)
	if err != nil {
		if errors.Is(err, flags.ErrUnknownKey) && frame.UsageKey(token) != frame.PublicKey {
			return &problemOFREPSecretKey
		}
		return err
	}
	project.APIKey = strings.Clone(token) // token may refer to the request's buffers, which are reused
	_, version, err := s.Decider.Payload(r.Context(), project.APIKey)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		return streams.HeadStream(w)
	}
	st, err := s.streams.Join(&project, streams.ChangesStream, nil, version, streams.Client{Address: admission.Network(address)})
	if err != nil {
		return err
	}
	if err := st.Arrive(version); err != nil {
		return err
	}
	st.Sent = strings.Clone(r.Header.Get("Last-Event-ID"))
	if st.Sent == "" && time.Since(st.State.Since) >= recentChange {
		st.Sent = st.State.Version
	}
	return st.Start(w, r)
}

// streamHint is the part of a response with the address of the project's event stream. The zero
// value appends no address.
type streamHint struct{ prefix, token string }

// hint returns the streamHint of a response. It must be the same for all clients of a project, as
// it is part of the ETag of the response. It is zero while slots are lacking, if clients cannot
// reach the stream, and if the path prefix is unknown.
func (s *Service) hint(r *http.Request) streamHint {
	if s.Partial {
		return streamHint{}
	}
	prefix, ok := outerPrefix(r)
	if !ok {
		return streamHint{}
	}
	if !s.streams.MayHint(r) {
		return streamHint{}
	}
	return streamHint{prefix, ofrepKey(r)}
}

// outerPrefix returns the path prefix of this API as the client sees it: the X-Forwarded-Prefix
// of a proxy, followed by the part of the request target that an outer router has stripped. It
// returns false if the prefix cannot be determined.
func outerPrefix(r *http.Request) (string, bool) {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	prefix, ok := strings.CutSuffix(strings.TrimSuffix(frame.OneSlash(path), "/"), ofrepBulk)
	ok = ok && (prefix == "" || !strings.HasPrefix(path, "//"))
	if cut := r.Header["X-Forwarded-Prefix"]; len(cut) > 0 {
		prefix = strings.TrimSuffix(cut[0], "/") + prefix
	}
	if prefix == "" {
		return "", ok
	}
	// A prefix with two slashes, or with characters that browsers treat as slashes, would name
	// another host.
	ok = ok && prefix[0] == '/' && len(prefix) > 1 && len(prefix) <= maxPrefix && prefix[1] != '/' && !strings.ContainsAny(prefix, "\\?#, \t\r\n")
	return prefix, ok
}

// append appends the member eventStreams. It must follow another member.
func (h streamHint) append(b []byte) []byte {
	if h.token == "" {
		return b
	}
	b = append(b, `,"eventStreams":[{"type":"sse","endpoint":{"requestUri":`...)
	b = wire.AppendQuoted(b, h.prefix+ofrepEvents+"?token="+url.QueryEscape(h.token))
	return append(b, `},"inactivityDelaySec":120}]`...)
}

// catchUp reads a project's definitions again if the client has seen a version, possibly of
// another server, that differs from the version here. It reads them up to twice, because a read
// that is already in progress may have started before the change.
func (s *Service) catchUp(r *http.Request, token string) {
	query, _ := url.ParseQuery(r.URL.RawQuery) // malformed parts are ignored
	clientVersion := query.Get(versionParameter)
	for range 2 {
		project, _, err := s.Decider.Project(r.Context(), token)
		if clientVersion == "" || err != nil {
			return
		}
		if _, version, err := s.Decider.Payload(r.Context(), token); err != nil || version == clientVersion {
			return
		}
		s.renewals.wait(r.Context(), s.Decider, project.ID, token)
	}
}

// renewals let requests wait until the definitions of a project have been read again. As any
// client may cause such reads, concurrent requests share one.
type renewals struct {
	mu      sync.Mutex
	pending map[int64]chan struct{} // by project; closed after the read
}

// wait returns when the definitions have been read. Other requests of the project end their wait
// early if their context ends; the one that reads does not.
func (n *renewals) wait(ctx context.Context, d *serving.Decider, projectID int64, apiKey string) {
	n.mu.Lock()
	done, isPending := n.pending[projectID]
	if !isPending {
		done = make(chan struct{})
		if n.pending == nil {
			n.pending = map[int64]chan struct{}{}
		}
		n.pending[projectID] = done
	}
	n.mu.Unlock()
	if isPending {
		select {
		case <-done:
		case <-ctx.Done():
		}
		return
	}
	defer close(done)
	time.Sleep(renewalDelay)
	n.mu.Lock()
	delete(n.pending, projectID)
	n.mu.Unlock()
	d.Renew(projectID)
	_, _, _ = d.Project(context.WithoutCancel(ctx), apiKey) // this fills the cache; the caller's own evaluation reports errors
}
