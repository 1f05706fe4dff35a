package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
)

// flagExplainEndpoints say why somebody has a flag's value.
var flagExplainEndpoints = resource(inProject, "feature_flag", flagDeskOf, []row[flagDesk]{{do: explainFlag, endpoint: endpoint{
	method: http.MethodPost, path: "/feature_flags/{key}/explain", scope: readFlags, also: "person:read",
	summary: "Say what a feature flag is for a person, and why; as text with Accept: text/plain",
	takes:   featureflags.ExplainFields, gives: explained{}, reads: true,
}}, {do: testEvaluation, endpoint: endpoint{
	method: http.MethodPost, path: "/feature_flags/{id}/test_evaluation", scope: readFlags, also: "person:read",
	summary: "Say what a feature flag is for a person, in short", takes: featureflags.ExplainFields, gives: testedFlag{}, reads: true,
}}})

// testedFlag is what a flag is for somebody, in short. Value is null where it is not decided.
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

// testEvaluation decides the flag of an id (spec/clients.md §7.2).
func testEvaluation(of flagDesk, c *call) (any, error) {
	f, err := of.Get(c.ctx, c.standing, flagID(c.part("id")))
	if err == nil && f.Deleted {
		err = management.ErrNotFound()
	}
	if err != nil {
		return nil, flagHint(of.Flags, c, err)
	}
	_, trace, err := of.trace(c, f.Key)
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

// valueOf is true, false or a variant, nil for what is not decided.
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

// trace decides the flag of a key for whom a body names. It is no flag request: nothing
// is counted and nothing is kept.
func (of flagDesk) trace(c *call, key string) (*explained, *flags.Trace, error) {
	q, err := of.Question(c.ctx, c.standing, key, c.body)
	if err != nil {
		return nil, nil, err
	}
	out := &explained{Flag: q.Flag}
	if out.Person, err = of.asked(c, q); err != nil {
		return nil, nil, err
	}
	trace, err := of.decider.Explain(c.ctx, &flags.Request{
		APIKey: c.standing.Project.APIKey, Subject: q.Subject, IP: q.IP, IPFromHeader: true, GeoIPDisable: !q.IP.IsValid(),
		Selection: flags.Selection{Runtime: "all"}, At: q.At,
	}, q.Flag.Key)
	return out, trace, err
}

// explained is what a flag is for somebody, and why.
type explained struct {
	Flag   featureflags.ExplainedFlag `json:"flag"`
	Person *explainedPerson           `json:"person"` // null: nobody has this id
	// Value is true, false or a variant; null where the flag is not answered.
	Value   any    `json:"value"`
	Decided string `json:"decided"` // the line that decided
	Text    string `json:"text"`    // the trace, for people
	Trace   any    `json:"trace"`   // a flags.Trace, with which the decision can be made again
}

type explainedPerson struct {
	UUID       string `json:"uuid"`
	Name       string `json:"name"`
	DistinctID string `json:"distinct_id"`
}

// explainFlag decides one flag with what is stored of a person, and tells all of it.
func explainFlag(of flagDesk, c *call) (any, error) {
	out, trace, err := of.trace(c, c.part("key"))
	if err != nil {
		return nil, err
	}
	out.Trace, out.Decided, out.Text = trace, trace.Decided, trace.String()
	c.w.Header().Add("Vary", "Accept")
	if prefers(c.r, "text/plain") {
		return answer{status: http.StatusOK, raw: []byte(out.Text), kind: plainText}, nil
	}
	if trace.Found {
		out.Value = valueOf(trace)
	}
	return out, nil
}

// asked finds the person of a question, and gives the subject the distinct id of
// a person who is named otherwise.
func (of flagDesk) asked(c *call, q *featureflags.Question) (*explainedPerson, error) {
	if of.history == nil {
		return nil, nil
	}
	var p *capture.StoredPerson
	var err error
	if id, ok := wire.ParseUUID(q.PersonID); ok {
		p, err = of.history.PersonByUUID(c.ctx, c.project(), id)
		if err == nil && p == nil {
			err = management.Missing("There is no person %s.", q.PersonID)
		}
	} else {
		p, err = of.history.PersonBy(c.ctx, c.project(), q.Subject.DistinctID)
	}
	if err != nil || p == nil {
		return nil, err
	}
	shown := showPerson(p)
	if q.PersonID != "" && len(shown.DistinctIDs) > 0 {
		q.Subject.DistinctID = shown.DistinctIDs[0]
	}
	return &explainedPerson{p.UUID.String(), shown.Name, q.Subject.DistinctID}, nil
}
