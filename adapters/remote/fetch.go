package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/bunting-flags/bunting/adapters/remote/lastgood"
)

const (
	// definitionsPath is relative to Config.URL.
	definitionsPath = "/flags/definitions"
	// maxRetryAfter limits the wait that a server may request.
	maxRetryAfter = time.Hour
	// maxDetail is the maximum number of bytes read from the body of an error response.
	maxDetail = 4 << 10
)

// failure is a failed attempt.
type failure struct {
	err error
	// answered is true if the server sent a response. Otherwise the source probes for it.
	answered bool
	// after is the minimum time to wait, or zero.
	after time.Duration
}

// noAnswer returns the failure for a request that got no response.
func noAnswer(request string, err error) *failure {
	var inURL *url.Error
	if errors.As(err, &inURL) { // url.Error repeats the whole address
		err = inURL.Err
	}
	return &failure{err: fmt.Errorf("remote: %s: no answer: %w", request, err)}
}

// request returns a GET request for a path below definitionsPath, with the project and the key.
func (s *source) request(ctx context.Context, path string) (*http.Request, error) {
	query := "?token=" + url.QueryEscape(s.c.ProjectKey) + "&send_cohorts&static_cohorts=members"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.c.URL+definitionsPath+path+query, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+s.c.Key)
	r.Header.Set("User-Agent", library+"/"+libraryVersion)
	return r, nil
}

// poll requests the definitions once.
func (s *source) poll(ctx context.Context) *failure {
	ctx, cancel := context.WithTimeout(ctx, s.c.Timeout)
	defer cancel()
	const what = "GET " + definitionsPath
	r, err := s.request(ctx, "")
	if err != nil {
		return noAnswer(what, err)
	}
	r.Header.Set("Accept", "application/json")
	old := s.current.Load()
	if old != nil && old.version != "" {
		r.Header.Set("If-None-Match", `W/"`+old.version+`"`)
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return noAnswer(what, err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode == http.StatusNotModified && old != nil:
		return nil
	case resp.StatusCode != http.StatusOK:
		return s.statusFailure(what, resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, lastgood.MaxSize+1))
	switch {
	case err != nil:
		err = fmt.Errorf("the definitions are cut: %w", err)
	case len(body) > lastgood.MaxSize:
		err = fmt.Errorf("the definitions are longer than %d MiB", lastgood.MaxSize>>20)
	default:
		err = s.renew(body, cleanVersion(resp.Header.Get("ETag")), FromPoll)
	}
	if err != nil {
		return &failure{err: fmt.Errorf("remote: %s: %w", what, err), answered: true}
	}
	return nil
}

// renew applies definitions that the server sent, and saves a copy if they are new.
func (s *source) renew(text []byte, version string, from Origin) error {
	before, now := s.current.Load(), s.c.Now()
	if err := s.apply(text, version, from, now); err != nil {
		return err
	}
	if s.current.Load() != before {
		s.save(savedCopy{text, copyHead{version, now}})
	}
	return nil
}

// statusFailure returns the failure for a response without definitions, with the server's error
// detail if it has one.
func (s *source) statusFailure(request string, resp *http.Response) *failure {
	f := &failure{answered: true, after: min(retryAfterOf(resp.Header, s.c.Now()), maxRetryAfter)}
	var problem struct{ Detail string }
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxDetail))
	_ = json.Unmarshal(body, &problem)
	advice := ""
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		advice = " (check Config.ProjectKey, and that Config.Key may read its definitions)"
	case http.StatusNotFound:
		advice = " (check Config.URL)"
	}
	if to := redirectTarget(resp); to != "" {
		advice = " to " + to + " (not followed with the key: set Config.URL to where the server is)"
	}
	f.err = fmt.Errorf("remote: %s: %w%s", request, &StatusError{Status: resp.StatusCode, Text: problem.Detail}, advice)
	return f
}

// isAnswering reports whether the server responds with a status below 500 to a HEAD request without
// a key.
func (s *source) isAnswering(ctx context.Context) bool {
	if s.ownsClient {
		s.client.CloseIdleConnections() // they may lead to a server that no longer runs
	}
	ctx, cancel := context.WithTimeout(ctx, s.c.knobs.probeLimit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, s.c.URL+definitionsPath, nil)
	if err != nil {
		return false
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode < http.StatusInternalServerError
}
