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

// maxAnswer bounds an answer of the server, in bytes.
const maxAnswer = 16 << 20

// StatusError is an answer that is not the one hoped for: to a question, or for
// definitions.
type StatusError struct {
	Status int
	Text   string // how the answer begins; of one about definitions what is wrong, where it says so
}

func (e *StatusError) Error() string {
	message := fmt.Sprintf("the server answers %d %s", e.Status, http.StatusText(e.Status))
	if text := strings.TrimSpace(e.Text); text != "" {
		message += ": " + text
	}
	return message
}

// Answer is the server's.
type Answer struct {
	// Decisions are in the order of their keys. Reasons have a code and a condition;
	// codes that are not known here are NoReason.
	Decisions []flags.Decision
	// Errors is errorsWhileComputingFlags: what is missing may be missing by error.
	Errors bool
	// RequestID and EvaluatedAt are empty where the server does not tell.
	RequestID   string
	EvaluatedAt time.Time

	minimal map[string]bool // flags whose exposures are to be small (§10.3)
}

// AskAll asks the server for all flags of a subject, whether AskServer is set or not.
// Stored facts of the subject are not sent: the server has its own.
func (c *Client) AskAll(ctx context.Context, sub *flags.Subject) (*Answer, error) {
	if err := c.checkSubject(sub); err != nil {
		return nil, err
	}
	if c.config.Offline {
		return nil, fmt.Errorf("remote: the server is not asked, by Config.Offline: %w", flags.ErrUnavailable)
	}
	return c.ask(ctx, sub, nil)
}

// flagsRequest is the body of POST /flags (§9.4).
type flagsRequest struct {
	APIKey           string                      `json:"api_key"`
	DistinctID       string                      `json:"distinct_id"`
	AnonymousID      string                      `json:"$anon_distinct_id,omitempty"`
	DeviceID         string                      `json:"$device_id,omitempty"`
	Groups           map[string]string           `json:"groups"` // {} for none
	PersonProperties flags.Properties            `json:"person_properties,omitempty"`
	GroupProperties  map[string]flags.Properties `json:"group_properties"` // {} for none
	Keys             []string                    `json:"flag_keys_to_evaluate,omitempty"`
	GeoIPDisable     bool                        `json:"geoip_disable"`
	// Flags are wanted whatever runtime they are for, as when they are decided here.
	Runtime string `json:"evaluation_runtime"`
}

// ask asks for the flags of some keys, nil for all.
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
	if len(sub.Located) > 0 && !sub.LocatedByPeer { // as said, but for what the subject says itself (§8.3)
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
		return nil, fmt.Errorf("remote: asking for flags: %w", err)
	}
	return parseAnswer(raw)
}

// askWait is the most that the first repetition of a question waits.
const askWait = 100 * time.Millisecond

// postRetrying puts a question to the server, again where that may help (see Config.AskRetries).
func (c *Client) postRetrying(ctx context.Context, body []byte) ([]byte, error) {
	for again := 0; ; again++ {
		raw, err := c.postOnce(ctx, body)
		var lost *lostError
		if !errors.As(err, &lost) || again >= c.config.AskRetries || !pause(ctx, max(lost.after, jitter(askWait<<min(again, 8)))) {
			return raw, err
		}
	}
}

// pause waits; false when the context has ended or would before.
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

// jitter is a wait whose last quarter is left to chance, so that many clients do not come
// back at once.
func jitter(wait time.Duration) time.Duration { return wait - rand.N(wait/4+1) }

// lostError is a failure that may be over when the question is repeated.
type lostError struct {
	error
	after time.Duration // that the server asks for
}

func (e *lostError) Unwrap() error { return e.error }

// gatewayStatus are the answers of those between here and a server that is there again soon.
var gatewayStatus = map[int]bool{http.StatusBadGateway: true, http.StatusServiceUnavailable: true, http.StatusGatewayTimeout: true}

// postOnce puts a question once. The error is a lostError where a repetition may help.
func (c *Client) postOnce(ctx context.Context, body []byte) ([]byte, error) {
	req, err := newRequest(ctx, c.config.URL+"/flags/?v=2", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(req)
	switch {
	case err != nil && res != nil: // a redirect that is not followed
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

// encodingError names a property whose value has no form in JSON, for an err of writing.
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
	return fmt.Errorf("remote: the server cannot be asked: %w", err)
}
