package httpapi

import (
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
}}})

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

// explainFlag decides one flag with what is stored of a person. It is no flag
// request: nothing is counted and nothing is kept.
func explainFlag(of flagDesk, c *call) (any, error) {
	q, err := of.Question(c.ctx, c.standing, c.part("key"), c.body)
	if err != nil {
		return nil, err
	}
	out := explained{Flag: q.Flag}
	if out.Person, err = of.asked(c, q); err != nil {
		return nil, err
	}
	trace, err := of.decider.Explain(c.ctx, &flags.Request{
		APIKey: c.standing.Project.APIKey, Subject: q.Subject, IP: q.IP, IPFromHeader: true, GeoIPDisable: !q.IP.IsValid(),
		Selection: flags.Selection{Runtime: "all"},
	}, q.Flag.Key)
	if err != nil {
		return nil, err
	}
	out.Trace, out.Decided, out.Text = trace, trace.Decided, trace.String()
	c.w.Header().Add("Vary", "Accept")
	if prefers(c.r, "text/plain") {
		return answer{status: http.StatusOK, raw: []byte(out.Text), kind: plainText}, nil
	}
	if d := trace.Decision; trace.Found && d.Undecided == nil {
		out.Value = d.Enabled
		if d.Variant != "" {
			out.Value = d.Variant
		}
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
