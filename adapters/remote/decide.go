package remote

import (
	"context"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// allRuntimes selects flags of any runtime.
var allRuntimes = flags.Selection{Runtime: "all"}

// Decide decides one flag for a subject, whatever runtime and contexts it is for.
// found is false where the project has no such flag or it is not active. An answer
// that cannot be known here has Undecided set. It sends no exposure, and no hook is
// called. With AskServer
// what is not known is asked, and err says why that failed, and is the *flags.Undecided
// too; without, the only errors are flags.ErrNotReady, flags.ErrClosed and
// flags.ErrNoDistinctID, also for no subject.
func (c *Client) Decide(ctx context.Context, key string, sub *flags.Subject) (d flags.Decision, found bool, err error) {
	if !c.isInitialized() {
		return d, false, errNotReady
	}
	var r result
	c.resolve(ctx, key, sub, nil, &r)
	return r.d, r.found, r.err
}

// isAskable: the server may know what is not known here. It cannot be told of a value
// that has no form in JSON.
func isAskable(d *flags.Decision) bool { return d.Undecided != nil && d.Undecided.Problem == "" }

// resolve decides one flag into r, and asks the server where that is wanted and
// needed; with a view by what that has.
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
			r.d.Reason = absenceReason(set, key)
		}
		// The server would not answer the inactive and the cyclic either.
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

// setAndTime are the flags and the instant to decide by.
func (c *Client) setAndTime(v *view) (*flags.Set, time.Time) {
	if v != nil {
		return v.set, v.at
	}
	set := c.set()
	return set, c.decisionTime(set)
}

// absenceReason says why a flag has no answer that there is.
func absenceReason(set *flags.Set, key string) flags.Reason {
	why := flags.Reason{Condition: flags.NoCondition}
	switch {
	case set.IsDisabled(key, &allRuntimes):
		why.Code = flags.FlagDisabled
	case set.IsUnanswered(key, &allRuntimes):
		why.Code = flags.FlagCycle
	}
	return why
}

// DecideAll decides all flags for a subject into out, whose memory is used again.
// Those that cannot be known here are named in out.List, with Undecided set; with
// AskServer they are asked, all at once, and err says why that failed. It sends no
// exposure.
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

// undecidedKeys are the flags that the server may know.
func undecidedKeys(out *flags.Decisions) (keys []string) {
	for i := range out.List {
		if isAskable(&out.List[i]) {
			keys = append(keys, out.List[i].Key)
		}
	}
	return keys
}

// mergeAnswer takes what is not decided from an answer.
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
