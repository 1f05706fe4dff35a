package remote

import (
	"context"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// allRuntimes selects the flags of every runtime.
var allRuntimes = flags.Selection{Runtime: "all"}

// Decide evaluates one flag for a subject, regardless of the flag's runtime and contexts. found is
// false if the project has no such flag or the flag is not active. If the flag cannot be decided
// locally, d.Undecided is set. Decide sends no exposure and calls no hooks.
//
// With Config.AskServer, undecided flags are requested from the server. If that fails, err wraps
// the server's error and the *flags.Undecided. Without it, the only errors are flags.ErrNotReady,
// flags.ErrClosed and flags.ErrNoDistinctID, which is also the error for a nil subject.
func (c *Client) Decide(ctx context.Context, key string, sub *flags.Subject) (d flags.Decision, found bool, err error) {
	if !c.isInitialized() {
		return d, false, errNotReady
	}
	var r result
	c.resolve(ctx, key, sub, nil, &r)
	return r.d, r.found, r.err
}

// isAskable reports whether the server may be able to decide a flag that is undecided locally.
// Properties without a JSON form cannot be sent to it.
func isAskable(d *flags.Decision) bool { return d.Undecided != nil && d.Undecided.Problem == "" }

// resolve evaluates one flag into r and requests it from the server if that is configured and
// necessary. If v is not nil, it uses the definitions, the time and the response of v.
func (c *Client) resolve(ctx context.Context, key string, sub *flags.Subject, v *view, r *result) {
	if r.err = c.checkSubject(sub); r.err != nil {
		return
	}
	set, at := c.setAndTime(v)
	if set != nil {
		sc := c.scratches.Get().(*scratch)
		r.d, r.found = set.EvaluateFlag(key, c.partial(sub, sc), at, &sc.decisions)
		c.scratches.Put(sc)
		if !r.found {
			absent, _ := set.AbsentDecision(key, &allRuntimes)
			r.d.Reason = absent.Reason
		}
		// The server would not return inactive and cyclic flags either.
		if r.found && !isAskable(&r.d) || !c.config.AskServer || r.d.Reason.Code != flags.NoReason {
			return
		}
	} else if !c.config.AskServer {
		r.err = errNotReady
		return
	}
	var answer *Answer
	var err error
	if v != nil {
		answer, err = v.ask(ctx)
	} else {
		answer, err = c.ask(ctx, sub, []string{key})
	}
	if err != nil {
		if r.err = err; r.d.Undecided != nil {
			r.err = fmt.Errorf("%w; %w", r.d.Undecided, err)
		}
		return
	}
	before := *r
	*r = result{from: answer}
	for i := range answer.Decisions {
		if answer.Decisions[i].Key == key {
			r.d, r.found = answer.Decisions[i], true
			if before.found {
				r.d.Kind = before.d.Kind
			}
		}
	}
}

// setAndTime returns the flags and the time to evaluate with.
func (c *Client) setAndTime(v *view) (*flags.Set, time.Time) {
	if v != nil {
		return v.set, v.at
	}
	set := c.set()
	return set, c.decisionTime(set)
}

// DecideAll evaluates all flags for a subject into out and reuses its memory. Flags that cannot be
// decided locally are in out.List with Undecided set. With Config.AskServer, they are requested
// from the server in one request, and err is the error of that request. DecideAll sends no
// exposures.
func (c *Client) DecideAll(ctx context.Context, sub *flags.Subject, out *flags.Decisions) error {
	if out == nil {
		out = new(flags.Decisions)
	}
	out.List, out.Errors = out.List[:0], false
	if err := c.checkSubject(sub); err != nil {
		return err
	}
	set := c.set()
	if set == nil {
		if !c.config.AskServer {
			return errNotReady
		}
		answer, err := c.ask(ctx, sub, nil)
		if err == nil {
			out.List, out.Errors = append(out.List, answer.Decisions...), answer.Errors
		}
		return err
	}
	sc := c.scratches.Get().(*scratch)
	set.Evaluate(c.partial(sub, sc), c.decisionTime(set), out)
	c.scratches.Put(sc)
	if !c.config.AskServer {
		return nil
	}
	keys := undecidedKeys(out)
	if keys == nil {
		return nil
	}
	answer, err := c.ask(ctx, sub, keys)
	if err == nil {
		mergeAnswer(out, answer)
	}
	return err
}

// undecidedKeys returns the keys of the flags that the server may be able to decide.
func undecidedKeys(out *flags.Decisions) (keys []string) {
	for i := range out.List {
		if isAskable(&out.List[i]) {
			keys = append(keys, out.List[i].Key)
		}
	}
	return keys
}

// mergeAnswer replaces the undecided flags of out with the flags in the response.
func mergeAnswer(out *flags.Decisions, answer *Answer) {
	out.Errors = out.Errors || answer.Errors
	for i := range answer.Decisions {
		if d := out.Find(answer.Decisions[i].Key); d != nil && isAskable(d) {
			kind := d.Kind
			*d = answer.Decisions[i]
			d.Kind = kind
		}
	}
}
