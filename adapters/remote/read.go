package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/bunting-flags/bunting/flags"
)

// The reads below are of values: they never fail, but give the fallback where there
// is no decision or the flag has no value of the type asked for, and they send an
// exposure ($feature_flag_called), once for each distinct id, flag, value and groups.
// Each has a twin that says why.

// Detail says how a value was come by.
type Detail struct {
	// Decision is the flag's, the zero value when it is unknown.
	flags.Decision
	// Asked says that the server has decided.
	Asked bool
	// Err is why the fallback is returned: ErrNotReady, ErrUnknownFlag, ErrFailed,
	// ErrNoValue, flags.ErrNoDistinctID, a *flags.Undecided, or what went wrong when the server was asked.
	// Nil: the value is the flag's.
	Err error
}

// ErrNoValue says that the flag is decided, and has no value of the type asked for.
var ErrNoValue = errors.New("remote: the flag's answer has no value of this type")

// Bool is whether a flag is on. A variant is on.
func (c *Client) Bool(ctx context.Context, key string, sub *flags.Subject, fallback bool) bool {
	v, _ := read(ctx, c, key, sub, fallback, pickBool)
	return v
}

// BoolDetail is Bool and how it was come by.
func (c *Client) BoolDetail(ctx context.Context, key string, sub *flags.Subject, fallback bool) (bool, Detail) {
	return read(ctx, c, key, sub, fallback, pickBool)
}

// String is the key of a flag's variant. A flag that is off, or on without a variant,
// has none.
func (c *Client) String(ctx context.Context, key string, sub *flags.Subject, fallback string) string {
	v, _ := read(ctx, c, key, sub, fallback, pickString)
	return v
}

// StringDetail is String and how it was come by.
func (c *Client) StringDetail(ctx context.Context, key string, sub *flags.Subject, fallback string) (string, Detail) {
	return read(ctx, c, key, sub, fallback, pickString)
}

// Number is a flag's payload when that is a number, or a text that is one, and
// where there is no payload its variant when its key is a number.
func (c *Client) Number(ctx context.Context, key string, sub *flags.Subject, fallback float64) float64 {
	v, _ := read(ctx, c, key, sub, fallback, pickNumber)
	return v
}

// NumberDetail is Number and how it was come by.
func (c *Client) NumberDetail(ctx context.Context, key string, sub *flags.Subject, fallback float64) (float64, Detail) {
	return read(ctx, c, key, sub, fallback, pickNumber)
}

// JSON is a flag's payload, decoded: into a type of the caller's as encoding/json
// does, or as it is into a json.RawMessage. Payloads are mostly stored as texts that
// contain JSON (§3.7): then that JSON is meant, and the text itself where T does not
// take it.
func JSON[T any](ctx context.Context, c *Client, key string, sub *flags.Subject, fallback T) T {
	v, _ := read(ctx, c, key, sub, fallback, pickJSON[T])
	return v
}

// JSONDetail is JSON and how it was come by.
func JSONDetail[T any](ctx context.Context, c *Client, key string, sub *flags.Subject, fallback T) (T, Detail) {
	return read(ctx, c, key, sub, fallback, pickJSON[T])
}

// DecideAndExpose is Decide for somebody who is shown the answer: it sends an exposure
// as the reads above do. Package ofprovider calls it.
func (c *Client) DecideAndExpose(ctx context.Context, key string, sub *flags.Subject) (d flags.Decision, found bool, err error) {
	r := c.hooked(ctx, key, sub)
	c.expose(key, sub, r, r.problem())
	return r.d, r.found, r.err
}

// read decides, tells of the exposure, and picks the value.
func read[T any](ctx context.Context, c *Client, key string, sub *flags.Subject, fallback T, pick func(flags.Decision) (T, bool)) (T, Detail) {
	var local result
	r := &local
	if len(c.config.Hooks) == 0 {
		c.resolve(ctx, key, sub, r)
	} else {
		r = c.hooked(ctx, key, sub)
	}
	detail := Detail{Decision: r.d, Asked: r.from != nil, Err: r.problem()}
	c.expose(key, sub, r, detail.Err)
	if detail.Err != nil {
		return fallback, detail
	}
	v, ok := pick(r.d)
	if !ok {
		detail.Err = ErrNoValue
		return fallback, detail
	}
	return v, detail
}

func pickBool(d flags.Decision) (bool, bool) { return d.Enabled, true }

func pickString(d flags.Decision) (string, bool) { return d.Variant, d.Variant != "" }

func pickNumber(d flags.Decision) (float64, bool) {
	text := d.Variant
	if d.Payload != nil {
		text = string(bytes.Trim(d.PayloadJSON(), `"`))
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && json.Valid([]byte(text)) // no hexadecimal, Inf or NaN
}

func pickJSON[T any](d flags.Decision) (v T, ok bool) {
	if d.Payload == nil {
		return v, false
	}
	if json.Unmarshal(d.PayloadJSON(), &v) == nil {
		return v, true
	}
	var whole T // of the attempt above nothing is kept
	err := json.Unmarshal(d.Payload, &whole)
	return whole, err == nil
}
