package httpapi

import (
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/management"
)

// defaultActivityPage is how many lines a page of a log of changes has when nobody
// says (§5.11).
const defaultActivityPage = 10

// maxActivityPage bounds the number of a page: beyond it there is nothing.
const maxActivityPage = management.MaxScan

// activityQuery are the parameters of a log of changes.
var activityQuery = []parameterDoc{
	{"limit", "integer", "lines a page, 10 by default, at most 1000"},
	{"page", "integer", "number of the page, 1 by default"},
}

// activityBody is the form of a log of changes (§5.11).
type activityBody struct {
	Results  []management.Activity `json:"results"`
	Next     *string               `json:"next"`
	Previous *string               `json:"previous"`
	Total    int                   `json:"total_count"`
}

// activityAnswer is a page of the log of what the call is in: the project or the
// organization. scope is the kind of thing, such as FeatureFlag; item the id of one
// of them, empty for all.
func activityAnswer(c *call, scope, item string) (any, error) {
	return activityPage(c, management.ActivityQuery{Scopes: []string{scope}, Item: item})
}

func activityPage(c *call, q management.ActivityQuery) (any, error) {
	var err error
	if q.Limit, err = c.counting("limit", defaultActivityPage, maxPage); err != nil {
		return nil, err
	}
	if q.Page, err = c.counting("page", 1, maxActivityPage); err != nil {
		return nil, err
	}
	q.User = c.listed.Text("user")
	log, err := c.service.ActivityLog(c.ctx, c.standing, q)
	if err != nil {
		return nil, err
	}
	limit, page := q.Limit, q.Page
	link := func(to int) *string {
		rd := &reader{server: c.server}
		return rd.link(c.r, map[string]string{"limit": strconv.Itoa(limit), "page": strconv.Itoa(to)})
	}
	out := activityBody{Results: log.Results, Total: log.Total}
	if page*limit < log.Total {
		out.Next = link(page + 1)
	}
	if page > 1 {
		out.Previous = link(page - 1)
	}
	return out, nil
}

// counting reads a parameter that counts from 1: one that is absent is the
// default, one that is too large the largest, and all others are errors.
func (c *call) counting(name string, unless, largest int) (int, error) {
	text := c.query().Get(name)
	if text == "" {
		return unless, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, management.Fault(name, "A valid integer is required.")
	case n < 1:
		return 0, management.Coded(management.CodeMinValue, name, "Ensure this value is greater than or equal to 1.")
	}
	return min(n, largest), nil
}

// activityLog is the log of a project or an organization.
func activityLog(c *call) (any, error) {
	q := management.ActivityQuery{Scopes: c.listed.Texts("scopes"), Item: c.listed.Text("item_id")}
	if scope := c.listed.Text("scope"); scope != "" {
		if q.Scopes != nil && !slices.Contains(q.Scopes, scope) {
			return activityBody{Results: []management.Activity{}}, nil
		}
		q.Scopes = []string{scope}
	}
	return activityPage(c, q)
}
