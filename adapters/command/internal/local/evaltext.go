package local

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/flags"
)

// evalResult is the result that eval prints.
type evalResult struct {
	project   *flags.FileProject
	set       *flags.Set
	subject   *flags.Subject
	at        time.Time
	selection flags.Selection

	decisions flags.Decisions
	list      []flags.Decision // the requested decisions, sorted by key
}

// decide fills in the decisions. It returns a line for each requested key that has no decision.
func (r *evalResult) decide(keys []string) (missing []string) {
	if len(keys) == 0 {
		r.selection.Keys = nil
	}
	r.set.Select(r.subject, r.at, &r.selection, &r.decisions)
	for i := range r.decisions.List {
		// Flags on which a requested flag depends are evaluated too, but not requested.
		if d := &r.decisions.List[i]; len(keys) == 0 || slices.Contains(keys, d.Key) {
			r.list = append(r.list, *d)
		}
	}
	slices.SortFunc(r.list, func(a, b flags.Decision) int { return strings.Compare(a.Key, b.Key) })
	for _, key := range keys {
		if r.decisions.Find(key) == nil {
			missing = append(missing, fmt.Sprintf("--flag %s: no value: %s", key, r.trace(key).Decided))
		}
	}
	return missing
}

func (r *evalResult) trace(key string) *flags.Trace {
	return r.set.Explain(key, r.subject, r.at, r.selection)
}

// table formats the result for a terminal.
func (r *evalResult) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "user %q, project %s, at %s\n\n", r.subject.DistinctID, r.project.APIKey, r.at.UTC().Format(time.RFC3339))
	rows := [][]string{{"FLAG", "VALUE", "REASON", "PAYLOAD"}}
	for i := range r.list {
		d := &r.list[i]
		payload := "-"
		if d.Payload != nil {
			payload = cli.Shorten(string(d.Payload))
		}
		value, reason := fmt.Sprint(d.Value()), d.Reason.Description()
		switch {
		case d.Undecided != nil:
			value, reason = "not decided", "unknown "+d.Undecided.Fact+" "+d.Undecided.Name
		case d.Failed():
			value = "failed"
		case d.ReasonOpen != nil:
			reason = "open, unknown " + d.ReasonOpen.Fact + " " + d.ReasonOpen.Name
		}
		rows = append(rows, []string{d.Key, value, reason, payload})
	}
	b.WriteString(cli.Table(rows))
	if len(r.list) == 0 {
		b.WriteString("no flag has a value\n")
	}
	return b.String()
}

func (r *evalResult) tracesText() string {
	parts := make([]string, len(r.list))
	for i := range r.list {
		parts[i] = r.trace(r.list[i].Key).String()
	}
	return strings.Join(parts, "\n")
}

func (r *evalResult) tracesJSON() (string, error) {
	traces := make([]*flags.Trace, len(r.list))
	for i := range r.list {
		traces[i] = r.trace(r.list[i].Key)
	}
	return cli.Indent(traces)
}

// answer is the v2 response of §9.6, with the flags that are undecided.
type answer struct {
	Errors      bool                        `json:"errorsWhileComputingFlags"`
	Flags       map[string]answerFlag       `json:"flags"`
	Undecided   map[string]*flags.Undecided `json:"undecided,omitempty"`
	EvaluatedAt int64                       `json:"evaluatedAt"` // milliseconds since 1970
}

type answerFlag struct {
	Key      string         `json:"key"`
	Enabled  bool           `json:"enabled"`
	Variant  *string        `json:"variant"`
	Failed   bool           `json:"failed,omitempty"`
	Reason   answerReason   `json:"reason"`
	Metadata answerMetadata `json:"metadata"`
}

type answerReason struct {
	Code        flags.ReasonCode `json:"code"`
	Condition   *int             `json:"condition_index"`
	Description string           `json:"description"`
}

type answerMetadata struct {
	ID            int64           `json:"id"`
	Version       int64           `json:"version"`
	Description   *string         `json:"description"` // always null
	Payload       json.RawMessage `json:"payload"`
	HasExperiment bool            `json:"has_experiment"`
}

func (r *evalResult) answerJSON() (string, error) {
	a := answer{Errors: r.decisions.Errors, Flags: map[string]answerFlag{}, EvaluatedAt: r.at.UnixMilli()}
	for i := range r.list {
		d := &r.list[i]
		if d.Undecided != nil {
			if a.Undecided == nil {
				a.Undecided = map[string]*flags.Undecided{}
			}
			a.Undecided[d.Key] = d.Undecided
			continue
		}
		f := answerFlag{
			Key: d.Key, Enabled: d.Enabled, Failed: d.Failed(),
			Reason:   answerReason{Code: d.Reason.Code, Description: d.Reason.Description()},
			Metadata: answerMetadata{ID: d.ID, Version: d.Version, Payload: d.Payload, HasExperiment: d.HasExperiment},
		}
		if d.Variant != "" {
			f.Variant = &d.Variant
		}
		if d.Reason.Condition >= 0 {
			f.Reason.Condition = &d.Reason.Condition
		}
		a.Flags[d.Key] = f
	}
	return cli.Indent(a)
}
