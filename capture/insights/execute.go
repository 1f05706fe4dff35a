package insights

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

// maxQueryBytes is the most bytes of a query's JSON (§1.3).
const maxQueryBytes = 256 << 10

// Parse reads a query. The error is an [*Error], or that of [Project.Experiment] or of
// [Project.Issues].
func Parse(query json.RawMessage, p *Project) (*Query, error) {
	if len(query) > maxQueryBytes {
		return nil, newError(tooLarge, "query", "A query may have %d bytes.", maxQueryBytes)
	}
	n, fault := decodeQuery(query, "query")
	if text, ok := n.value.(string); ok { // a JSON text of such an object
		n.value = wire.Value([]byte(text))
	}
	if n.isAbsent() {
		return nil, newError(required, "query", "This field is required.")
	}
	if _, ok := n.value.(map[string]any); !ok {
		return nil, newError(invalidInput, "query", "Expected an object, not %s.", describe(n.value))
	}
	n = unwrap(n)
	name := n.get("kind").text("")
	if *fault == nil && name == "" {
		n.fail(invalidInput, `A query needs a "kind".`)
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		n.get("kind").fail(invalidInput, "Query kind %q is not supported. Supported are: %s.", wire.Shorten(name, 100), strings.Join(Kinds(), ", "))
	}
	if *fault != nil {
		return nil, *fault
	}
	q := &Query{Kind: name, Source: n.raw(), project: p, plan: kinds[i].parse(n, p)}
	if inner, ok := q.plan.(experimentPlan); ok {
		var err error
		if q.Experiment, err = inner.experiment(); err != nil {
			return nil, err
		}
	}
	if inner, ok := q.plan.(*issuesQuery); ok {
		if q.Issues = inner.issues; inner.err != nil {
			return nil, inner.err
		}
	}
	q.mode = n.get("modifiers").object().get("personsOnEventsMode").choice("", modeOverrideOnEvents, modeOverrideJoined, modeDisabled, modeNoOverride)
	if fault := n.tracker.findMisspelled(); fault != nil {
		return nil, fault
	}
	if *fault != nil {
		return nil, *fault
	}
	q.Ignored = n.tracker.listIgnored()
	return q, nil
}

// wrappers are kinds that only say how their source is shown (§1.3).
var wrappers = []string{"InsightVizNode", "DataTableNode", "DataVisualizationNode"}

func unwrap(n node) node {
	for range 10 {
		kind, _ := n.get("kind").value.(string)
		if !slices.Contains(wrappers, kind) {
			break
		}
		attr := n.attr
		if n.get("source").isAbsent() {
			n.get("source").fail(required, "This field is required.")
			return n
		}
		n = n.get("source").object()
		n.attr = attr // places are those of the query that runs
	}
	return n
}

// Run answers the query. The error is an [*Error], that of the context, or one of
// the source.
func (q *Query) Run(ctx context.Context, s Source, o Options) (result *Result, err error) {
	reader, err := s.Open(ctx, q.project.ID)
	if err != nil {
		return nil, err
	}
	r := newRun(ctx, reader, q.project, o)
	r.mode = cmp.Or(q.mode, q.project.PersonMode, modeOverrideOnEvents)
	defer func() { // also when the plan panics
		if err = errors.Join(err, reader.Close()); err != nil {
			result, err = nil, r.explain(err)
		}
	}()
	if result, err = q.plan.run(r); err == nil {
		result.Read, err = r.read, r.fault
	}
	return result, err
}

// run is one run of a query.
type run struct {
	ctx          context.Context
	reader       Reader
	project      *Project
	zone         *time.Location
	now          time.Time
	limits       Limits
	reserved     int64 // bytes of memory
	retained     int64 // those of them that are held until the query ends, see scoped
	read         int64 // events
	progress     func(int64)
	mode         string // modifiers.personsOnEventsMode
	eventPersons personNumbers
	fault        error // of an expression; it ends the scan with the batch
	wantIDs      bool  // of the events behind a crowd, see member
}

func newRun(ctx context.Context, reader Reader, p *Project, o Options) *run {
	r := &run{ctx: ctx, reader: reader, project: p, zone: p.Location, now: o.Now, limits: o.Limits, progress: o.Progress}
	if r.zone == nil {
		r.zone = time.UTC
	}
	if r.limits.Memory <= 0 {
		r.limits.Memory = 256 << 20
	}
	if r.limits.Rows <= 0 {
		r.limits.Rows = 50_000
	}
	return r
}

// reserve counts memory that the query holds from now on; negative gives back.
func (r *run) reserve(bytes int64) error {
	r.reserved += bytes
	if r.reserved > r.limits.Memory {
		return newError(tooLarge, "", "The query needs more than %d MiB of memory: ask for a shorter time, a narrower filter or fewer breakdown values.", r.limits.Memory>>20)
	}
	return nil
}

// reserveRetained is reserve for what is held until the query ends.
func (r *run) reserveRetained(bytes int64) error {
	r.retained += bytes
	return r.reserve(bytes)
}

// releaseAfter runs work, which holds nothing afterwards but what lasts: the rest of what it has
// reserved is given back.
func (r *run) releaseAfter(work func() error) error {
	before := r.reserved - r.retained
	err := work()
	r.reserved = before + r.retained
	return err
}

// scan reads events and gives each batch to see. The query's bounds hold.
func (r *run) scan(s Scan, yield func(*Batch) error) error {
	if s.From > s.To {
		return nil
	}
	s.Reserve = func(bytes int64) error { // the reader gives back what it holds no longer
		err := r.reserveRetained(bytes)
		if err != nil && bytes > 0 { // it does not take what it may not
			r.retained, r.reserved = r.retained-bytes, r.reserved-bytes
		}
		return err
	}
	return r.reader.Scan(r.ctx, s, func(b *Batch) error {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		r.read += int64(b.Len())
		if r.progress != nil {
			r.progress(r.read)
		}
		if err := yield(b); err != nil {
			return err
		}
		if r.fault != nil {
			return r.fault
		}
		return r.reserve(0) // what was counted and not looked at
	})
}

// explain makes an error of the context the only one.
func (r *run) explain(err error) error {
	if e := r.ctx.Err(); e != nil {
		return fmt.Errorf("insights: %w", context.Cause(r.ctx))
	}
	return err
}
