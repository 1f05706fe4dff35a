package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// maxAnswer is the maximum size of a response, in bytes.
const maxAnswer = 16 << 20

// StatusError is the error for a response with an unexpected status, to a request for flags, for
// definitions or with events.
type StatusError struct {
	Status int
	Text   string // the start of the response body; for definitions, the server's error detail if it has one
}

func (e *StatusError) Error() string {
	message := fmt.Sprintf("the server answers %d %s", e.Status, http.StatusText(e.Status))
	if text := strings.TrimSpace(e.Text); text != "" {
		message += ": " + text
	}
	return message
}

// Answer is the server's response to a request for flags.
type Answer struct {
	// Decisions are sorted by key. Reasons have a code and a condition. A code that this version
	// does not support becomes NoReason.
	Decisions []flags.Decision
	// Errors is errorsWhileComputingFlags: flags may be missing because of a server error.
	Errors bool
	// RequestID and EvaluatedAt are empty and zero if the server does not send them.
	RequestID   string
	EvaluatedAt time.Time

	minimal map[string]bool // reports by key whether the exposure uses the minimal properties (§10.3)
}

// AskAll requests all flags of a subject from the server, whether or not Config.AskServer is set.
// The request includes only the properties in sub; the server uses its own stored properties. With
// Config.Offline it fails with flags.ErrUnavailable.
func (c *Client) AskAll(ctx context.Context, sub *flags.Subject) (*Answer, error) {
	if err := c.checkSubject(sub); err != nil {
		return nil, err
	}
	if c.config.Offline {
		return nil, fmt.Errorf("remote: no request is sent, because of Config.Offline: %w", flags.ErrUnavailable)
	}
	return c.ask(ctx, sub, nil)
}

// flagsRequest is the body of POST /flags (§9.4).
type flagsRequest struct {
	APIKey           string                      `json:"api_key"`
	DistinctID       string                      `json:"distinct_id"`
	AnonymousID      string                      `json:"$anon_distinct_id,omitempty"`
	DeviceID         string                      `json:"$device_id,omitempty"`
	Groups           map[string]string           `json:"groups"` // {} if there are no groups
	PersonProperties flags.Properties            `json:"person_properties,omitempty"`
	GroupProperties  map[string]flags.Properties `json:"group_properties"` // {} if there are no groups
	Keys             []string                    `json:"flag_keys_to_evaluate,omitempty"`
	GeoIPDisable     bool                        `json:"geoip_disable"`
	// Runtime is "all", so that the server returns flags of every runtime, as local evaluation
	// does.
	Runtime string `json:"evaluation_runtime"`
}

// ask requests the flags with the given keys from the server, or all flags if keys is nil.
func (c *Client) ask(ctx context.Context, sub *flags.Subject, keys []string) (*Answer, error) {
	q := flagsRequest{
		APIKey: c.config.ProjectKey, DistinctID: sub.DistinctID, AnonymousID: sub.AnonymousID, DeviceID: sub.DeviceID,
		Groups: sub.Groups, PersonProperties: sub.Person, GroupProperties: maps.Clone(sub.GroupProperties), Keys: keys,
		GeoIPDisable: !c.config.GeoIP, Runtime: "all",
	}
	if q.Groups == nil {
		q.Groups = map[string]string{}
	}
	if q.GroupProperties == nil {
		q.GroupProperties = map[string]flags.Properties{}
	}
	maps.DeleteFunc(q.GroupProperties, func(_ string, p flags.Properties) bool { return p == nil })
	if len(sub.Located) > 0 && !sub.LocatedByPeer { // Located properties come first, and the subject's own properties override them (§8.3).
		q.PersonProperties = maps.Clone(sub.Located)
		for name, value := range sub.Person {
			if _, located := sub.Located[name]; value != nil || !located {
				q.PersonProperties[name] = value
			}
		}
	}
	body, err := json.Marshal(q)
	if err != nil {
		return nil, encodingError(sub, err)
	}
	ctx, cancel := context.WithTimeout(wire.Context(ctx), c.config.AskTimeout)
	defer cancel()
	raw, err := c.postRetrying(ctx, body)
	if err != nil {
		return nil, fmt.Errorf("remote: requesting flags: %w", err)
	}
	return parseAnswer(raw)
}

// askWait is the maximum wait before the first retry of a request for flags.
const askWait = 100 * time.Millisecond

// postRetrying sends a request for flags and retries it after a lostError, at most
// Config.AskRetries times.
func (c *Client) postRetrying(ctx context.Context, body []byte) ([]byte, error) {
	for again := 0; ; again++ {
		raw, err := c.postOnce(ctx, body)
		var lost *lostError
		if !errors.As(err, &lost) || again >= c.config.AskRetries || !pause(ctx, max(lost.after, jitter(askWait<<min(again, 8)))) {
			return raw, err
		}
	}
}

// pause waits. It returns false if the context has ended or will end before the wait is over.
func pause(ctx context.Context, wait time.Duration) bool {
	if end, has := ctx.Deadline(); has && time.Until(end) <= wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// jitter returns wait shortened by a random amount of up to a quarter, so that many clients do not
// retry at the same time.
func jitter(wait time.Duration) time.Duration { return wait - rand.N(wait/4+1) }

// lostError is a failure that a retry may resolve.
type lostError struct {
	error
	after time.Duration // the server's Retry-After, or zero
}

func (e *lostError) Unwrap() error { return e.error }

// gatewayStatus has the statuses that proxies send while the server behind them is unavailable for
// a short time.
var gatewayStatus = map[int]bool{http.StatusBadGateway: true, http.StatusServiceUnavailable: true, http.StatusGatewayTimeout: true}

// postOnce sends a request for flags once. The error is a lostError if a retry may help.
func (c *Client) postOnce(ctx context.Context, body []byte) ([]byte, error) {
	req, err := newRequest(ctx, c.config.URL+"/flags/?v=2", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(req)
	switch {
	case err != nil && res != nil: // a redirect that the client does not follow
		return nil, err
	case err != nil:
		return nil, &lostError{error: err}
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 512))
		err := error(&StatusError{Status: res.StatusCode, Text: string(text)})
		if gatewayStatus[res.StatusCode] {
			err = &lostError{err, retryAfterOf(res.Header, time.Now())}
		}
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, &lostError{error: err}
	case len(raw) > maxAnswer:
		return nil, fmt.Errorf("the server's answer is larger than %d MiB", maxAnswer>>20)
	}
	return raw, nil
}

// encodingError returns an error that names the first property with a value that cannot be encoded
// as JSON. It returns err, wrapped, if there is no such property.
func encodingError(sub *flags.Subject, err error) error {
	find := func(fact string, properties flags.Properties) *flags.Undecided {
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if _, err := json.Marshal(properties[name]); err != nil {
				return &flags.Undecided{Fact: fact, Name: name, Problem: strings.TrimPrefix(err.Error(), "json: ")}
			}
		}
		return nil
	}
	u := find("person property", sub.Person)
	for _, groupType := range slices.Sorted(maps.Keys(sub.GroupProperties)) {
		if u == nil {
			u = find("group property", sub.GroupProperties[groupType])
		}
	}
	if u != nil {
		err = u
	}
	return fmt.Errorf("remote: no response from the server: %w", err)
}
