package results

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
)

// sharedEndpoints returns the links to dashboards and insights (§4.1.8). They respond with JSON, or
// with a page if the caller prefers one (decision 18). A password is sent in the body of POST, so
// that it does not appear in access logs.
func sharedEndpoints(slots Slots) (out []frame.Endpoint) {
	of := func(s *frame.Server) linkService {
		return linkService{s.Management.Dashboards.Dashboards, s.Limits.CountGuess, Of(s), slots}
	}
	for _, path := range []string{"/shared/{token}", "/embedded/{token}", "/shared_dashboard/{token}"} {
		out = append(out, frame.Resource(frame.AtTop, frame.Public, of, withOwnTimeout([]frame.Row[linkService]{
			frame.Handle(http.MethodGet, path, "Read a shared dashboard", openShared).WithResponse(dashboards.SharedDashboard{}),
			frame.Handle(http.MethodPost, path, "Read a shared dashboard with a password", openShared).WithBody(sharedFields).WithResponse(dashboards.SharedDashboard{}),
		}))...)
	}
	return out
}

// linkService has the dependencies of links to dashboards. guess counts a password that has not
// been accepted before. If it returns an error, the password must not be checked.
type linkService struct {
	dashboards.Dashboards
	guess        func(r *http.Request, token string) error
	queryService *Service
	slots        Slots
}

const (
	// SharedAtOnce is the number of shared dashboards that are computed and rendered
	// concurrently, since visitors need no key and each may use maxSharedResults.
	SharedAtOnce = 8
	// sharedWait is how long a request waits for a slot.
	sharedWait = time.Second
)

// Slots has one element for each shared dashboard that is being served.
type Slots chan struct{}

// NewSlots returns slots that are all free.
func NewSlots() Slots { return make(Slots, SharedAtOnce) }

// acquire waits for a slot to serve a dashboard. The caller must call release.
func (s Slots) acquire(ctx context.Context) (release func(), err error) {
	wait := time.NewTimer(sharedWait)
	defer wait.Stop()
	select {
	case s <- struct{}{}:
		return func() { <-s }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-wait.C:
		return nil, &problemSharedFull
	}
}

var sharedFields = management.Fields{{Name: "password", Type: management.Text, Blank: true, MaxLength: 128}}

// sharedInsight is the response of a link to an insight.
type sharedInsight struct {
	Insight  *dashboards.Insight `json:"insight"`
	Settings map[string]bool     `json:"settings"`
}

// openShared serves a link.
func openShared(svc linkService, c *frame.Call) (any, error) {
	h := c.W.Header()
	h.Add("Vary", "Accept")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer") // the URL is the secret
	h.Set("X-Robots-Tag", "noindex")
	token, asJSON := strings.CutSuffix(c.Part("token"), ".json") // tokens have no dot (§1.1 of insights.md)
	shared, err := svc.Shared(c.Ctx, token, frame.TextMember(c.Body, "password"), func() error { return svc.guess(c.R, token) })
	var ran *resultRun
	if err == nil {
		var release func()
		if release, err = svc.slots.acquire(c.Ctx); err == nil {
			defer release()
			ran, err = svc.queryService.shared(c.Ctx, shared)
		}
	}
	if asJSON || !frame.PrefersPage(c.R) {
		if err == nil {
			hideQueries(shared, ran)
		}
		if err == nil && shared.Insight() != nil {
			return sharedInsight{shared.Insight(), shared.Settings}, nil
		}
		return shared, err
	}
	return sharedPage(c, shared, ran, err)
}

// hideQueries removes the parts of results that quote the queries of insights, unless
// showInspector is set. Details of errors are replaced by the message of the page.
func hideQueries(shared *dashboards.SharedDashboard, ran *resultRun) {
	if shared.Settings["showInspector"] {
		return
	}
	for i := range shared.Dashboard.Tiles {
		insight := shared.Dashboard.Tiles[i].Insight
		if insight == nil {
			continue
		}
		insight.HogQL, insight.Result = nil, withoutExpressions(insight.Result)
		if fault := insight.Error; fault != nil {
			insight.Error = &dashboards.InsightError{Type: fault.Type, Code: fault.Code, Detail: stateOf(insight, ran)}
		}
	}
}

// withoutExpressions removes the HogQL expressions of series from a result.
func withoutExpressions(result json.RawMessage) json.RawMessage {
	if !bytes.Contains(result, []byte(`"math_hogql":"`)) {
		return result
	}
	rows, _ := wire.Value(result).([]any)
	for i := range rows {
		row, _ := rows[i].(map[string]any)
		if action, ok := row["action"].(map[string]any); ok {
			action["math_hogql"] = nil
		}
	}
	return wire.MustEncode(rows)
}
