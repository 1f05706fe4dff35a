package manage

import (
	"encoding/json"
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
)

// flagExplainEndpoints explain why a flag has its value for a person.
var flagExplainEndpoints = frame.Resource(frame.InProject, "feature_flag", flagServiceOf, []frame.Row[flagService]{{Do: explainFlag, Endpoint: frame.Endpoint{
	Method: http.MethodPost, Path: "/feature_flags/{key}/explain", KeyScope: readFlags, SecondScope: "person:read",
	Summary:    "Explain the evaluation of a feature flag for a person; with Accept: text/plain as text",
	BodyFields: featureflags.Bodies.Explain, Response: explained{}, Reads: true,
}}, {Do: testEvaluation, Endpoint: frame.Endpoint{
	Method: http.MethodPost, Path: "/feature_flags/{id}/test_evaluation", KeyScope: readFlags, SecondScope: "person:read",
	Summary: "Evaluate a feature flag for a person, without an explanation", BodyFields: featureflags.Bodies.Explain, Response: testedFlag{}, Reads: true,
}}})

// testedFlag is the value of a flag for a person, in short. Value is null if the flag cannot be
// evaluated.
type testedFlag struct {
	Key     string          `json:"key"`
	Value   any             `json:"value"`
	Enabled bool            `json:"enabled"`
	Variant *string         `json:"variant"`
	Payload json.RawMessage `json:"payload"`
	Reason  struct {
		Code        string `json:"code"`
		Condition   *int   `json:"condition_index"`
		Description string `json:"description"`
	} `json:"reason"`
}

// testEvaluation evaluates the flag with the ID in the path (spec/clients.md §7.2).
func testEvaluation(svc flagService, c *frame.Call) (any, error) {
	f, err := svc.Get(c.Ctx, c.Scope, flagID(c.Part("id")))
	if err == nil && f.Deleted {
		err = management.ErrNotFound()
	}
	if err != nil {
		return nil, flagHint(svc.Flags, c, err)
	}
	_, _, trace, err := svc.trace(c, f.Key, false)
	if err != nil {
		return nil, err
	}
	d, out := &trace.Decision, &testedFlag{Key: f.Key}
	if out.Reason.Code, out.Reason.Description = d.Code, d.Description; !trace.Found {
		out.Reason.Code, out.Reason.Description = "disabled", trace.Decided
	}
	out.Value, out.Enabled, out.Payload = valueOf(trace), d.Enabled, d.Payload
	if d.Variant != "" {
		out.Variant = &d.Variant
	}
	if trace.Found && d.Condition != flags.NoCondition {
		out.Reason.Condition = &d.Condition
	}
	return out, nil
}

// valueOf returns true, false or a variant, or nil if the flag cannot be evaluated.
func valueOf(t *flags.Trace) any {
	switch d := t.Decision; {
	case !t.Found:
		return false
	case d.Undecided != nil:
		return nil
	case d.Variant != "":
		return d.Variant
	default:
		return d.Enabled
	}
}

// trace evaluates the flag with the given key for the subject in the body. It does not count as a
// flag request, and stores no results.
func (svc flagService) trace(c *frame.Call, key string, asIfOn bool) (*featureflags.Question, *capture.StoredPerson, *flags.Trace, error) {
	q, err := svc.Question(c.Ctx, c.Scope, key, c.Body, asIfOn)
	if err != nil {
		return nil, nil, nil, err
	}
	person, err := svc.findSubject(c, q)
	if err != nil {
		return nil, nil, nil, err
	}
	trace, err := svc.decider.Explain(c.Ctx, &serving.Request{
		APIKey: c.Scope.Project.APIKey, Subject: q.Subject, IP: q.IP, IPFromHeader: true, GeoIPDisable: !q.IP.IsValid(),
		Selection: flags.Selection{Runtime: "all"}, At: q.At, Set: q.Set,
	}, q.Flag.Key)
	return q, person, trace, err
}

// explained is the value of a flag for a person, with its reason.
type explained struct {
	Flag   featureflags.ExplainedFlag `json:"flag"`
	Person *explainedPerson           `json:"person"` // null if no person has this distinct ID
	// Value is true, false or a variant, or null if the flag is not evaluated.
	Value   any    `json:"value"`
	Decided string `json:"decided"` // the line that decided the value
	Text    string `json:"text"`    // the trace as readable text
	Trace   any    `json:"trace"`   // a flags.Trace, which contains all inputs of the evaluation
	// Assigned is the value that an SDK last reported for the person, or null without such a
	// report.
	Assigned *assigned `json:"assigned"`
	// Differs is the reason why Value is not the assigned value: pinned, flag_changed, other_id,
	// person_changed, supplied or unknown. It is null if they are equal.
	Differs *string `json:"differs"`
	// Pin is the pinned value that decides the value, or null.
	Pin *explainedPin `json:"pin"`
}

// explainedPin describes the subject of a pinned value and its expiration.
type explainedPin struct {
	For     string           `json:"for"`        // "the person", or the group
	Expires management.Stamp `json:"expires_at"` // null if it does not expire
}

// assigned is a featureflags.LastCall in a response.
type assigned struct {
	Value   any              `json:"value"`
	At      management.Stamp `json:"at"`
	Calls   int              `json:"calls"`
	Version *int64           `json:"version"` // null if the call is too old to have a version
	SDK     *string          `json:"sdk"`
}

type explainedPerson struct {
	UUID       string `json:"uuid"`
	Name       string `json:"name"`
	DistinctID string `json:"distinct_id"`
}

// explainFlag evaluates one flag with the stored properties of a person, and returns a full
// explanation.
func explainFlag(svc flagService, c *frame.Call) (any, error) {
	q, person, trace, err := svc.trace(c, c.Part("key"), true)
	if err != nil {
		return nil, err
	}
	out := &explained{Flag: q.Flag, Trace: trace, Decided: trace.Decided, Text: trace.String()}
	if !q.Flag.Active {
		out.Text = "the flag is disabled; if it were enabled:\n" + out.Text
	}
	c.W.Header().Add("Vary", "Accept")
	if frame.Prefers(c.R, "text/plain") {
		return frame.Answer{Status: http.StatusOK, Raw: []byte(out.Text), Kind: frame.PlainText}, nil
	}
	if trace.Found {
		out.Value = valueOf(trace)
	}
	if q.Pinned = trace.Decision.Code == flags.Pinned.String(); q.Pinned {
		pin := trace.Flags[len(trace.Flags)-1].Pin
		out.Pin = &explainedPin{pin.For, management.NewStamp(pin.Until)}
	}
	ids := []string{q.Subject.DistinctID}
	if person != nil {
		ids = person.DistinctIDs
		out.Person = &explainedPerson{person.UUID.String(), person.Name(), q.Subject.DistinctID}
	}
	calls, err := svc.lastCalls(c, ids, person, map[string]int64{q.Flag.Key: q.Flag.ID})
	if last := calls[q.Flag.ID]; err == nil && last != nil {
		out.Assigned, out.Differs = showCall(last), q.DifferenceReason(out.Value, last)
	}
	return out, err
}

func showCall(last *featureflags.LastCall) *assigned {
	out := &assigned{Value: last.Value, At: management.NewStamp(last.At), Calls: last.Calls}
	if last.Version != 0 {
		out.Version = &last.Version
	}
	if last.SDK != "" {
		out.SDK = &last.SDK
	}
	return out
}

// findSubject returns the person of a question, or nil. If the question identifies the person by
// UUID, it sets the distinct ID of the subject.
func (svc flagService) findSubject(c *frame.Call, q *featureflags.Question) (*capture.StoredPerson, error) {
	if svc.history == nil {
		return nil, nil
	}
	id, ok := wire.ParseUUID(q.PersonID)
	if !ok {
		return svc.history.PersonForDistinctID(c.Ctx, c.Project(), q.Subject.DistinctID)
	}
	p, err := svc.history.PersonByUUID(c.Ctx, c.Project(), id)
	if err == nil && p == nil {
		err = management.Missing("There is no person %s.", q.PersonID)
	}
	if err == nil && len(p.DistinctIDs) > 0 {
		q.Subject.DistinctID = p.BestIDs()[0]
	}
	return p, err
}
