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

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/flags/wire"
)

// maxQueryBytes is the maximum size of a query's JSON (§1.3).
const maxQueryBytes = 256 << 10

// Parse parses the JSON of a query. The query may be an object or a JSON string that contains one.
// An error is an [*Error] that describes the first fault of the query, or the error of
// [Project.Experiment] or [Project.Issues]. Parse retains p, which must not be modified while the
// query is in use.
func Parse(query json.RawMessage, p *Project) (*Query, error) {
	if len(query) > maxQueryBytes {
		return nil, newError(tooLarge, "query", "A query may have at most %d bytes.", maxQueryBytes)
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
	kind, ok := findKind(name)
	if !ok {
		n.get("kind").fail(invalidInput, "Query kind %q is not supported. Supported are: %s.", wire.Shorten(name, 100), strings.Join(Kinds(), ", "))
	}
	if *fault != nil {
		return nil, *fault
	}
	q := &Query{Kind: name, Source: n.raw(), project: p, plan: kind.parse(n, p)}
	var err error
	switch plan := q.plan.(type) {
	case experimentPlan:
		q.Experiment, err = plan.About()
	case issuesPlan:
		q.Issues, err = plan.About()
	}
	if err != nil {
		return nil, err
	}
	q.mode = n.get("modifiers").object().get("personsOnEventsMode").choice("", modeOverrideOnEvents, modeOverrideJoined, modeDisabled, modeNoOverride)
	// A misspelled member is reported before other faults, since it is often their cause.
	if fault := n.tracker.findMisspelled(); fault != nil {
		return nil, fault
	}
	if *fault != nil {
		return nil, *fault
	}
	q.Ignored = n.tracker.listIgnored()
	return q, nil
}

// experimentPlan is implemented by plans about an experiment. About returns the experiment, or the
// error of finding it.
type experimentPlan interface {
	About() (*experiments.Experiment, error)
}

// issuesPlan is implemented by plans about issues. About returns the issues, or the error of finding
// them.
type issuesPlan interface {
	About() ([]Issue, error)
}

var (
	_ experimentPlan = trial{}
	_ issuesPlan     = (*issuesQuery)(nil)
)

// wrappers are the kinds of queries that only define how their source is displayed (§1.3).
var wrappers = []string{"InsightVizNode", "DataTableNode", "DataVisualizationNode"}

// unwrap returns the query inside of up to ten wrappers.
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
		n.attr = attr // places in errors are relative to the inner query
	}
	return n
}

// Run runs the query on the events of a source and returns the result. An error is an [*Error], the
// cause of the canceled context, or an error of the source. Run may be called again, but not
// concurrently.
func (q *Query) Run(ctx context.Context, s Source, o Options) (result *Result, err error) {
	reader, err := s.Open(ctx, q.project.ID)
	if err != nil {
		return nil, err
	}
	r := newRun(ctx, reader, q.project, o)
	r.mode = cmp.Or(q.mode, q.project.PersonMode, modeOverrideOnEvents)
	// Close the reader even if the plan panics.
	defer func() {
		if err = errors.Join(err, reader.Close()); err != nil {
			result, err = nil, r.explain(err)
		}
	}()
	if result, err = q.plan.run(r); err == nil {
		result.Read, err = r.read, r.fault
	}
	return result, err
}

// run is the state of one run of a query. It is used by one goroutine.
type run struct {
	ctx     context.Context
	reader  Reader
	project *Project
	zone    *time.Location
	now     time.Time
	limits  Limits
	// reserved is the memory of the query in bytes, as far as it is counted.
	reserved int64
	// retained is the part of reserved that is in use until the query ends, see releaseAfter.
	retained int64
	// read is the number of events that were read.
	read     int64
	progress func(int64)
	// mode is modifiers.personsOnEventsMode.
	mode         string
	eventPersons personNumbers
	// fault is the error of an expression that failed for an event. It ends the scan after the
	// batch.
	fault error
	// wantIDs requests the ids of the events behind a set of actors, see member.
	wantIDs bool
}

// newRun returns a run with the defaults for the time zone and the limits.
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

// reserve adds bytes to the memory that the query uses; a negative number releases memory. It fails
// if the memory exceeds the limit. Sizes are estimates.
func (r *run) reserve(bytes int64) error {
	r.reserved += bytes
	if r.reserved > r.limits.Memory {
		return newError(tooLarge, "", "The query needs more than %d MiB of memory: choose a shorter period, a narrower filter or fewer breakdown values.", r.limits.Memory>>20)
	}
	return nil
}

// reserveRetained is like reserve for memory that is in use until the query ends.
func (r *run) reserveRetained(bytes int64) error {
	r.retained += bytes
	return r.reserve(bytes)
}

// releaseAfter runs work and then releases the memory that work reserved, except for retained
// memory. After work, only its result may be in use.
func (r *run) releaseAfter(work func() error) error {
	before := r.reserved - r.retained
	err := work()
	r.reserved = before + r.retained
	return err
}

// scan reads events and calls yield for each batch. It counts events and memory, reports the
// progress, and checks the context between batches.
func (r *run) scan(s Scan, yield func(*Batch) error) error {
	if s.From > s.To {
		return nil
	}
	s.Reserve = func(bytes int64) error { // the reader releases memory that it no longer uses
		err := r.reserveRetained(bytes)
		if err != nil && bytes > 0 { // the reader does not allocate what was refused
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
		return r.reserve(0) // finds an exceeded limit that was not checked during the batch
	})
}

// explain returns the cause of the context's cancellation, if the context is canceled, instead of
// the errors that this caused; otherwise err.
func (r *run) explain(err error) error {
	if e := r.ctx.Err(); e != nil {
		return fmt.Errorf("insights: %w", context.Cause(r.ctx))
	}
	return err
}
