package sqlquery

import (
	"errors"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// Sources parses queries that are part of another query.
type Sources struct {
	// Find returns the kind with a name.
	Find func(name string) (scan.Kind, bool)
}

// ActorsKinds are the kinds of queries that select one number of another query, to list its
// actors.
var ActorsKinds = []string{"InsightActorsQuery", "FunnelsActorsQuery", "StickinessActorsQuery"}

// ActorFinder parses a query that selects one number of an insight.
func (s Sources) ActorFinder(n document.Node, p *port.Project) scan.ActorFinder {
	n.Get("kind").Choice("", ActorsKinds...)
	inner, plan := s.insight(n, p)
	if plan == nil {
		return nil
	}
	actors, ok := plan.(scan.ActorsPlan)
	if !ok {
		inner.Get("kind").Fail(document.NotSupported, "A %s has no actors.", document.Describe(inner.Get("kind").Value))
		return nil
	}
	return actors.ActorFinder(n)
}

// insight parses the source of a query about an insight. The plan is nil if there is a fault.
func (s Sources) insight(n document.Node, p *port.Project) (document.Node, scan.Plan) {
	source := n.Get("source")
	if source.IsAbsent() {
		source.Fail(document.Required, "This field is required.")
		return source, nil
	}
	inner := document.Unwrap(source.Object())
	name := inner.Get("kind").Text("")
	kind, ok := s.Find(name)
	if !ok {
		inner.Get("kind").Fail(document.InvalidInput, "Query kind %s is not supported as a source.", document.Describe(name))
		return inner, nil
	}
	return inner, kind.Parse(inner, p)
}

// actorsOptions is an InsightActorsQueryOptions: it returns the values with which an
// InsightActorsQuery over the same source can select actors.
type actorsOptions struct{ plan scan.ActorsPlan }

// parseOptions parses an InsightActorsQueryOptions. Its source is an insight, or an actors query
// over one.
func (s Sources) parseOptions(n document.Node, p *port.Project) scan.Plan {
	actors := n.Get("source").Object()
	// The source may be an actors query, or its source.
	if slices.Contains(ActorsKinds, actors.Get("kind").Text("")) {
		n = actors
	}
	inner, plan := s.insight(n, p)
	source, ok := plan.(scan.ActorsPlan)
	if !ok && !n.HasFailed() {
		inner.Get("kind").Fail(document.NotSupported, "A %s has no actors.", document.Describe(inner.Get("kind").Value))
	}
	return &actorsOptions{source}
}

// Run returns the options, which are the whole result.
func (o *actorsOptions) Run(r *scan.Run) (*port.Result, error) {
	extra, err := o.plan.Options(r)
	return &port.Result{Extra: extra}, err
}

// selectItem is an expression of the select list and the text that it was parsed from.
type selectItem struct {
	text string
	item hogql.Item
}

// parseSelectItem parses an expression of the select list.
func parseSelectItem(n document.Node, text string) selectItem {
	expression := text
	if strings.TrimSpace(text) == "group" { // a keyword of HogQL
		expression = "`group`"
	}
	item, err := hogql.ParseItem(expression)
	filter.Fail(n, err)
	item.Column = text
	return selectItem{text, item}
}

// sourceText is an expression as it was written, and its place in the query.
type sourceText struct{ text, attr string }

// withAttrOf is like filter.AtPlace for an error of one of several expressions: it finds the place by the
// text of the expression, and uses fallback if there is no match.
func withAttrOf(err error, texts []sourceText, fallback string) error {
	var e *hogql.Error
	if errors.As(err, &e) {
		for _, t := range texts {
			if t.text == e.In {
				return filter.AtPlace(err, t.attr)
			}
		}
	}
	return filter.AtPlace(err, fallback)
}
