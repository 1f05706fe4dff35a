package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
)

// sharedEndpoints are the links to dashboards and insights (§4.1.8): JSON, or a page where the
// caller prefers one (decision 18). Where a password is required it is posted, so
// that it stands in no log of addresses.
var sharedEndpoints = func() (out []endpoint) {
	for _, path := range []string{"/shared/{token}", "/embedded/{token}", "/shared_dashboard/{token}"} {
		out = append(out, resource(atTop, public, linkServiceOf, withOwnTimeout([]row[linkService]{
			handle(http.MethodGet, path, "Read a shared dashboard", openShared).withResponse(dashboards.SharedDashboard{}),
			handle(http.MethodPost, path, "Read a shared dashboard with a password", openShared).withBody(sharedFields).withResponse(dashboards.SharedDashboard{}),
		}))...)
	}
	return out
}()

// linkService is what links to dashboards stand on. guess counts a password that has not
// been right before, and says when it must not be looked at.
type linkService struct {
	dashboards.Dashboards
	guess        func(r *http.Request, token string) error
	queryService *queryService
	slots        chan struct{}
}

func linkServiceOf(s *server) linkService {
	return linkService{s.Management.Dashboards.Dashboards, s.countGuess, queryServiceOf(s), s.sharedSlots}
}

const (
	// sharedAtOnce is how many shared dashboards are run and drawn at once, each of which
	// may take maxSharedResults: strangers ask for them.
	sharedAtOnce = 8
	// sharedWait is how long one waits for a place before it is refused.
	sharedWait = time.Second
)

// acquireSlot waits for a place to show a dashboard in, and gives it back with leave.
func (svc linkService) acquireSlot(ctx context.Context) (release func(), err error) {
	wait := time.NewTimer(sharedWait)
	defer wait.Stop()
	select {
	case svc.slots <- struct{}{}:
		return func() { <-svc.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-wait.C:
		return nil, &problemSharedFull
	}
}

var sharedFields = management.Fields{{Name: "password", Type: management.Text, Blank: true, MaxLength: 128}}

// sharedInsight is what a link to an insight answers.
type sharedInsight struct {
	Insight  *dashboards.Insight `json:"insight"`
	Settings map[string]bool     `json:"settings"`
}

// openShared answers a link.
func openShared(svc linkService, c *call) (any, error) {
	h := c.w.Header()
	h.Add("Vary", "Accept")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer") // the address is the secret
	h.Set("X-Robots-Tag", "noindex")
	token, asJSON := strings.CutSuffix(c.part("token"), ".json") // §1.1 of insights.md: no token has a point
	shared, err := svc.Shared(c.ctx, token, textMember(c.body, "password"), func() error { return svc.guess(c.r, token) })
	var ran *resultRun
	if err == nil {
		var release func()
		if release, err = svc.acquireSlot(c.ctx); err == nil {
			defer release()
			ran, err = svc.queryService.shared(c.ctx, shared)
		}
	}
	if asJSON || !prefersPage(c.r) {
		if err == nil {
			hideQueries(shared, ran)
		}
		if err == nil && shared.Insight() != nil {
			return sharedInsight{shared.Insight(), shared.Settings}, nil
		}
		return shared, err
	}
	return c.sharedPage(shared, ran, err)
}

// hideQueries leaves away what quotes the questions of insights, which are shown with
// showInspector alone: of errors only what their page would say is left.
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

// withoutExpressions is a result whose series do not say by which expression they were
// counted.
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

// prefersPage reports whether the caller wants HTML.
func prefersPage(r *http.Request) bool { return prefers(r, "text/html") }

// prefers reports whether the caller wants a media type at least as much as JSON
// and asks for it by name.
func prefers(r *http.Request, mediaType string) bool {
	page, data, wildcard := -1.0, -1.0, -1.0
	for _, line := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(line, ",") {
			kind, parameters, _ := strings.Cut(part, ";")
			switch weight := acceptWeight(parameters); strings.ToLower(strings.TrimSpace(kind)) {
			case mediaType:
				page = max(page, weight)
			case "application/json":
				data = max(data, weight)
			case "*/*":
				wildcard = max(wildcard, weight)
			}
		}
	}
	if data < 0 {
		data = wildcard
	}
	return page > 0 && page >= data
}

// acceptWeight is the q of an entry of Accept, 1 when it has none that can be read.
func acceptWeight(parameters string) float64 {
	list := strings.Split(parameters, ";")
	index := slices.IndexFunc(list, func(p string) bool { return strings.HasPrefix(strings.ToLower(strings.TrimSpace(p)), "q=") })
	if index < 0 {
		return 1
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(list[index])[2:], 64)
	if err != nil {
		return 1
	}
	return q
}
